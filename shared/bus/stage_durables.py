"""The durable consumers of stages on NATS, and their pauses, which are settings of the consumers."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.api import ConsumerInfo
from nats.js.errors import APIError

from shared.bus.ports import StageDurable
from shared.bus.stage_status import OWNER, paused_seconds
from shared.contracts import subjects
from shared.contracts.errors import UnavailableError

#: Seconds that NATS has to answer one request.
TIMEOUT = 5


class NatsStageDurables:
    """`StageDurables` over an operator's connection."""

    def __init__(self, client: Callable[[], Client]) -> None:
        self._client = client

    async def all(self) -> list[StageDurable]:
        try:
            infos = await self._client().jetstream(timeout=TIMEOUT).consumers_info(subjects.STREAM)
        except (NatsError, APIError, OSError):
            raise UnavailableError(
                "the state of the stages could not be read; NATS is unavailable or not provisioned"
            ) from None
        owned = (_durable(info) for info in infos if OWNER in (info.config.metadata or {}))
        return sorted(owned, key=lambda durable: durable.durable)

    async def pause_until(self, durable: StageDurable, until: datetime) -> None:
        moment = until.isoformat(timespec="microseconds").replace("+00:00", "Z")
        jetstream = self._client().jetstream(timeout=TIMEOUT)
        try:
            await jetstream.pause_consumer(subjects.STREAM, durable.durable, moment)
        except (NatsError, APIError, OSError) as error:
            raise UnavailableError(f"{durable.durable} was not changed: {error or type(error).__name__}") from None

    async def server_time(self, durable: StageDurable) -> datetime:
        """The clock of the server that leads the durable consumer."""
        try:
            info = await self._client().request(subjects.durable_info(durable.durable), timeout=TIMEOUT)
            return datetime.fromisoformat(json.loads(info.data)["ts"][:19] + "+00:00")
        except (NatsError, OSError, ValueError, KeyError):
            raise UnavailableError(f"{durable.durable} was not changed: NATS does not answer") from None


def _durable(info: ConsumerInfo) -> StageDurable:
    metadata = info.config.metadata or {}
    return StageDurable(
        durable=info.name,
        stage=metadata["stage"],
        lane=metadata["lane"],
        pending=info.num_pending or 0,
        in_flight=info.num_ack_pending or 0,
        paused_seconds=paused_seconds(info),
    )
