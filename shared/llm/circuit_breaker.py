"""The circuit breaker of one endpoint: after failures in a row it is left alone for a while, then probed by one call.

After M. Nygard, "Release It!" (2007): closed, open, half-open.
"""

from __future__ import annotations

import time
from collections.abc import Callable


class Breaker:
    """Opens after `failures` in a row for `window` seconds; then one call may try, and decides."""

    def __init__(self, failures: int, window: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._retry_policy = failures
        self._window = window
        self._clock = clock
        self._in_a_row = 0
        self._opened_at: float | None = None
        self._probing = False

    @property
    def is_open(self) -> bool:
        return self._opened_at is not None

    @property
    def is_probing(self) -> bool:
        return self._probing

    def enter(self) -> bool:
        """Whether a try may be made now; while open, one per window may, and must be followed by a verdict."""
        if self._opened_at is None:
            return True
        if self._probing or self._clock() - self._opened_at < self._window:
            return False
        self._probing = True
        return True

    def succeeded(self) -> None:
        self._in_a_row, self._opened_at, self._probing = 0, None, False

    def failed(self) -> None:
        self._in_a_row += 1
        if self._probing or self._in_a_row >= self._retry_policy:
            self._opened_at, self._probing = self._clock(), False

    def gave_up(self) -> None:
        """The try ended without a verdict (cancelled, or the request was at fault)."""
        self._probing = False
