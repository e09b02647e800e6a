"""The slots of one subscription on one lane: how many events a worker processes at once, whatever their partition."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager


class Slots:
    """At most `limit` events are processed at once; `partitions` pulls share them.

    A pull may grant the server its share of the slots in advance while any are free, so that no partition waits for
    another. With several partitions a worker can therefore hold more events than it processes, by less than `limit`
    (less than the number of partitions where that is larger): those wait their turn in the worker.
    """

    def __init__(self, limit: int, partitions: int = 1) -> None:
        self.limit = limit
        #: The most that one pull may have granted and not received.
        self.share = max(1, limit // partitions)
        self.held = 0
        self._turns = asyncio.Semaphore(limit) if partitions > 1 else None
        self._waiting: deque[Callable[[], Awaitable[None]]] = deque()

    @property
    def shared(self) -> bool:
        """Whether several pulls share them: a pull then has room again as soon as a message has arrived."""
        return self._turns is not None

    @property
    def free(self) -> int:
        return self.limit - self.held

    def turn(self) -> AbstractAsyncContextManager[None]:
        """The turn of one event that is held; a single pull never holds more than can be processed."""
        return self._turns or contextlib.nullcontext()

    def share_with(self, request_more: Callable[[], Awaitable[None]]) -> None:
        """Let this pull request more whenever a slot gets free."""
        self._waiting.append(request_more)

    async def freed(self) -> None:
        """Let every pull request more, in turns a different one first."""
        self._waiting.rotate(-1)
        for request_more in tuple(self._waiting):
            await request_more()
