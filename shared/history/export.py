"""One question in a file: its events as they are stored, and the pipeline document they came about under. Pure.

The file is JSON: `{"format": "answerbus-question", "version": 1, ...}`. It can be shown, compared and replayed where
the log has let the question go, or on another platform. `QuestionAsked` is left out unless asked for: it is what
somebody typed, and expires from the log for that reason.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from shared.bus.ports import StoredEvent
from shared.contracts.domain import Lane, PipelineRef
from shared.contracts.envelope import IMPORTED, SCHEMA_VERSION, Event, decode, event_id
from shared.contracts.errors import InvalidEventError, RefusedError
from shared.contracts.facts import Fact, QuestionAsked
from shared.contracts.pipelines import Pipeline
from shared.contracts.subjects import is_correlation_id, parse

FORMAT = "answerbus-question"
VERSION = 1


class ExportedEvent(BaseModel):
    """One event: where and when it was stored, and its envelope with its payload."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    subject: str
    sequence: int
    time: datetime
    event: dict[str, Any]


class ExportedQuestion(BaseModel):
    """The file. `accepted` are the facts that a replay must give, where they were accepted later than exported.

    `left_out` names facts that were known but not exported.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["answerbus-question"] = "answerbus-question"
    version: Literal[1] = 1
    program: str
    schema_version: int
    exported_at: datetime
    id: str
    pipeline: PipelineRef
    document: Pipeline | None = None
    left_out: tuple[str, ...] = ()
    events: tuple[ExportedEvent, ...]
    accepted: tuple[dict[str, Any], ...] | None = None

    def stored(self) -> list[StoredEvent]:
        """The events as the log would have them."""
        return [
            StoredEvent(one.subject, one.sequence, one.time, json.dumps(one.event, ensure_ascii=False).encode())
            for one in self.events
        ]

    def decoded(self) -> list[Event[Fact]]:
        """The events, read.

        Raises:
            RefusedError: one does not fit this program's schema.
        """
        try:
            return [decode(one.subject, one.data) for one in self.stored()]
        except InvalidEventError as error:
            raise RefusedError(f"an event of the export does not fit this version of the program: {error}") from None

    def imported(self) -> list[Event[Fact]]:
        """The events as another log keeps them: on the background lane, and marked so that no stage acts on them.

        Raises:
            RefusedError: one does not fit this program's schema.
        """
        events = self.decoded()
        # Ids of their own, as the log may still know those of the question that was exported from it.
        ids = {e.event_id: event_id(IMPORTED, type(e.payload), e.correlation_id, e.attempt) for e in events}
        mark = {"lane": Lane.BACKGROUND, "origin": IMPORTED}
        return [
            event.model_copy(
                update={
                    **mark,
                    "event_id": ids[event.event_id],
                    "causation_id": ids.get(event.causation_id or "", event.causation_id),
                }
            )
            for event in events
        ]

    def encode(self) -> str:
        return self.model_dump_json(indent=1, exclude_none=True) + "\n"


def exported(stored: Sequence[StoredEvent], document: Pipeline | None, *, raw: bool) -> ExportedQuestion:
    """Put a question's events into one value.

    Raises:
        RefusedError: there is no event, or one cannot be read.
    """
    try:
        events = [(one, one.decode()) for one in stored]
    except InvalidEventError as error:
        raise RefusedError(f"an event of the question cannot be read: {error}") from None
    kept = [(one, event) for one, event in events if raw or not isinstance(event.payload, QuestionAsked)]
    if not kept:
        raise RefusedError("the question has only its raw text; to export that too: --raw")
    first = kept[0][1]
    return ExportedQuestion(
        program=program_version(),
        schema_version=SCHEMA_VERSION,
        exported_at=datetime.now(UTC),
        id=first.correlation_id,
        pipeline=first.pipeline,
        document=document,
        left_out=tuple(event.fact for _, event in events if not raw and isinstance(event.payload, QuestionAsked)),
        events=tuple(
            ExportedEvent(
                subject=one.subject, sequence=one.sequence, time=one.time, event=event.model_dump(mode="json")
            )
            for one, event in kept
        ),
    )


def read_export(text: str | bytes, name: str) -> ExportedQuestion:
    """Read the file.

    Raises:
        RefusedError: it is none, or one of another version; the text begins with `name` and says what to do.
    """
    try:
        document = json.loads(text)
    except ValueError:
        raise RefusedError(f"{name}: not JSON; make it with: answerbus events export ID") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise RefusedError(f"{name}: not an exported question; make it with: answerbus events export ID")
    if (found := document.get("version")) != VERSION:
        raise RefusedError(f"{name}: an export of version {found!r}, this program reads {VERSION}; export it again")
    try:
        question = ExportedQuestion.model_validate(document)
        question.decoded()
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        raise RefusedError(f"{name}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except RefusedError as error:
        raise RefusedError(f"{name}: {error}") from None
    if not question.events or not is_correlation_id(question.id):
        raise RefusedError(f"{name}: it holds no events, or no question's id; export it again")
    if {parse(one.subject).correlation_id for one in question.events} != {question.id}:
        raise RefusedError(f"{name}: it holds events of another question than {question.id}")
    return question


def program_version() -> str:
    try:
        return version("answerbus")
    except PackageNotFoundError:
        return "unknown"
