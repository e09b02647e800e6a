"""A counted number of places, with a gate that tells the fetch loop when one is free."""

from __future__ import annotations

import asyncio


class Slots:
    """`take` waits for a place, `free` waits until there is one without taking it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self._gate = asyncio.Event()
        self._gate.set()
        self._open = False

    async def take(self) -> None:
        while self._taken >= self._limit and not self._open:
            await self._gate.wait()
        self._taken += 1
        self._mark()

    def give_back(self) -> None:
        self._taken -= 1
        self._mark()

    async def free(self) -> None:
        while self._taken >= self._limit and not self._open:
            await self._gate.wait()

    def open_all(self) -> None:
        """Let everybody through: the worker is stopping, and they will hand their work back."""
        self._open = True
        self._gate.set()

    def _mark(self) -> None:
        if self._taken < self._limit or self._open:
            self._gate.set()
        else:
            self._gate.clear()
