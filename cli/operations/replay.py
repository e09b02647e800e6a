"""Replaying a recorded question: say one of its facts again, wait for the ending, compare."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from cli.operations.candidates import Candidates, Choice, choose
from cli.operations.operator_session import operator_session
from shared.bus.ports import EventLog, FactPublisher, StoredEvent, decodable_events
from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.envelope import Event
from shared.contracts.errors import NotFoundError
from shared.contracts.facts import Fact, QuestionWithdrawn
from shared.contracts.pipelines import Pipeline
from shared.history.diff import Difference, difference
from shared.history.export import read_export
from shared.history.replay_plan import again, is_shortened, starting_point
from shared.runtime.settings import Settings

#: Seconds after a replay's deadline in which a stage may still say that it gave up.
GRACE = 2.0
#: How often the log is asked whether a replay has ended, should the live feed have lost the word.
REREAD = 2.0


@dataclass(frozen=True)
class Recording:
    """A question as it is on record: in the log, or in a file with its pipeline's document."""

    id: str
    events: list[Event[Fact]]
    document: Pipeline | None = None


@dataclass(frozen=True)
class Order:
    """What is asked of a replay; `edit` is what the payload it begins with has instead."""

    start: str = ""
    choice: Choice = field(default_factory=Choice)
    edit: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Replayed:
    """A replay: what it began with, all its events, and the note that it could not begin where it should."""

    recording: Recording
    said: Event[Fact]
    events: list[Event[Fact]]
    note: str = ""

    @property
    def ended(self) -> bool:
        return any(event.payload.terminal for event in self.events)

    @property
    def difference(self) -> Difference:
        return difference(self.recording.events, self.events)

    def as_json(self) -> dict[str, Any]:
        """The replay's id and beginning, and the difference once it has ended."""
        pipeline = self.said.pipeline
        return {
            "id": self.said.correlation_id,
            "parent": self.said.parent,
            "from": f"{self.said.fact}.{self.said.attempt}",
            "pipeline": f"{pipeline.name}@{pipeline.revision}",
            "note": self.note,
            "ended": self.ended,
            "difference": self.difference.model_dump(mode="json") if self.ended else None,
        }


class Replayer:
    """Replays over a log and whoever says facts; open it before the first, close it after the last."""

    def __init__(self, log: EventLog, facts: FactPublisher, pipelines: Candidates) -> None:
        self._log = log
        self._facts = facts
        self._pipelines = pipelines
        self._ended: dict[str, asyncio.Event] = {}
        self._stop: Callable[[], Awaitable[None]] | None = None

    async def open(self) -> None:
        self._stop = await self._log.follow(subjects.live(subjects.endings(Lane.BACKGROUND)), self._heard)

    async def close(self) -> None:
        if self._stop:
            await self._stop()

    async def recording(self, which: str) -> Recording:
        """The question of that id, or in that file.

        Raises:
            NotFoundError: it is neither, or the log has let it go.
            RefusedError: the file is no export that this program can read.
        """
        if not subjects.is_correlation_id(which):
            return recording_in(Path(which))
        events = decodable_events(await self._log.history(which))
        if not events:
            raise NotFoundError(f"nothing is known of {which} in the log any more; was it exported?")
        return Recording(which, events)

    async def replay(self, recording: Recording, order: Order, *, wait: bool = True) -> Replayed:
        """Say the fact again and wait for the ending; nothing is stored when something does not hold.

        Raises:
            NotFoundError, RefusedError, PipelineError: what does not hold, in one line.
            UnavailableError: the bus is away.
        """
        start = starting_point(recording.events, order.start)
        chosen = await choose(self._pipelines, order.choice, start.pipeline, recording.document)
        event = again(start, deadline_seconds=chosen.deadline_seconds, changes=order.edit)
        event = event.model_copy(update={"pipeline": await chosen.reference(self._pipelines)})
        self._ended[event.correlation_id] = asyncio.Event()
        try:
            await self._facts.publish(event)
            if wait:
                await self._until_ended(event)
        finally:
            del self._ended[event.correlation_id]
        events = decodable_events(await self._log.history(event.correlation_id)) if wait else [event]
        return Replayed(recording, event, events, _note(recording, start, order))

    async def ended_since(self, moment: datetime) -> list[str]:
        """The live questions that ended since then, oldest first; those an asker withdrew aside."""
        found: dict[str, None] = {}
        async for one in self._log.since(subjects.endings(Lane.LIVE), moment):
            if subjects.parse(one.subject).fact != QuestionWithdrawn.__name__:
                found[one.correlation_id] = None
        return list(found)

    async def _until_ended(self, event: Event[Fact]) -> None:
        """Until the ending is in the log, or it is too late for one."""
        heard = self._ended[event.correlation_id]
        while (left := event.remaining + GRACE) > 0:
            try:
                await asyncio.wait_for(heard.wait(), min(REREAD, left))
                return
            except TimeoutError:
                if await self._log.ending(event.correlation_id):
                    return

    def _heard(self, stored: StoredEvent) -> None:
        if waiting := self._ended.get(stored.correlation_id):
            waiting.set()


def recording_in(path: Path) -> Recording:
    """The question in an exported file.

    Raises:
        NotFoundError: there is no such file (and it is no id).
        RefusedError: it is no export that this program can read.
    """
    try:
        question = read_export(path.read_bytes(), str(path))
    except OSError:
        raise NotFoundError(f"{path}: neither a question's id (32 hex digits) nor a file that can be read") from None
    return Recording(question.id, question.decoded(), question.document)


def _note(recording: Recording, start: Event[Fact], order: Order) -> str:
    if order.start or not is_shortened(recording.events[0]):
        return ""
    return f"the raw question has expired or was left out; begun with {start.fact}, as recorded"


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Replayer]:
    """A replayer on the bus.

    Raises:
        UnavailableError: no bus answers, or it is not provisioned.
    """
    async with operator_session(settings) as here:
        replayer = Replayer(here.log, here.facts, here.pipelines)
        await replayer.open()
        try:
            yield replayer
        finally:
            await replayer.close()
