"""Control tasks and standing: gold may be doubted, twins know each other, rules are kept, a status has a
beginning; and the answers of one project are found without reading all others.

Written by hand and never changed: it says what version 0002 added to 0001.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add columns, two tables and an index; nothing that is there is touched."""
    op.add_column("accounts", sa.Column("since", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("gold", sa.Column("doubt", sa.Text))
    op.create_table(
        "pairs",
        sa.Column("dialogue", sa.Text, sa.ForeignKey("dialogues.id"), primary_key=True),
        sa.Column("pair", sa.Text, nullable=False),
    )
    op.create_index("pairs_pair", "pairs", ["pair"])
    op.create_table(
        "settings",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("content", sa.Text, nullable=False),
    )
    op.create_index("annotations_of_project", "annotations", ["project", "id"])
