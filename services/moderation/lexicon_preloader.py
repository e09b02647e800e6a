"""The lexicons of every pipeline, compiled before the first question comes."""

from __future__ import annotations

from services.moderation.settings import ModerationSettings
from shared.contracts.pipelines import PipelineSource


class LexiconWatch:
    """Compiles each pipeline's lexicons when the worker starts; an entry that cannot fire stops it there."""

    def __init__(self, pipelines: PipelineSource) -> None:
        self._pipelines = pipelines

    async def open(self) -> None:
        """Read every pipeline's section.

        Raises:
            PipelineError: naming the pipeline, the list and the entry.
        """
        for name in self._pipelines.names():
            current = self._pipelines.current(name)
            if current is not None:
                (await self._pipelines.pipeline(current)).section("moderation", ModerationSettings)

    async def close(self) -> None:
        """Nothing was opened."""
