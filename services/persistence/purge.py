"""What leaves the log by and by: raw text before it expires, and what was said of a question after it was forgotten.

Raw text: an event that expires is out of reach, but its bytes stay on the disk until its block goes. So persistence
erases each question shortly before its time is up. Expiry remains the backstop, also for more than can be erased in
the time.

Stragglers: a stage at work on a question does not hear that it is forgotten, and what it says is no ending that
persistence would hear. So forgotten questions are looked at once more when every deadline has passed.

Several workers may do both; they find less to do.
"""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime, timedelta
from typing import Protocol

import structlog

from services.persistence.erasure import Traces
from shared.bus.ports import Eraser
from shared.contracts.errors import UnavailableError
from shared.observability import telemetry

log = structlog.get_logger()

#: How long before its time is up raw text is erased: this part of the time, within seconds.
PART, SHORTEST, LONGEST = 0.2, 0.5, 600.0
#: When no deadline is left that began before a question was forgotten; and how far back one that starts looks.
OVER, BACK = timedelta(minutes=16), timedelta(hours=6)
#: Seconds between two looks for stragglers, and at most for raw text.
PAUSE, OFTEN = 60.0, 10.0


class Chore(Protocol):
    """Something to be done every `pause` seconds."""

    pause: float

    async def look(self, now: datetime) -> int:
        """Do what is due; how many events that erased.

        Raises:
            UnavailableError: the bus or the record is away.
        """


class RawText:
    """`ttl` is how long raw text may stay, in seconds."""

    def __init__(self, eraser: Eraser, ttl: float) -> None:
        self._eraser = eraser
        lead = min(max(ttl * PART, SHORTEST), LONGEST)
        self._age = timedelta(seconds=max(ttl - lead, 0))
        self.pause = min(lead / 4, OFTEN)

    async def look(self, now: datetime) -> int:
        erased = await self._eraser.erase_raw_text(now - self._age)
        telemetry.RAW_ERASED.inc(erased.events + erased.dead_letters)
        return erased.events + erased.dead_letters


class Stragglers:
    """Looks at each forgotten question once."""

    def __init__(self, traces: Traces, eraser: Eraser) -> None:
        self._traces = traces
        self._eraser = eraser
        self._looked_to: datetime | None = None
        self.pause = PAUSE

    async def look(self, now: datetime) -> int:
        until = now - OVER
        erased = 0
        for question in await self._traces.marked(self._looked_to or until - BACK, until):
            erased += (await self._eraser.erase_question(question)).events
        self._looked_to = until
        return erased


class Sweeper:
    """A port of persistence that does chores; one whose server is away is told once and tried again."""

    def __init__(self, *chores: Chore) -> None:
        self._chores = chores
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        self._tasks = [asyncio.create_task(self._do(chore)) for chore in self._chores]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _do(self, chore: Chore) -> None:
        told = False
        while True:
            await asyncio.sleep(chore.pause)
            try:
                await chore.look(datetime.now(UTC))
                told = False
            except UnavailableError as error:
                telemetry.DEGRADED.labels("erasing").inc()
                if not told:
                    log.warning("nothing is erased until the servers let it", reason=str(error))
                told = True
