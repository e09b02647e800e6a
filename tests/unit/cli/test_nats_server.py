"""The embedded NATS server: which port it has, and that it is this one that answers there."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from cli.host.nats_server import EmbeddedNats, binary
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


def test_the_server_that_a_setting_names_is_used_and_a_missing_one_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, own = binary(), tmp_path / "bin" / "another-nats-server"
    own.parent.mkdir()
    own.symlink_to(usual)

    assert binary(str(own)) == own
    with pytest.raises(ConfigurationError, match=f"ANSWERBUS_NATS_SERVER: there is no program {own.name}"):
        binary(own.name)
    monkeypatch.setenv("PATH", str(own.parent))
    assert binary(own.name) == own
    with pytest.raises(ConfigurationError, match="no program"):
        binary(str(tmp_path))


async def test_a_named_server_is_the_one_that_runs(tmp_path: Path) -> None:
    own = tmp_path / "own-server"
    own.symlink_to(binary())
    server = EmbeddedNats(tmp_path / "data", program=str(own))
    await server.start()
    try:
        assert (Path("/proc") / str(server.pid) / "cmdline").read_bytes().startswith(bytes(own))
    finally:
        await server.stop()
