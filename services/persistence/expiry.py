"""Deletes what is too old from the record, a little at a time, beside the work."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime, timedelta

from services.persistence.ports import Record
from shared.contracts.errors import UnavailableError
from shared.observability import telemetry

#: Exchanges deleted in one commit, and seconds in which others may write before the next.
BATCH = 200
PAUSE = 0.2
#: Seconds between two looks when nothing was left to delete.
REST = 600.0


class Expiry:
    """A port of the stage. Every worker has one: what one has taken, another passes over or does not find."""

    def __init__(self, record: Record, days: float, *, rest: float = REST, pause: float = PAUSE) -> None:
        """`days` is the age of what is deleted; 0: nothing is."""
        self._record = record
        self._age = timedelta(days=days)
        self._rest = rest
        self._pause = pause
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        if self._age:
            self._task = asyncio.create_task(self._work())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _work(self) -> None:
        while True:
            try:
                deleted = await self._record.expire(datetime.now(UTC) - self._age, BATCH)
            except UnavailableError:
                telemetry.DEGRADED.labels("expiry").inc()
                deleted = 0
            if deleted:
                telemetry.EXPIRED.inc(deleted)
            await asyncio.sleep(self._pause if deleted == BATCH else self._rest)
