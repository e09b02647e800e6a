"""Compiles the lexicons of every pipeline before the first question arrives."""

from __future__ import annotations

from services.moderation.settings import ModerationSettings
from shared.contracts.pipelines import PipelineSource


class LexiconPreloader:
    """Compiles each pipeline's lexicons when the worker starts; an invalid entry stops the worker."""

    def __init__(self, pipelines: PipelineSource) -> None:
        self._pipelines = pipelines

    async def open(self) -> None:
        """Validate every pipeline's `moderation` section.

        Raises:
            PipelineError: a section is invalid; the text names the pipeline, the list and the entry.
        """
        for name in self._pipelines.names():
            current = self._pipelines.current(name)
            if current is not None:
                (await self._pipelines.pipeline(current)).section("moderation", ModerationSettings)

    async def close(self) -> None:
        """Nothing to close."""
