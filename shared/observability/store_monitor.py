"""Readiness of a store that a stage cannot work without: a probe in the background says whether it is available."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import structlog

from shared.contracts.errors import AnswerbusError
from shared.observability import telemetry

log = structlog.get_logger()

#: Seconds between two probes; half of it after a failure.
PROBE_SECONDS = 1.0
#: Failures in a row after which the store counts as unavailable: a busy server may miss one probe.
FAILURES = 2


class StoreMonitor:
    """Probes one server from `open` to `close`; `not_ready` is the reason why it cannot be used, empty if it can."""

    def __init__(
        self,
        server: str,
        probe: Callable[[], Awaitable[object]],
        *,
        on_loss: Callable[[], None] = lambda: None,
        seconds: float = PROBE_SECONDS,
    ) -> None:
        """`probe` ends within seconds and raises an `AnswerbusError` while the server is unavailable.

        `on_loss` is called whenever the server becomes unavailable.
        """
        self._server = server
        self._probe = probe
        self._on_loss = on_loss
        self._seconds = seconds
        self._reason = ""
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._task = asyncio.create_task(self._watch())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    def not_ready(self) -> str:
        return self._reason

    async def _watch(self) -> None:
        failures = 0
        while True:
            await asyncio.sleep(self._seconds / 2 if failures else self._seconds)
            try:
                await self._probe()
            except AnswerbusError as error:
                failures += 1
                if failures == FAILURES:
                    self._lost(str(error))
            else:
                failures = 0
                if self._reason:
                    log.warning("server available again", server=self._server)
                    self._reason = ""

    def _lost(self, reason: str) -> None:
        telemetry.DEGRADED.labels(self._server).inc()
        log.warning("server unavailable; this worker is not ready", server=self._server, reason=reason)
        self._reason = reason
        self._on_loss()
