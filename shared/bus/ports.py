"""What the rest of the program asks of the bus: read the log and the dead letters, publish facts, erase."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol

from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.envelope import Event, decode
from shared.contracts.errors import InvalidEventError, RefusedError
from shared.contracts.facts import FACTS, Fact

#: Headers of a dead letter.
SUBJECT, KIND, ERROR, STACK, EDITED = (f"Answerbus-{name}" for name in ("Subject", "Kind", "Error", "Stack", "Edited"))
#: Letters of one page.
PAGE = 100


@dataclass(frozen=True)
class StoredEvent:
    """An event as the log keeps it; `sequence` orders all events of the system (0 for a signal, which is not kept)."""

    subject: str
    sequence: int
    time: datetime
    data: bytes

    @property
    def correlation_id(self) -> str:
        return self.subject.split(".")[3]

    @property
    def terminal(self) -> bool:
        return self.subject.endswith(f".{subjects.END}")

    def decode(self) -> Event[Fact]:
        """Read the event.

        Raises:
            InvalidEventError: the bytes do not fit the subject.
        """
        return decode(self.subject, self.data)


def readable(stored: list[StoredEvent]) -> list[Event[Fact]]:
    """The events whose bytes can be read; one that cannot is in dead letters and must not hide the others."""
    events = []
    for one in stored:
        with contextlib.suppress(InvalidEventError):
            events.append(one.decode())
    return events


class EventLog(Protocol):
    """Reads events of one question and follows live ones."""

    async def history(self, correlation_id: str) -> list[StoredEvent]:
        """All events of the question, in sequence order.

        Raises:
            UnavailableError: the bus is away.
        """

    async def ending(self, correlation_id: str) -> StoredEvent | None:
        """The question's terminal fact, when it has one.

        Raises:
            UnavailableError: the bus is away.
        """

    def since(self, subject: str, moment: datetime) -> AsyncIterator[StoredEvent]:
        """What is stored under a filter, oldest first, from that moment to the newest there is.

        Raises:
            UnavailableError: the bus is away.
        """

    async def follow(self, subject: str, callback: Callable[[StoredEvent], None]) -> Callable[[], Awaitable[None]]:
        """Call back for everything said on a live subject; returns how to stop."""


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


class PublishResult(Enum):
    """What became of a fact."""

    NEW = "new"
    #: The broker had it already: an earlier try of the same work got through.
    DUPLICATE = "duplicate"
    #: Another ending (or, for a first fact, another question under the same id) came first; this one is dropped.
    REJECTED = "lost"


class FactPublisher(Protocol):
    """Says facts on a client's behalf."""

    async def publish(self, event: Event[Fact], *, first: bool = False) -> PublishResult:
        """Store the event; with `first` only when nothing is known of its question.

        Raises:
            UnavailableError: the bus did not store it in time.
            RefusedError: the bus never will.
        """


@dataclass(frozen=True)
class Erased:
    """How many there were."""

    events: int = 0
    dead_letters: int = 0


class Eraser(Protocol):
    """Overwrites events and dead letters where they are stored. Erasing again what is gone is no error."""

    async def question(self, correlation_id: str) -> Erased:
        """Every event of the question, on either lane, and its dead letters.

        Raises:
            UnavailableError: the bus is away; what was erased before stays so.
        """

    async def raw_text(self, before: datetime) -> Erased:
        """What clients asked before that moment, as they typed it: `QuestionAsked` and its dead letters.

        Raises:
            UnavailableError: the bus is away; what was erased before stays so.
        """
