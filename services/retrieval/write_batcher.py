"""Batches writes: those that wait when the writer becomes free are written together and share one commit."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

W = TypeVar("W")
R = TypeVar("R")


class RunOnThread(Protocol):
    """Runs functions on the writer thread, one after another, in the order of the calls."""

    def __call__(self, work: Callable[[], Any]) -> Awaitable[Any]: ...


@dataclass
class _PendingWrite(Generic[W, R]):
    work: W
    done: Callable[[], R] | None = None


class WriteBatcher(Generic[W, R]):
    """Passes writes to `write` in batches of up to `most`, in order, and returns to each caller its own result.

    A batch that fails is written again one by one, so that one bad write does not fail the others.
    """

    def __init__(self, thread: RunOnThread, write: Callable[[Sequence[W]], Sequence[R]], *, most: int = 32) -> None:
        self._thread = thread
        self._write = write
        self._most = most
        self._pending: deque[_PendingWrite[W, R]] = deque()

    async def submit(self, work: W) -> R:
        """Write it with the next batch; raises what `write` raises for this one alone."""
        mine: _PendingWrite[W, R] = _PendingWrite(work)
        self._pending.append(mine)
        result: R = await self._thread(lambda: self._write_until_done(mine))
        return result

    # --- on the writer thread ---

    def _write_until_done(self, mine: _PendingWrite[W, R]) -> R:
        while mine.done is None:
            self._write_batch()
        return mine.done()

    def _write_batch(self) -> None:
        batch = [self._pending.popleft() for _ in range(min(self._most, len(self._pending)))]
        try:
            results = self._write([one.work for one in batch])
        except Exception:
            for one in batch:
                self._write_alone(one)
            return
        for one, result in zip(batch, results, strict=True):
            one.done = lambda result=result: result  # bound now, not when it is asked for

    def _write_alone(self, one: _PendingWrite[W, R]) -> None:
        try:
            (result,) = self._write([one.work])
        except Exception as error:
            failure = error

            def fail() -> R:
                raise failure

            one.done = fail
        else:
            one.done = lambda: result
