"""The pipeline of a replay: the recorded revision, another one, or a candidate made for the replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cli.host.catalogue import section_kinds
from shared.contracts.domain import PipelineRef
from shared.contracts.errors import NotFoundError, PipelineError
from shared.contracts.pipelines import Pipeline, PipelineSource
from shared.runtime.pipelines import check_pipeline, read_pipeline, with_setting


class CandidatePipelines(PipelineSource, Protocol):
    """Stored pipelines, and temporary ones for replays."""

    async def propose(self, pipeline: Pipeline) -> PipelineRef: ...


@dataclass(frozen=True)
class PipelineChoice:
    """Options of a command: `pipeline` is NAME, NAME@REVISION, a folder or a file; `changes` are STAGE.KEY=VALUE."""

    pipeline: str = ""
    changes: Sequence[str] = ()


@dataclass(frozen=True)
class ChosenPipeline:
    """A stored pipeline with its reference, or a document that has no reference yet."""

    document: Pipeline
    ref: PipelineRef | None

    @property
    def deadline_seconds(self) -> float:
        """The deadline of a question of this pipeline, in seconds."""
        kind = section_kinds()["gateway"]
        assert kind is not None
        return float(self.document.section("gateway", kind).model_dump()["deadline_seconds"])

    async def reference(self, pipelines: CandidatePipelines) -> PipelineRef:
        """Its reference, by which workers load it; a document without one is stored as a candidate first."""
        return self.ref or await pipelines.propose(self.document)


async def choose(
    pipelines: PipelineSource, choice: PipelineChoice, recorded: PipelineRef, document: Pipeline | None = None
) -> ChosenPipeline:
    """The pipeline of a replay; nothing is stored yet. `document` is the pipeline in an exported question's file.

    Raises:
        NotFoundError: there is no such pipeline.
        PipelineError: the revision is not kept any more, or the document with its changes is invalid.
    """
    chosen = await _base(pipelines, choice.pipeline, recorded, document)
    changed = chosen.document
    for change in choice.changes:
        changed = with_setting(changed, change)
    if changed is not chosen.document or chosen.ref is None:
        check_pipeline(changed, section_kinds())
        return ChosenPipeline(changed, None)
    return chosen


async def _base(
    pipelines: PipelineSource, name_or_path: str, recorded: PipelineRef, document: Pipeline | None
) -> ChosenPipeline:
    if not name_or_path:
        return await _recorded(pipelines, recorded, document)
    name, at, revision = name_or_path.rpartition("@") if "@" in name_or_path else (name_or_path, "", "")
    current = pipelines.current(name)
    if current is None and _is_path(name_or_path):
        return ChosenPipeline(read_pipeline(Path(name_or_path)), None)
    if at and not revision.isdigit():
        raise NotFoundError(f"--pipeline {name_or_path}: the revision after @ must be a number")
    if current is None and not at:
        raise NotFoundError(
            f"--pipeline {name_or_path}: no such pipeline or file; pipelines: {', '.join(pipelines.names())}"
        )
    ref = PipelineRef(name=name, revision=int(revision)) if at else current
    assert ref is not None
    return ChosenPipeline(await pipelines.pipeline(ref), ref)


def _is_path(name_or_path: str) -> bool:
    return Path(name_or_path).exists()


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
