"""Without splits of live questions, reviews by experts and kept reports: experiments are answerbus-lab's."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_REVIEWS = {
    "pair_judgements": ("ix_pair_judgements_exchange",),
    "review_pairs": ("ix_review_pairs_exchange", "ix_review_pairs_shadow"),
    "pair_reviews": ("ix_pair_reviews_name",),
    "quality_reports": ("ix_quality_reports_kind",),
}


def upgrade() -> None:
    for table, indexes in _REVIEWS.items():
        for index in indexes:
            op.drop_index(index, table_name=table)
        op.drop_table(table)
    op.drop_index("ix_exchanges_experiment", table_name="exchanges")
    for name in ("arm", "experiment"):
        op.drop_column("exchanges", name)


def downgrade() -> None:
    for name in ("experiment", "arm"):
        op.add_column("exchanges", sa.Column(name, sa.String(200), nullable=False, server_default=""))
    op.create_index("ix_exchanges_experiment", "exchanges", ["experiment", "arm", "ended_at"])
    at = sa.DateTime(timezone=True)
    op.create_table(
        "quality_reports",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("tenant", sa.String, nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("by", sa.String, nullable=False),
        sa.Column("figures", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("report", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("at", at, nullable=False),
    )
    op.create_index("ix_quality_reports_kind", "quality_reports", ["tenant", "kind", "at"])
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
        sa.Column("at", at, nullable=False),
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
        sa.Column("at", at, nullable=False),
    )
    op.create_index("ix_pair_judgements_exchange", "pair_judgements", ["exchange_id"])
