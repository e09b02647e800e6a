"""The backstop for workers that died: an event that was delivered as often as is allowed and never acknowledged.

The broker says so in an advisory, which a stream of its own keeps. The question is ended for its asker, and the event
goes to dead letters, as if its worker had still been able to.
"""

from __future__ import annotations

import json

import structlog
from faststream import AckPolicy
from faststream.nats import NatsMessage
from nats.js.errors import NotFoundError as NatsNotFoundError

from shared.bus.connection import Connection
from shared.bus.pull import Pull, undecoded, whole
from shared.bus.retry_policy import RetryPolicy
from shared.contracts import subjects
from shared.contracts.envelope import decode
from shared.contracts.errors import ConfigurationError, InvalidEventError, PermanentError, UnavailableError

log = structlog.get_logger()

AT_ONCE = 16


class UndeliveredError(PermanentError):
    """Every delivery ended without a word: its workers died, or hung, on it."""

    kind = "max_deliveries"


class MaxDeliveriesMonitor:
    """Hears advisories; several workers may, they share one durable."""

    def __init__(self, connection: Connection, failures: RetryPolicy) -> None:
        self._connection = connection
        self._retry_policy = failures
        self._pull: Pull | None = None

    @property
    def pull(self) -> Pull:
        assert self._pull is not None
        return self._pull

    async def start(self) -> None:
        """Subscribe; the pull itself begins with the worker's others.

        Raises:
            ConfigurationError: the bus was provisioned by an older version.
        """
        if not await self._connection.has_durable(subjects.MAX_DELIVERIES_DURABLE, subjects.ADVISORY_STREAM):
            raise ConfigurationError(
                f"the bus has no durable {subjects.MAX_DELIVERIES_DURABLE}; run: answerbus bus provision"
            )
        inbox = self._connection.client.new_inbox()
        self._pull = Pull(subjects.MAX_DELIVERIES_DURABLE, inbox, AT_ONCE, 1, stream=subjects.ADVISORY_STREAM)
        subscriber = self._connection.broker.subscriber(
            inbox, parser=whole, decoder=undecoded, no_reply=True, ack_policy=AckPolicy.MANUAL
        )
        subscriber(self._receive)

    async def _receive(self, message: NatsMessage) -> None:
        if await self.pull.is_status(message):
            return
        self.pull.arrived()
        try:
            await self._bury(json.loads(message.body))
            await message.ack()
        except UnavailableError:
            await message.nack(delay=1.0)
        finally:
            await self.pull.done()

    async def _bury(self, advisory: dict[str, object]) -> None:
        durable, sequence = str(advisory["consumer"]), int(str(advisory["stream_seq"]))
        try:
            stored = await self._connection.jetstream.get_msg(subjects.STREAM, seq=sequence)
        except NatsNotFoundError:
            log.warning("an undelivered event has expired", durable=durable, sequence=sequence)
            return
        error = UndeliveredError(f"{advisory['deliveries']} deliveries to {durable} ended without an acknowledgement")
        subject, data = stored.subject or "", stored.data or b""
        stage = durable.split("-", maxsplit=1)[0]
        try:
            await self._retry_policy.give_up(
                subject, data, decode(subject, data), error, stage=stage, sequence=sequence
            )
        except InvalidEventError:
            await self._retry_policy.give_up(subject, data, None, error, stage=stage, sequence=sequence)
