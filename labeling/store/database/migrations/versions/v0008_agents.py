"""An agent's own dialogues are found by an index.

Written by hand and never changed: it says what version 0008 added to 0007.
"""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the index."""
    op.create_index("dialogues_agent", "dialogues", ["agent", "created_ms", "id"])
