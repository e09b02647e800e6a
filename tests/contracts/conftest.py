"""The record on each of its stores; PostgreSQL is started once for each file of tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from services.persistence.adapters import SqlRecord
from services.persistence.ports import Record
from tests.support.records import MemoryRecord
from tests.support.servers import PostgresServer, postgres_server


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    with postgres_server(tmp_path_factory.mktemp("postgres")) as server:
        yield server


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def record(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Record]:
    kept: Record
    if request.param == "memory":
        kept = MemoryRecord()
    elif request.param == "sqlite":
        kept = SqlRecord(f"sqlite+aiosqlite:///{tmp_path / 'record.db'}")
    else:
        kept = SqlRecord(request.getfixturevalue("postgres").new_database())
    await kept.open()
    yield kept
    await kept.close()


@pytest.fixture(params=["sqlite", "postgres"])
async def sql_record(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SqlRecord]:
    """A record on each database, for what the record in memory cannot show."""
    if request.param == "sqlite":
        kept = SqlRecord(f"sqlite+aiosqlite:///{tmp_path / 'record.db'}")
    else:
        kept = SqlRecord(request.getfixturevalue("postgres").new_database())
    await kept.open()
    yield kept
    await kept.close()
