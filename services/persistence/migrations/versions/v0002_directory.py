"""The directory: experts, their slots, the sessions booked, things to read or watch."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "experts",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("topics", sa.JSON(), nullable=False),
        sa.Column("languages", sa.JSON(), nullable=False),
        sa.Column("session_types", sa.JSON(), nullable=False),
        sa.Column("timezone", sa.String(), nullable=False),
    )

    op.create_table(
        "slots",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("expert_id", sa.String(), nullable=False),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_slots_expert", "slots", ["expert_id", "starts_at"])

    op.create_table(
        "sessions",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("slot_id", sa.String(), nullable=False),
        sa.Column("expert_id", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=False),
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("session_type", sa.String(), nullable=False),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("booked_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_sessions_slot", "sessions", ["slot_id"], unique=True)
    op.create_index("ix_sessions_expert", "sessions", ["expert_id", "starts_at"])

    op.create_table(
        "content",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("url", sa.String(), nullable=False),
        sa.Column("topics", sa.JSON(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("language", sa.String(), nullable=False),
        sa.Column("minutes", sa.Integer(), nullable=False),
    )


def downgrade() -> None:
    for table in ("content", "sessions", "slots", "experts"):
        op.drop_table(table)
