"""Publishes facts: under deterministic ids, with retries until they are stored, and one terminal fact per question."""

from __future__ import annotations

import asyncio
import random
import time
from functools import cached_property

import structlog
from faststream.nats import NatsBroker
from nats.errors import ConnectionClosedError, NoRespondersError
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js import JetStreamContext
from nats.js.api import RawStreamMsg
from nats.js.errors import APIError, NoStreamResponseError, ServerError, ServiceUnavailableError
from nats.js.errors import NotFoundError as NatsNotFoundError

from shared.bus.permission_errors import PermissionErrors
from shared.bus.ports import NOT_KNOWN, SUBJECT, Handling, PublishResult
from shared.contracts import subjects
from shared.contracts.envelope import Event
from shared.contracts.errors import RefusedError, UnavailableError
from shared.contracts.facts import Fact, QuestionAsked
from shared.observability import telemetry
from shared.observability.store_writes import StoreWrites
from shared.observability.traces import Tracer

log = structlog.get_logger()

WRONG_LAST_SEQUENCE = 10071
#: Timeout of one attempt to publish, in seconds; a leader election takes longer than one.
PUBLISH_TIMEOUT = 5.0
#: Seconds that a replica may be behind the leader when an event that exists is read.
REPLICA_LAG = 2.0
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
    """Publishes the facts of one stage; retries for up to `budget` seconds.

    `raw_ttl` is how many seconds NATS keeps text that has not been moderated (`QuestionAsked`).
    """

    def __init__(
        self,
        broker: NatsBroker,
        stage: str,
        *,
        budget: float,
        raw_ttl: int,
        permission_errors: PermissionErrors | None = None,
        tracer: Tracer | None = None,
        writes: StoreWrites | None = None,
    ) -> None:
        """`permission_errors` and `writes` belong to the broker's connection.

        `tracer` begins the traces of a client's facts.
        """
        self._broker = broker
        self._permission_errors = permission_errors or PermissionErrors("")
        self._stage = stage
        self._budget = budget
        self._raw_ttl = raw_ttl
        self._tracer = tracer
        self._writes = writes or StoreWrites()

    async def publish(
        self,
        event: Event[Fact],
        *,
        trace: dict[str, str] | None = None,
        first: bool = False,
        handling: Handling = NOT_KNOWN,
    ) -> PublishResult:
        """Publish the event and wait until it is stored.

        A terminal fact is stored only if its question has no terminal fact yet. With `first`, the event is stored only
        as the first event of its question (used for idempotency keys). `handling` is kept in its headers.

        Raises:
            UnavailableError: NATS did not store it within the budget.
            RefusedError: NATS will never store it (too large, or refused by the stream).
            NotPermittedError: this service's user may not publish the fact.
        """
        if trace is None and self._tracer is not None:
            with self._tracer.fact_span(event, None) as begun:
                self._tracer.set_result(event.payload)
                return await self.publish(event, trace=begun, first=first, handling=handling)
        headers = {**storage_headers(event, raw_ttl=self._raw_ttl, first=first), **(trace or {}), **handling.headers}
        return await self._until_stored(event, event.encode(), headers, _exclusive_scope(event, first))

    @cached_property
    def _jetstream(self) -> JetStreamContext:
        return self._broker.connection.jetstream(timeout=PUBLISH_TIMEOUT)

    async def dead_letter(self, subject: str, data: bytes, headers: dict[str, str]) -> None:
        """Store the original bytes of an event that could not be processed; raw text for no longer than in the log."""
        if subjects.is_raw(headers.get(SUBJECT, "")):
            headers = {**headers, "Nats-TTL": f"{self._raw_ttl}s"}
        await self._with_retries(subject, data, headers, subjects.DEAD_STREAM)

    async def _until_stored(
        self, event: Event[Fact], data: bytes, headers: dict[str, str], scope: str
    ) -> PublishResult:
        try:
            duplicate_of = await self._with_retries(event.subject, data, headers, subjects.STREAM)
        except APIError as error:
            if scope and error.err_code == WRONG_LAST_SEQUENCE:
                return await self._compare_with_stored(event, scope)
            raise RefusedError(f"NATS refused {event.fact}: {error.description}") from error
        except NatsError as error:
            raise RefusedError(f"NATS refused {event.fact}: {error}") from error
        if duplicate_of:
            await self._check_duplicate(event, duplicate_of)
            telemetry.DUPLICATES.labels(self._stage).inc()
            return PublishResult.DUPLICATE
        return PublishResult.NEW

    async def _with_retries(self, subject: str, data: bytes, headers: dict[str, str], stream: str) -> int:
        """Publish until it is stored; the sequence of the message that NATS already had with that id, else 0."""
        until = time.monotonic() + self._budget
        pause = 0.05
        while True:
            try:
                with self._permission_errors.raised_for(subject):
                    ack = await self._broker.publish(
                        data, subject, headers=headers, stream=stream, timeout=PUBLISH_TIMEOUT
                    )
            except RETRYABLE as error:
                self._writes.failed()
                if time.monotonic() + pause >= until:
                    raise UnavailableError(f"NATS stored nothing for {self._budget:g} s") from error
                telemetry.PUBLISH_RETRIES.labels(self._stage).inc()
                await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 (jitter)
                pause = min(pause * 2, 2.0)
            else:
                self._writes.succeeded()
                return ack.seq if ack.duplicate else 0

    async def _check_duplicate(self, event: Event[Fact], sequence: int) -> None:
        """Check that the message with our id is our event: ids are predictable, and one id counts in the whole stream.

        Raises:
            RefusedError: it is not, so that ours was not stored and will not be.
            UnavailableError: it could not be read.
        """
        raw = isinstance(event.payload, QuestionAsked)
        try:
            found = (await self._stored(event.subject, wait=not raw)).seq == sequence
        except NatsNotFoundError:  # raw text is deleted as soon as it is moderated
            found = raw
        except RETRYABLE as error:
            raise UnavailableError("NATS has an event of this id already and did not return it") from error
        if found:
            return
        telemetry.FOREIGN_IDS.labels(self._stage).inc()
        log.error("not stored: its id belongs to another event", fact=event.fact, sequence=sequence)
        raise RefusedError(
            f"NATS did not store {event.fact}: its id was used by event {sequence}; find who published that"
        )

    async def _compare_with_stored(self, event: Event[Fact], scope: str) -> PublishResult:
        """Read the stored event: with our own id, an earlier attempt got through (duplicate); else ours is rejected.

        Whose ending a question has is not for a stage to read. It looks under its own subject only: there is its own
        ending, or none, as one that NATS has stored within the window of duplicates gets no such error.
        """
        ending = event.payload.terminal and scope != subjects.history_filters(event.correlation_id)[0]
        try:
            stored = await self._stored(event.subject if ending else scope, wait=not ending)
        except NatsNotFoundError as error:
            if not ending:
                raise UnavailableError("NATS refused a first fact and did not return the one that is stored") from error
        except RETRYABLE as error:
            raise UnavailableError("NATS refused a fact and did not return the one that is stored") from error
        else:
            if (stored.headers or {}).get("Nats-Msg-Id") == event.event_id:
                return PublishResult.DUPLICATE
        telemetry.ENDINGS_REJECTED.labels(self._stage).inc()
        log.info("rejected: the question already has another fact in its place", fact=event.fact)
        return PublishResult.REJECTED

    async def _stored(self, subject: str, *, wait: bool = True) -> RawStreamMsg:
        """The event that the leader has under this subject; in a cluster, the replica that is read may get it later.

        Raises:
            NatsNotFoundError: not found, or with `wait`, not within `REPLICA_LAG` seconds.
        """
        until = time.monotonic() + (REPLICA_LAG if wait else 0)
        while True:
            try:
                return await self._jetstream.get_last_msg(subjects.STREAM, subject, direct=True)
            except NatsNotFoundError:
                if time.monotonic() >= until:
                    raise
                await asyncio.sleep(0.05)


def storage_headers(event: Event[Fact], *, raw_ttl: int, first: bool = False) -> dict[str, str]:
    """Headers by which JetStream stores an event once, one terminal fact per question, raw text for `raw_ttl` s."""
    headers = {"Nats-Msg-Id": event.event_id}
    if isinstance(event.payload, QuestionAsked):
        headers["Nats-TTL"] = f"{raw_ttl}s"
    if scope := _exclusive_scope(event, first):
        headers["Nats-Expected-Last-Subject-Sequence"] = "0"
        headers["Nats-Expected-Last-Subject-Sequence-Subject"] = scope
    return headers


def _exclusive_scope(event: Event[Fact], first: bool) -> str:
    """The subject filter that must be empty for the event to be stored; empty for no such condition."""
    if first:
        return subjects.history_filters(event.correlation_id)[0]
    return subjects.ending_of(event.lane, event.correlation_id) if event.payload.terminal else ""
