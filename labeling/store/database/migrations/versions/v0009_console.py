"""What the console keeps: preferences, notes to agents, versions of taxonomy and policies,
scored logs, identities of OpenID Connect, and erasures.

Written by hand and never changed: it says what version 0009 added to 0008.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

Key = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add empty tables."""
    op.create_table(
        "preferences",
        sa.Column("account", sa.Text, sa.ForeignKey("accounts.id"), primary_key=True),
        sa.Column("content", sa.Text, nullable=False),
    )
    op.create_table(
        "notes",
        sa.Column("id", Key, primary_key=True, autoincrement=True),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("dialogue", sa.Text, sa.ForeignKey("dialogues.id")),
        sa.Column("author", sa.Text, sa.ForeignKey("accounts.id"), nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("acknowledged_by", sa.Text, sa.ForeignKey("accounts.id")),
        sa.Column("acknowledged_ms", sa.BigInteger),
    )
    op.create_index("notes_agent", "notes", ["agent", "id"])
    op.create_table(
        "documents",
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("author", sa.Text, sa.ForeignKey("accounts.id"), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("published_ms", sa.BigInteger),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "score_jobs",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("account", sa.Text, sa.ForeignKey("accounts.id"), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("ended_ms", sa.BigInteger),
    )
    op.create_index("score_jobs_created", "score_jobs", ["created_ms", "id"])
    op.create_table(
        "identities",
        sa.Column("issuer", sa.Text, primary_key=True),
        sa.Column("subject", sa.Text, primary_key=True),
        sa.Column("account", sa.Text, sa.ForeignKey("accounts.id"), nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "erasures",
        sa.Column("dialogue_sha256", sa.Text, primary_key=True),
        sa.Column("account", sa.Text, sa.ForeignKey("accounts.id"), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
    )
