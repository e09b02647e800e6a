"""Whether NATS stores messages: after a full disk, a server fails to write although it answers."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Why a worker is not ready meanwhile; the supervisor of an embedded server restarts it then.
STORES_NOTHING = "NATS stores nothing"
#: Seconds between two failures, without a success in between, after which this is said.
FAILING_SECONDS = 4.0
#: Seconds after the last failure for which it is said: without new attempts nobody knows.
KNOWN_SECONDS = 60.0


class StoreWrites:
    """What became of the latest attempts to publish over one connection."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._first = self._last = 0.0

    def failed(self) -> None:
        """An attempt failed, or was not confirmed in time."""
        self._last = self._clock()
        self._first = self._first or self._last

    def succeeded(self) -> None:
        """Something was stored, or the server is another one since."""
        self._first = self._last = 0.0

    def fault(self) -> str:
        """Why nothing can be published now; empty if it can."""
        if not self._first or self._clock() - self._last > KNOWN_SECONDS:
            return ""
        return STORES_NOTHING if self._last - self._first >= FAILING_SECONDS else ""
