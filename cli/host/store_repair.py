"""Restarts the embedded NATS server where it stores nothing although its disk has room: it does not recover itself."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Protocol

from shared.observability.store_writes import STORES_NOTHING

#: Seconds between two looks at the workers' health.
CHECK_SECONDS = 3.0
#: Seconds between two restarts.
PAUSE_SECONDS = 30.0
#: Bytes that must be free: a block of a stream is written anew at most.
ROOM = 16 * 2**20


class Server(Protocol):
    """The part of `EmbeddedNats` that is needed here."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


class StoreRepair:
    """Looks at the health ports of the workers, which notice when nothing that they publish is stored."""

    def __init__(
        self,
        server: Server,
        data_dir: Path,
        ports: Callable[[], Collection[int]],
        not_ready: Callable[[int], Awaitable[str]],
    ) -> None:
        """`not_ready` says why the worker with that health port is not ready."""
        self._server = server
        self._data_dir = data_dir
        self._ports = ports
        self._not_ready = not_ready
        self._checked = 0.0
        self._restarted = -PAUSE_SECONDS

    async def check(self) -> None:
        """Restart the server if a worker's events are not stored and there is room; looks every `CHECK_SECONDS`.

        Raises:
            ConfigurationError: the server does not start.
        """
        now = time.monotonic()
        if now - self._checked < CHECK_SECONDS or now - self._restarted < PAUSE_SECONDS:
            return
        self._checked = now
        if shutil.disk_usage(self._data_dir).free < ROOM:
            return
        for port in tuple(self._ports()):
            if port and STORES_NOTHING in await self._not_ready(port):
                print("nats-server stores nothing although there is room; restarting it", file=sys.stderr, flush=True)
                await self._server.stop()
                await self._server.start()
                self._restarted = time.monotonic()
                return
