"""Measures how long an event loop was blocked: a task that should wake up on time measures how late it is."""

from __future__ import annotations

import asyncio
import time

import structlog

from shared.observability import telemetry

log = structlog.get_logger()

#: Seconds between two measurements; shorter costs idle workers more.
INTERVAL = 0.05
#: Blocked times from this on are logged, in seconds: every other question of the process waited as long.
NOTABLE = 0.5


class LoopWatchdog:
    """Measures the running event loop while it is open; `longest` is the longest blocked time so far, in seconds."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._task = asyncio.create_task(self._measure())

    async def close(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _measure(self) -> None:
        while True:
            expected = time.perf_counter() + INTERVAL
            await asyncio.sleep(INTERVAL)
            self._note(max(0.0, time.perf_counter() - expected))

    def _note(self, blocked: float) -> None:
        telemetry.LOOP_BLOCKED.observe(blocked)
        if blocked > self.longest:
            self.longest = blocked
            telemetry.LOOP_BLOCKED_LONGEST.set(blocked)
        if blocked >= NOTABLE:
            log.warning("the event loop was blocked", seconds=round(blocked, 3))
