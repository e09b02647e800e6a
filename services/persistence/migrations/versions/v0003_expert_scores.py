"""What experts give every sentence and every citation of an answer."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("feedback", sa.Column("sentence_scores", sa.JSON(), nullable=False, server_default="[]"))
    op.add_column("feedback", sa.Column("citation_scores", sa.JSON(), nullable=False, server_default="[]"))


def downgrade() -> None:
    op.drop_column("feedback", "citation_scores")
    op.drop_column("feedback", "sentence_scores")
