"""The record: exchanges, feedback, evaluations, documents."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "exchanges",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("event_id", sa.String(36), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=False),
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("pipeline", sa.String(), nullable=False),
        sa.Column("pipeline_revision", sa.Integer(), nullable=False),
        sa.Column("lane", sa.String(16), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("elapsed_ms", sa.Float(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("language", sa.String(), nullable=False),
        sa.Column("answer_text", sa.Text(), nullable=False),
        sa.Column("answer", sa.JSON(), nullable=True),
        sa.Column("citations", sa.JSON(), nullable=False),
        sa.Column("passages", sa.JSON(), nullable=False),
        sa.Column("context", sa.JSON(), nullable=False),
        sa.Column("followups", sa.JSON(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("engine", sa.String(), nullable=False),
        sa.Column("scores", sa.JSON(), nullable=True),
        sa.Column("usage", sa.JSON(), nullable=False),
        sa.Column("timeline", sa.JSON(), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
    )
    op.create_index("ix_exchanges_conversation", "exchanges", ["conversation_id", "ended_at"])
    op.create_index("ix_exchanges_ended_at", "exchanges", ["ended_at"])
    op.create_index("ix_exchanges_pipeline", "exchanges", ["pipeline", "ended_at"])

    op.create_table(
        "feedback",
        sa.Column("event_id", sa.String(36), primary_key=True),
        sa.Column("exchange_id", sa.String(), nullable=False),
        sa.Column("rating", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_feedback_exchange", "feedback", ["exchange_id", "at"])
    op.create_index("ix_feedback_at", "feedback", ["at"])

    op.create_table(
        "evaluations",
        sa.Column("event_id", sa.String(36), primary_key=True),
        sa.Column("exchange_id", sa.String(), nullable=False),
        sa.Column("scores", sa.JSON(), nullable=False),
        sa.Column("sentences", sa.JSON(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_evaluations_exchange", "evaluations", ["exchange_id", "at"])

    op.create_table(
        "documents",
        sa.Column("source", sa.String(), primary_key=True),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("chunks", sa.Integer(), nullable=False),
        sa.Column("entities", sa.Integer(), nullable=False),
        sa.Column("relations", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_documents_status", "documents", ["status"])


def downgrade() -> None:
    for table in ("documents", "evaluations", "feedback", "exchanges"):
        op.drop_table(table)
