"""One question as a file: its events as stored, and the pipeline document that they were made with. Pure.

The file is JSON: `{"format": "answerbus-question", "version": 1, ...}`. It can be shown, compared and replayed when
the log no longer has the question, or on another platform. `QuestionAsked` is left out by default, as it holds
unmoderated text, which expires from the log too.
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
from shared.contracts.errors import InvalidEventError, RefusedError, first_fault
from shared.contracts.facts import Fact, QuestionAsked
from shared.contracts.pipelines import Pipeline
from shared.contracts.subjects import is_correlation_id, parse

FORMAT = "answerbus-question"
VERSION = 1


class ExportedEvent(BaseModel):
    """One event: its subject, sequence and time in the log, and its envelope with the payload."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    subject: str
    sequence: int
    time: datetime
    event: dict[str, Any]


class ExportedQuestion(BaseModel):
    """The file. `accepted` are the facts that a replay is expected to give, where they were accepted after the export.

    `left_out` names facts that were stored but not exported.
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
        """The events as the log returns them."""
        return [
            StoredEvent(event.subject, event.sequence, event.time, json.dumps(event.event, ensure_ascii=False).encode())
            for event in self.events
        ]

    def decoded(self) -> list[Event[Fact]]:
        """The decoded events.

        Raises:
            RefusedError: one does not fit this program's schema.
        """
        try:
            return [decode(message.subject, message.data) for message in self.stored()]
        except InvalidEventError as error:
            raise RefusedError(
                f"an event of the export does not fit this version of the program ({error}); export it again"
            ) from None

    def imported(self) -> list[Event[Fact]]:
        """The events for another log: on the background lane, and marked so that no stage acts on them.

        Raises:
            RefusedError: one does not fit this program's schema.
        """
        events = self.decoded()
        # New ids, as the log may still have the exported question.
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
    """The export of a question; with `raw` including its unmoderated text.

    Raises:
        RefusedError: the question has no events, or one cannot be decoded.
    """
    try:
        events = [(message, message.decode()) for message in stored]
    except InvalidEventError as error:
        raise RefusedError(f"an event of the question cannot be read: {error}") from None
    kept = [(message, event) for message, event in events if raw or not isinstance(event.payload, QuestionAsked)]
    if not kept:
        raise RefusedError("the question has no event but QuestionAsked; to export its raw text too: --raw")
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
                subject=message.subject,
                sequence=message.sequence,
                time=message.time,
                event=event.model_dump(mode="json"),
            )
            for message, event in kept
        ),
    )


def read_export(text: str | bytes, name: str) -> ExportedQuestion:
    """Parse an export.

    Raises:
        RefusedError: it is not an export, or of another version; the text begins with `name` and says what to do.
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
        raise RefusedError(f"{name}: {first_fault(error)}") from None
    except RefusedError as error:
        raise RefusedError(f"{name}: {error}") from None
    if not question.events or not is_correlation_id(question.id):
        raise RefusedError(f"{name}: it has no events or no correlation id; export it again")
    if {parse(event.subject).correlation_id for event in question.events} != {question.id}:
        raise RefusedError(f"{name}: it has events of other questions than {question.id}; export it again")
    return question


def program_version() -> str:
    try:
        return version("answerbus")
    except PackageNotFoundError:
        return "unknown"
