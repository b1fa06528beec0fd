"""Who spoke in a dialogue, and who was shown what of it, are found without reading texts.

Written by hand and never changed: it says what version 0005 added to 0004.
"""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

PAGE = 1000


def upgrade() -> None:
    """Add three tables, and fill the one of participants from the dialogues."""
    participants = op.create_table(
        "participants",
        sa.Column("dialogue", sa.Text, sa.ForeignKey("dialogues.id"), primary_key=True),
        sa.Column("person", sa.Text, primary_key=True),
    )
    op.create_table(
        "reads",
        sa.Column("account", sa.Text, sa.ForeignKey("accounts.id"), primary_key=True),
        sa.Column("dialogue", sa.Text, sa.ForeignKey("dialogues.id"), primary_key=True),
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "bulk_reads",
        sa.Column("account", sa.Text, sa.ForeignKey("accounts.id"), primary_key=True),
        sa.Column("project", sa.Text, primary_key=True),
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("upto", sa.BigInteger, nullable=False),
    )
    dialogues = sa.table("dialogues", sa.column("id", sa.Text), sa.column("content", sa.Text))
    page = sa.select(dialogues).order_by(dialogues.c.id).limit(PAGE)
    connection, last = op.get_bind(), None
    while True:
        rows = connection.execute(page if last is None else page.where(dialogues.c.id > last)).all()
        found = [
            {"dialogue": name, "person": person}
            for name, content in rows
            for person in sorted(_people(json.loads(content)))
        ]
        if found:
            connection.execute(sa.insert(participants), found)
        if len(rows) < PAGE:
            return
        last = rows[-1].id


def _people(dialogue: dict[str, Any]) -> set[str]:
    authors = (turn.get("author") for turn in dialogue.get("turns", ()))
    return {str(name) for name in (dialogue.get("agent"), *authors) if name}
