"""A key is changed while its worker runs: the worker ends, and a new one with the new key is let in."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from cli.host.catalogue import stages
from cli.operations.credentials import USERS_FILE, issue
from shared.bus.connection import EXIT_CONNECTION_CLOSED
from tests.support.servers import Server, nats_server

ROOT = Path(__file__).resolve().parents[2]
WORKER = """
import asyncio
from shared.bus import Connection
from shared.runtime.settings import Settings

async def work():
    await Connection(Settings(), "test").open()
    print("open", flush=True)
    await asyncio.sleep(60)

asyncio.run(work())
"""


async def worker(server: Server, seed: Path) -> asyncio.subprocess.Process:
    """A process that is connected with that seed."""
    variables = {**os.environ, "ANSWERBUS_NATS_URL": server.url, "ANSWERBUS_NATS_SEED": str(seed)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORKER, env=variables, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout
    assert await asyncio.wait_for(process.stdout.readline(), 30) == b"open\n"
    return process


async def test_a_worker_whose_key_was_rotated_ends_so_that_a_new_one_reads_the_new_key(tmp_path: Path) -> None:
    declared = stages()
    seed = issue(tmp_path, declared)[0].seed_file
    before = seed.read_text()
    with nats_server(tmp_path, config=tmp_path / USERS_FILE) as server:
        first = await worker(server, seed)
        kept = issue(tmp_path, declared, rotate=["gateway"])
        assert [one.action for one in kept] == ["rotated", *["kept"] * (len(kept) - 1)]
        assert seed.read_text() != before
        assert seed.stat().st_mode & 0o777 == 0o600
        assert server.process
        server.process.send_signal(signal.SIGHUP)
        assert await asyncio.wait_for(first.wait(), 30) == EXIT_CONNECTION_CLOSED
        second = await worker(server, seed)
        second.kill()
        await second.wait()
