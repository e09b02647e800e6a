"""How fast one host is asked: so many requests a second, a few of them at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

_KEPT = 4096


class Pace:
    """Spaces the requests to every host by the generic cell rate algorithm (ITU-T I.371).

    `per_second` requests on average, `burst` of them without waiting; 0: no limit.
    """

    def __init__(
        self,
        per_second: float,
        burst: int = 5,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._interval = 1 / per_second if per_second else 0.0
        self._ahead = (burst - 1) * self._interval
        self._clock = clock
        self._sleep = sleep
        #: Host -> when its requests so far are worked off.
        self._due: dict[str, float] = {}

    async def turn(self, host: str) -> None:
        """Wait until the host may be asked again."""
        if not self._interval:
            return
        now = self._clock()
        if len(self._due) > _KEPT:
            self._due = {one: due for one, due in self._due.items() if due > now}
        due = max(now, self._due.get(host, now))
        self._due[host] = due + self._interval
        wait = due - now - self._ahead
        if wait > 0:
            await self._sleep(wait)
