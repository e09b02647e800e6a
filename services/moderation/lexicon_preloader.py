"""Compiles the lexicons of every pipeline before the first question arrives."""

from __future__ import annotations

import structlog

from services.moderation.settings import ModerationSettings
from shared.contracts.errors import PipelineError
from shared.contracts.pipelines import PipelineSource

log = structlog.get_logger()


class LexiconPreloader:
    """Compiles each pipeline's lexicons when the worker starts.

    Documents are validated before they are stored, but maybe by a newer version. One that this version cannot read
    fails its own questions, and must not keep the worker from the questions of all other pipelines.
    """

    def __init__(self, pipelines: PipelineSource) -> None:
        self._pipelines = pipelines

    async def open(self) -> None:
        """Read every pipeline's `moderation` section."""
        for name in self._pipelines.names():
            current = self._pipelines.current(name)
            if current is None:
                continue
            try:
                (await self._pipelines.pipeline(current)).readable_section("moderation", ModerationSettings)
            except PipelineError as error:
                log.error("stored pipeline cannot be read; its questions will fail", pipeline=name, reason=str(error))

    async def close(self) -> None:
        """Nothing to close."""
