"""One delivery of one event: read it, judge whether to work on it at all, work, say the outcome, acknowledge."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog
from faststream.nats import NatsMessage

from shared.bus.ports import PublishResult
from shared.bus.publisher import Publisher
from shared.bus.retry_policy import RetryPolicy
from shared.bus.withdrawals import Withdrawals
from shared.contracts.domain import Timing
from shared.contracts.envelope import IMPORTED, Event, decode, following
from shared.contracts.errors import ExpiredError, InvalidEventError, PermanentError, PipelineError
from shared.contracts.facts import Fact
from shared.contracts.pipelines import Section, Sections
from shared.contracts.stage import Stage, Subscription
from shared.llm.call_context import model_calls, recorded_calls
from shared.observability import telemetry

log = structlog.get_logger()

#: The server's mark on what it sends in answer to a direct get, to whatever subject the request names: also a fact's.
ANSWERED = "Nats-Stream"


@dataclass(frozen=True)
class Job:
    """A message on its way through one handler."""

    subscription: Subscription
    message: NatsMessage

    @property
    def subject(self) -> str:
        return self.message.raw_message.subject

    @property
    def data(self) -> bytes:
        return self.message.raw_message.data

    @property
    def delivery(self) -> int:
        """1 for the first delivery."""
        return int(self.message.raw_message.metadata.num_delivered or 1)

    @property
    def sequence(self) -> int:
        """Its place in the log."""
        return int(self.message.raw_message.metadata.sequence.stream)

    def event(self) -> Event[Fact]:
        """What the message says.

        Raises:
            InvalidEventError: it is no event, or none that a service said.
        """
        if ANSWERED in (self.message.raw_message.headers or {}):
            raise InvalidEventError("the bus sent this as the answer to a direct get; no service said it")
        return decode(self.subject, self.data)

    @property
    def stored_at(self) -> datetime:
        return self.message.raw_message.metadata.timestamp


class MessageProcessor:
    """Does jobs for one stage."""

    def __init__(
        self,
        stage: Stage,
        publisher: Publisher,
        sections: Sections,
        tracer: telemetry.Tracer,
        failures: RetryPolicy,
        withdrawals: Withdrawals,
    ) -> None:
        self._stage = stage
        self._publisher = publisher
        self._sections = sections
        self._tracer = tracer
        self._retry_policy = failures
        self._withdrawals = withdrawals

    async def do(self, job: Job) -> None:
        """Work on the job to its end: acknowledged, handed back with a delay, or in dead letters.

        Raises:
            UnavailableError: the bus took neither the outcome nor the failure.
        """
        try:
            event = job.event()
        except InvalidEventError as error:
            await self._retry_policy.give_up(job.subject, job.data, None, error, sequence=job.sequence)
            await job.message.ack()
            return
        with structlog.contextvars.bound_contextvars(correlation_id=event.correlation_id, fact=event.fact):
            if job.delivery > 1:
                telemetry.REDELIVERED.labels(self._stage.name, event.fact).inc()
            if event.origin == IMPORTED:  # the history of another platform, to be looked at
                telemetry.DROPPED.labels(self._stage.name, IMPORTED).inc()
                await job.message.ack()
                return
            if event.correlation_id in self._withdrawals and not _outlives_question(event):
                telemetry.DROPPED.labels(self._stage.name, "withdrawn").inc()
                await job.message.ack()
                return
            deadline = None if _outlives_question(event) else event.deadline
            with model_calls(self._stage.name, deadline):
                await self._work_on(job, event)

    async def _work_on(self, job: Job, event: Event[Fact]) -> None:
        started = time.perf_counter()
        waited = max(0.0, (datetime.now(UTC) - job.stored_at).total_seconds())
        self._withdrawals.enter(event.correlation_id)
        outcome = "failed"
        try:
            with self._tracer.span(f"{self._stage.name} {event.fact}", job.message.raw_message.headers) as trace:
                fact = await self._perform(job.subscription, event)
                outcome = type(fact).__name__ if fact else "nothing"
                if fact is not None:
                    worked = time.perf_counter() - started
                    timing = Timing(
                        stage=self._stage.name, waited_ms=round(waited * 1e3, 2), worked_ms=round(worked * 1e3, 2)
                    )
                    said_event = following(self._stage.name, fact, event, timing, model_calls=recorded_calls())
                    said = await self._publisher.publish(said_event, trace=trace)
                    outcome = "lost" if said is PublishResult.REJECTED else outcome
            await job.message.ack()
        except asyncio.CancelledError:
            if event.correlation_id not in self._withdrawals:
                raise
            outcome = "withdrawn"
            await job.message.ack()
        except Exception as error:
            outcome = await self._retry_policy.handle(job, event, error)
        finally:
            self._withdrawals.leave(event.correlation_id)
            telemetry.WAITED.labels(self._stage.name, event.fact).observe(waited)
            telemetry.WORKED.labels(self._stage.name, event.fact, outcome).observe(time.perf_counter() - started)

    async def _perform(self, subscription: Subscription, event: Event[Fact]) -> Fact | None:
        """Call the handler; a step of a question gets no more time than its deadline leaves.

        Raises:
            ExpiredError: the deadline has passed.
        """
        section = None
        if self._stage.settings is not None:
            section = await self._section(self._stage.settings, event)
        if _outlives_question(event):
            return await subscription.handle(event, section)
        remaining = event.remaining
        if remaining <= 0:
            raise ExpiredError("the deadline had passed when the stage came to it")
        deadline = asyncio.timeout(remaining)
        try:
            async with deadline:
                return await subscription.handle(event, section)
        except TimeoutError:
            if deadline.expired():
                raise ExpiredError("the deadline passed while the stage worked") from None
            raise

    async def _section(self, kind: type[Section], event: Event[Fact]) -> Section:
        """The stage's settings of the event's own pipeline revision.

        Raises:
            PermanentError: that revision is gone, and the event needs it.
        """
        try:
            return await self._sections.section(event.pipeline, self._stage.name, kind)
        except PipelineError as error:
            if _outlives_question(event):
                return kind()  # what has happened is recorded whatever became of its pipeline
            raise PermanentError(str(error), kind=error.kind) from None


def _outlives_question(event: Event[Fact]) -> bool:
    """Endings and asides are worked on whatever became of the question."""
    return event.payload.terminal or event.payload.out_of_band
