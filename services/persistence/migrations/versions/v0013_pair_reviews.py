"""Pairs of answers that experts compare without knowing whose they are, and what they said of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from services.persistence.sql.models import UtcDateTime

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "pair_reviews",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("tenant", sa.String, nullable=False),
        sa.Column("name", sa.String(60), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("live", sa.String(250), nullable=False),
        sa.Column("candidate", sa.String(250), nullable=False),
        sa.Column("by", sa.String, nullable=False),
        sa.Column("secret", sa.String(64), nullable=False),
        sa.Column("at", UtcDateTime, nullable=False),
    )
    op.create_index("ix_pair_reviews_name", "pair_reviews", ["tenant", "name"], unique=True)
    op.create_table(
        "review_pairs",
        sa.Column("review_id", sa.String(32), primary_key=True),
        sa.Column("exchange_id", sa.String(32), primary_key=True),
        sa.Column("shadow_id", sa.String(32), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
    )
    op.create_index("ix_review_pairs_exchange", "review_pairs", ["exchange_id"])
    op.create_index("ix_review_pairs_shadow", "review_pairs", ["shadow_id"])
    op.create_table(
        "pair_judgements",
        sa.Column("review_id", sa.String(32), primary_key=True),
        sa.Column("exchange_id", sa.String(32), primary_key=True),
        sa.Column("expert", sa.String(200), primary_key=True),
        sa.Column("choice", sa.String(16), nullable=False),
        sa.Column("comment", sa.Text, nullable=False),
        sa.Column("at", UtcDateTime, nullable=False),
    )
    op.create_index("ix_pair_judgements_exchange", "pair_judgements", ["exchange_id"])


def downgrade() -> None:
    for name in ("pair_judgements", "review_pairs", "pair_reviews"):
        op.drop_table(name)
