"""What is too old is deleted in the background, a batch at a time, whatever fails meanwhile."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from services.persistence import expiry, projection
from services.persistence.expiry import RecordExpiry
from services.persistence.sql.record import Record
from shared.contracts.errors import UnavailableError
from tests.support.records import every_exchange, question_id, said, verified


class Watched(Record):
    """A record that may be away at first; `idle` once there was nothing to delete."""

    def __init__(self, url: str, *, away: int = 0) -> None:
        super().__init__(url)
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


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'record.db'}"


async def opened(record: Watched, *days: float) -> Watched:
    """The open record, with an exchange of each age in days."""
    await record.open()
    now = datetime.now(UTC)
    events = [
        said(verified(), question=question_id(number), at=now - timedelta(days=age)) for number, age in enumerate(days)
    ]
    await asyncio.gather(*(record.save(projection.exchange(event.payload, event)) for event in events))
    return record


async def test_what_is_older_goes_batch_by_batch_and_the_rest_stays(url: str) -> None:
    record = await opened(Watched(url), *([40.0] * (2 * expiry.BATCH + 1)), 29.0, 0.0)
    port = RecordExpiry(record, 30, rest=60, pause=0)

    await port.open()
    await asyncio.wait_for(record.idle.wait(), 10)
    await port.close()

    assert len(await every_exchange(record)) == 2
    await record.close()


async def test_a_record_that_is_away_is_tried_again(url: str) -> None:
    record = await opened(Watched(url, away=1), 40.0)
    port = RecordExpiry(record, 30, rest=0, pause=0)

    await port.open()
    await asyncio.wait_for(record.idle.wait(), 10)
    await port.close()

    assert await every_exchange(record) == []
    await record.close()


async def test_nothing_is_deleted_without_an_age(url: str) -> None:
    record = await opened(Watched(url), 4000.0)
    port = RecordExpiry(record, 0, rest=0, pause=0)

    await port.open()
    await asyncio.sleep(0)
    await port.close()

    assert (record.tries, len(await every_exchange(record))) == (0, 1)
    await record.close()


async def test_an_error_that_nobody_expected_does_not_end_the_expiry(url: str) -> None:
    class Broken(Watched):
        async def expire(self, before: datetime, most: int) -> int:
            if self.tries == 0:
                self.tries += 1
                raise RuntimeError("a bug")
            return await super().expire(before, most)

    record = await opened(Broken(url), 40.0)
    port = RecordExpiry(record, 30, rest=0, pause=0)

    await port.open()
    await asyncio.wait_for(record.idle.wait(), 10)
    await port.close()

    assert await every_exchange(record) == []
    await record.close()
