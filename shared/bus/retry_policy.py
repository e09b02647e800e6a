"""What happens to a delivery that failed: retried with exponential backoff, or moved to the dead letters."""

from __future__ import annotations

import contextlib
import traceback
from typing import Any

import structlog
from faststream.exceptions import AckMessage, HandlerException, NackMessage
from pydantic import ValidationError

from shared.bus import ports
from shared.bus.message import EventMessage
from shared.bus.publisher import Publisher
from shared.contracts import subjects
from shared.contracts.domain import Effect, PipelineRef
from shared.contracts.envelope import Envelope, Event, following, opening
from shared.contracts.errors import (
    ConfigurationError,
    InvalidEventError,
    PermanentError,
    TransientError,
    UnavailableError,
)
from shared.contracts.facts import DocumentSubmitted, Fact, QuestionAbandoned, notice_of, tools_so_far
from shared.contracts.stage import Stage
from shared.llm.call_context import current_ledger, recorded_calls
from shared.observability import telemetry
from shared.text.endings import EndingsOf, apply_endings, default_endings, question_of

log = structlog.get_logger()

#: Seconds before the first retry; doubled with each further one.
FIRST_DELAY = 0.5
LONGEST_DELAY = 60.0
#: The longest delay, in seconds, of facts that have no deadline: they follow soon after their store is back.
LONGEST_DELAY_WITHOUT_DEADLINE = 10.0
DEFAULT_MESSAGE = "Something went wrong and this question could not be answered. Please try again."
EXPIRED_MESSAGE = "This took too long and was given up. Please try again."

#: Errors with a text of our own, which quotes no event.
_OWN = (PermanentError, TransientError, UnavailableError, InvalidEventError, ConfigurationError)


class RetryPolicy:
    """Decides what follows a failed delivery.

    A dead letter is published before the message is acknowledged, so a crash in between repeats it and loses nothing.
    """

    def __init__(
        self,
        stage: Stage,
        publisher: Publisher,
        max_deliveries: int,
        default_pipeline: str,
        endings: EndingsOf = default_endings,
        worker: str = "",
    ) -> None:
        """`default_pipeline` is named by the `QuestionAbandoned` of an event with an unreadable envelope.

        `worker` is the name that the events it publishes have in their headers.
        """
        self._stage = stage
        self._publisher = publisher
        self._max_deliveries = max_deliveries
        self._default_pipeline = default_pipeline
        self._endings = endings
        self._worker = worker

    async def decide(self, message: EventMessage, error: Exception) -> HandlerException:
        """What FastStream does with a message that failed: `NackMessage`, or `AckMessage` once it is a dead letter.

        Permanent errors are not retried. Terminal and out-of-band facts are retried for as long as a store or NATS is
        unavailable; a step of a question at most `max_deliveries` times.

        Raises:
            UnavailableError: NATS did not store the dead letter; the message is neither acknowledged nor rejected.
        """
        event = message.event
        if event is None:  # it cannot be decoded
            await self.move_to_dead_letters(message.subject, message.body, None, error, sequence=message.sequence)
            return AckMessage()
        kind = getattr(error, "kind", type(error).__name__)
        telemetry.FAILURES.labels(self._stage.name, kind).inc()
        expected = isinstance(error, TransientError | UnavailableError | ConfigurationError)
        last = message.deliveries >= self._max_deliveries and not (message.ignores_deadline and expected)
        if isinstance(error, PermanentError) or last:
            handling = ports.Handling(self._worker, message.deliveries)
            await self.move_to_dead_letters(
                message.subject, message.body, event, error, sequence=message.sequence, handling=handling
            )
            message.outcome = "dead_letter"
            return AckMessage()
        delay = self._delay(message.deliveries, None if message.ignores_deadline else event.remaining)
        log.warning(
            "delivery failed and is retried",
            kind=kind,
            reason=str(error) if isinstance(error, _OWN) else type(error).__name__,
            id=event.correlation_id,
            **_document(event.payload),
            delivery=message.deliveries,
            delay=delay,
            exc_info=None if expected else error,
        )
        message.outcome = "retried"
        return NackMessage(delay=delay)

    @staticmethod
    def _delay(count: int, remaining: float | None) -> float:
        """Seconds before the next delivery.

        With a deadline `remaining` seconds away, the event is redelivered right after the deadline at the latest, so
        that the asker learns at once that the question has expired.
        """
        delay: float = min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(count - 1, 10))
        if remaining is None:
            return min(delay, LONGEST_DELAY_WITHOUT_DEADLINE)
        return max(0.05, min(delay, remaining + 0.05))

    async def move_to_dead_letters(
        self,
        subject: str,
        data: bytes,
        event: Event[Fact] | None,
        error: Exception,
        *,
        stage: str = "",
        sequence: int = 0,
        handling: ports.Handling = ports.NOT_KNOWN,
    ) -> None:
        """Publish `QuestionAbandoned` if the event was a step of a question, then store the event as a dead letter.

        `event` is None if `data` cannot be decoded. `stage` names the stage that failed if it is another one.
        `sequence` is the event's stream sequence: the dead letter's id contains it, so that one event gives one dead
        letter however often this is called, and a retried event that fails again gives another.
        `handling` says which worker gave it up, and after how many deliveries.

        Raises:
            UnavailableError: NATS stored neither.
        """
        failed_stage = stage or self._stage.name
        kind = getattr(error, "kind", type(error).__name__)
        log.error("moved to the dead letters", kind=kind, subject=".".join(subject.split(".")[:3]), exc_info=error)
        abandoned = await self._abandonment(subject, data, event, error, failed_stage)
        if abandoned is not None:
            await self._publisher.publish(abandoned, handling=handling)
        telemetry.DEAD_LETTERS.labels(failed_stage, kind).inc()
        await self._publish_dead_letter(subject, data, error, failed_stage, sequence)

    async def _abandonment(
        self, subject: str, data: bytes, event: Event[Fact] | None, error: Exception, failed_stage: str
    ) -> Event[QuestionAbandoned] | None:
        """The event that ends the question, with as much of the envelope as can be decoded; None if none is needed."""
        if QuestionAbandoned not in self._stage.published:
            return None
        if event is not None and (event.payload.terminal or event.payload.out_of_band):
            return None
        kind = getattr(error, "kind", "internal") if isinstance(error, PermanentError) else "internal"
        default = EXPIRED_MESSAGE if kind == "expired" else DEFAULT_MESSAGE
        message = (error.message if isinstance(error, PermanentError) else "") or default
        fact = QuestionAbandoned(
            stage=failed_stage, kind=kind, message=message, notice=notice_of(event.payload) if event else None
        )
        question = question_of(event.payload) if event else None
        fact = fact.telling(*_tools(event), question)
        cause = event or _envelope(data)
        if cause is not None:
            fact = apply_endings(fact, await self._endings(cause.pipeline), question)
            return following(self._stage.name, fact, cause, model_calls=recorded_calls())
        with contextlib.suppress(ValueError):  # the subject is not a fact's: no question to end
            parsed = subjects.parse(subject)
            pipeline = PipelineRef(name=self._default_pipeline, revision=0)
            return opening(
                self._stage.name,
                fact,
                pipeline=pipeline,
                deadline_seconds=0,
                correlation_id=parsed.correlation_id,
                lane=parsed.lane,
            )
        return None

    async def _publish_dead_letter(
        self, subject: str, data: bytes, error: Exception, failed_stage: str, sequence: int
    ) -> None:
        kind = getattr(error, "kind", type(error).__name__)
        tokens = subject.split(".")
        cid = tokens[3] if len(tokens) == 5 and subjects.is_correlation_id(tokens[3]) else "unknown"
        number = int(tokens[4]) if len(tokens) == 5 and tokens[4].isdigit() else 0
        # Without the text of errors that are not ours: it may quote the event.
        frames = "".join(traceback.format_tb(error.__traceback__))[-4000:]
        headers = {
            ports.SUBJECT: subject,
            ports.KIND: kind,
            ports.ERROR: _header(str(error) if isinstance(error, _OWN) else type(error).__name__),
            ports.STACK: _header(frames),
            "Nats-Msg-Id": f"dead/{failed_stage}/{subject}/{sequence}",
        }
        await self._publisher.dead_letter(subjects.dead(failed_stage, cid, number), data, headers)


def _document(fact: Fact) -> dict[str, str]:
    """The id of the document that a fact submits, for the log."""
    return {"source": fact.document.source} if isinstance(fact, DocumentSubmitted) else {}


def _tools(event: Event[Fact] | None) -> tuple[Effect | None, tuple[dict[str, Any], ...]]:
    """What tools changed and which were called: before this event, and while the handler worked that failed."""
    effect, calls = tools_so_far(event.payload) if event else (None, ())
    ledger = current_ledger()
    return (ledger.effect or effect, (*calls, *ledger.tool_calls)) if ledger else (effect, calls)


def _header(text: str) -> str:
    """The text as one line, which is all that a header value may be."""
    return text.replace("\r", "").replace("\n", "\\n")[:4000]


def _envelope(data: bytes) -> Envelope | None:
    """The envelope of an event with an unreadable payload."""
    try:
        return Envelope.model_validate_json(data)
    except ValidationError:
        return None
