"""Measures how long an event loop was blocked: a task that should wake up on time measures how late it is.

A loop is late because its own process kept it, or because the machine gave its thread no core. Linux counts the second
(`/proc/thread-self/schedstat`: nanoseconds on a core, and nanoseconds ready but without one), so the watchdog can tell
the two apart: what its thread did not wait for a core, it was kept by a handler, or by another thread of the process
that held the interpreter.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time

import structlog

from shared.observability import telemetry

log = structlog.get_logger()

#: Seconds between two measurements; shorter costs idle workers more.
INTERVAL = 0.05
#: Blocked times from this on are logged, in seconds: every other question of the process waited as long.
NOTABLE = 0.5
_SCHEDSTAT = "/proc/thread-self/schedstat"


class LoopWatchdog:
    """Measures the running event loop while it is open, in seconds.

    `longest` is the longest blocked time so far, `longest_busy` the longest part of one that waiting for a core does
    not explain.
    """

    def __init__(self) -> None:
        self.longest = 0.0
        self.longest_busy = 0.0
        self._task: asyncio.Task[None] | None = None
        self._schedstat: int | None = None

    async def open(self) -> None:
        with contextlib.suppress(OSError):  # not on Linux: then all of it counts as busy
            self._schedstat = os.open(_SCHEDSTAT, os.O_RDONLY | os.O_CLOEXEC)
        self._task = asyncio.create_task(self._measure())

    async def close(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        if self._schedstat is not None:
            os.close(self._schedstat)
            self._schedstat = None

    async def _measure(self) -> None:
        waited = self._waited()
        while True:
            expected = time.perf_counter() + INTERVAL
            await asyncio.sleep(INTERVAL)
            blocked, before, waited = max(0.0, time.perf_counter() - expected), waited, self._waited()
            self._note(blocked, waited - before)

    def _waited(self) -> float:
        """Seconds for which the loop's thread was ready and had no core, since it was started; 0 if not known."""
        if self._schedstat is None:
            return 0.0
        return int(os.pread(self._schedstat, 100, 0).split()[1]) / 1e9

    def _note(self, blocked: float, waited: float) -> None:
        busy = max(0.0, blocked - waited)
        telemetry.LOOP_BLOCKED.observe(blocked)
        telemetry.LOOP_BUSY.observe(busy)
        if blocked > self.longest:
            self.longest = blocked
            telemetry.LOOP_BLOCKED_LONGEST.set(blocked)
        if busy > self.longest_busy:
            self.longest_busy = busy
            telemetry.LOOP_BUSY_LONGEST.set(busy)
        if blocked >= NOTABLE:
            log.warning("the event loop was blocked", seconds=round(blocked, 3), busy_seconds=round(busy, 3))
