"""Which pipeline a replay is answered by: the recorded revision, another one, or a candidate made for it."""

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


class Candidates(PipelineSource, Protocol):
    """Pipelines, and a place for those that are only tried out."""

    async def propose(self, pipeline: Pipeline) -> PipelineRef: ...


@dataclass(frozen=True)
class Choice:
    """What the command line says: `pipeline` is NAME, NAME@REVISION, a folder or a file; `changes` STAGE.KEY=VALUE."""

    pipeline: str = ""
    changes: Sequence[str] = ()


@dataclass(frozen=True)
class Chosen:
    """A pipeline by reference, or a document that has yet to be proposed, and the seconds its questions may take."""

    document: Pipeline
    ref: PipelineRef | None

    @property
    def deadline_seconds(self) -> float:
        kind = section_kinds()["gateway"]
        assert kind is not None
        return float(self.document.section("gateway", kind).model_dump()["deadline_seconds"])

    async def reference(self, pipelines: Candidates) -> PipelineRef:
        """Its reference, under which every worker finds it."""
        return self.ref or await pipelines.propose(self.document)


async def choose(
    pipelines: PipelineSource, choice: Choice, recorded: PipelineRef, document: Pipeline | None = None
) -> Chosen:
    """The pipeline to replay by; nothing is stored yet. `document` is what came with an exported question.

    Raises:
        NotFoundError: no pipeline is called so.
        PipelineError: a revision is not kept any more, or the document with its changes does not hold.
    """
    chosen = await _base(pipelines, choice.pipeline, recorded, document)
    changed = chosen.document
    for given in choice.changes:
        changed = with_setting(changed, given)
    if changed is not chosen.document or chosen.ref is None:
        check_pipeline(changed, section_kinds())
        return Chosen(changed, None)
    return chosen


async def _base(pipelines: PipelineSource, wanted: str, recorded: PipelineRef, document: Pipeline | None) -> Chosen:
    if not wanted:
        return await _recorded(pipelines, recorded, document)
    name, at, revision = wanted.rpartition("@") if "@" in wanted else (wanted, "", "")
    current = pipelines.current(name)
    if current is None and _is_path(wanted):
        return Chosen(read_pipeline(Path(wanted)), None)
    if at and not revision.isdigit():
        raise NotFoundError(f"--pipeline {wanted}: the revision is a number")
    if current is None and not at:
        raise NotFoundError(f"no pipeline or file is called {wanted}; there are: {', '.join(pipelines.names())}")
    ref = PipelineRef(name=name, revision=int(revision)) if at else current
    assert ref is not None
    return Chosen(await pipelines.pipeline(ref), ref)


def _is_path(wanted: str) -> bool:
    return Path(wanted).exists()


async def _recorded(pipelines: PipelineSource, recorded: PipelineRef, document: Pipeline | None) -> Chosen:
    """The revision the question had; where this bus has another under it, or none, the document from the file."""
    try:
        here = await pipelines.pipeline(recorded)
    except PipelineError as error:
        if document is None:
            raise PipelineError(f"{error}; choose one with --pipeline") from None
        return Chosen(document, None)
    if document is not None and document.encode() != here.encode():
        return Chosen(document, None)
    return Chosen(here, recorded)
