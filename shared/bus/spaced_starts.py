"""Deliveries that arrive together begin one after another, so that the event loop serves other tasks between them."""

from __future__ import annotations

import asyncio
from collections import deque


class SpacedStarts:
    """Lets one delivery begin in each iteration of the event loop, in the order in which they wait.

    Messages arrive several at a time. A handler computes for some milliseconds before it first waits for something;
    begun in the same iteration, they would keep the loop for the sum of that.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._begun = False

    async def wait(self) -> None:
        loop = asyncio.get_running_loop()
        if not self._begun:
            self._begun = True
            loop.call_soon(self._next)
            return
        start = loop.create_future()
        self._waiting.append(start)
        await start

    def _next(self) -> None:
        while self._waiting:
            start = self._waiting.popleft()
            if not start.done():  # else its delivery was cancelled
                start.set_result(None)  # it begins in the next iteration, as does what comes after it
                asyncio.get_running_loop().call_soon(self._next)
                return
        self._begun = False
