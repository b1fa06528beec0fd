"""An annotation may be deleted, if its dialogue was emptied before: the way of `erasure`, which deletes both.

Written by hand and never changed: it says what version 0011 changed in 0010.
"""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

EMPTIED = "SELECT 1 FROM dialogues WHERE dialogues.id = OLD.dialogue AND dialogues.content = ''"


def upgrade() -> None:
    """Replace the triggers on deleting an annotation; updates stay refused."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TRIGGER annotations_no_delete")
        op.execute(
            f"CREATE TRIGGER annotations_no_delete BEFORE DELETE ON annotations WHEN NOT EXISTS ({EMPTIED}) "
            "BEGIN SELECT RAISE(ABORT, 'annotations is append-only'); END"
        )
        return
    op.execute("DROP TRIGGER annotations_append_only ON annotations")
    op.execute(
        "CREATE TRIGGER annotations_append_only BEFORE UPDATE OR TRUNCATE ON annotations "
        "FOR EACH STATEMENT EXECUTE FUNCTION annotations_append_only()"
    )
    op.execute(
        "CREATE FUNCTION annotations_no_delete() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN IF NOT EXISTS ({EMPTIED}) THEN RAISE EXCEPTION 'annotations is append-only'; END IF; "
        "RETURN OLD; END $$"
    )
    op.execute(
        "CREATE TRIGGER annotations_no_delete BEFORE DELETE ON annotations "
        "FOR EACH ROW EXECUTE FUNCTION annotations_no_delete()"
    )
