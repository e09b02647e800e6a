"""Who asked, what was said again, where an answer is cached: so that it can be forgotten; and what was."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name, size in (("asker", 32), ("parent", 32), ("reuse_key", None)):
        op.add_column("exchanges", sa.Column(name, sa.String(size), nullable=False, server_default=""))
    op.create_index("ix_exchanges_asker", "exchanges", ["asker", "ended_at"])
    op.create_index("ix_exchanges_parent", "exchanges", ["parent"])
    op.create_table(
        "forgotten",
        sa.Column("mark", sa.String(), primary_key=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("forgotten")
    op.drop_index("ix_exchanges_parent", table_name="exchanges")
    op.drop_index("ix_exchanges_asker", table_name="exchanges")
    for name in ("reuse_key", "parent", "asker"):
        op.drop_column("exchanges", name)
