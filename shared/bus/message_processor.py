"""Processes one delivery: decode the event, drop or handle it, publish the resulting fact, acknowledge."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

import structlog

from shared.bus.delivery import Delivery
from shared.bus.ports import Handling, PublishResult
from shared.bus.publisher import Publisher
from shared.bus.retry_policy import RetryPolicy
from shared.bus.withdrawals import Withdrawals
from shared.contracts.domain import Timing
from shared.contracts.envelope import IMPORTED, Event, following
from shared.contracts.errors import ExpiredError, InvalidEventError, PermanentError, PipelineError
from shared.contracts.facts import Fact
from shared.contracts.pipelines import Section, Sections
from shared.contracts.stage import Stage, Subscription
from shared.llm.call_context import CallLedger, model_calls
from shared.observability import telemetry
from shared.observability.traces import Tracer
from shared.text.endings import apply_endings, question_of

log = structlog.get_logger()


class MessageProcessor:
    """Processes the deliveries of one stage."""

    def __init__(
        self,
        stage: Stage,
        publisher: Publisher,
        sections: Sections,
        tracer: Tracer,
        retry_policy: RetryPolicy,
        withdrawals: Withdrawals,
        worker: str = "",
    ) -> None:
        """`worker` is the name that the events it publishes have in their headers."""
        self._stage = stage
        self._publisher = publisher
        self._sections = sections
        self._tracer = tracer
        self._retry_policy = retry_policy
        self._withdrawals = withdrawals
        self._worker = worker

    async def process(self, delivery: Delivery) -> None:
        """Process the delivery until it is acknowledged, scheduled for redelivery, or in the dead letters.

        It is called in a task of its own, whose log lines then name the question and the fact.

        Raises:
            UnavailableError: NATS stored neither the resulting fact nor the dead letter; nothing is acknowledged.
        """
        try:
            event = delivery.event()
        except InvalidEventError as error:
            await self._retry_policy.move_to_dead_letters(
                delivery.subject, delivery.data, None, error, sequence=delivery.sequence
            )
            await delivery.ack()
            return
        structlog.contextvars.bind_contextvars(correlation_id=event.correlation_id, fact=event.fact)
        if delivery.count > 1:
            telemetry.REDELIVERED.labels(self._stage.name, event.fact).inc()
        if event.origin == IMPORTED:  # history of another platform: kept to be read, never processed
            telemetry.DROPPED.labels(self._stage.name, IMPORTED).inc()
            await delivery.ack()
            return
        if event.correlation_id in self._withdrawals and not _ignores_deadline(event):
            telemetry.DROPPED.labels(self._stage.name, "withdrawn").inc()
            await delivery.ack()
            return
        deadline = None if _ignores_deadline(event) else event.deadline
        with model_calls(self._stage.name, deadline) as ledger:
            await self._handle_event(delivery, event, ledger)

    async def _handle_event(self, delivery: Delivery, event: Event[Fact], ledger: CallLedger) -> None:
        started = time.perf_counter()
        waited = max(0.0, (datetime.now(UTC) - delivery.stored_at).total_seconds())
        self._withdrawals.enter(event.correlation_id)
        outcome = "failed"
        try:
            with self._tracer.fact_span(event, delivery.headers) as trace:
                ledger.models = await self._sections.models(event.pipeline)
                fact = await self._call_handler(delivery.subscription, event, delivery.count)
                outcome = type(fact).__name__ if fact else "nothing"
                if fact is not None:
                    if fact.terminal:
                        endings = await self._sections.endings(event.pipeline)
                        fact = apply_endings(fact, endings, question_of(fact, event.payload))
                    worked = time.perf_counter() - started
                    timing = Timing(
                        stage=self._stage.name, waited_ms=round(waited * 1e3, 2), worked_ms=round(worked * 1e3, 2)
                    )
                    next_event = following(self._stage.name, fact, event, timing, model_calls=tuple(ledger.calls))
                    result = await self._publisher.publish(
                        next_event, trace=trace, handling=Handling(self._worker, delivery.count)
                    )
                    outcome = "rejected" if result is PublishResult.REJECTED else outcome
                self._tracer.set_result(fact)
            await delivery.ack()
        except asyncio.CancelledError:
            if event.correlation_id not in self._withdrawals:
                raise
            outcome = "withdrawn"
            await delivery.ack()
        except Exception as error:
            outcome = await self._retry_policy.handle(delivery, event, error)
        finally:
            self._withdrawals.leave(event.correlation_id)
            telemetry.WAITED.labels(self._stage.name, event.fact).observe(waited)
            telemetry.WORKED.labels(self._stage.name, event.fact, outcome).observe(time.perf_counter() - started)

    async def _call_handler(self, subscription: Subscription, event: Event[Fact], deliveries: int) -> Fact | None:
        """Call the handler; a step of a question gets at most the time left until the question's deadline.

        Raises:
            ExpiredError: the deadline has passed.
        """
        section = None
        if self._stage.settings is not None:
            section = await self._section(self._stage.settings, event)
        if _ignores_deadline(event):
            return await subscription.handle(event, section, deliveries)
        remaining = event.remaining
        if remaining <= 0:
            raise ExpiredError("the deadline had passed before the stage started to process the event")
        deadline = asyncio.timeout(remaining)
        try:
            async with deadline:
                return await subscription.handle(event, section, deliveries)
        except TimeoutError:
            if deadline.expired():
                raise ExpiredError("the deadline passed while the stage processed the event") from None
            raise

    async def _section(self, kind: type[Section], event: Event[Fact]) -> Section:
        """The stage's settings from the pipeline revision that the event names.

        Raises:
            PermanentError: that revision does not exist any more, and the event cannot be processed without it.
        """
        try:
            return await self._sections.section(event.pipeline, self._stage.name, kind)
        except PipelineError as error:
            if _ignores_deadline(event):
                return kind()  # what has happened is recorded even if its pipeline was deleted: with default settings
            raise PermanentError(str(error), kind=error.kind) from None


def _ignores_deadline(event: Event[Fact]) -> bool:
    """Terminal and out-of-band facts are processed even when their question has expired or was withdrawn."""
    return event.payload.terminal or event.payload.out_of_band
