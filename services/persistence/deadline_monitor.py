"""The deadline watch: a question whose stages fell silent is ended for its asker, naming the stage that did.

A stage that is at work gives up by itself when the deadline passes. This is for what no worker can say any more: a
stage of which none runs, a worker that died and whose event has not come again. The log is read for what was asked;
whatever is neither on record nor ended shortly after its deadline is abandoned. Every persistence worker could do
this at any time: the broker lets only one ending in. To save work one holds the watch, and writes down how far it
has come for the one after it.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol

import orjson
import structlog
from pydantic import ValidationError

from shared.bus.ports import EventLog, FactPublisher, StoredEvent, decodable_events
from shared.contracts import subjects
from shared.contracts.domain import Lane, Value
from shared.contracts.envelope import IMPORTED, Envelope, Event, following
from shared.contracts.errors import AnswerbusError, UnavailableError
from shared.contracts.facts import FACTS, Fact, QuestionAbandoned, QuestionAsked
from shared.observability import telemetry
from shared.stores.ports import KeyValue

log = structlog.get_logger()

#: Seconds between two looks, and after a deadline in which a stage may still say itself that it gave up.
TICK = 0.5
MARGIN = 0.25
#: Seconds after which the watch of a worker that says nothing passes to another, and between its notes.
LEASE = 5.0
NOTE = 1.0
#: How far back to look where no note is left; longer than a question may take.
HORIZON = timedelta(hours=1)
#: How far one replica of the log may be behind another.
STALE = timedelta(seconds=10)
KEY = "deadline-watch"
MESSAGE = "This took too long and was given up. Please try again."


class Book(Protocol):
    """Knows which questions are over."""

    async def recorded(self, ids: list[str]) -> set[str]:
        """Those of the ids that are on record.

        Raises:
            UnavailableError: the record is away.
        """


class Note(Value):
    """Who holds the watch, when that was written, and since when there may be questions without an ending."""

    holder: str
    at: datetime
    since: datetime


class Reached(NamedTuple):
    """The last event read."""

    sequence: int
    at: datetime


class Pending(NamedTuple):
    """A question that may still be open; the earliest deadline sorts first."""

    deadline: datetime
    sequence: int
    correlation_id: str
    stored: datetime


class DeadlineWatch:
    """A port of persistence; `name` tells the workers apart."""

    def __init__(self, name: str, event_log: EventLog, book: Book, sayer: FactPublisher, notes: KeyValue) -> None:
        self._name = name
        self._log = event_log
        self._book = book
        self._publisher = sayer
        self._notes = notes
        self._pending: list[Pending] = []
        #: How far the log has been read, by lane; nothing while another worker has the watch.
        self._read_to: dict[Lane, Reached] = {}
        self._noted = datetime.min.replace(tzinfo=UTC)
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._task = asyncio.create_task(self._watch())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def look(self, now: datetime) -> None:
        """One look: what was asked since the last one, and what is overdue.

        Raises:
            UnavailableError: the bus is away.
        """
        if not await self._holds(now):
            self._pending, self._read_to = [], {}
            return
        await self._read()
        await self._settle(now)

    async def _watch(self) -> None:
        told = False
        while True:
            await asyncio.sleep(TICK)
            try:
                await self.look(datetime.now(UTC))
                told = False
            except UnavailableError:
                telemetry.DEGRADED.labels("deadline_watch").inc()
                if not told:
                    log.warning("deadlines are not watched while the bus is away")
                told = True
            except AnswerbusError as error:
                log.warning("the deadline watch failed", kind=error.kind)

    async def _holds(self, now: datetime) -> bool:
        """Whether this worker has the watch; it takes it when nobody has written for a while."""
        if self._read_to and (now - self._noted).total_seconds() < NOTE:
            return True
        held: list[Note] = []

        def change(value: bytes | None) -> bytes:
            note = _read_note(value)
            if note is None or note.holder == self._name or (now - note.at).total_seconds() > LEASE:
                note = Note(holder=self._name, at=now, since=self._open_since(note, now))
            held[:] = [note]
            return note.model_dump_json().encode()

        try:
            await self._notes.update(KEY, change, ttl=HORIZON.total_seconds())
        except UnavailableError:  # two that watch say the same, and the broker keeps one
            held[:] = [Note(holder=self._name, at=now, since=self._open_since(None, now))]
        if held[0].holder != self._name:
            return False
        self._noted = now
        self._read_to = self._read_to or dict.fromkeys(Lane, Reached(0, held[0].since))
        return True

    def _open_since(self, note: Note | None, now: datetime) -> datetime:
        """Since when there may be open questions: what this worker knows, or the one before it, or nobody."""
        if self._read_to:
            return min(*(reached.at for reached in self._read_to.values()), *(one.stored for one in self._pending))
        return max(note.since, now - HORIZON) if note else now - HORIZON

    async def _read(self) -> None:
        """Take note of what was asked since the last look."""
        for lane, reached in list(self._read_to.items()):
            known = max(one.at for one in self._read_to.values()) - STALE
            async for stored in self._log.since(subjects.consume_filter(QuestionAsked, lane), reached.at):
                if stored.sequence <= reached.sequence:
                    continue
                if pending := _pending(stored):
                    heapq.heappush(self._pending, pending)
                self._read_to[lane] = Reached(stored.sequence, stored.time)
            # A lane in which nothing is asked would otherwise be searched further back at every look.
            self._read_to[lane] = self._read_to[lane]._replace(at=max(self._read_to[lane].at, known))

    async def _settle(self, now: datetime) -> None:
        """End what is overdue and has no ending."""
        due = []
        while self._pending and self._pending[0].deadline + timedelta(seconds=MARGIN) <= now:
            due.append(heapq.heappop(self._pending))
        try:
            for one in await self._open(due):
                await self._abandon(one)
        except UnavailableError:
            for one in due:  # to be looked at again; what was said meanwhile has its ending
                heapq.heappush(self._pending, one)
            raise

    async def _open(self, due: list[Pending]) -> list[Pending]:
        """Those that are not on record; all of them while the record is away."""
        if not due:
            return []
        try:
            recorded = await self._book.recorded([one.correlation_id for one in due])
        except UnavailableError:
            recorded = set()
        return [one for one in due if one.correlation_id not in recorded]

    async def _abandon(self, overdue: Pending) -> None:
        if await self._log.ending(overdue.correlation_id):
            return
        last, stage = silent(await self._log.history(overdue.correlation_id))
        if last is None:
            return  # forgotten meanwhile
        fact = QuestionAbandoned(stage=stage, kind="deadline", message=MESSAGE)
        with structlog.contextvars.bound_contextvars(correlation_id=overdue.correlation_id):
            log.warning("a question had no ending at its deadline", silent=stage, after=last.fact)
        telemetry.DEADLINES_MISSED.labels(stage).inc()
        await self._publisher.publish(following("persistence", fact, last))


def silent(biography: list[StoredEvent]) -> tuple[Event[Fact] | None, str]:
    """The last step of a question, and the stage that heard it and said nothing."""
    steps = [event for event in decodable_events(biography) if not event.payload.out_of_band]
    if not steps:
        return None, ""
    last = steps[-1]
    return last, FACTS[last.fact].consumed_by[0] if FACTS[last.fact].consumed_by else last.fact


def _pending(stored: StoredEvent) -> Pending | None:
    """What to watch for of an asked question; its envelope is enough, and without one moderation has buried it."""
    try:
        envelope = Envelope.model_validate_json(stored.data)
    except ValidationError:
        return None
    if envelope.origin == IMPORTED:
        return None
    return Pending(envelope.deadline, stored.sequence, stored.correlation_id, stored.time)


def _read_note(value: bytes | None) -> Note | None:
    try:
        return Note.model_validate(orjson.loads(value)) if value else None
    except (orjson.JSONDecodeError, ValidationError):
        return None
