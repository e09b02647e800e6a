"""Deletes old exchanges from the record in the background, a batch at a time."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import structlog

from services.persistence.sql.record import Record
from shared.contracts.errors import UnavailableError
from shared.observability import background_tasks, telemetry

log = structlog.get_logger()

#: Exchanges deleted in one commit, and seconds until the next one, during which others may write.
BATCH = 200
PAUSE = 0.2
#: Seconds until the next batch if there was nothing more to delete.
REST = 600.0


class RecordExpiry:
    """A port of the stage. Every worker runs one; they delete different exchanges."""

    def __init__(self, record: Record, days: float, *, rest: float = REST, pause: float = PAUSE) -> None:
        """`days` is the age at which exchanges are deleted; 0: never. `rest` and `pause` are seconds."""
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
            await background_tasks.end(self._task)

    async def _work(self) -> None:
        while True:
            try:
                deleted = await self._record.expire(datetime.now(UTC) - self._age, BATCH)
            except UnavailableError:
                telemetry.DEGRADED.labels("expiry").inc()
                deleted = 0
            except Exception:  # a bug must not end the expiry for good
                telemetry.DEGRADED.labels("expiry").inc()
                log.exception("old exchanges could not be deleted; it is tried again")
                deleted = 0
            if deleted:
                telemetry.EXPIRED.inc(deleted)
            await asyncio.sleep(self._pause if deleted == BATCH else self._rest)
