"""Workers that reply no more are ended and started again; workers that only work for long are not."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from cli.host import heartbeat
from cli.host.heartbeat import end_silent_workers, not_ready
from cli.host.supervisor import Child, WorkerProcess, execute
from tests.support.servers import free_port
from tests.support.speed import limit

ROOT = Path(__file__).resolve().parents[3]
#: A worker whose handler does what the test wants, a moment after it was seen to be ready.
PROGRAM = """
import asyncio, hashlib, os, signal, sys, time
from shared.observability.health import HealthServer
async def main():
    asked = asyncio.Event()
    server = HealthServer("127.0.0.1", int(sys.argv[1]), lambda: (asked.set(), reason)[1])
    await server.open()
    await asked.wait()
    await asyncio.sleep(0.1)
    {handler}
    await asyncio.sleep(3600)
reason = {reason!r}
asyncio.run(main())
"""
BLOCKED = {
    "frozen": "os.kill(os.getpid(), signal.SIGSTOP)",
    "asleep": "time.sleep(3600)",
    "computing on the event loop": "hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)",
    "spinning": "\n    while True: pass",
    "waiting for a lock": "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "reading what never comes": "os.read(os.pipe()[0], 1)",
}
HONEST = {
    "idle": "",
    "waiting": "await asyncio.sleep(3600)",
    "computing on a thread": "await asyncio.to_thread(hashlib.pbkdf2_hmac, 'sha256', b'', b'', 10**9)",
    "waiting for a process": "await (await asyncio.create_subprocess_exec('sleep', '60', stdout=-3, stderr=-3)).wait()",
    "busy in small steps": "\n    while True: hashlib.pbkdf2_hmac('sha256', b'', b'', 1000); await asyncio.sleep(0)",
}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "CHECK_SECONDS", 1.0)


@pytest.fixture
async def start() -> AsyncIterator[Callable[..., Child]]:
    children: list[Child] = []

    def started(handler: str, reason: str = "") -> Child:
        port = free_port()
        program = PROGRAM.format(handler=handler, reason=reason)

        def launch() -> Awaitable[WorkerProcess]:
            command = [sys.executable, "-c", program, str(port)]
            return execute(command, {**os.environ, "PYTHONPATH": str(ROOT)})

        said: list[str] = []
        child = Child("retrieval", launch, lambda _, line: said.append(line))
        children.append(child)
        child.__dict__.update(port=port, said=said)
        child.start()
        return child

    yield started
    for child in children:
        await child.stop(0.1)


def probed(child: Child) -> Any:
    return lambda: [(child, child.__dict__["port"])]


async def until_ready(child: Child) -> int:
    """Its pid."""
    until = time.monotonic() + limit(30)
    while await not_ready(child.__dict__["port"], 1):
        assert time.monotonic() < until
        await asyncio.sleep(0.02)
    assert child.pid
    return child.pid


@pytest.mark.parametrize("state", BLOCKED)
async def test_a_worker_that_stops_replying_is_ended_and_another_one_started(
    start: Callable[..., Child], state: str
) -> None:
    child = start(BLOCKED[state])
    async with end_silent_workers(probed(child)):
        until = time.monotonic() + limit(60)
        while not child.restarts:
            assert time.monotonic() < until
            await asyncio.sleep(0.05)
    said = child.__dict__["said"]
    assert any(line.startswith("has not replied for") for line in said)
    assert any("SIGKILL" in line for line in said)


@pytest.mark.parametrize("state", HONEST)
async def test_a_worker_that_works_for_long_is_left_alone(start: Callable[..., Child], state: str) -> None:
    child = start(HONEST[state])
    pid = await until_ready(child)
    async with end_silent_workers(probed(child)):
        await asyncio.sleep(6)  # twice what a silent worker gets
    assert (child.pid, child.restarts) == (pid, 0)


async def test_a_worker_that_says_why_it_is_not_ready_or_has_not_been_ready_yet_is_left_alone(
    start: Callable[..., Child],
) -> None:
    child = start("", "the Qdrant server is unavailable")
    frozen = start("os.kill(os.getpid(), signal.SIGSTOP)", "starting")
    async with end_silent_workers(lambda: [*probed(child)(), *probed(frozen)()]):
        await asyncio.sleep(6)
    assert (child.restarts, frozen.restarts) == (0, 0)
    assert await not_ready(child.__dict__["port"]) == "the Qdrant server is unavailable"


async def test_a_worker_is_left_alone_that_was_frozen_for_less(start: Callable[..., Child]) -> None:
    child = start("")
    pid = await until_ready(child)
    async with end_silent_workers(probed(child)):
        await asyncio.sleep(0.5)
        os.kill(pid, signal.SIGSTOP)
        await asyncio.sleep(1)
        os.kill(pid, signal.SIGCONT)
        await asyncio.sleep(3)
    assert (child.pid, child.restarts) == (pid, 0)
