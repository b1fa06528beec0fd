"""Tables to search and count dialogues and findings by.

Written by hand and never changed: it says what version 0010 added to 0009. `upgrade` fills derived tables
after the last revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

FINDING_COUNTS = (
    "findings", "suggestions", "confirmed", "rejected", "changed", "added", "appealed", "overturned",
)  # fmt: skip
COUNTS = (
    "stored", "dialogues", "flagged", "not_judged", "failed", "reviewed", "flagged_by_severity",
    "reviewed_by_severity", *FINDING_COUNTS,
)  # fmt: skip


def upgrade() -> None:
    """Add empty tables and indexes."""
    _create_dialogue_index()
    _create_finding_index()
    op.create_table(
        "daily_counts",
        sa.Column("level", sa.Text, primary_key=True),
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        *(
            sa.Column(name, sa.Text, primary_key=True)
            for name in ("agent", "team", "channel", "release", "code", "severity")
        ),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in COUNTS),
    )
    op.create_index("audit_subject", "audit", ["subject", "id"])
    op.create_index("daily_counts_agent", "daily_counts", ["agent", "level", "day"])
    op.create_index("daily_counts_team", "daily_counts", ["team", "level", "day"])
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            "CREATE VIRTUAL TABLE dialogue_words USING "
            "fts5(words, content='', tokenize=\"ascii tokenchars '_'\")"
        )
        return
    op.execute(
        "CREATE TABLE dialogue_words (number bigint PRIMARY KEY REFERENCES dialogue_index (number), "
        "words tsvector NOT NULL)"
    )
    op.execute("CREATE INDEX dialogue_words_words ON dialogue_words USING gin (words)")


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def _create_dialogue_index() -> None:
    op.create_table(
        "dialogue_index",
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("dialogue", sa.Text, sa.ForeignKey("dialogues.id"), nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("day", sa.Integer, nullable=False),
        *_texts("agent", "team", "channel", "release", "status"),
        sa.Column("quality", sa.Float),
        *_texts("worst"),
        sa.Column("probability", sa.Float, nullable=False),
        *_texts("review", "appeal"),
        *(sa.Column(f"n_{name}", sa.Integer, nullable=False) for name in FINDING_COUNTS),
        sa.UniqueConstraint("dialogue", name="dialogue_index_dialogue"),
    )
    for name in ("agent", "team", "channel", "release", "probability"):
        op.create_index(f"dialogue_index_{name}", "dialogue_index", [name, "number"])
    for name, usual in (("status", "scored"), ("review", "none"), ("appeal", "none")):
        rare = sa.text(f"{name} <> '{usual}'")
        columns = [name, "number"]
        op.create_index(
            f"dialogue_index_{name}", "dialogue_index", columns, sqlite_where=rare, postgresql_where=rare
        )


def _create_finding_index() -> None:
    op.create_table(
        "finding_index",
        *(
            sa.Column(name, kind, *references, primary_key=True, autoincrement=False)
            for name, kind, references in (
                ("number", sa.BigInteger, [sa.ForeignKey("dialogue_index.number")]),
                ("place", sa.Integer, []),
            )
        ),
        sa.Column("day", sa.Integer, nullable=False),
        *_texts("agent", "team", "channel", "release"),
        sa.Column("suggestion", sa.Boolean, nullable=False),
        sa.Column("turn", sa.Integer, nullable=False),
        *_texts("code", "severity"),
        sa.Column("probability", sa.Float, nullable=False),
        *_texts("decision", "appeal", "review"),
        sa.Column("first_of_code", sa.Boolean, nullable=False),
        sa.Column("first_of_severity", sa.Boolean, nullable=False),
    )
    op.create_index("finding_index_agent", "finding_index", ["agent", "number"])
    op.create_index("finding_index_code", "finding_index", ["code", "number"])
    op.create_index("finding_index_likely", "finding_index", ["code", "probability", "number"])
    op.create_index("finding_index_probability", "finding_index", ["probability", "number"])
    op.create_index("finding_index_severity", "finding_index", ["severity", "number"])
    decided = sa.text("decision <> 'open'")
    op.create_index(
        "finding_index_decision", "finding_index", ["decision", "number"],
        sqlite_where=decided, postgresql_where=decided,
    )  # fmt: skip
