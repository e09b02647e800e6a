"""Dead-letters events that were delivered as often as allowed and never acknowledged, because their workers died.

The server publishes an advisory for each of them, which a stream of its own stores. The event is moved to the dead
letters and its question is ended, as its worker would have done.
"""

from __future__ import annotations

import json

import structlog
from faststream.exceptions import NackMessage
from faststream.nats import NatsMessage
from nats.js.errors import NotFoundError as NatsNotFoundError

from shared.bus.connection import Connection
from shared.bus.message import parse
from shared.bus.retry_policy import RetryPolicy
from shared.bus.subscriber import Credit, subscribe
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
        self.subscriber = subscribe(
            connection.broker,
            subjects.MAX_DELIVERIES_DURABLE,
            subjects.ADVISORY_SUBJECT,
            subjects.ADVISORY_STREAM,
            Credit(AT_ONCE),
        )
        self.subscriber.add_call(parser_=parse, decoder_=_decode, dependencies_=())(self._receive)

    async def check(self) -> None:
        """Check that the durable exists.

        Raises:
            ConfigurationError: the durable does not exist; an older version provisioned the bus.
        """
        if not await self._connection.has_durable(subjects.MAX_DELIVERIES_DURABLE, subjects.ADVISORY_STREAM):
            raise ConfigurationError(
                f"NATS has no durable {subjects.MAX_DELIVERIES_DURABLE}; run: answerbus bus provision"
            )

    async def _receive(self, advisory: dict[str, object]) -> None:
        try:
            await self._publish_dead_letter(advisory)
        except Exception as error:
            if not isinstance(error, UnavailableError):
                log.exception("an advisory could not be processed")
            raise NackMessage(delay=1.0) from error

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


async def _decode(message: NatsMessage) -> object:
    return json.loads(message.body)
