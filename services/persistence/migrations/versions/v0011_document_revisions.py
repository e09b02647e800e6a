"""What each submission made of a document, and reports of evaluations that operators keep."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from services.persistence.sql.models import UtcDateTime

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "document_revisions",
        sa.Column("event_id", sa.String(36), primary_key=True),
        sa.Column("source", sa.String(500), nullable=False),
        sa.Column("tenant", sa.String, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("digest", sa.String, nullable=False),
        sa.Column("chunks", sa.Integer, nullable=False),
        sa.Column("entities", sa.Integer, nullable=False),
        sa.Column("relations", sa.Integer, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("submission", sa.String(32), nullable=False),
        sa.Column("at", UtcDateTime, nullable=False),
    )
    op.create_index("ix_document_revisions_source", "document_revisions", ["tenant", "source", "at"])
    op.create_table(
        "quality_reports",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("tenant", sa.String, nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("by", sa.String, nullable=False),
        sa.Column("figures", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("report", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("at", UtcDateTime, nullable=False),
    )
    op.create_index("ix_quality_reports_kind", "quality_reports", ["tenant", "kind", "at"])


def downgrade() -> None:
    op.drop_table("quality_reports")
    op.drop_table("document_revisions")
