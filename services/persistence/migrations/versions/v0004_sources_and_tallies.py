"""Which exchanges showed or cited a source; figures that are added up as exchanges are recorded; an index of outcomes.

The sources of what is on record already are filled in. Figures begin with the first exchange after this.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

FILL = """
INSERT INTO exchange_sources (exchange_id, source, cited, ended_at)
SELECT exchange_id, source, MAX(cited) = 1, MAX(ended_at)
FROM (
    SELECT e.id AS exchange_id, {cut} AS source, 1 AS cited, e.ended_at
    FROM exchanges e, {each_citation}
    UNION ALL
    SELECT e.id, {cut}, 0, e.ended_at
    FROM exchanges e, {each_passage}
) told
WHERE source IS NOT NULL
GROUP BY exchange_id, source
"""
DIALECTS = {
    "sqlite": {
        "cut": "substr(json_extract(each.value, '$.source'), 1, 500)",
        "each_citation": "json_each(e.citations) each",
        "each_passage": "json_each(e.passages) each",
    },
    "postgresql": {
        "cut": "substr(each.value ->> 'source', 1, 500)",
        "each_citation": "json_array_elements(e.citations) AS each(value)",
        "each_passage": "json_array_elements(e.passages) AS each(value)",
    },
}


def upgrade() -> None:
    op.create_table(
        "exchange_sources",
        sa.Column("exchange_id", sa.String(32), primary_key=True),
        sa.Column("source", sa.String(500), primary_key=True),
        sa.Column("cited", sa.Boolean(), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "tallies",
        sa.Column("span", sa.String(4), primary_key=True),
        sa.Column("starts_at", sa.DateTime(timezone=True), primary_key=True),
        sa.Column("pipeline", sa.String(), primary_key=True),
        sa.Column("figures", sa.JSON(), nullable=False),
    )
    op.execute(FILL.format(**DIALECTS[op.get_context().dialect.name]))
    op.create_index("ix_exchange_sources_source", "exchange_sources", ["source", "ended_at"])
    op.create_index("ix_exchanges_outcome", "exchanges", ["outcome", "ended_at"])


def downgrade() -> None:
    op.drop_index("ix_exchanges_outcome", "exchanges")
    op.drop_table("tallies")
    op.drop_table("exchange_sources")
