"""The experiment and the arm that an exchange belongs to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("experiment", "arm"):
        op.add_column("exchanges", sa.Column(name, sa.String(200), nullable=False, server_default=""))
    op.create_index("ix_exchanges_experiment", "exchanges", ["experiment", "arm", "ended_at"])


def downgrade() -> None:
    op.drop_index("ix_exchanges_experiment", table_name="exchanges")
    for name in ("arm", "experiment"):
        op.drop_column("exchanges", name)
