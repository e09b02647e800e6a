"""Dead-letters events that were delivered as often as allowed and never acknowledged, because their workers died.

The server publishes an advisory for each of them, which a stream of its own stores. The event is moved to the dead
letters and its question is ended, as its worker would have done.
"""

from __future__ import annotations

import json

import structlog
from faststream import AckPolicy
from faststream.nats import NatsMessage
from nats.js.errors import NotFoundError as NatsNotFoundError

from shared.bus.connection import Connection
from shared.bus.pull import Pull, keep_raw, leave_encoded
from shared.bus.retry_policy import RetryPolicy
from shared.contracts import subjects
from shared.contracts.envelope import decode
from shared.contracts.errors import ConfigurationError, InvalidEventError, PermanentError, UnavailableError

log = structlog.get_logger()

#: Advisories in work at once.
AT_ONCE = 16


class UndeliveredError(PermanentError):
    """No delivery of the event was acknowledged or rejected: the workers crashed or hung while processing it."""

    kind = "max_deliveries"


class MaxDeliveriesMonitor:
    """Consumes the advisories; the workers that do share one durable."""

    def __init__(self, connection: Connection, retry_policy: RetryPolicy) -> None:
        self._connection = connection
        self._retry_policy = retry_policy
        self._pull: Pull | None = None

    @property
    def pull(self) -> Pull:
        assert self._pull is not None
        return self._pull

    async def start(self) -> None:
        """Subscribe. The caller starts `pull` together with the worker's other pulls.

        Raises:
            ConfigurationError: the durable does not exist; an older version provisioned the bus.
        """
        if not await self._connection.has_durable(subjects.MAX_DELIVERIES_DURABLE, subjects.ADVISORY_STREAM):
            raise ConfigurationError(
                f"NATS has no durable {subjects.MAX_DELIVERIES_DURABLE}; run: answerbus bus provision"
            )
        inbox = self._connection.client.new_inbox()
        self._pull = Pull(subjects.MAX_DELIVERIES_DURABLE, inbox, AT_ONCE, 1, stream=subjects.ADVISORY_STREAM)
        subscriber = self._connection.broker.subscriber(
            inbox, parser=keep_raw, decoder=leave_encoded, no_reply=True, ack_policy=AckPolicy.MANUAL
        )
        subscriber(self._receive)

    async def _receive(self, message: NatsMessage) -> None:
        if await self.pull.handle_if_status(message.raw_message):
            return
        self.pull.message_received()
        try:
            await self._publish_dead_letter(json.loads(message.body))
            await message.ack()
        except UnavailableError:
            await message.nack(delay=1.0)
        finally:
            await self.pull.message_finished()

    async def _publish_dead_letter(self, advisory: dict[str, object]) -> None:
        durable, sequence = str(advisory["consumer"]), int(str(advisory["stream_seq"]))
        try:
            stored = await self._connection.jetstream.get_msg(str(advisory["stream"]), seq=sequence)
        except NatsNotFoundError:
            log.warning("an event with no deliveries left has expired", durable=durable, sequence=sequence)
            return
        error = UndeliveredError(f"{advisory['deliveries']} deliveries to {durable} ended without an acknowledgement")
        subject, data = stored.subject or "", stored.data or b""
        stage = durable.split("-", maxsplit=1)[0]
        try:
            await self._retry_policy.move_to_dead_letters(
                subject, data, decode(subject, data), error, stage=stage, sequence=sequence
            )
        except InvalidEventError:
            await self._retry_policy.move_to_dead_letters(subject, data, None, error, stage=stage, sequence=sequence)
