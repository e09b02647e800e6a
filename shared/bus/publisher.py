"""Publishing facts: under their deterministic id, until the broker has them, and one ending a question."""

from __future__ import annotations

import asyncio
import random
import time

import structlog
from faststream.nats import NatsBroker
from nats.errors import ConnectionClosedError, NoRespondersError
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js.errors import APIError, NoStreamResponseError, ServerError, ServiceUnavailableError
from nats.js.errors import NotFoundError as NatsNotFoundError

from shared.bus.permission_errors import PermissionErrors
from shared.bus.ports import SUBJECT, PublishResult
from shared.contracts import subjects
from shared.contracts.envelope import Event
from shared.contracts.errors import RefusedError, UnavailableError
from shared.contracts.facts import Fact, QuestionAsked
from shared.observability import telemetry

log = structlog.get_logger()

WRONG_LAST_SEQUENCE = 10071
#: One try of a publish, in seconds; FastStream's own default of 0.5 s is too short for a leader election.
PUBLISH_TIMEOUT = 5.0
RETRYABLE = (
    NatsTimeoutError,
    asyncio.TimeoutError,
    NoRespondersError,
    NoStreamResponseError,
    ServiceUnavailableError,
    ServerError,
    ConnectionClosedError,
    OSError,
)


class Publisher:
    """Says facts for one service; retries for `budget` seconds."""

    def __init__(
        self,
        broker: NatsBroker,
        stage: str,
        *,
        budget: float,
        raw_ttl: int,
        permission_errors: PermissionErrors | None = None,
    ) -> None:
        """`permission_errors` are those of the broker's connection."""
        self._broker = broker
        self._refusals = permission_errors or PermissionErrors("")
        self._stage = stage
        self._budget = budget
        self._raw_ttl = raw_ttl

    async def publish(
        self, event: Event[Fact], *, trace: dict[str, str] | None = None, first: bool = False
    ) -> PublishResult:
        """Publish the event and wait until it is stored.

        A terminal fact is stored only when its question has no ending yet. With `first` the event is stored only when
        nothing at all is known of its question (how an idempotency key is kept).

        Raises:
            UnavailableError: the broker did not store it within the budget.
            RefusedError: the broker will never store it (too large, not permitted by the stream).
            NotPermittedError: this service's user may not say it.
        """
        headers = {**storing(event, raw_ttl=self._raw_ttl, first=first), **(trace or {})}
        return await self._until_stored(event, event.encode(), headers, _exclusive_scope(event, first))

    async def dead_letter(self, subject: str, data: bytes, headers: dict[str, str]) -> None:
        """Keep the original bytes of an event that cannot be worked on; raw text for no longer than in the log."""
        if subjects.is_raw(headers.get(SUBJECT, "")):
            headers = {**headers, "Nats-TTL": f"{self._raw_ttl}s"}
        await self._with_retries(subject, data, headers, subjects.DEAD_STREAM)

    async def _until_stored(
        self, event: Event[Fact], data: bytes, headers: dict[str, str], scope: str
    ) -> PublishResult:
        try:
            duplicate = await self._with_retries(event.subject, data, headers, subjects.STREAM)
        except APIError as error:
            if scope and error.err_code == WRONG_LAST_SEQUENCE:
                return await self._came_second(event, scope)
            raise RefusedError(f"the bus refused {event.fact}: {error.description}") from error
        except NatsError as error:
            raise RefusedError(f"the bus refused {event.fact}: {error}") from error
        if duplicate:
            telemetry.DUPLICATES.labels(self._stage).inc()
            return PublishResult.DUPLICATE
        return PublishResult.NEW

    async def _with_retries(self, subject: str, data: bytes, headers: dict[str, str], stream: str) -> bool:
        """Whether the broker called it a duplicate."""
        until = time.monotonic() + self._budget
        pause = 0.05
        while True:
            try:
                with self._refusals.told(subject):
                    ack = await self._broker.publish(
                        data, subject, headers=headers, stream=stream, timeout=PUBLISH_TIMEOUT, correlation_id=""
                    )
            except RETRYABLE as error:
                if time.monotonic() + pause >= until:
                    raise UnavailableError(f"the bus stored nothing for {self._budget:g} s") from error
                telemetry.PUBLISH_RETRIES.labels(self._stage).inc()
                await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 (jitter)
                pause = min(pause * 2, 2.0)
            else:
                return bool(ack.duplicate)

    async def _came_second(self, event: Event[Fact], scope: str) -> PublishResult:
        """Read what is there: our own id means that an earlier try got through, any other that we lost."""
        try:
            jetstream = self._broker.connection.jetstream(timeout=PUBLISH_TIMEOUT)
            there = await jetstream.get_last_msg(subjects.STREAM, scope, direct=True)
        except (NatsNotFoundError, *RETRYABLE) as error:
            raise UnavailableError("the bus refused an ending and did not show the one it has") from error
        if (there.headers or {}).get("Nats-Msg-Id") == event.event_id:
            return PublishResult.DUPLICATE
        telemetry.ENDINGS_LOST.labels(self._stage).inc()
        log.info("another ending came first", fact=event.fact, ending=subjects.parse(there.subject or "").fact)
        return PublishResult.REJECTED


def storing(event: Event[Fact], *, raw_ttl: int, first: bool = False) -> dict[str, str]:
    """Headers by which the broker keeps an event once, a question to one ending, and raw text for so many seconds."""
    headers = {"Nats-Msg-Id": event.event_id}
    if isinstance(event.payload, QuestionAsked):
        headers["Nats-TTL"] = f"{raw_ttl}s"
    if scope := _exclusive_scope(event, first):
        headers["Nats-Expected-Last-Subject-Sequence"] = "0"
        headers["Nats-Expected-Last-Subject-Sequence-Subject"] = scope
    return headers


def _exclusive_scope(event: Event[Fact], first: bool) -> str:
    if first:
        return subjects.history_filters(event.correlation_id)[0]
    if event.payload.terminal:
        return subjects.ending_of(event.lane, event.correlation_id)
    return ""
