"""Indexes for the newest dialogues and verdicts, of all releases or of one, for the counts of releases, and
for the dialogues of an agent by probability.

Written by hand and never changed: it says what version 0013 added to 0012.
"""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add four indexes."""
    op.create_index("dialogues_created", "dialogues", ["created_ms", "id"])
    op.create_index("verdicts_created", "verdicts", ["created_ms", "dialogue"])
    op.create_index("verdicts_release", "verdicts", ["release", "created_ms", "dialogue", "flagged"])
    op.create_index("dialogue_index_agent_likely", "dialogue_index", ["agent", "probability", "number"])
