"""Batches calls of a store: those that wait when its thread becomes free are made together and share one commit."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

#: Callers that get their results in one iteration of the event loop: each computes for a while before it next waits.
_AT_ONCE = 8

C = TypeVar("C")
R = TypeVar("R")


class RunOnThread(Protocol):
    """Runs functions on the store's thread, one after another, in the order of the calls."""

    def __call__(self, work: Callable[[], Any]) -> Awaitable[Any]: ...


class CallBatcher(Generic[C, R]):
    """Passes calls to `make` in batches of up to `most`, in order, and returns to each caller its own result.

    A batch that fails is made again one by one, so that one bad call does not fail the others. The thread is entered
    once for a batch: each entry costs two changes of threads, which takes longer than many a call.
    """

    def __init__(self, thread: RunOnThread, make: Callable[[Sequence[C]], Sequence[R]], *, most: int = 32) -> None:
        self._thread = thread
        self._make = make
        self._most = most
        self._waiting: deque[tuple[C, asyncio.Future[R]]] = deque()
        self._batches: asyncio.Task[None] | None = None

    async def call(self, argument: C) -> R:
        """Make the call with the next batch; raises what `make` raises for this one alone."""
        result: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((argument, result))
        if self._batches is None:
            self._batches = asyncio.create_task(self._make_batches())
        return await result

    async def finish(self) -> None:
        """Return when every call has been made."""
        while self._batches is not None:
            await asyncio.wait({self._batches})

    async def _make_batches(self) -> None:
        try:
            while self._waiting:
                await self._make_batch([self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))])
        finally:
            self._batches = None
            for _, result in self._waiting:  # only where this task is cancelled, as the event loop ends
                result.cancel()

    async def _make_batch(self, batch: Sequence[tuple[C, asyncio.Future[R]]]) -> None:
        try:
            results = await self._thread(lambda: self._make([argument for argument, _ in batch]))
            made = list(zip(batch, results, strict=True))
        except Exception as error:
            if len(batch) > 1:
                for item in batch:
                    await self._make_batch([item])
            elif not (result := batch[0][1]).done():
                result.set_exception(error)
            return
        for number, ((_, result), value) in enumerate(made, 1):
            if not result.done():  # else its caller was cancelled
                result.set_result(value)
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)
