"""What happens around a handler, as middlewares of FastStream; `STAGE_MIDDLEWARES` is their order, the outermost first.

Around all of them is FastStream's own acknowledgement (`AckPolicy.NACK_ON_ERROR`): an event is acknowledged when they
have all returned, hence after the next fact is stored, or as `Retries` says by `AckMessage` or `NackMessage`.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog
from faststream import BaseMiddleware
from faststream.exceptions import NackMessage

from shared.bus.message import EventMessage
from shared.bus.ports import Handling, PublishResult
from shared.bus.publisher import Publisher
from shared.bus.retry_policy import RetryPolicy
from shared.bus.withdrawals import Withdrawals
from shared.contracts.domain import Timing
from shared.contracts.envelope import IMPORTED, Event, following
from shared.contracts.errors import ExpiredError, InvalidEventError, PermanentError, PipelineError
from shared.contracts.facts import Fact
from shared.contracts.pipelines import Section, Sections
from shared.contracts.stage import Stage
from shared.llm.call_context import current_ledger, model_calls
from shared.observability import telemetry
from shared.observability.traces import Tracer
from shared.text.endings import apply_endings, question_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from faststream import ContextRepo

    CallNext = Callable[[Any], Awaitable[Any]]

log = structlog.get_logger()

#: Names in FastStream's context, for handlers: the section of the pipeline that the event names, and its message.
SECTION, MESSAGE = "section", "message"


@dataclass(frozen=True)
class StageServices:
    """What the middlewares of one stage use; `worker` is the name that the events it publishes have in their headers.

    `held` are the messages in work, with the time since when (by the monotonic clock).
    """

    stage: Stage
    publisher: Publisher
    sections: Sections
    tracer: Tracer
    retry_policy: RetryPolicy
    withdrawals: Withdrawals
    worker: str = ""
    held: dict[EventMessage, float] = field(default_factory=dict)

    def middlewares(self) -> Sequence[Any]:
        """The middlewares, as a router or broker takes them: each is made anew for every message."""
        return [partial(kind, services=self) for kind in STAGE_MIDDLEWARES]


class StageMiddleware(BaseMiddleware[Any, Any]):
    """A middleware with the services of its stage."""

    __slots__ = ("services",)

    def __init__(self, msg: Any, /, *, context: ContextRepo, services: StageServices) -> None:
        super().__init__(msg, context=context)
        self.services = services


class Heartbeat(StageMiddleware):
    """Notes that the message is in work, for as long as it is: `Heartbeats` then extends its ack wait."""

    __slots__ = ()

    async def consume_scope(self, call_next: CallNext, msg: Any) -> Any:
        self.services.held[msg] = time.monotonic()
        try:
            return await call_next(msg)
        finally:
            del self.services.held[msg]


class Telemetry(StageMiddleware):
    """Decodes the event, binds its names to the log lines of this task, and measures how long it waited and took."""

    __slots__ = ()

    async def consume_scope(self, call_next: CallNext, msg: Any) -> Any:
        try:
            event: Event[Fact] = await msg.decode()
        except InvalidEventError:
            return await call_next(msg)  # the handler's decoder raises it again: `Retries` decides
        msg.event, stage = event, self.services.stage.name
        structlog.contextvars.bind_contextvars(correlation_id=event.correlation_id, fact=event.fact)
        if msg.deliveries > 1:
            telemetry.REDELIVERED.labels(stage, event.fact).inc()
        in_flight = telemetry.IN_FLIGHT.labels(stage)
        waited, started = msg.waited, time.perf_counter()
        in_flight.inc()
        try:
            return await call_next(msg)
        finally:
            in_flight.dec()
            if msg.outcome is not None:
                telemetry.WAITED.labels(stage, event.fact).observe(waited)
                telemetry.WORKED.labels(stage, event.fact, msg.outcome).observe(time.perf_counter() - started)


class ModelCalls(StageMiddleware):
    """Collects the records of model calls made meanwhile, and gives these calls the question's deadline."""

    __slots__ = ()

    async def consume_scope(self, call_next: CallNext, msg: Any) -> Any:
        with model_calls(self.services.stage.name, None if msg.ignores_deadline else msg.event.deadline):
            return await call_next(msg)


class Retries(StageMiddleware):
    """Retries an event that failed after a delay, or moves it to the dead letters before it is acknowledged."""

    __slots__ = ()

    async def consume_scope(self, call_next: CallNext, msg: Any) -> Any:
        try:
            return await call_next(msg)
        except Exception as error:
            failure = error
        try:
            instruction = await self.services.retry_policy.decide(msg, failure)
        except Exception:
            # Neither the resulting fact nor the dead letter could be stored: the server redelivers the message.
            log.exception("delivery could not be completed", subject=".".join(msg.subject.split(".")[:3]))
            instruction = NackMessage(delay=1.0)
        raise instruction


class Withdrawal(StageMiddleware):
    """Drops the events of withdrawn questions, also while they are processed, and those of another platform."""

    __slots__ = ()

    async def consume_scope(self, call_next: CallNext, msg: Any) -> Any:
        event, withdrawals = msg.event, self.services.withdrawals
        if event is None:
            return await call_next(msg)
        if event.origin == IMPORTED:  # kept to be read, never processed
            return self._dropped(msg, IMPORTED)
        if event.correlation_id in withdrawals and not msg.ignores_deadline:
            return self._dropped(msg, "withdrawn")
        withdrawals.enter(event.correlation_id)
        try:
            return await call_next(msg)
        except asyncio.CancelledError:
            if event.correlation_id not in withdrawals:
                raise
            msg.outcome = "withdrawn"
        finally:
            withdrawals.leave(event.correlation_id)

    def _dropped(self, msg: EventMessage, reason: str) -> None:
        telemetry.DROPPED.labels(self.services.stage.name, reason).inc()
        msg.outcome = None


class NextFact(StageMiddleware):
    """Publishes the fact that the handler returns, with its timeline, and waits until it is stored; in a span."""

    __slots__ = ()

    async def consume_scope(self, call_next: CallNext, msg: Any) -> Any:
        if msg.event is None:
            return await call_next(msg)
        waited, started = msg.waited, time.perf_counter()
        with self.services.tracer.fact_span(msg.event, msg.headers) as trace:
            fact: Fact | None = await call_next(msg)
            msg.outcome = type(fact).__name__ if fact else "nothing"
            if fact is not None:
                timing = Timing(
                    stage=self.services.stage.name,
                    waited_ms=round(waited * 1e3, 2),
                    worked_ms=round((time.perf_counter() - started) * 1e3, 2),
                )
                await self._publish(fact, msg, timing, trace)
            self.services.tracer.set_result(fact)
        return None

    async def _publish(self, fact: Fact, msg: EventMessage, timing: Timing, trace: dict[str, str]) -> None:
        services, event, ledger = self.services, msg.event, current_ledger()
        assert event is not None
        if fact.terminal:
            endings = await services.sections.endings(event.pipeline)
            fact = apply_endings(fact, endings, question_of(fact, event.payload))
        calls = tuple(ledger.calls) if ledger else ()
        next_event = following(services.stage.name, fact, event, timing, model_calls=calls)
        handling = Handling(services.worker, msg.deliveries)
        result = await services.publisher.publish(next_event, trace=trace, handling=handling)
        if result is PublishResult.REJECTED:
            msg.outcome = "rejected"


class PipelineSection(StageMiddleware):
    """Puts the stage's settings, from the pipeline revision that the event names, into the context of the handler."""

    __slots__ = ()

    async def consume_scope(self, call_next: CallNext, msg: Any) -> Any:
        event, services = msg.event, self.services
        if event is None:
            return await call_next(msg)
        if ledger := current_ledger():
            ledger.models = await services.sections.models(event.pipeline)
        section = None
        if services.stage.settings is not None:
            section = await self._section(services.stage.settings, msg)
        with self.context.scope(SECTION, section):
            return await call_next(msg)

    async def _section(self, kind: type[Section], msg: EventMessage) -> Section:
        """The section.

        Raises:
            PermanentError: that revision does not exist any more, and the event cannot be processed without it.
        """
        assert msg.event is not None
        try:
            return await self.services.sections.section(msg.event.pipeline, self.services.stage.name, kind)
        except PipelineError as error:
            if msg.ignores_deadline:
                return kind()  # what has happened is recorded even if its pipeline was deleted: with default settings
            raise PermanentError(str(error), kind=error.kind) from None


class Deadline(StageMiddleware):
    """Gives a step of a question at most the time that is left until the question's deadline."""

    __slots__ = ()

    async def consume_scope(self, call_next: CallNext, msg: Any) -> Any:
        if msg.ignores_deadline:
            return await call_next(msg)
        remaining = msg.event.remaining
        if remaining <= 0:
            raise ExpiredError("the deadline had passed before the stage started to process the event")
        deadline = asyncio.timeout(remaining)
        try:
            async with deadline:
                return await call_next(msg)
        except TimeoutError:
            if deadline.expired():
                raise ExpiredError("the deadline passed while the stage processed the event") from None
            raise


#: The outermost first. What fails inside is retried or given up by `Retries`, which needs the model calls until then.
STAGE_MIDDLEWARES: tuple[type[StageMiddleware], ...] = (
    Heartbeat,
    Telemetry,
    ModelCalls,
    Retries,
    Withdrawal,
    NextFact,
    PipelineSection,
    Deadline,
)
