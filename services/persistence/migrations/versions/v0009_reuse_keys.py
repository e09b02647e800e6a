"""An index by reuse key: the record is asked for the answer of a question that was asked before."""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_exchanges_reuse_key", "exchanges", ["reuse_key"])


def downgrade() -> None:
    op.drop_index("ix_exchanges_reuse_key", table_name="exchanges")
