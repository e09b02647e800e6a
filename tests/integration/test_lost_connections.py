"""A fact that is published while the server closes the connection, under the event loop of the workers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import uvloop

from cli.operations import bus
from shared.bus import Connection, Publisher
from shared.bus.ports import PublishResult
from shared.bus.transport import ConnectionLostError
from shared.runtime.settings import Settings
from tests.integration.rig import asked
from tests.support.servers import nats_server

pytestmark = pytest.mark.integration


async def _publish_while_the_connection_closes(settings: Settings) -> PublishResult:
    async with bus.connected(settings) as client:
        await bus.provision(client, settings, [])
    connection = Connection(settings, "gateway")
    await connection.open()
    client = connection.client
    # nats-py's state between the loss and its being noticed: it is "connected", but nothing can be written.
    client._transport._io_writer.transport.abort()  # type: ignore[union-attr]
    await asyncio.sleep(0)
    with pytest.raises(ConnectionLostError):
        client._transport.write(b"PING\r\n")  # type: ignore[union-attr]
    client._flusher_task.cancel()  # type: ignore[union-attr]
    await asyncio.gather(client._flusher_task, return_exceptions=True)  # type: ignore[arg-type]
    try:
        return await Publisher(connection.broker, "gateway", budget=10, raw_ttl=60).publish(asked())
    finally:
        await connection.close()


def test_fact_published_while_the_connection_closes_is_stored_after_the_reconnect(tmp_path: Path) -> None:
    with nats_server(tmp_path) as server:
        result = uvloop.run(_publish_while_the_connection_closes(Settings(nats_url=server.url)))

    assert result is PublishResult.NEW
