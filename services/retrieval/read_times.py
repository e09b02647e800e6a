"""How long a store's reads take: short ones are made in the event loop, the others on a thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
#: Seconds that a read takes on average at most to be made in the event loop. Giving it to a thread and coming back
#: costs a tenth of a millisecond of processor time, and several milliseconds while the interpreter is busy with others.
SHORT = 0.002
#: The share of the latest read in the average.
_LATEST = 1 / 8


class ReadTimes:
    """A moving average over the reads of one kind, from several threads. Until some were made, they count as long."""

    def __init__(self, short: float = SHORT) -> None:
        self._short = short
        self._average = 4 * short

    @property
    def are_short(self) -> bool:
        return self._average < self._short

    def timed(self, read: Callable[[], T]) -> T:
        """Make the read, and count what it takes."""
        began = time.perf_counter()
        try:
            return read()
        finally:
            self._average += _LATEST * (time.perf_counter() - began - self._average)
