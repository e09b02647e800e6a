"""Writes done in groups: whatever waits when the writer is free is written at once, and shares what a commit costs."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

W = TypeVar("W")
R = TypeVar("R")


class OnThread(Protocol):
    """Does work on the thread that writes, one after another, in the order it is told to."""

    def __call__(self, work: Callable[[], Any]) -> Awaitable[Any]: ...


@dataclass
class _Waiting(Generic[W, R]):
    work: W
    done: Callable[[], R] | None = None


class WriteBatcher(Generic[W, R]):
    """Hands work to `write` in groups of up to `most`, in order, and gives everyone their own result.

    A group that fails is written again one by one, so that only those fail that have to.
    """

    def __init__(self, thread: OnThread, write: Callable[[Sequence[W]], Sequence[R]], *, most: int = 32) -> None:
        self._thread = thread
        self._write = write
        self._most = most
        self._waiting: deque[_Waiting[W, R]] = deque()

    async def do(self, work: W) -> R:
        """Raises what `write` raises for this piece of work alone."""
        mine: _Waiting[W, R] = _Waiting(work)
        self._waiting.append(mine)
        result: R = await self._thread(lambda: self._until(mine))
        return result

    # --- on the thread ---

    def _until(self, mine: _Waiting[W, R]) -> R:
        while mine.done is None:
            self._next_group()
        return mine.done()

    def _next_group(self) -> None:
        group = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
        try:
            results = self._write([one.work for one in group])
        except Exception:
            for one in group:
                self._alone(one)
            return
        for one, result in zip(group, results, strict=True):
            one.done = lambda result=result: result  # bound now, not when it is asked for

    def _alone(self, one: _Waiting[W, R]) -> None:
        try:
            (result,) = self._write([one.work])
        except Exception as error:
            failure = error

            def fail() -> R:
                raise failure

            one.done = fail
        else:
            one.done = lambda: result
