"""Checks the sections of a pipeline, whoever knows their types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from shared.contracts.pipelines import Pipeline, Section
from shared.runtime.pipelines import check_pipeline

#: The stage with the setting of how long a question may take.
ENTRY_STAGE = "gateway"


class PipelineSections(Protocol):
    """The settings of every stage in a pipeline."""

    async def check(self, pipeline: Pipeline) -> None:
        """Check every section of the document.

        Raises:
            PipelineError: a section of no stage, the first invalid setting, or settings that contradict each other.
            UnavailableError: a stage that would have to check its section does not run.
        """

    async def deadline_seconds(self, pipeline: Pipeline) -> float:
        """The deadline of a question of this pipeline, in seconds.

        Raises:
            PipelineError: the gateway's section is invalid.
        """


class KnownSections:
    """`PipelineSections` of a process that can import every stage; `kinds` is called when the first one is checked."""

    def __init__(self, kinds: Callable[[], Mapping[str, type[Section] | None]]) -> None:
        self._kinds = kinds

    async def check(self, pipeline: Pipeline) -> None:
        check_pipeline(pipeline, dict(self._kinds()))

    async def deadline_seconds(self, pipeline: Pipeline) -> float:
        kind = self._kinds()[ENTRY_STAGE]
        assert kind is not None
        return float(pipeline.section(ENTRY_STAGE, kind).model_dump()["deadline_seconds"])
