"""The audit log says from where each thing was done and which rows it changed, and its head is signed.

Written by hand and never changed: it says what version 0007 added to 0006. What is in the store by then is
entered into the log by `upgrade`, which has the key.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add columns that entries from before leave empty."""
    for name in ("origin", "changes"):
        op.add_column("audit", sa.Column(name, sa.Text))
    for name in ("key", "signature"):
        op.add_column("audit_head", sa.Column(name, sa.Text))
