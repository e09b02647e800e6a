"""Dead letters: events that could not be worked on, with their reason; how they are shown and retried. Pure.

A step of a question was ended for its asker before its dead letter was kept, and a question ends once. So a step is
retried as a question of its own, whose `parent` is the one that failed. What is about a question (a rating, a record,
an ending to be recorded) has no ending in its way: it is said again as it was, under the same event id, and who had it
already keeps one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from pydantic import ValidationError

from shared import subjects
from shared.domain import Lane, PipelineRef
from shared.envelope import Envelope, Event, correlation_id_for, decode
from shared.errors import InvalidEventError, RefusedError
from shared.facts import FACTS, Fact
from shared.replaying import again, checked_payload

SUBJECT, KIND, ERROR, STACK, EDITED = (f"Answerbus-{name}" for name in ("Subject", "Kind", "Error", "Stack", "Edited"))
#: What somebody typed and no stage has moderated: shown to nobody.
UNMODERATED = ("QuestionAsked",)
#: Letters of one page.
PAGE = 100


@dataclass(frozen=True)
class DeadLetter:
    """An event as it was given up: `number` is its place among the dead letters, `subject` and `data` are the event's.

    `stage` gave it up, `stack` is where in the code, without values.
    """

    number: int
    stage: str
    subject: str
    kind: str
    error: str
    stack: str
    edited: bool
    time: datetime
    data: bytes

    @classmethod
    def read(cls, number: int, kept: str, headers: Mapping[str, str], data: bytes, time: datetime) -> DeadLetter:
        """From the subject under which it is kept, and its headers."""
        subject, kind, error, stack = (headers.get(key, "") for key in (SUBJECT, KIND, ERROR, STACK))
        stage = kept.split(".")[1]
        return cls(number, stage, subject, kind, error, stack, EDITED in headers, time, data)

    @property
    def headers(self) -> dict[str, str]:
        told = {SUBJECT: self.subject, KIND: self.kind, ERROR: self.error, STACK: self.stack}
        return told | ({EDITED: "yes"} if self.edited else {})

    @property
    def fact(self) -> str:
        tokens = self.subject.split(".")
        name = "".join(token.capitalize() for token in tokens[1:3])
        return name if name in FACTS else ""

    @property
    def correlation_id(self) -> str:
        found = [token for token in self.subject.split(".") if subjects.is_correlation_id(token)]
        return found[0] if found else ""

    @property
    def lane(self) -> str:
        return Lane.BACKGROUND.value if self.subject.startswith("bg.") else Lane.LIVE.value

    def event(self) -> Event[Fact]:
        """The event.

        Raises:
            RefusedError: its bytes do not fit its fact.
        """
        try:
            return decode(self.subject, self.data)
        except InvalidEventError as error:
            raise RefusedError(
                f"dead letter {self.number} does not fit its fact ({error}); "
                f"edit it first: answerbus dead edit {self.number} FILE"
            ) from None


@dataclass(frozen=True)
class Wanted:
    """Which letters: what is empty narrows nothing."""

    stage: str = ""
    kind: str = ""
    cid: str = ""
    since: datetime | None = None
    before: datetime | None = None

    @property
    def subject(self) -> str:
        """The filter that the broker can apply."""
        return subjects.dead_letters(self.stage, self.cid)

    def takes(self, letter: DeadLetter) -> bool:
        return (
            self.stage in ("", letter.stage)
            and self.kind in ("", letter.kind)
            and self.cid in ("", letter.correlation_id)
            and (self.since is None or letter.time >= self.since)
            and (self.before is None or letter.time < self.before)
        )


class DeadLetters(Protocol):
    """Reads dead letters."""

    async def page(self, wanted: Wanted, *, after: int = 0, limit: int = PAGE) -> list[DeadLetter]:
        """The first of the wanted letters with a number above `after`, oldest first.

        Raises:
            UnavailableError: the bus is away.
        """

    async def get(self, number: int) -> DeadLetter:
        """One letter.

        Raises:
            NotFoundError: there is none (any more) under that number.
            UnavailableError: the bus is away.
        """


async def collected(letters: DeadLetters, numbers: Sequence[int], wanted: Wanted, limit: int = 0) -> list[DeadLetter]:
    """The letters of these numbers, or with none all that are wanted, oldest first; at most `limit` (0: all).

    Raises:
        NotFoundError: a number has no letter.
        UnavailableError: the bus is away.
    """
    if numbers:
        return [await letters.get(number) for number in dict.fromkeys(numbers)]
    found: list[DeadLetter] = []
    while page := await letters.page(wanted, after=found[-1].number if found else 0):
        found += page
        if limit and len(found) >= limit:
            return found[:limit]
    return found


def listed(letter: DeadLetter) -> dict[str, Any]:
    """A letter in a listing: where, when and why, and nothing of what it says."""
    return {
        "number": letter.number,
        "time": letter.time.isoformat(),
        "stage": letter.stage,
        "fact": letter.fact,
        "kind": letter.kind,
        "error": letter.error,
        "lane": letter.lane,
        "id": letter.correlation_id,
        "edited": letter.edited,
        "bytes": len(letter.data),
    }


def shown(letter: DeadLetter, *, full: bool) -> dict[str, Any]:
    """A letter with its event; texts of the payload only when `full`, unmoderated ones never."""
    story = listed(letter) | {"subject": letter.subject, "stack": letter.stack.replace("\\n", "\n")}
    try:
        event = json.loads(letter.data)
        payload = event.pop("payload")
    except (ValueError, AttributeError, KeyError, TypeError):
        readable = full and letter.fact not in UNMODERATED
        told = (
            letter.data.decode("utf-8", "replace") if readable else _size(len(letter.data), "bytes that are no event")
        )
        return story | {"event": None, "payload": told}
    return story | {"event": event, "payload": payload if full and letter.fact not in UNMODERATED else _hidden(payload)}


def retried(
    letter: DeadLetter, *, deadline_seconds: float, lane: Lane | None = None, pipeline: PipelineRef | None = None
) -> Event[Fact]:
    """The event as a retry says it: a step under a new correlation id, anything else as it was.

    Raises:
        RefusedError: the stage does not hear the fact any more, or the bytes do not fit it.
    """
    check_heard(letter)
    event = letter.event()
    if event.payload.terminal or event.payload.aside:
        if lane and lane is not event.lane:
            raise RefusedError(f"dead letter {letter.number}: {event.fact} is said again in the lane it was in")
        return event.model_copy(update={"deadline": datetime.now(UTC) + timedelta(seconds=deadline_seconds)})
    # The same id however often the letter is retried: the broker keeps the question once.
    cid = correlation_id_for("dead letter", str(letter.number), letter.time.isoformat())
    new = again(event, deadline_seconds=deadline_seconds, pipeline=pipeline, correlation_id=cid)
    return new.model_copy(update={"lane": lane or event.lane})


def check_heard(letter: DeadLetter) -> None:
    """Whether the stage still hears that fact.

    Raises:
        RefusedError: it does not, or there is no such stage or fact.
    """
    fact = FACTS.get(letter.fact)
    if fact is None:
        raise RefusedError(f"dead letter {letter.number}: {letter.subject[:60]!r} names no fact; drop it")
    if letter.stage not in fact.heard_by:
        raise RefusedError(
            f"dead letter {letter.number}: no stage {letter.stage} hears {letter.fact} any more; "
            f"it can only be dropped: answerbus dead drop {letter.number}"
        )


def edited(letter: DeadLetter, document: Mapping[str, Any]) -> DeadLetter:
    """The letter with that payload instead of its own.

    Raises:
        RefusedError: the payload does not fit the fact, or the letter has no envelope to put it in.
    """
    fact = FACTS.get(letter.fact)
    if fact is None:
        raise RefusedError(f"dead letter {letter.number}: {letter.subject[:60]!r} names no fact; drop it")
    payload = checked_payload(fact, document, document)
    try:
        envelope = Envelope.model_validate_json(letter.data)
    except ValidationError:
        raise RefusedError(
            f"dead letter {letter.number} has no envelope that can be read; say its payload as a new question: "
            "answerbus events inject"
        ) from None
    data = json.dumps(envelope.model_dump(mode="json") | {"payload": payload.model_dump(mode="json")}).encode()
    try:
        decode(letter.subject, data)
    except InvalidEventError as error:
        raise RefusedError(f"dead letter {letter.number}: its envelope does not fit its subject ({error})") from None
    return DeadLetter(**{**vars(letter), "data": data, "edited": True})


def _hidden(value: Any) -> Any:
    """The same shape with sizes for texts, also for single words: a code cannot be told from somebody's name."""
    if isinstance(value, str):
        return _size(len(value), "characters")
    if isinstance(value, Mapping):
        return {key: _hidden(one) for key, one in value.items()}
    return [_hidden(one) for one in value] if isinstance(value, list) else value


def _size(count: int, what: str) -> str:
    return f"({count} {what})"
