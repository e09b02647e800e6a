"""The embedded NATS server: which port it has, and that it is this one that answers there."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from cli.host.nats_server import EmbeddedNats
from shared.contracts.errors import ConfigurationError
from tests.support.speed import limit


async def test_servers_that_start_together_have_ports_of_their_own(tmp_path: Path) -> None:
    servers = [EmbeddedNats(tmp_path / str(number)) for number in range(3)]
    try:
        await asyncio.gather(*(one.start() for one in servers))
        assert len({one.port for one in servers}) == 3
        for one in servers:
            _, writer = await asyncio.open_connection("127.0.0.1", one.port)
            writer.close()
    finally:
        await asyncio.gather(*(one.stop() for one in servers))


async def test_a_server_whose_port_another_one_has_does_not_pass_for_started(tmp_path: Path) -> None:
    first = EmbeddedNats(tmp_path / "first")
    await first.start()
    try:
        second = EmbeddedNats(tmp_path / "second", port=first.port)
        with pytest.raises(ConfigurationError, match="nats-server did not start"):
            await second.start()
    finally:
        await first.stop()


async def test_a_server_that_was_killed_starts_again_on_its_port(tmp_path: Path) -> None:
    server = EmbeddedNats(tmp_path)
    await server.start()
    try:
        port, killed = server.port, server.pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        until = time.monotonic() + limit(10)
        while server.alive:
            assert time.monotonic() < until
            await asyncio.sleep(0.01)
        await server.start()
        assert server.port == port
        assert server.pid != killed
    finally:
        await server.stop()
