"""Figures, documents and the directory by tenant: equal names of two tenants are kept apart.

What is on record already belongs to the tenant of the exchanges, of which there was one, else to `default`. A downgrade
keeps the rows of that tenant only.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_OWNER = "COALESCE((SELECT MAX(tenant) FROM exchanges), 'default')"


def _text(name: str, *, primary_key: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.String(), nullable=False, primary_key=primary_key)


def _time(name: str, *, primary_key: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=False, primary_key=primary_key)


def _json(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.JSON(), nullable=False)


def _count(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.Integer(), nullable=False)


_INDEXES = {"documents": ("ix_documents_status", "status"), "slots": ("ix_slots_expert", "expert_id", "starts_at")}


def _columns(table: str) -> list[sa.Column[Any]]:
    """The columns of a table without the tenant."""
    columns: dict[str, list[sa.Column[Any]]] = {
        "tallies": [
            sa.Column("span", sa.String(4), primary_key=True),
            _time("starts_at", primary_key=True),
            _text("pipeline", primary_key=True),
            _json("figures"),
        ],
        "documents": [
            _text("source", primary_key=True),
            sa.Column("status", sa.String(16), nullable=False),
            _text("digest"),
            _count("chunks"),
            _count("entities"),
            _count("relations"),
            sa.Column("reason", sa.Text(), nullable=False),
            _time("at"),
        ],
        "experts": [
            _text("id", primary_key=True),
            _text("name"),
            _text("title"),
            sa.Column("about", sa.Text(), nullable=False),
            _json("topics"),
            _json("languages"),
            _json("session_types"),
            _text("timezone"),
        ],
        "slots": [_text("id", primary_key=True), _text("expert_id"), _time("starts_at"), _time("ends_at")],
        "content": [
            _text("id", primary_key=True),
            _text("title"),
            sa.Column("kind", sa.String(16), nullable=False),
            _text("url"),
            _json("topics"),
            sa.Column("summary", sa.Text(), nullable=False),
            _text("language"),
            _count("minutes"),
        ],
    }
    return columns[table]


_TABLES = ("tallies", "documents", "experts", "slots", "content")


def upgrade() -> None:
    for table in _TABLES:
        _remake(table, [*_columns(table), _text("tenant", primary_key=True)], f"{_OWNER} AS tenant")
    op.drop_index("ix_sessions_slot", "sessions")
    op.create_index("ix_sessions_slot", "sessions", ["tenant", "slot_id"], unique=True)
    op.create_index("ix_exchanges_tenant", "exchanges", ["tenant", "ended_at"])


def downgrade() -> None:
    op.drop_index("ix_exchanges_tenant", "exchanges")
    op.execute(f"DELETE FROM sessions WHERE tenant <> {_OWNER}")
    op.drop_index("ix_sessions_slot", "sessions")
    op.create_index("ix_sessions_slot", "sessions", ["slot_id"], unique=True)
    for table in _TABLES:
        _remake(table, _columns(table), "", f"WHERE tenant = {_OWNER}")


def _remake(table: str, columns: list[sa.Column[Any]], added: str, condition: str = "") -> None:
    """Replace the table by one with these columns; SQLite cannot change a primary key in place."""
    if table in _INDEXES:
        op.drop_index(_INDEXES[table][0], table)
    names = ", ".join(f'"{column.name}"' for column in _columns(table))
    op.create_table(f"{table}_new", *columns)
    target, given = (f"{names}, tenant", f"{names}, {added}") if added else (names, names)
    op.execute(f"INSERT INTO {table}_new ({target}) SELECT {given} FROM {table} {condition}")  # noqa: S608 (own names)
    op.drop_table(table)
    op.rename_table(f"{table}_new", table)
    if table in _INDEXES:
        name, *indexed = _INDEXES[table]
        op.create_index(name, table, indexed)
