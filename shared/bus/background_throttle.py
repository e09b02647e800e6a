"""Background work makes way for live questions: as much as there is room for while none is about, else a few a second.

Live and background work wait in durables of their own, so that no live question stands behind a background one on the
bus. What is left is that both use the same processes and cores; this keeps the background's share small while somebody
waits for an answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable

#: Seconds after the last live event in which the next one is expected.
QUIET_AFTER = 5.0
#: While somebody asks, background work holds no more than this part of the places it has otherwise.
SHARE = 8


class BackgroundThrottle:
    """What one worker knows of its live work; `per_second` is how much background work it takes beside it (0: all)."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.pause = 1 / per_second if per_second else 0.0
        self.clock = clock
        self._live = 0
        self._last_live = float("-inf")

    def arrived(self) -> None:
        """A live event came in."""
        self._live += 1

    def done(self) -> None:
        """It was finished or handed back."""
        self._live -= 1
        self._last_live = self.clock()

    @property
    def busy(self) -> bool:
        """Whether somebody waits for an answer, or did a moment ago."""
        return bool(self.pause) and (self._live > 0 or self.clock() - self._last_live < QUIET_AFTER)


class Background:
    """When one background durable may be asked for more, of the `places` it could fill."""

    def __init__(self, throttle: BackgroundThrottle, places: int) -> None:
        self._throttle = throttle
        self._places = places
        self._last = float("-inf")

    def room(self, taken: int) -> tuple[int, float]:
        """How many more to ask for with so many taken, and in how many seconds to look again (0: when told)."""
        if not self._throttle.busy:
            return self._places - taken, 0.0
        if taken >= max(1, self._places // SHARE):
            return 0, 0.0
        now = self._throttle.clock()
        wait = self._last + self._throttle.pause - now
        if wait > 0:
            return 0, wait
        self._last = now
        return 1, 0.0
