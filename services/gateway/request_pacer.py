"""Lets requests that arrive together begin a few at a time, so that the event loop goes on in between.

Beginning a request (checks, routing, validation) takes about a millisecond of the loop. Two thousand that arrive at
once would otherwise all begin in one turn of the loop, and everybody else would wait for seconds.
"""

from __future__ import annotations

import asyncio
from collections import deque

from starlette.types import ASGIApp, Receive, Scope, Send

#: Requests that begin in one turn of the loop.
EACH_TURN = 4


class Turns:
    """Who begins in which turn of the event loop: at most `EACH_TURN` in each, in their order."""

    def __init__(self) -> None:
        self._begun = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def next(self) -> asyncio.Future[None] | None:
        """What a request waits for before it begins; None: it may begin now."""
        loop = asyncio.get_running_loop()
        if not self._begun:
            loop.call_soon(self._next_turn)
        if self._begun < EACH_TURN:
            self._begun += 1
            return None
        waiter = loop.create_future()
        self._waiting.append(waiter)
        return waiter

    def _next_turn(self) -> None:
        self._begun = 0
        while self._waiting and self._begun < EACH_TURN:
            waiter = self._waiting.popleft()
            if not waiter.done():  # the client may have left
                waiter.set_result(None)
                self._begun += 1
        if self._begun:
            asyncio.get_running_loop().call_soon(self._next_turn)


class RequestPacer:
    """ASGI middleware: requests begin in their turns."""

    def __init__(self, app: ASGIApp, turns: Turns) -> None:
        self._app = app
        self._turns = turns

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (turn := self._turns.next()):
            await turn
        await self._app(scope, receive, send)
