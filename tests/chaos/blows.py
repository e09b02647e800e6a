"""What is done to a running platform, each blow with the name it has in the report."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from cli.host.catalogue import STAGES
from tests.support.platform import Platform

FROZEN = 20.0


@dataclass(frozen=True)
class Blow:
    """`strike` returns when the harm is done: the process is dead, goes on, or every stage has started again."""

    name: str
    strike: Callable[[], Awaitable[None]]


def blows(platform: Platform, dice: random.Random) -> Iterator[Blow]:
    """For ever: every kind of blow in an order that the seed decides, then all of them in another order."""
    kinds = [
        *(worker_killed(platform, stage) for stage in STAGES),
        Blow("kill -9 of nats-server", lambda: _struck(platform, platform.nats_server, signal.SIGKILL)),
        *(_freeze(platform, stage) for stage in dice.sample(STAGES, 2)),
        Blow("nats-server frozen for 20 s", lambda: _frozen(platform, platform.nats_server)),
        Blow("rolling restart of every stage", lambda: rolling_restart(platform)),
    ]
    while True:
        dice.shuffle(kinds)
        yield from kinds


def worker_killed(platform: Platform, stage: str) -> Blow:
    return Blow(f"kill -9 of {stage}", lambda: _struck(platform, lambda: platform.worker(stage), signal.SIGKILL))


def _freeze(platform: Platform, stage: str) -> Blow:
    return Blow(f"{stage} frozen for 20 s", lambda: _frozen(platform, lambda: platform.worker(stage)))


async def _struck(platform: Platform, find: Callable[[], int], number: signal.Signals) -> None:
    os.kill(await _running(find), number)


async def _frozen(platform: Platform, find: Callable[[], int]) -> None:
    pid = await _running(find)
    os.kill(pid, signal.SIGSTOP)
    try:
        await asyncio.sleep(FROZEN)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


async def rolling_restart(platform: Platform) -> None:
    """Every stage is asked to stop, and its supervisor starts it again; one after another."""
    for stage in STAGES:
        old = await _running(lambda stage=stage: platform.worker(stage))  # type: ignore[misc]
        os.kill(old, signal.SIGTERM)
        await _running(lambda stage=stage, old=old: _another(platform.worker(stage), old))  # type: ignore[misc]


def _another(pid: int, old: int) -> int:
    assert pid != old, "the old process still runs"
    return pid


async def _running(find: Callable[[], int], patience: float = 60.0) -> int:
    """The pid, once the process runs (it may be starting again)."""
    until = asyncio.get_running_loop().time() + patience
    while True:
        try:
            return find()
        except AssertionError:
            if asyncio.get_running_loop().time() > until:
                raise
            await asyncio.sleep(0.1)
