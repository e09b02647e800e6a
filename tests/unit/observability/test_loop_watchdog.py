"""The watchdog tells how long the event loop was blocked."""

from __future__ import annotations

import asyncio
import time

from shared.observability.loop_watchdog import LoopWatchdog


async def test_the_longest_time_that_the_loop_was_blocked_is_measured() -> None:
    watchdog = LoopWatchdog()
    await watchdog.open()
    until = time.monotonic() + 10
    try:
        while watchdog.longest < 0.15 and time.monotonic() < until:
            await asyncio.sleep(0.001)
            time.sleep(0.2)  # noqa: ASYNC251 (this is the blocking that is measured)
    finally:
        await watchdog.close()

    assert 0.15 <= watchdog.longest < 5
