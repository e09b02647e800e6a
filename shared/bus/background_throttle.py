"""Limits background work (replays, batches, evaluation) while live questions are being answered.

Live and background events are delivered by separate durable consumers, so no live question queues behind a background
one in NATS. What they share is the worker's process and its cores: while somebody waits for an answer, a worker takes
only a few background events per second; otherwise as many as fit.
"""

from __future__ import annotations

import time
from collections.abc import Callable

#: Seconds after the last live event during which the worker still counts as busy with live questions.
QUIET_AFTER = 5.0
#: While live questions are in work, background work gets 1/SHARE of its usual slots.
SHARE = 8


class BackgroundThrottle:
    """Counts one worker's live events; `per_second` limits background events while there are any (0: no limit)."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.pause = 1 / per_second if per_second else 0.0
        self.clock = clock
        self._live = 0
        self._last_live = float("-inf")

    def live_started(self) -> None:
        """Count a live event that was received."""
        self._live += 1

    def live_finished(self) -> None:
        """Count a live event that was acknowledged or rejected."""
        self._live -= 1
        self._last_live = self.clock()

    @property
    def busy(self) -> bool:
        """Whether a live event is in work, or was within the last `QUIET_AFTER` seconds."""
        return bool(self.pause) and (self._live > 0 or self.clock() - self._last_live < QUIET_AFTER)


class BackgroundAllowance:
    """How many more events one background durable with `slots` slots may request now."""

    def __init__(self, throttle: BackgroundThrottle, slots: int) -> None:
        self._throttle = throttle
        self._slots = slots
        self._last = float("-inf")

    def allowed(self, taken: int) -> tuple[int, float]:
        """With `taken` slots in use: how many events to request, and after how many seconds to ask again.

        0 seconds means: when a slot becomes free.
        """
        if not self._throttle.busy:
            return self._slots - taken, 0.0
        if taken >= max(1, self._slots // SHARE):
            return 0, 0.0
        now = self._throttle.clock()
        wait = self._last + self._throttle.pause - now
        if wait > 0:
            return 0, wait
        self._last = now
        return 1, 0.0
