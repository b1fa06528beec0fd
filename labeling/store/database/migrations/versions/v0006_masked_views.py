"""Masked views of dialogues are kept, as masking a long one takes seconds.

Written by hand and never changed: it says what version 0006 added to 0005.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add an empty table; what it holds is made when it is looked for."""
    op.create_table(
        "masked_views",
        sa.Column("dialogue", sa.Text, sa.ForeignKey("dialogues.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("rules", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("words", sa.Text, nullable=False),
    )
