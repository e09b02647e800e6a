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
    kept: Record = MemoryRecord() if request.param == "memory" else _on_database(request, tmp_path)
    await kept.open()
    yield kept
    await kept.close()


@pytest.fixture(params=["sqlite", "postgres"])
async def sql_record(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SqlRecord]:
    """A record on each database, for what the record in memory cannot show."""
    kept = _on_database(request, tmp_path)
    await kept.open()
    yield kept
    await kept.close()


def _on_database(request: pytest.FixtureRequest, tmp_path: Path) -> SqlRecord:
    """The record that is not open yet, on the database that the fixture's parameter names."""
    if request.param == "sqlite":
        return SqlRecord(f"sqlite+aiosqlite:///{tmp_path / 'record.db'}")
    return SqlRecord(request.getfixturevalue("postgres").new_database())
