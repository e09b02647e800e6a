"""Stages on a list instead of a broker: for the tests of whoever writes or changes a stage.

    async with MemoryBus(moderation.build, translation.build, sections={"moderation": {"short_words": 0}}) as bus:
        asked = await bus.question("May I bring a dog?")     # said, heard, answered ... until nothing is left
        assert bus.only(asked.correlation_id, QuestionCleared).question.language == "eng"

What becomes of an event is decided by the delivery's own `MessageProcessor` and `RetryPolicy`, so deadlines, retries, withdrawal, dead
letters and timelines are those of a worker. Replaced is what NATS does: events are kept as bytes in a list, an id is
stored once, a question ends once, and everything stored or signalled reaches those who `follow`. Work is done one event
at a time, in the order of the list; a retry comes at once, its delay is noted in `handed_back`. An error that is not
one of ours is a bug of the stage and leaves `run`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, Protocol, Self, TypeVar, cast

from faststream.nats import NatsMessage

from shared.bus import Publisher
from shared.bus.message_processor import Job, MessageProcessor
from shared.bus.ports import PAGE, DeadLetter, Erased, PublishResult, StoredEvent, Wanted
from shared.bus.retry_policy import RetryPolicy
from shared.bus.withdrawals import Withdrawals
from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.envelope import Event, opening
from shared.contracts.errors import AnswerbusError, NotFoundError, UnavailableError
from shared.contracts.facts import Fact, QuestionAsked, QuestionWithdrawn
from shared.contracts.pipelines import Sections
from shared.contracts.requests.request import R, Request
from shared.contracts.signals import Signal
from shared.contracts.stage import Stage, Subscription
from shared.llm.none import NoModels
from shared.llm.ports import Models
from shared.observability import telemetry
from shared.observability.worker_status import StageReport
from shared.runtime.context import StageContext
from shared.runtime.settings import Settings
from shared.stores.memory import MemoryKeyValue, MemoryObjects, MemoryPipelines

Build = Callable[[StageContext], Stage]
Callback = Callable[[StoredEvent], None]

F = TypeVar("F", bound=Fact)


class MemoryLog:
    """An `EventLog` and a `FactPublisher` over one list; set `away` to let both fail as without a bus.

    `lost` are the endings (and first facts) that came second, `dead` what went to dead letters.
    """

    def __init__(self) -> None:
        self.stored: list[StoredEvent] = []
        self.lost: list[Event[Fact]] = []
        self.dead: list[KeptDeadLetter] = []
        self.away = False
        self._ids: set[str] = set()
        self._sequence = 0
        self._followers: list[tuple[str, Callback]] = []

    async def publish(
        self, event: Event[Fact], *, trace: dict[str, str] | None = None, first: bool = False
    ) -> PublishResult:
        """Store the event, judged as the broker judges it."""
        self._reach()
        if event.event_id in self._ids:
            return PublishResult.DUPLICATE
        if (first and self._of(event.correlation_id)) or (event.payload.terminal and self._ending(event)):
            self.lost.append(event)
            return PublishResult.REJECTED
        self._ids.add(event.event_id)
        self._sequence += 1
        sequence = self._sequence
        self.stored.append(StoredEvent(event.subject, sequence, datetime.now(UTC), event.encode()))
        self.republish(self.stored[-1])
        return PublishResult.NEW

    async def dead_letter(self, subject: str, data: bytes, headers: dict[str, str]) -> None:
        """Keep what could not be worked on."""
        self.dead.append(KeptDeadLetter(subject, data, headers))

    def republish(self, event: StoredEvent) -> None:
        """Hand an event to those who follow, as the server does with everything stored."""
        self.signal(subjects.live(event.subject), event)

    def signal(self, subject: str, event: StoredEvent) -> None:
        """Hand out what is said on a live subject and kept nowhere."""
        for pattern, callback in list(self._followers):
            if _matches(pattern, subject):
                callback(event)

    async def history(self, correlation_id: str) -> list[StoredEvent]:
        self._reach()
        return self._of(correlation_id)

    async def ending(self, correlation_id: str) -> StoredEvent | None:
        self._reach()
        return next((one for one in self._of(correlation_id) if one.terminal), None)

    async def since(self, subject: str, moment: datetime) -> AsyncIterator[StoredEvent]:
        self._reach()
        for one in list(self.stored):
            if one.time >= moment and _matches(subject, one.subject):
                yield one

    async def follow(self, subject: str, callback: Callback) -> Callable[[], Awaitable[None]]:
        follower = (subject, callback)
        self._followers.append(follower)

        async def stop() -> None:
            self._followers.remove(follower)

        return stop

    def _of(self, correlation_id: str) -> list[StoredEvent]:
        """The last event of every subject, as the server's direct get has it."""
        last = {one.subject: one for one in self.stored if one.correlation_id == correlation_id}
        return sorted(last.values(), key=lambda one: one.sequence)

    def _reach(self) -> None:
        if self.away:
            raise UnavailableError("the bus is away")

    def _ending(self, event: Event[Fact]) -> bool:
        scope = subjects.ending_of(event.lane, event.correlation_id)
        return any(_matches(scope, one.subject) for one in self.stored)


@dataclass(frozen=True)
class KeptDeadLetter:
    """An event that could not be worked on: where it would be kept, its bytes, and why in the headers."""

    subject: str
    data: bytes
    headers: dict[str, str]


class MemoryBus:
    """Stages by their `build`, over the ports of this module; see the head of the file.

    `sections` is the default pipeline. It plays `Stores`, `SignalPublisher` and `RequestClient` itself, as a worker's connection does.
    """

    def __init__(
        self,
        *builds: Build,
        sections: Mapping[str, Any] | None = None,
        settings: Settings | None = None,
        models: Models | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.models = models or NoModels()
        self.log = MemoryLog()
        self.pipelines = MemoryPipelines()
        self.pipelines.apply(self.settings.default_pipeline, sections or {})
        self.spoken: list[tuple[str, Signal]] = []
        self.handed_back: list[tuple[str, float]] = []
        self.reports: list[StageReport] = []
        self.backlog_seconds = 0.0
        self._key_values: dict[str, MemoryKeyValue] = {}
        self._objects: dict[str, MemoryObjects] = {}
        self._waiting: deque[tuple[Subscription, _Message]] = deque()
        self._at_work = 0
        self._arrived = asyncio.Event()
        self._withdrawals: list[Withdrawals] = []
        self._works: dict[str, MessageProcessor] = {}
        self.stages = [build(self.context()) for build in builds]
        for stage in self.stages:
            self._employ(stage)

    def context(self) -> StageContext:
        """What a stage's `build` gets."""
        return StageContext(
            settings=self.settings,
            stores=self,
            signals=self,
            requests=self,
            log=self.log,
            dead=MemoryDeadLetters(lambda: [(one.subject, one.headers, one.data) for one in self.log.dead]),
            eraser=MemoryEraser(self.log),
            pipelines=self.pipelines,
            facts=lambda _: self.log,
            overview=self._overview,
            oldest_waiting=self._oldest_waiting,
            is_connected=lambda: not self.log.away,
            models=self.models,
        )

    async def __aenter__(self) -> Self:
        await self.log.follow(">", self._heard)
        for stage in self.stages:
            for port in stage.ports:
                await port.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        for stage in reversed(self.stages):
            for port in reversed(stage.ports):
                await port.close()

    async def question(self, text: str, *, pipeline: str = "", deadline: float = 60.0, **fields: Any) -> Event[Fact]:
        """Say `QuestionAsked` and let the stages work; `fields` are those of the fact and of `opening`."""
        envelope = {key: fields.pop(key) for key in ("correlation_id", "conversation_id", "lane") if key in fields}
        ref = self.pipelines.current(pipeline or self.settings.default_pipeline)
        assert ref is not None
        fact = QuestionAsked(text=text, **fields)
        return await self.publish(opening("gateway", fact, pipeline=ref, deadline_seconds=deadline, **envelope))

    async def publish(self, event: Event[Fact]) -> Event[Fact]:
        """Say an event and let the stages work until nothing is left; returns the event."""
        await self.log.publish(event)
        await self.run()
        return event

    async def run(self) -> None:
        """Do all work there is, and what comes of it."""
        while self._waiting:
            subscription, message = self._waiting.popleft()
            # A task of its own, as in a worker: a withdrawal cancels it.
            self._at_work += 1
            await asyncio.create_task(
                self._works[subscription.stage].do(Job(subscription, cast("NatsMessage", message)))
            )
            self._at_work -= 1
            if message.delay is not None:
                self.handed_back.append((subscription.name, message.delay))
                self._waiting.append((subscription, _Message(message.stored, message.delivery + 1)))

    async def serve(self) -> None:
        """Work for ever, for tests in which a client waits meanwhile; run it as a task and cancel it."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            await self.run()

    @property
    def idle(self) -> bool:
        """Whether nothing is left to do and nobody is at work, where `serve` works beside the test."""
        return not self._waiting and not self._at_work

    def history(self, correlation_id: str) -> list[Event[Fact]]:
        """What was said of a question, in order, read back from its bytes."""
        return [one.decode() for one in self.log.stored if one.correlation_id == correlation_id]

    def names(self, correlation_id: str) -> list[str]:
        """The names of its facts, in order."""
        return [event.fact for event in self.history(correlation_id)]

    def only(self, correlation_id: str, kind: type[F]) -> F:
        """The one fact of that kind.

        Raises:
            AssertionError: there is none, or another one; the text names what there is.
        """
        found = [event.payload for event in self.history(correlation_id) if isinstance(event.payload, kind)]
        assert len(found) == 1, f"{len(found)} {kind.__name__} among {self.names(correlation_id)}"
        return found[0]

    def key_value(self, bucket: str) -> MemoryKeyValue:
        return self._key_values.setdefault(bucket, MemoryKeyValue())

    def objects(self, bucket: str) -> MemoryObjects:
        return self._objects.setdefault(bucket, MemoryObjects())

    async def publish_signal(self, correlation_id: str, signal: Signal) -> None:
        self.spoken.append((correlation_id, signal))
        subject = subjects.signal(signal.kind, correlation_id)
        event = StoredEvent(subject, 0, datetime.now(UTC), signal.model_dump_json().encode())
        self.log.signal(subject, event)

    async def ask(self, request: Request[R], timeout: float = 5.0) -> R:
        """Send the request to its stage, as JSON both ways."""
        handlers = (one for each in self.stages for one in each.request_handlers)
        asked = next((one for one in handlers if one.request is type(request)), None)
        if asked is None:
            raise UnavailableError(f"no {request.stage} worker is running")
        try:
            async with asyncio.timeout(timeout):
                reply = await asked.handler(asked.request.model_validate_json(request.model_dump_json()))
        except TimeoutError:
            raise UnavailableError(f"{request.stage} did not reply within {timeout:g} s") from None
        return cast("R", request.reply.model_validate_json(reply.model_dump_json()))

    async def _overview(self) -> list[StageReport]:
        if self.log.away:
            raise UnavailableError("the bus is away")
        return self.reports

    async def _oldest_waiting(self) -> float:
        return self.backlog_seconds

    def _employ(self, stage: Stage) -> None:
        withdrawals = Withdrawals()
        publisher = cast("Publisher", self.log)
        failures = _Failures(stage, publisher, self.settings.max_deliveries, self.settings.default_pipeline)
        tracer = telemetry.Tracer(self.settings.otlp_endpoint, stage.name)
        self._withdrawals.append(withdrawals)
        self._works[stage.name] = MessageProcessor(
            stage, publisher, Sections(self.pipelines), tracer, failures, withdrawals
        )

    def _heard(self, event: StoredEvent) -> None:
        """Put work on the list for every stage that hears the event."""
        if not event.sequence:
            return
        if subjects.parse(event.subject).fact == QuestionWithdrawn.__name__:
            for withdrawals in self._withdrawals:
                withdrawals.withdraw(event.correlation_id)
        for stage in self.stages:
            for subscription in stage.subscriptions:
                if any(_matches(subscription.filter(lane), event.subject) for lane in Lane):
                    self._waiting.append((subscription, _Message(event)))
        self._arrived.set()


class _Failures(RetryPolicy):
    """Lets bugs out instead of handing their events back."""

    async def handle(self, job: Job, event: Event[Fact], error: Exception) -> str:
        if not isinstance(error, AnswerbusError):
            raise error
        return await super().handle(job, event, error)


class _Message:
    """What `MessageProcessor` uses of a broker's message; `delay` is set when it was handed back."""

    def __init__(self, stored: StoredEvent, delivery: int = 1) -> None:
        self.stored = stored
        self.delivery = delivery
        self.delay: float | None = None
        sequence = SimpleNamespace(stream=stored.sequence)
        metadata = SimpleNamespace(num_delivered=delivery, timestamp=stored.time, sequence=sequence)
        self.raw_message = SimpleNamespace(subject=stored.subject, data=stored.data, headers=None, metadata=metadata)

    async def ack(self) -> None:
        self.delay = None

    async def nack(self, delay: float) -> None:
        self.delay = delay


def _matches(pattern: str, subject: str) -> bool:
    """Whether a subject fits a filter with `*` and a closing `>`, as the broker sees it."""
    wanted, found = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        wanted, found = wanted[:-1], found[: len(wanted) - 1]
    return len(wanted) == len(found) and all(one in ("*", other) for one, other in zip(wanted, found, strict=True))


class MemoryDeadLetters:
    """`DeadLetters` over what was kept: subject, headers and bytes, numbered from 1."""

    def __init__(self, kept: Callable[[], Sequence[tuple[str, Mapping[str, str], bytes]]]) -> None:
        self._kept = kept
        self._since = datetime.now(UTC)

    async def page(self, wanted: Wanted, *, after: int = 0, limit: int = PAGE) -> list[DeadLetter]:
        return [one for one in self._letters() if one.number > after and wanted.takes(one)][:limit]

    async def get(self, number: int) -> DeadLetter:
        found = next((one for one in self._letters() if one.number == number), None)
        if found is None:
            raise NotFoundError(f"there is no dead letter {number}")
        return found

    def _letters(self) -> list[DeadLetter]:
        return [DeadLetter.read(n, *one, self._since) for n, one in enumerate(self._kept(), start=1)]


class _Kept(Protocol):
    """What a log in memory keeps."""

    stored: list[StoredEvent]
    dead: list[KeptDeadLetter]


class MemoryEraser:
    """An `Eraser` of a log in memory."""

    def __init__(self, log: _Kept) -> None:
        self._log = log

    async def question(self, correlation_id: str) -> Erased:
        return self._erase(lambda one: one.correlation_id == correlation_id)

    async def raw_text(self, before: datetime) -> Erased:
        return self._erase(lambda one: one.time < before and subjects.is_raw(one.subject))

    def _erase(self, wanted: Callable[[StoredEvent], bool]) -> Erased:
        events = [one for one in self._log.stored if wanted(one)]
        letters = [one for one in self._log.dead if any(one.data == event.data for event in events)]
        self._log.stored[:] = [one for one in self._log.stored if one not in events]
        self._log.dead[:] = [one for one in self._log.dead if one not in letters]
        return Erased(len(events), len(letters))
