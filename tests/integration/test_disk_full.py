"""A disk that was full and has room again: the embedded server stores again by itself, and readiness knew before."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from nats.js.api import StreamConfig

from cli.host import store_repair
from cli.host.nats_server import EmbeddedNats
from cli.host.store_repair import StoreRepair
from shared.bus import Connection, Publisher
from shared.contracts.errors import UnavailableError
from shared.observability.health import HealthServer
from shared.observability.store_writes import STORES_NOTHING
from shared.runtime.settings import Settings
from tests.integration.rig import asked
from tests.support.speed import limit

pytestmark = pytest.mark.integration


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64M", "tmpfs", str(folder)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
async def server(small_disk: Path) -> AsyncIterator[EmbeddedNats]:
    server = EmbeddedNats(small_disk)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


def fill(folder: Path) -> Path:
    """A file that takes all the room."""
    path = folder / "other"
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(b"0" * 4096)
    return path


async def fails(publisher: Publisher) -> None:
    """Publish until nothing is stored any more: what is allocated already takes some."""
    with contextlib.suppress(UnavailableError):
        while True:
            await publisher.publish(asked())


async def not_ready(port: int) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /readyz HTTP/1.0\r\n\r\n")
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return "" if b" 200 " in head else body.decode()


async def test_a_server_whose_disk_was_full_stores_again_by_itself(
    server: EmbeddedNats, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_repair, "CHECK_SECONDS", 0.1)
    pid = server.pid
    connection = Connection(Settings(nats_url=server.url), "test")
    await connection.open()
    probes = HealthServer("127.0.0.1", 0, connection.fault)
    await probes.open()
    repair = StoreRepair(server, small_disk, lambda: [probes.port], not_ready)
    publisher = Publisher(connection.broker, "gateway", budget=8, raw_ttl=60, writes=connection.writes)
    try:
        await connection.jetstream.add_stream(StreamConfig(name="QA", subjects=["qa.>"], allow_msg_ttl=True))
        await publisher.publish(asked())
        assert await not_ready(probes.port) == ""

        other = fill(small_disk)
        await fails(publisher)
        assert STORES_NOTHING in await not_ready(probes.port)
        await repair.check()
        assert server.pid == pid, "a restart would not help while the disk is full"

        other.unlink()
        freed = time.monotonic()
        while server.pid == pid:
            await asyncio.sleep(0.05)
            await repair.check()
            assert time.monotonic() - freed < 60
        await asyncio.wait_for(publisher.publish(asked()), limit(30))
        assert time.monotonic() - freed < 60
        assert await not_ready(probes.port) == ""
    finally:
        await probes.close()
        await connection.close()


async def test_without_a_restart_it_goes_on_failing(server: EmbeddedNats, small_disk: Path) -> None:
    """Why the supervisor restarts it: when this fails, the server has learned to recover, and the repair can go."""
    connection = Connection(Settings(nats_url=server.url), "test")
    await connection.open()
    publisher = Publisher(connection.broker, "gateway", budget=6, raw_ttl=60)
    try:
        await connection.jetstream.add_stream(StreamConfig(name="QA", subjects=["qa.>"], allow_msg_ttl=True))
        other = fill(small_disk)
        await fails(publisher)
        other.unlink()

        with pytest.raises(UnavailableError):
            await publisher.publish(asked())
    finally:
        await connection.close()
