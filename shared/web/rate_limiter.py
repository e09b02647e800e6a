"""Limits the rate of requests to each host."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

#: Hosts that are remembered before idle ones are dropped.
_MOST_HOSTS = 4096


class HostRateLimiter:
    """Spaces the requests to every host by the generic cell rate algorithm (ITU-T I.371).

    `per_second` requests to one host on average (0: no limit), up to `burst` of them without waiting.
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
        #: Host -> the theoretical arrival time of its next request.
        self._due: dict[str, float] = {}

    async def acquire(self, host: str) -> None:
        """Wait until the next request to the host may be sent."""
        if not self._interval:
            return
        now = self._clock()
        if len(self._due) > _MOST_HOSTS:
            self._due = {host: due for host, due in self._due.items() if due > now}
        due = max(now, self._due.get(host, now))
        self._due[host] = due + self._interval
        wait = due - now - self._ahead
        if wait > 0:
            await self._sleep(wait)
