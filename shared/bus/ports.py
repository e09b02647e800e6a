"""The ports of the bus: reading the log and the dead letters, publishing facts, erasing events."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import cached_property
from typing import Protocol

from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.envelope import Event, decode
from shared.contracts.errors import InvalidEventError, RefusedError
from shared.contracts.facts import FACTS, Fact
from shared.contracts.tenants import DEFAULT_TENANT

#: Headers of a dead letter: the event's subject, the error's kind, text and stack, and whether it was edited.
SUBJECT, KIND, ERROR, STACK, EDITED = (f"Answerbus-{name}" for name in ("Subject", "Kind", "Error", "Stack", "Edited"))
#: Headers of an event that a worker published: which worker, and how often it had been given what it consumed.
WORKER, DELIVERIES = "Answerbus-Worker", "Answerbus-Deliveries"
#: Dead letters of one page.
PAGE = 100


@dataclass(frozen=True)
class Handling:
    """Which worker published an event, and how often what it had consumed was delivered; empty and 0: not known.

    It travels in headers of the message, as it says nothing of the question: the same fact published by another worker
    is the same fact.
    """

    worker: str = ""
    deliveries: int = 0

    @classmethod
    def read(cls, headers: Mapping[str, str] | None) -> Handling:
        """What the headers of a stored message say; what they do not say in this form is not known."""
        worker, count = ((headers or {}).get(key, "") for key in (WORKER, DELIVERIES))
        return cls(worker[:256], int(count) if count.isascii() and count.isdigit() and len(count) < 10 else 0)

    @property
    def headers(self) -> dict[str, str]:
        return {WORKER: self.worker, DELIVERIES: str(self.deliveries)} if self.worker else {}


#: Of events that no worker published, and of those from before it was kept.
NOT_KNOWN = Handling()


@dataclass(frozen=True)
class StoredEvent:
    """An event as stored in the log; `sequence` orders the events of the log (0 for a signal, not stored)."""

    subject: str
    sequence: int
    time: datetime
    data: bytes
    handling: Handling = NOT_KNOWN

    @property
    def correlation_id(self) -> str:
        return self.subject.split(".")[3]

    @property
    def terminal(self) -> bool:
        return self.subject.endswith(f".{subjects.END}")

    def decode(self) -> Event[Fact]:
        """Decode the event.

        Raises:
            InvalidEventError: the bytes do not fit the subject.
        """
        return self._event

    @cached_property
    def _event(self) -> Event[Fact]:
        return decode(self.subject, self.data)


def decodable_events(stored: list[StoredEvent]) -> list[Event[Fact]]:
    """The events that can be decoded; the others are left out (they are in the dead letters)."""
    events = []
    for event in stored:
        with contextlib.suppress(InvalidEventError):
            events.append(event.decode())
    return events


class EventLog(Protocol):
    """Reads the events of one question, and follows live ones."""

    async def history(self, correlation_id: str) -> list[StoredEvent]:
        """All events of the question, in sequence order.

        Raises:
            UnavailableError: NATS is unavailable.
        """

    async def ending(self, correlation_id: str) -> StoredEvent | None:
        """The question's terminal fact, or None before it has ended.

        Raises:
            UnavailableError: NATS is unavailable.
        """

    def since(self, subject: str, moment: datetime) -> AsyncIterator[StoredEvent]:
        """Events stored under a subject filter, oldest first, from that moment to the newest.

        Raises:
            UnavailableError: NATS is unavailable.
        """

    async def follow(self, subject: str, callback: Callable[[StoredEvent], None]) -> Callable[[], Awaitable[None]]:
        """Call `callback` for each event on a live subject; returns a function that unsubscribes.

        Raises:
            UnavailableError: NATS is unavailable.
        """


@dataclass(frozen=True)
class DeadLetter:
    """An event that could not be processed.

    `number` is its stream sequence among the dead letters; `subject` and `data` are the event's own. `stage` failed to
    process it; `kind`, `error` and `stack` describe the error (the stack without values). `edited`: an operator has
    replaced the bytes.
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
    def read(
        cls, number: int, dead_subject: str, headers: Mapping[str, str], data: bytes, time: datetime
    ) -> DeadLetter:
        """Build it from a stored message with the subject `dead_subject` (`dead.<stage>.<question>.<attempt>`)."""
        subject, kind, error, stack = (headers.get(key, "") for key in (SUBJECT, KIND, ERROR, STACK))
        stage = dead_subject.split(".")[1]
        return cls(number, stage, subject, kind, error, stack, EDITED in headers, time, data)

    @property
    def headers(self) -> dict[str, str]:
        headers = {SUBJECT: self.subject, KIND: self.kind, ERROR: self.error, STACK: self.stack}
        return headers | ({EDITED: "yes"} if self.edited else {})

    @property
    def fact(self) -> str:
        """The name of the event's fact; empty if its subject is not a fact's."""
        tokens = self.subject.split(".")
        name = "".join(token.capitalize() for token in tokens[1:3])
        return name if name in FACTS else ""

    @property
    def correlation_id(self) -> str:
        """The id of the event's question; empty if its subject holds none."""
        return next((token for token in self.subject.split(".") if subjects.is_correlation_id(token)), "")

    @property
    def dead_subject(self) -> str:
        """The subject under which it is stored; `DeadLetter.read` reads it."""
        tokens = self.subject.split(".")
        attempt = int(tokens[4]) if len(tokens) == 5 and tokens[4].isdecimal() else 0
        return subjects.dead(self.stage, self.correlation_id or "unknown", attempt)

    @property
    def lane(self) -> str:
        return (subjects.lane_of_subject(self.subject) or Lane.LIVE).value

    @property
    def tenant(self) -> str:
        """The tenant that its envelope names, the default one if it names none; empty if it cannot be read."""
        try:
            envelope = json.loads(self.data)
        except ValueError:
            return ""
        tenant = envelope.get("tenant", DEFAULT_TENANT) if isinstance(envelope, dict) else ""
        return tenant if isinstance(tenant, str) else ""

    def event(self) -> Event[Fact]:
        """Decode the event.

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
class DeadLetterFilter:
    """Selects dead letters; an empty field selects all. `since` is inclusive, `before` exclusive."""

    stage: str = ""
    kind: str = ""
    cid: str = ""
    since: datetime | None = None
    before: datetime | None = None
    tenant: str = ""

    @property
    def subject(self) -> str:
        """The part of the filter that the server can apply, as a subject filter."""
        return subjects.dead_letters(self.stage, self.cid)

    def matches(self, letter: DeadLetter) -> bool:
        """Whether the letter passes the whole filter."""
        return (
            self.stage in ("", letter.stage)
            and self.kind in ("", letter.kind)
            and self.cid in ("", letter.correlation_id)
            and (not self.tenant or letter.tenant == self.tenant)
            and (self.since is None or letter.time >= self.since)
            and (self.before is None or letter.time < self.before)
        )


class DeadLetters(Protocol):
    """Reads dead letters."""

    async def page(self, letter_filter: DeadLetterFilter, *, after: int = 0, limit: int = PAGE) -> list[DeadLetter]:
        """Up to `limit` matching letters with a number above `after`, oldest first.

        Raises:
            UnavailableError: NATS is unavailable.
        """

    async def get(self, number: int) -> DeadLetter:
        """One letter.

        Raises:
            NotFoundError: no letter has that number (any more).
            UnavailableError: NATS is unavailable.
        """


class DeadLetterStore(DeadLetters, Protocol):
    """Reads dead letters, and changes them as an operator."""

    async def add(self, letter: DeadLetter, *, ttl: int = 0) -> int:
        """Store a letter under a new number, which is returned, whatever its own is; it expires after `ttl` seconds.

        With `ttl` 0 it is kept as long as any other.

        Raises:
            RefusedError: NATS refuses it.
            UnavailableError: NATS is unavailable.
        """

    async def delete(self, number: int) -> None:
        """Delete a letter permanently.

        Raises:
            NotFoundError: it has already been deleted.
            UnavailableError: NATS is unavailable.
        """


@dataclass(frozen=True)
class StageDurable:
    """A durable consumer of a stage: events pending and in flight, and the rest of its pause (None: not paused)."""

    durable: str
    stage: str
    lane: str
    pending: int
    in_flight: int
    paused_seconds: float | None


class StageDurables(Protocol):
    """The durable consumers of all stages, which an operator can pause."""

    async def all(self) -> list[StageDurable]:
        """Those that provisioning has created, by name.

        Raises:
            UnavailableError: NATS is unavailable or not provisioned.
        """

    async def pause_until(self, durable: StageDurable, until: datetime) -> None:
        """Deliver no more of its events until then, by the clock of `server_time`.

        Raises:
            UnavailableError: it was not changed; NATS is unavailable.
        """

    async def server_time(self, durable: StageDurable) -> datetime:
        """The clock by which its pause ends.

        Raises:
            UnavailableError: NATS is unavailable.
        """


class PublishResult(Enum):
    """The result of publishing a fact."""

    NEW = "new"
    #: NATS already had the event: an earlier attempt to publish it got through.
    DUPLICATE = "duplicate"
    #: Not stored: the question has another terminal fact (or, for a first fact, events under the same id).
    REJECTED = "rejected"


class FactPublisher(Protocol):
    """Publishes facts on behalf of a client; stages return theirs from the handler instead."""

    async def publish(self, event: Event[Fact], *, first: bool = False) -> PublishResult:
        """Store the event; with `first` only as the first event of its question.

        Raises:
            UnavailableError: NATS did not store it in time.
            RefusedError: NATS will never store it.
        """


class OperatorFacts(FactPublisher, Protocol):
    """Publishes facts for an operator: any fact, also one that the log already has."""

    async def publish_again(self, event: Event[Fact], message_id: str) -> None:
        """Store the event as it is under another message id, so that its consumers are given it once more.

        Raises:
            RefusedError: NATS refuses it.
            UnavailableError: NATS is unavailable, or this user may not publish it.
        """


@dataclass(frozen=True)
class ErasureCounts:
    """How many messages were erased."""

    events: int = 0
    dead_letters: int = 0


class Eraser(Protocol):
    """Overwrites events and dead letters on the disk. Erasing twice is allowed."""

    async def erase_question(self, correlation_id: str) -> ErasureCounts:
        """Erase every event of the question, on either lane, and its dead letters.

        Raises:
            UnavailableError: NATS is unavailable; what was erased until then stays erased.
        """

    async def erase_raw_text(self, before: datetime) -> ErasureCounts:
        """Erase unmoderated text from before that moment: `QuestionAsked` events and their dead letters.

        Raises:
            UnavailableError: NATS is unavailable; what was erased until then stays erased.
        """
