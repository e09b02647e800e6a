"""The SQL statements of the directory; only `directory_adapter.py` uses them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Select, Table, func, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from services.persistence.models import content, experts, sessions, slots
from services.persistence.sql import Database

#: Rows in one statement; SQLite limits the number of parameters.
BATCH = 500


def all_experts() -> Select[Any]:
    return select(experts).order_by(experts.c.name, experts.c.id)


def all_content() -> Select[Any]:
    return select(content).order_by(content.c.title, content.c.id)


def slot(slot_id: str) -> Select[Any]:
    return select(slots).where(slots.c.id == slot_id)


def slot_at(expert_id: str, at: datetime) -> Select[Any]:
    return select(slots).where(slots.c.expert_id == expert_id, slots.c.starts_at == at).limit(1)


def free_slots(expert_id: str, start: datetime, end: datetime | None, limit: int) -> Select[Any]:
    free = select(slots).outerjoin_from(slots, sessions, sessions.c.slot_id == slots.c.id)
    free = free.where(sessions.c.id.is_(None), slots.c.expert_id == expert_id, slots.c.starts_at > start)
    if end is not None:
        free = free.where(slots.c.starts_at < end)
    return free.order_by(slots.c.starts_at).limit(limit)


def free_counts(start: datetime) -> Select[Any]:
    free = select(slots.c.expert_id, func.count().label("count"))
    free = free.outerjoin_from(slots, sessions, sessions.c.slot_id == slots.c.id)
    return free.where(sessions.c.id.is_(None), slots.c.starts_at > start).group_by(slots.c.expert_id)


def session(session_id: str) -> Select[Any]:
    return _sessions().where(sessions.c.id == session_id)


def sessions_from(start: datetime, limit: int) -> Select[Any]:
    return _sessions().where(sessions.c.starts_at > start).order_by(sessions.c.starts_at).limit(limit)


async def insert_session(database: Database, row: dict[str, Any]) -> bool:
    """Insert the session unless its slot or its question has one; whether it was inserted.

    The insert is the first statement of its transaction: a concurrent insert waits for the commit of the first and
    then finds the key taken, on both databases.
    """
    statement = _insert(database)(sessions).on_conflict_do_nothing()
    async with database.engine.begin() as connection:
        return bool((await connection.execute(statement, row)).rowcount)


async def replace(database: Database, rows: Mapping[str, Sequence[dict[str, Any]]]) -> None:
    """Insert or replace rows by id, given by table name; one commit for all."""
    insert = _insert(database)
    async with database.engine.begin() as connection:
        for name, values in rows.items():
            statement = insert(_TABLES[name])
            new = statement.excluded
            changed = {column.name: new[column.name] for column in _TABLES[name].c if not column.primary_key}
            upsert = statement.on_conflict_do_update(index_elements=["id"], set_=changed)
            for at in range(0, len(values), BATCH):
                await connection.execute(upsert, list(values[at : at + BATCH]))


def _sessions() -> Select[Any]:
    error_name = select(sessions, func.coalesce(experts.c.name, "").label("expert_name"))
    return error_name.outerjoin_from(sessions, experts, experts.c.id == sessions.c.expert_id)


def _insert(database: Database) -> Any:
    return sqlite_insert if database.engine.dialect.name == "sqlite" else postgresql.insert


_TABLES: dict[str, Table] = {table.name: table for table in (experts, slots, content)}
