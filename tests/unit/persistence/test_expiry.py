"""What is too old is deleted in the background, a batch at a time, whatever fails meanwhile."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from services.persistence import expiry, projection
from services.persistence.expiry import RecordExpiry
from shared.contracts.errors import UnavailableError
from tests.support.records import MemoryRecord, question_id, said, verified


class Watched(MemoryRecord):
    """A record that may be away at first; `idle` once there was nothing to delete."""

    def __init__(self, *, away: int = 0) -> None:
        super().__init__()
        self.away = away
        self.tries = 0
        self.idle = asyncio.Event()

    async def expire(self, before: datetime, most: int) -> int:
        self.tries += 1
        if self.tries <= self.away:
            raise UnavailableError("away for the test")
        deleted = await super().expire(before, most)
        if deleted < most:
            self.idle.set()
        return deleted


async def aged(record: MemoryRecord, *days: float) -> None:
    for number, age in enumerate(days):
        event = said(verified(), question=question_id(number), at=datetime.now(UTC) - timedelta(days=age))
        await record.save(projection.exchange(event.payload, event))


async def test_what_is_older_goes_batch_by_batch_and_the_rest_stays() -> None:
    record = Watched()
    await aged(record, *([40.0] * (2 * expiry.BATCH + 1)), 29.0, 0.0)
    port = RecordExpiry(record, 30, rest=60, pause=0)

    await port.open()
    await asyncio.wait_for(record.idle.wait(), 10)
    await port.close()

    assert len(record.exchanges) == 2


async def test_a_record_that_is_away_is_tried_again() -> None:
    record = Watched(away=1)
    await aged(record, 40.0)
    port = RecordExpiry(record, 30, rest=0, pause=0)

    await port.open()
    await asyncio.wait_for(record.idle.wait(), 10)
    await port.close()

    assert record.exchanges == {}


async def test_nothing_is_deleted_without_an_age() -> None:
    record = Watched()
    await aged(record, 4000.0)
    port = RecordExpiry(record, 0, rest=0, pause=0)

    await port.open()
    await asyncio.sleep(0)
    await port.close()

    assert (record.tries, len(record.exchanges)) == (0, 1)


async def test_an_error_that_nobody_expected_does_not_end_the_expiry() -> None:
    class Broken(Watched):
        async def expire(self, before: datetime, most: int) -> int:
            if self.tries == 0:
                self.tries += 1
                raise RuntimeError("a bug")
            return await super().expire(before, most)

    record = Broken()
    await aged(record, 40)
    port = RecordExpiry(record, 30, rest=0, pause=0)

    await port.open()
    await asyncio.wait_for(record.idle.wait(), 10)
    await port.close()

    assert record.exchanges == {}
