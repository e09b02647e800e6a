"""Raw text does not stay: what clients typed is erased before it expires.

An event that expires is out of reach, but its bytes stay on the disk until its block goes. So persistence erases each
question shortly before its time is up; several workers may, they find less to do. Expiry remains the backstop, also for
more questions than can be erased in the time.
"""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime, timedelta

import structlog

from shared import telemetry
from shared.erasure import Eraser
from shared.errors import UnavailableError

log = structlog.get_logger()

#: How long before its time is up raw text is erased: this part of the time, within seconds.
PART, SHORTEST, LONGEST = 0.2, 0.5, 60.0


class RawText:
    """A port of persistence; `ttl` is how long raw text may stay, in seconds."""

    def __init__(self, eraser: Eraser, ttl: float) -> None:
        self._eraser = eraser
        self._lead = min(max(ttl * PART, SHORTEST), LONGEST)
        self._age = timedelta(seconds=max(ttl - self._lead, 0))
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._task = asyncio.create_task(self._sweep())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def look(self, now: datetime) -> int:
        """Erase what is due; how many there were.

        Raises:
            UnavailableError: the bus is away.
        """
        erased = await self._eraser.raw_text(now - self._age)
        telemetry.RAW_ERASED.inc(erased.events + erased.dead_letters)
        return erased.events + erased.dead_letters

    async def _sweep(self) -> None:
        told = False
        while True:
            await asyncio.sleep(self._lead / 4)
            try:
                await self.look(datetime.now(UTC))
                told = False
            except UnavailableError as error:
                telemetry.DEGRADED.labels("raw_text").inc()
                if not told:
                    log.warning("raw text is not erased while the bus does not let it", reason=str(error))
                told = True
