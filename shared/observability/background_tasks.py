"""How background tasks end."""

from __future__ import annotations

import asyncio

#: Seconds until a task that has not ended is cancelled again.
AGAIN = 0.5


async def end(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end.

    Once is not enough: before Python 3.12, `asyncio.wait_for` (under every request to NATS) loses a cancellation that
    comes together with its result, and the task would go on for ever.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=AGAIN)
