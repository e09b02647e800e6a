"""Overload: while the oldest live question that waits is older than a limit, new ones are refused with 429."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import structlog

from services.gateway.problems import Problem
from shared.contracts.errors import UnavailableError
from shared.observability import telemetry

log = structlog.get_logger()

#: Seconds between two looks at the backlog.
INTERVAL = 1.0


class Admission:
    """Looks at the age of the backlog every second; `limit` in seconds, 0 lets everybody in."""

    def __init__(self, oldest: Callable[[], Awaitable[float]], limit: float) -> None:
        self._oldest = oldest
        self._limit = limit
        self._age = 0.0
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        if self._limit > 0:
            self._task = asyncio.create_task(self._look())

    async def close(self) -> None:
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def check(self) -> None:
        """Let a question in.

        Raises:
            Problem: 429 with Retry-After when those before it wait too long.
        """
        if self._limit <= 0 or self._age <= self._limit:
            return
        telemetry.REFUSED.inc()
        seconds = max(1, round(self._age - self._limit) + 1)
        message = f"Questions have been waiting for {self._age:.0f} s; please try again in {seconds} s."
        raise Problem(429, message, {"Retry-After": str(seconds)})

    async def _look(self) -> None:
        while True:
            try:
                self._age = await self._oldest()
            except UnavailableError:
                log.warning("the backlog could not be read; admission stays as it was")
            except Exception:
                log.exception("the backlog could not be read; admission stays as it was")
            await asyncio.sleep(INTERVAL)
