"""What becomes of work that failed: handed back with a growing delay, or given up in the open."""

from __future__ import annotations

import contextlib
import traceback
from typing import TYPE_CHECKING

import structlog
from pydantic import ValidationError

from shared.bus import ports
from shared.bus.publisher import Publisher
from shared.contracts import subjects
from shared.contracts.domain import PipelineRef
from shared.contracts.envelope import Envelope, Event, following, opening
from shared.contracts.errors import (
    ConfigurationError,
    InvalidEventError,
    PermanentError,
    TransientError,
    UnavailableError,
)
from shared.contracts.facts import Fact, QuestionAbandoned
from shared.contracts.stage import Stage
from shared.llm.call_context import recorded_calls
from shared.observability import telemetry

if TYPE_CHECKING:
    from shared.bus.message_processor import Job

log = structlog.get_logger()

#: Seconds before the first retry; doubled each time.
FIRST_DELAY = 0.5
LONGEST_DELAY = 60.0
#: Between two tries of what is not bound to a deadline.
LASTING_DELAY = 10.0
DEFAULT_MESSAGE = "Something went wrong and this question could not be answered. Please try again."
EXPIRED_MESSAGE = "This took too long and was given up. Please try again."


class RetryPolicy:
    """Decides per failed try; the dead letter is published before the message is acknowledged."""

    def __init__(self, stage: Stage, publisher: Publisher, max_deliveries: int, default_pipeline: str) -> None:
        self._stage = stage
        self._publisher = publisher
        self._max_deliveries = max_deliveries
        self._default_pipeline = default_pipeline

    async def handle(self, job: Job, event: Event[Fact], error: Exception) -> str:
        """Hand the job back, or give it up when that is permanent or its last delivery; returns the outcome's name.

        Raises:
            UnavailableError: the bus would not take the dead letter; the message is left to come again.
        """
        kind = getattr(error, "kind", type(error).__name__)
        telemetry.FAILURES.labels(self._stage.name, kind).inc()
        expected = isinstance(error, TransientError | UnavailableError | ConfigurationError)
        lasting = event.payload.terminal or event.payload.out_of_band
        # What has happened is kept for as long as its store is away; a step of a question has only so many tries.
        last = job.delivery >= self._max_deliveries and not (lasting and expected)
        if isinstance(error, PermanentError) or last:
            await self.give_up(job.subject, job.data, event, error, sequence=job.sequence)
            await job.message.ack()
            return "given_up"
        delay = min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(job.delivery - 1, 10))
        # Never past the deadline: the asker hears then that it was given up.
        delay = min(delay, LASTING_DELAY) if lasting else max(0.05, min(delay, event.remaining + 0.05))
        log.warning(
            "try failed", kind=kind, delivery=job.delivery, again_in=delay, exc_info=None if expected else error
        )
        await job.message.nack(delay=delay)
        return "handed_back"

    async def give_up(
        self,
        subject: str,
        data: bytes,
        event: Event[Fact] | None,
        error: Exception,
        *,
        stage: str = "",
        sequence: int = 0,
    ) -> None:
        """End the question for its asker, and keep the event as a dead letter with its reason.

        `stage` is the one that failed, when it is not this one. `sequence` is the event's on the log: kept once however
        often it is given up, and once more when a retry of it fails.

        Raises:
            UnavailableError: the bus took neither.
        """
        failed = stage or self._stage.name
        kind = getattr(error, "kind", type(error).__name__)
        log.error("given up", kind=kind, subject=".".join(subject.split(".")[:3]), exc_info=error)
        abandoned = self._abandonment(subject, data, event, error, failed)
        if abandoned is not None:
            await self._publisher.publish(abandoned)
        telemetry.DEAD_LETTERS.labels(failed, kind).inc()
        await self._bury(subject, data, error, failed, sequence)

    def _abandonment(
        self, subject: str, data: bytes, event: Event[Fact] | None, error: Exception, failed: str
    ) -> Event[QuestionAbandoned] | None:
        if QuestionAbandoned not in self._stage.published:
            return None
        if event is not None and (event.payload.terminal or event.payload.out_of_band):
            return None
        kind = getattr(error, "kind", "internal") if isinstance(error, PermanentError) else "internal"
        default = EXPIRED_MESSAGE if kind == "expired" else DEFAULT_MESSAGE
        message = (error.message if isinstance(error, PermanentError) else "") or default
        fact = QuestionAbandoned(stage=failed, kind=kind, message=message)
        cause = event or _loose_envelope(data)
        if cause is not None:
            return following(self._stage.name, fact, cause, model_calls=recorded_calls())
        with contextlib.suppress(ValueError):  # not even the subject is one of ours: a dead letter is all there is
            spelled = subjects.parse(subject)
            pipeline = PipelineRef(name=self._default_pipeline, revision=0)
            return opening(
                self._stage.name,
                fact,
                pipeline=pipeline,
                deadline_seconds=0,
                correlation_id=spelled.correlation_id,
                lane=spelled.lane,
            )
        return None

    async def _bury(self, subject: str, data: bytes, error: Exception, failed: str, sequence: int) -> None:
        kind = getattr(error, "kind", type(error).__name__)
        tokens = subject.split(".")
        cid = tokens[3] if len(tokens) == 5 and subjects.is_correlation_id(tokens[3]) else "unknown"
        number = int(tokens[4]) if len(tokens) == 5 and tokens[4].isdigit() else 0
        # The traceback without the exception's text of foreign errors, which may quote the event.
        frames = "".join(traceback.format_tb(error.__traceback__))[-4000:]
        ours = isinstance(error, PermanentError | TransientError | UnavailableError | InvalidEventError)
        headers = {
            ports.SUBJECT: subject,
            ports.KIND: kind,
            ports.ERROR: _header(str(error) if ours else type(error).__name__),
            ports.STACK: _header(frames),
            "Nats-Msg-Id": f"dead/{failed}/{subject}/{sequence}",
        }
        await self._publisher.dead_letter(subjects.dead(failed, cid, number), data, headers)


def _header(text: str) -> str:
    """Header values are one line."""
    return text.replace("\r", "").replace("\n", "\\n")[:4000]


def _loose_envelope(data: bytes) -> Envelope | None:
    """The envelope of an event whose payload does not fit."""
    try:
        return Envelope.model_validate_json(data)
    except ValidationError:
        return None
