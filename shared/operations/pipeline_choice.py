"""The pipeline of a replay: the recorded revision, another one, or a candidate made for the replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.contracts.domain import PipelineRef
from shared.contracts.errors import NotFoundError, PipelineError
from shared.contracts.pipelines import Pipeline, PipelineSource
from shared.operations.sections import PipelineSections
from shared.runtime.pipelines import with_setting


class CandidatePipelines(PipelineSource, Protocol):
    """Stored pipelines, and temporary ones for replays."""

    async def propose(self, pipeline: Pipeline) -> PipelineRef: ...


def nowhere_else(_: str) -> Pipeline | None:
    """No pipeline: only stored ones are chosen by name."""
    return None


@dataclass(frozen=True)
class PipelineChoice:
    """The choice: `pipeline` is NAME or NAME@REVISION (empty: the recorded one), `changes` are STAGE.KEY=VALUE.

    `elsewhere` looks for a name that no stored pipeline has; commands look for a file, a gateway must not.
    """

    pipeline: str = ""
    changes: Sequence[str] = ()
    elsewhere: Callable[[str], Pipeline | None] = nowhere_else


@dataclass(frozen=True)
class ChosenPipeline:
    """A stored pipeline with its reference, or a document that has no reference yet."""

    document: Pipeline
    ref: PipelineRef | None

    async def reference(self, pipelines: CandidatePipelines) -> PipelineRef:
        """Its reference, by which workers load it; a document without one is stored as a candidate first."""
        return self.ref or await pipelines.propose(self.document)


async def choose(
    pipelines: PipelineSource,
    sections: PipelineSections,
    choice: PipelineChoice,
    recorded: PipelineRef,
    document: Pipeline | None = None,
) -> ChosenPipeline:
    """The pipeline of a replay; nothing is stored yet. `document` is the pipeline in an exported question's file.

    Raises:
        NotFoundError: the pipeline does not exist.
        PipelineError: the revision is not kept any more, or the document with its changes is invalid.
        UnavailableError: the document cannot be checked, or read, now.
    """
    chosen = await _base(pipelines, choice, recorded, document)
    changed = chosen.document
    for change in choice.changes:
        changed = with_setting(changed, change)
    if changed is not chosen.document or chosen.ref is None:
        await sections.check(changed)
        return ChosenPipeline(changed, None)
    return chosen


async def _base(
    pipelines: PipelineSource, choice: PipelineChoice, recorded: PipelineRef, document: Pipeline | None
) -> ChosenPipeline:
    given = choice.pipeline
    if not given:
        return await _recorded(pipelines, recorded, document)
    name, at, revision = given.rpartition("@") if "@" in given else (given, "", "")
    current = pipelines.current(name)
    if current is None and (found := choice.elsewhere(given)) is not None:
        return ChosenPipeline(found, None)
    if at and not revision.isdecimal():
        raise NotFoundError(f"--pipeline {given}: the revision after @ must be a number")
    if current is None and not at:
        raise NotFoundError(f"--pipeline {given}: no such pipeline or file; pipelines: {', '.join(pipelines.names())}")
    ref = PipelineRef(name=name, revision=int(revision)) if at else current
    assert ref is not None
    return ChosenPipeline(await pipelines.pipeline(ref), ref)


async def _recorded(pipelines: PipelineSource, recorded: PipelineRef, document: Pipeline | None) -> ChosenPipeline:
    """The recorded revision; the document from the file if this platform has no such revision, or another document."""
    try:
        stored = await pipelines.pipeline(recorded)
    except PipelineError as error:
        if document is None:
            raise PipelineError(f"{error}; choose one with --pipeline") from None
        return ChosenPipeline(document, None)
    if document is not None and document.encode() != stored.encode():
        return ChosenPipeline(document, None)
    return ChosenPipeline(stored, recorded)
