"""How long a store's reads take: short ones are made in the event loop, the others on a thread."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
#: Seconds that a read takes on average at most to be made in the event loop. Giving it to a thread and coming back
#: costs a tenth of a millisecond of processor time, and several milliseconds while the interpreter is busy with others.
SHORT = 0.002
#: A thread's own times, available on Linux; elsewhere the process's, with which reads count as longer than they are.
_WHOSE = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
#: The share of the latest read in the average.
_LATEST = 1 / 8


class ReadTimes:
    """A moving average over the reads of one kind, from several threads. Until some were made, they count as long.

    A read takes the processor time of its thread: that it waited for a core or for the interpreter says nothing of it.
    Where it read from the disk, the whole time counts.
    """

    def __init__(self, short: float = SHORT) -> None:
        self._short = short
        self._average = 4 * short

    @property
    def are_short(self) -> bool:
        return self._average < self._short

    def timed(self, read: Callable[[], T]) -> T:
        """Make the read, and count what it takes."""
        began, before = time.perf_counter(), resource.getrusage(_WHOSE)
        try:
            return read()
        finally:
            after = resource.getrusage(_WHOSE)
            seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
            if after.ru_inblock > before.ru_inblock:
                seconds = time.perf_counter() - began
            self._average += _LATEST * (seconds - self._average)
