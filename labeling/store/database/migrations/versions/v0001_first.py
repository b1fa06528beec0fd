"""Creates the tables of `schema`, the triggers that keep two of them append-only, and the full-text index.

Until a version is released, `schema` may change with this revision; the first one after that freezes it.
"""

from alembic import op

from dialint.labeling.store.database.schema import metadata

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ERASING = "SELECT 1 FROM dialogues WHERE id = OLD.dialogue AND content = ''"
"""True if the dialogue of an annotation was emptied, which only erasing does before it deletes both."""


def upgrade() -> None:
    """Create everything."""
    metadata.create_all(op.get_bind())
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)


def _refuse_on_sqlite(table: str, event: str, unless: str = "SELECT 1 WHERE false") -> str:
    return (
        f"CREATE TRIGGER {table}_no_{event.lower()} BEFORE {event} ON {table} WHEN NOT EXISTS ({unless}) "
        f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
    )


SQLITE = (
    *(_refuse_on_sqlite("audit", event) for event in ("UPDATE", "DELETE")),
    _refuse_on_sqlite("annotations", "UPDATE"),
    _refuse_on_sqlite("annotations", "DELETE", ERASING),
    "CREATE VIRTUAL TABLE dialogue_words USING fts5(words, content='', tokenize=\"ascii tokenchars '_'\")",
)
_REFUSE = (
    "CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$"
)
_REFUSE_UNLESS_ERASING = (
    "CREATE FUNCTION annotations_no_delete() RETURNS trigger LANGUAGE plpgsql AS "
    f"$$ BEGIN IF NOT EXISTS ({ERASING}) THEN RAISE EXCEPTION 'annotations is append-only'; END IF; "
    "RETURN OLD; END $$"
)
POSTGRESQL = (
    _REFUSE,
    _REFUSE_UNLESS_ERASING,
    "CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit "
    "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()",
    "CREATE TRIGGER annotations_append_only BEFORE UPDATE OR TRUNCATE ON annotations "
    "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()",
    "CREATE TRIGGER annotations_no_delete BEFORE DELETE ON annotations "
    "FOR EACH ROW EXECUTE FUNCTION annotations_no_delete()",
    "CREATE TABLE dialogue_words (number bigint PRIMARY KEY REFERENCES dialogue_index (number), "
    "words tsvector NOT NULL)",
    "CREATE INDEX dialogue_words_words ON dialogue_words USING gin (words)",
)
