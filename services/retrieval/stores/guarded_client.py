"""Calls of a client library that must not be cancelled: cancelled calls would use up its connections for good.

The Qdrant client uses httpx: its pool (httpcore) never frees the slot of a call that is cancelled while it waits
for a connection (encode/httpcore#1093): after a burst of cancelled searches every further one fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from shared.contracts.errors import UnavailableError
from shared.observability.store_monitor import StoreMonitor

T = TypeVar("T")
Connect = Callable[[], Any]

#: Calls at the same time on one client; further ones wait, and may be cancelled while they wait.
CALLS = 32


class GuardedClient:
    """Runs every call on the client in a task of its own, to its end, whatever happens to the caller.

    While the server is unavailable, calls fail at once. What still runs on the client by then is left to the client's
    own timeout; a fresh client, which has all its connections, takes the calls once the server is available again.
    """

    def __init__(self, connect: Connect, server: str, probe: Callable[[], Awaitable[object]]) -> None:
        """`connect` makes a client with `close()`; `probe` as for `StoreMonitor`."""
        self._connect = connect
        self._server = server
        self._monitor = StoreMonitor(server, probe, on_loss=self._replace_client)
        self._current: _ClientCalls | None = None
        self._retired: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        self._current = _ClientCalls(self._connect())
        await self._monitor.open()

    async def close(self) -> None:
        await self._monitor.close()
        for task in self._retired:
            task.cancel()
        await asyncio.gather(*self._retired, return_exceptions=True)
        if self._current is not None:
            await self._current.close()
            self._current = None

    def not_ready(self) -> str:
        return self._monitor.not_ready()

    async def read(self, call: Callable[[Any], Awaitable[T]]) -> T:
        """The result of `call(client)`.

        Raises:
            UnavailableError: the server is unavailable, or becomes so meanwhile.
        """
        return await self._client().run(call, self._server, until_lost=True)

    async def write(self, call: Callable[[Any], Awaitable[T]]) -> T:
        """As `read`, but a call that has begun is waited for, so that no write is running when this returns.

        Raises:
            UnavailableError: the server is unavailable.
        """
        return await self._client().run(call, self._server, until_lost=False)

    def _client(self) -> _ClientCalls:
        if self._current is None:
            raise UnavailableError(f"{self._server} is not connected")
        if reason := self._monitor.not_ready():
            raise UnavailableError(reason)
        return self._current

    def _replace_client(self) -> None:
        if self._current is not None:
            task = asyncio.create_task(self._current.retire())
            self._retired.add(task)
            task.add_done_callback(self._retired.discard)
        self._current = _ClientCalls(self._connect())


class _ClientCalls:
    """One client with the calls that run on it."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._slots = asyncio.Semaphore(CALLS)
        self._tasks: set[asyncio.Task[Any]] = set()
        #: Those that have reached the client and must not be cancelled.
        self._begun: set[asyncio.Task[Any]] = set()
        self._lost = asyncio.get_running_loop().create_future()

    async def run(self, call: Callable[[Any], Awaitable[T]], server: str, *, until_lost: bool) -> T:
        task = asyncio.create_task(self._in_slot(call))
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        ends: set[asyncio.Future[Any]] = {task, self._lost} if until_lost else {task}
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)  # which cancels none of them
        finally:
            if task not in self._begun:
                task.cancel()
        if not task.done() or task.cancelled():
            raise UnavailableError(f"{server} is unavailable: it did not respond in time")
        return task.result()

    async def retire(self) -> None:
        """Release the callers that wait for reads, wait for the calls that have begun, then close the client."""
        self._lost.set_result(None)
        try:
            if self._tasks:
                await asyncio.wait(self._tasks)
        finally:
            await self.close()

    async def close(self) -> None:
        """Close it at once; calls that still run are cancelled, which no longer matters to this client."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._client.close()

    async def _in_slot(self, call: Callable[[Any], Awaitable[T]]) -> T:
        async with self._slots:
            task = asyncio.current_task()
            assert task is not None
            self._begun.add(task)
            return await call(self._client)

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        self._begun.discard(task)
        if not task.cancelled():
            task.exception()  # seen, so that asyncio does not log it when no caller waits any more
