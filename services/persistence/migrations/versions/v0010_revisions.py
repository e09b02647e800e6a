"""An index by revision: two revisions of a pipeline are compared."""

from __future__ import annotations

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_exchanges_revision", "exchanges", ["pipeline", "pipeline_revision", "ended_at"])


def downgrade() -> None:
    op.drop_index("ix_exchanges_revision", table_name="exchanges")
