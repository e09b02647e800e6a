"""The watchdog tells how long the event loop was blocked, and how much of it was not the wait for a core."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from shared.observability.loop_watchdog import LoopWatchdog
from tests.support.speed import limit


async def measured_while_blocked(seconds: float) -> LoopWatchdog:
    """A watchdog that was open while the loop was blocked by its own code for so long, several times."""
    watchdog = LoopWatchdog()
    await watchdog.open()
    until = time.monotonic() + 10
    try:
        while watchdog.longest < 0.75 * seconds and time.monotonic() < until:
            await asyncio.sleep(0.001)
            time.sleep(seconds)  # noqa: ASYNC251 (this is the blocking that is measured)
    finally:
        await watchdog.close()
    return watchdog


async def test_the_longest_time_that_the_loop_was_blocked_is_measured() -> None:
    watchdog = await measured_while_blocked(0.2)

    assert 0.15 <= watchdog.longest < 5


async def test_what_blocks_the_loop_itself_counts_as_busy() -> None:
    watchdog = await measured_while_blocked(0.4)

    assert watchdog.longest_busy >= 0.15
    assert watchdog.longest_busy <= watchdog.longest


@contextmanager
def core_that_others_have() -> Iterator[None]:
    """This thread and two computing processes have one core together, and the scheduler prefers the processes.

    The thread keeps its low priority, so it must be one that ends afterwards.
    """
    cores = os.sched_getaffinity(0)
    core = min(cores)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        for one in busy:
            os.sched_setaffinity(one.pid, {core})
        os.sched_setaffinity(0, {core})
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()
        os.sched_setaffinity(0, cores)


async def measured_while_others_have_the_core() -> LoopWatchdog:
    """A watchdog whose loop takes short steps only, and gets the core seldom."""
    watchdog = LoopWatchdog()
    with core_that_others_have():
        await watchdog.open()
        until = time.monotonic() + limit(20)
        while watchdog.longest < 0.02 and time.monotonic() < until:
            for _ in range(20):  # short steps: none of them blocks the loop for a millisecond
                sum(range(2000))
                await asyncio.sleep(0)
        await watchdog.close()
    return watchdog


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how long a thread waited for a core")
def test_the_wait_for_a_core_is_told_apart() -> None:
    """Given a loop that others keep from its core, when it is late, then most of that is not its own."""
    with ThreadPoolExecutor(max_workers=1) as threads:
        watchdog = threads.submit(asyncio.run, measured_while_others_have_the_core()).result()

    assert watchdog.longest >= 0.02
    assert watchdog.longest_busy < watchdog.longest / 2


async def test_a_watchdog_that_is_closed_can_be_opened_again() -> None:
    watchdog = LoopWatchdog()
    for _ in range(2):
        await watchdog.open()
        await watchdog.close()
    assert watchdog.longest == 0.0
