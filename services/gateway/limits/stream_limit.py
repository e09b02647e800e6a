"""Limits on the streams of one API key at this gateway: how many are open, and for how long."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from types import TracebackType

from shared.contracts.errors import OverloadedError
from shared.observability import telemetry

#: Seconds after which a refused client may try again: streams of questions end within the deadline.
RETRY_AFTER = 5


class StreamSlot:
    """The place of one stream; given back by `release`, or by an exception in its `with` block."""

    def __init__(self, limit: StreamLimit, key: str, until: float) -> None:
        self._limit = limit
        self._key = key
        self._until = until
        self._held = True

    def __enter__(self) -> StreamSlot:
        return self

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the caller's key or token expires, after which it may read no more; None: it does not."""
        return max(0.0, self._until - self._limit.clock()) if self._until else None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.release()

    def release(self) -> None:
        """Give the place back; harmless the second time."""
        if self._held:
            self._held = False
            self._limit.give_back(self._key)


class StreamLimit:
    """Counts the open streams of each API key, by its name; `most` 0: no limit."""

    def __init__(self, most: int, clock: Callable[[], float] = time.time) -> None:
        self._most = most
        self.clock = clock
        self._open: Counter[str] = Counter()

    def take(self, key: str, until: float = 0.0) -> StreamSlot:
        """A place for one more stream, which may be read until then (in seconds since 1970; 0: to its end).

        Raises:
            OverloadedError: the key has as many open streams as it may have.
        """
        if self._most and self._open[key] >= self._most:
            telemetry.STREAMS_REFUSED.inc()
            message = f"this API key has {self._most} open streams already; end some, or try again in {RETRY_AFTER} s"
            raise OverloadedError(message, retry_after=RETRY_AFTER)
        self._open[key] += 1
        return StreamSlot(self, key, until)

    def give_back(self, key: str) -> None:
        self._open[key] -= 1
        if not self._open[key]:
            del self._open[key]
