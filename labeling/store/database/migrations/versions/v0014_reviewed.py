"""The severities of the errors that people left standing in a dialogue, for its reviewed score.

Written by hand and never changed: it says what version 0014 added to 0013. `upgrade` fills derived tables
after the last revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

REVIEWED = sa.text("reviewed_severities IS NOT NULL")


def upgrade() -> None:
    """Add a column and its index."""
    op.add_column("dialogue_index", sa.Column("reviewed_severities", sa.Text))
    op.create_index(
        "dialogue_index_reviewed", "dialogue_index", ["number"],
        sqlite_where=REVIEWED, postgresql_where=REVIEWED,
    )  # fmt: skip
