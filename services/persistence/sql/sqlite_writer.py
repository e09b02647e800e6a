"""Writes exchanges and rollups to SQLite by statements made once: SQLAlchemy's own work costs more than SQLite's."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import JSON, Column, Connection, Table, and_, bindparam, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.sqlite import insert

from services.persistence.ports import Entry
from services.persistence.rollups import Rollup, RollupKey
from services.persistence.sql.models import UtcDateTime, exchange_sources, exchanges, tallies
from services.persistence.sql.writer import EntryWriter, upsert
from shared.contracts.requests.persistence import Exchange

Encoder = Callable[[Any], Any]


class SqliteWriter(EntryWriter):
    """An `EntryWriter` of the same rows. Also raises `sqlite3.Error`."""

    def __init__(self) -> None:
        super().__init__("sqlite")
        key = and_(*(column == bindparam(column.name) for column in tallies.primary_key))
        self._exchange = _sql(insert(exchanges).on_conflict_do_nothing())
        self._source = _sql(insert(exchange_sources).on_conflict_do_nothing())
        self._tally = _sql(select(tallies.c.figures).where(key))
        self._set_tally = _sql(upsert(tallies, insert))
        self._encoders = {table: _encoders(table) for table in (exchanges, exchange_sources, tallies)}

    def _insert(
        self, connection: Connection, kind: type[Entry], key: str, entries: list[Entry]
    ) -> tuple[list[Entry], list[Entry]]:
        if kind is not Exchange:
            return super()._insert(connection, kind, key, entries)
        cursor = _cursor(connection)
        new: list[Entry] = []
        known: list[Entry] = []
        for entry in entries:
            cursor.execute(self._exchange, self._bound(exchanges, entry.model_dump()))
            (new if cursor.rowcount else known).append(entry)
        return new, known

    def _add_sources(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        _cursor(connection).executemany(self._source, [self._bound(exchange_sources, row) for row in rows])

    def _add(self, connection: Connection, totals: dict[RollupKey, Rollup]) -> None:
        cursor = _cursor(connection)
        rows = []
        for place in sorted(totals):
            row = self._bound(tallies, {**place._asdict(), "figures": None})
            found = cursor.execute(self._tally, row[:-1]).fetchone()
            figures = totals[place].added_to(orjson.loads(found[0]) if found else {})
            rows.append((*row[:-1], _json_text(figures)))
        cursor.executemany(self._set_tally, rows)

    def _bound(self, table: Table, row: dict[str, Any]) -> tuple[Any, ...]:
        """The row as SQLite takes it, in the order of the columns."""
        return tuple([encode(row[name]) if encode else row[name] for name, encode in self._encoders[table]])


def _sql(statement: Any) -> str:
    return str(statement.compile(dialect=sqlite.dialect()))


def _cursor(connection: Connection) -> sqlite3.Cursor:
    cursor: sqlite3.Cursor = connection.connection.cursor()  # type: ignore[assignment]
    return cursor


def _encoders(table: Table) -> list[tuple[str, Encoder | None]]:
    return [(column.name, _encoder(column)) for column in table.c]


def _encoder(column: Column[Any]) -> Encoder | None:
    """How values of the column are stored, as SQLAlchemy stores them; None: as they are."""
    if isinstance(column.type, JSON):
        return _json_text
    return _utc_text if isinstance(column.type, UtcDateTime) else None


def _json_text(value: Any) -> str | None:
    try:
        return None if value is None else orjson.dumps(value).decode()
    except TypeError:
        raise sqlite3.DataError("a value cannot be stored as JSON") from None


def _utc_text(at: datetime) -> str:
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")
