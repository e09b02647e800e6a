"""Alembic's environment: on the connection the worker hands in, or on one of its own when run from the command line."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from alembic import context
from sqlalchemy import Connection

from services.persistence.sql.models import UtcDateTime, metadata


def render(kind: str, item: Any, _: Any) -> str | Literal[False]:
    """A revision must read the same for ever, so it names no type of ours."""
    return "sa.DateTime(timezone=True)" if kind == "type" and isinstance(item, UtcDateTime) else False


def migrate(connection: Connection) -> None:
    # SQLite alters a table by building it anew.
    batch = connection.dialect.name == "sqlite"
    context.configure(
        connection=connection, target_metadata=metadata, render_as_batch=batch, render_item=render, compare_type=True
    )
    with context.begin_transaction():
        context.run_migrations()


async def connect_and_migrate() -> None:
    from services.persistence.sql.database import create_engine
    from shared.runtime.settings import Settings

    engine = create_engine(Settings().database_url)
    async with engine.begin() as connection:
        await connection.run_sync(migrate)
    await engine.dispose()


handed_in = context.config.attributes.get("connection")
if handed_in is not None:
    migrate(handed_in)
else:
    asyncio.run(connect_and_migrate())
