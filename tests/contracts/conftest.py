"""The record on each of its stores; PostgreSQL is started once for each file of tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from services.persistence.sql.record import Record
from tests.support.servers import PostgresServer, postgres_server


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    with postgres_server(tmp_path_factory.mktemp("postgres")) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
async def record(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Record]:
    kept = _on_database(request, tmp_path)
    await kept.open()
    yield kept
    await kept.close()


def _on_database(request: pytest.FixtureRequest, tmp_path: Path) -> Record:
    """The record that is not open yet, on the database that the fixture's parameter names."""
    if request.param == "sqlite":
        return Record(f"sqlite+aiosqlite:///{tmp_path / 'record.db'}")
    return Record(request.getfixturevalue("postgres").new_database())
