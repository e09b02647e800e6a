"""What was found of each citation of an answer, who judged it, and on which lane."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("evaluations", sa.Column("citations", sa.JSON(), nullable=False, server_default="[]"))
    op.add_column("evaluations", sa.Column("judged_by", sa.String(16), nullable=False, server_default="rules"))
    op.add_column("evaluations", sa.Column("lane", sa.String(16), nullable=False, server_default="live"))


def downgrade() -> None:
    op.drop_column("evaluations", "lane")
    op.drop_column("evaluations", "judged_by")
    op.drop_column("evaluations", "citations")
