"""The record on SQLite, in a file of each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.persistence.sql.record import Record
from tests.support.records import sqlite_record


@pytest.fixture
async def record(tmp_path: Path) -> AsyncIterator[Record]:
    async with sqlite_record(tmp_path) as record:
        yield record
