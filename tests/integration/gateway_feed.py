"""A gateway's live feed on a real server, with no other rights than a gateway's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import SecretStr

from cli.host.catalogue import stages
from cli.operations import bus
from cli.operations.operator_session import OperatorSession, operator_session
from services.gateway.streaming.stream import LiveFeed
from shared.bus.event_log import NatsEventLog
from shared.runtime.permissions import INJECTOR, OPERATOR
from shared.runtime.settings import Settings
from tests.integration.rig import LOG_BYTES
from tests.support.servers import Server
from tests.support.speed import limit


@asynccontextmanager
async def gateway_feed(server: Server, seeds: Path) -> AsyncIterator[tuple[OperatorSession, NatsEventLog, LiveFeed]]:
    """Provision the server; gives who may inject facts, and log and open feed of a gateway."""

    def login(user: str) -> Settings:
        seed = SecretStr(str(seeds / f"{user}.nk"))
        return Settings(nats_url=server.url, nats_seed=seed, max_log_bytes=LOG_BYTES)

    async with bus.connected(login(OPERATOR)) as client:
        await bus.provision(client, login(OPERATOR), stages())
    async with (
        asyncio.timeout(limit(60)),
        operator_session(login(INJECTOR)) as injector,
        bus.connected(login("gateway"), "gateway", "gateway") as client,
    ):
        log = NatsEventLog(lambda: client)
        feed = LiveFeed(log)
        await feed.open()
        yield injector, log, feed
