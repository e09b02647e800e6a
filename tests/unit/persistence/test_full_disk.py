"""A disk that is full: nothing is acknowledged that was not kept, and all of it is kept once there is room again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from services.persistence import projection
from services.persistence.sql.record import Record
from shared.contracts.errors import TransientError
from tests.support.records import question_id, said, verified


async def test_while_the_disk_is_full_endings_are_to_come_again_and_are_kept_when_there_is_room(tmp_path: Path) -> None:
    record = Record(f"sqlite:///{tmp_path / 'record.db'}")
    await record.open()
    room = {"pages": 1}  # SQLite says "database or disk is full" beyond so many pages; fewer than it has are refused

    @event.listens_for(record.database().writing.engine, "checkout")
    def _limited(connection: Any, *_: Any) -> None:
        connection.cursor().execute(f"PRAGMA max_page_count = {room['pages']}")

    entries = [
        projection.exchange(verified(text="word " * 20_000), said(verified(), question=question_id(n)))
        for n in range(3)
    ]
    for entry in entries:
        with pytest.raises(TransientError, match="unavailable"):
            await record.save(entry)
    room["pages"] = 1_000_000

    assert [await record.save(entry) for entry in entries] == [True, True, True]
    assert all([await record.exchange(entry.id) for entry in entries])
    await record.close()
