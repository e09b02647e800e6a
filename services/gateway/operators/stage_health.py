"""Which stages cannot work, as their workers report it; asked at most every other second, however often it is read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Literal, NamedTuple

from shared.contracts.errors import UnavailableError

#: Stages without which questions are answered all the same: what they are to do waits in the log.
FOLLOWING = frozenset({"persistence"})
#: Seconds for which the workers' reports are used.
CACHE_SECONDS = 2.0


class PlatformHealth(NamedTuple):
    """Whether questions can be answered now; `not_ready` are the stages that cannot work, None while NATS is away."""

    state: Literal["ok", "degraded", "unavailable"]
    not_ready: tuple[str, ...] | None


class StageHealth:
    """Caches the stages that are not ready, because anybody may ask for the gateway's health."""

    def __init__(self, stages_not_ready: Callable[[], Awaitable[dict[str, str]]], bus_fault: Callable[[], str]) -> None:
        self._stages_not_ready = stages_not_ready
        self._bus_fault = bus_fault
        self._lock = asyncio.Lock()
        self._names: tuple[str, ...] = ()
        self._until = 0.0

    async def platform(self) -> PlatformHealth:
        """The health of all stages together; `degraded` while only those are missing that follow the answers."""
        try:
            missing = None if self._bus_fault() else await self.not_ready()
        except UnavailableError:
            missing = None
        if missing is None:
            return PlatformHealth("unavailable", None)
        if not missing:
            return PlatformHealth("ok", ())
        return PlatformHealth("degraded" if FOLLOWING.issuperset(missing) else "unavailable", missing)

    async def not_ready(self) -> tuple[str, ...]:
        """The names of the stages without a ready worker; the reasons, which may name servers, are for operators.

        Raises:
            UnavailableError: NATS is unavailable.
        """
        async with self._lock:
            if time.monotonic() >= self._until:
                self._names = tuple(sorted(await self._stages_not_ready()))
                self._until = time.monotonic() + CACHE_SECONDS
            return self._names
