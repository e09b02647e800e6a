"""How long one call may take: what its question's deadline leaves, less what the work after it needs."""

from __future__ import annotations

import time
from datetime import UTC, datetime

#: A single step may take this share of the time left, an engine's reply most of it: the rule that stands beside a
#: step, and the stages after it, need some too.
STEP_SHARE = 0.5
REPLY_SHARE = 0.9
#: Most that is kept back from a reply, in seconds.
_KEPT = 5.0


class Budget:
    """Ends at a point of the monotonic clock; without a deadline, never."""

    def __init__(self, deadline: datetime | None, share: float) -> None:
        self._ends: float | None = None
        if deadline is not None:
            left = (deadline - datetime.now(UTC)).total_seconds()
            allowed = left * share
            if share == REPLY_SHARE:
                allowed = max(allowed, left - _KEPT)
            self._ends = time.monotonic() + allowed

    @property
    def left(self) -> float:
        """Seconds; infinite without a deadline, never negative."""
        return float("inf") if self._ends is None else max(0.0, self._ends - time.monotonic())

    def share(self, among: int) -> float:
        """Seconds for one of so many endpoints that may still be asked."""
        return self.left / max(1, among)
