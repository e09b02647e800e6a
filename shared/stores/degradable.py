"""A store that may be away: that is told once, and then nobody waits for it until a probe has found it back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import structlog

from shared.contracts.errors import UnavailableError
from shared.observability import telemetry
from shared.stores.ports import Change, KeyValue

log = structlog.get_logger()
T = TypeVar("T")

#: Seconds between probes: the first, and the longest; each is twice the one before.
FIRST, LONGEST = 0.5, 30.0


class Reachability:
    """Whether a server answers, for everything that is kept on it."""

    def __init__(
        self, server: str, probe: Callable[[], Awaitable[object]], *, first: float = FIRST, longest: float = LONGEST
    ) -> None:
        """`probe` raises `UnavailableError` while the server is away; `first` and `longest` are its pauses in s."""
        self._server = server
        self._probe = probe
        self._first = first
        self._longest = longest
        self._probing: asyncio.Task[None] | None = None

    @property
    def away(self) -> bool:
        return self._probing is not None

    async def attempt(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work, unless the server is known to be away.

        Raises:
            UnavailableError: it is, or has just turned out to be.
        """
        if self.away:
            raise UnavailableError(f"{self._server} is away")
        try:
            return await work()
        except UnavailableError as error:
            if not self.away:
                telemetry.DEGRADED.labels(self._server).inc()
                log.warning("server away; going on without it until it is back", server=self._server, reason=str(error))
                self._probing = asyncio.create_task(self._until_back())
            raise

    async def _until_back(self) -> None:
        pause = self._first
        try:
            while True:
                await asyncio.sleep(pause)
                try:
                    await self._probe()
                except UnavailableError:
                    pause = min(self._longest, pause * 2)
                else:
                    log.warning("server back", server=self._server)
                    return
        finally:
            self._probing = None


class DegradableKeyValue:
    """A `KeyValue` on a server that may be away."""

    def __init__(self, store: KeyValue, reachability: Reachability) -> None:
        self._store = store
        self._reachability = reachability

    async def get(self, key: str) -> bytes | None:
        return await self._reachability.attempt(lambda: self._store.get(key))

    async def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        return await self._reachability.attempt(lambda: self._store.get_many(keys))

    async def put(self, key: str, value: bytes, *, ttl: float | None = None) -> None:
        await self._reachability.attempt(lambda: self._store.put(key, value, ttl=ttl))

    async def update(self, key: str, change: Change, *, ttl: float | None = None) -> None:
        await self._reachability.attempt(lambda: self._store.update(key, change, ttl=ttl))

    async def delete(self, key: str) -> None:
        await self._reachability.attempt(lambda: self._store.delete(key))

    async def erase(self, key: str) -> None:
        await self._reachability.attempt(lambda: self._store.erase(key))
