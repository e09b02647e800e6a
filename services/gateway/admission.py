"""Admission control: new questions are refused while the oldest waiting live question is older than a limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from shared.contracts.errors import OverloadedError, UnavailableError
from shared.observability import telemetry
from shared.observability import background_tasks

log = structlog.get_logger()

#: Seconds between two measurements of the backlog.
INTERVAL = 1.0


class Admission:
    """Measures the age of the backlog every second; `limit` in seconds, 0 admits every question."""

    def __init__(self, oldest: Callable[[], Awaitable[float]], limit: float) -> None:
        self._oldest = oldest
        self._limit = limit
        self._age = 0.0
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        if self._limit > 0:
            self._task = asyncio.create_task(self._measure())

    async def close(self) -> None:
        if self._task:
            await background_tasks.end(self._task)

    def check(self) -> None:
        """Admit a question.

        Raises:
            OverloadedError: the questions before it have been waiting too long.
        """
        if self._limit <= 0 or self._age <= self._limit:
            return
        telemetry.REFUSED.inc()
        seconds = max(1, round(self._age - self._limit) + 1)
        message = f"questions have been waiting for {self._age:.0f} s; please try again in {seconds} s"
        raise OverloadedError(message, retry_after=seconds)

    async def _measure(self) -> None:
        while True:
            try:
                self._age = await self._oldest()
            except UnavailableError:
                log.warning("the backlog could not be measured; admission keeps its last decision")
            except Exception:
                log.exception("the backlog could not be measured; admission keeps its last decision")
            await asyncio.sleep(INTERVAL)
