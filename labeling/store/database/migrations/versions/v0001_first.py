"""The first tables, the triggers that make two of them append-only, and the head of the audit log.

Written by hand and never changed: it says what version 0001 was, `schema` says what the newest is.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")
APPEND_ONLY = ("annotations", "audit")


def upgrade() -> None:
    """Make everything."""
    for make in (_people, _dialogues, _projects, _leases, _annotations, _truth, _audit):
        make()
    on_sqlite = op.get_bind().dialect.name == "sqlite"
    for table in APPEND_ONLY:
        (_append_only_sqlite if on_sqlite else _append_only_postgresql)(table)


def _text(name: str, *, null: bool = False, key: bool = False, to: str | None = None) -> sa.Column[str]:
    references = [sa.ForeignKey(to)] if to else []
    return sa.Column(name, sa.Text, *references, nullable=null, primary_key=key)


def _big(name: str, *, null: bool = False, default: str | None = None) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=null, server_default=default)


def _number(name: str, *, null: bool = False, key: bool = False, zero: bool = False) -> sa.Column[int]:
    default = "0" if zero else None
    return sa.Column(
        name, sa.Integer, nullable=null, primary_key=key, autoincrement=False, server_default=default
    )


def _real(name: str, *, null: bool = False) -> sa.Column[float]:
    return sa.Column(name, sa.Float, nullable=null)


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False)


def _serial() -> sa.Column[int]:
    return sa.Column("id", KEY, primary_key=True, autoincrement=True)


def _index(name: str, table: str, *columns: str, unique: bool = False, where: str | None = None) -> None:
    part = None if where is None else sa.text(where)
    op.create_index(name, table, list(columns), unique=unique, sqlite_where=part, postgresql_where=part)


def _people() -> None:
    op.create_table(
        "accounts", _text("id", key=True), _text("role"), _text("status"), _text("skills"),
        _text("password_hash", null=True), _text("agent", null=True), _big("created_ms"),
    )  # fmt: skip
    op.create_table(
        "drafts", _text("account", key=True, to="accounts.id"), _text("item", key=True), _text("content"),
        _big("at_ms"),
    )  # fmt: skip
    op.create_table(
        "clocks", _text("machine", key=True), *map(_big, ("offset_ms", "correction_ms", "noticed_ms"))
    )


def _dialogues() -> None:
    op.create_table(
        "dialogues", _text("id", key=True), _text("agent", null=True), _text("team", null=True),
        _text("channel", null=True), _big("created_ms"), _text("sha256"), _text("content"),
    )  # fmt: skip
    op.create_table(
        "verdicts", _text("dialogue", key=True, to="dialogues.id"), _text("release", key=True), _real("risk"),
        _flag("flagged"), _big("created_ms"), _text("sha256"), _text("content"),
    )  # fmt: skip


def _projects() -> None:
    op.create_table("projects", _text("id", key=True), _text("state"), _big("created_ms"), _text("content"))
    op.create_table(
        "tasks", _serial(), _text("project", to="projects.id"), _text("dialogue", to="dialogues.id"),
        _number("turn", null=True), _text("pool"), _real("rank"), _real("inclusion_probability", null=True),
        _text("why"), _text("state"), _number("wanted"), _number("answered", zero=True),
        _number("leased", zero=True), _big("token", default="0"), _big("created_ms"),
    )  # fmt: skip
    _index("tasks_queue", "tasks", "project", "pool", "state", "rank", "id")
    _index("tasks_once", "tasks", "project", "dialogue", "turn", unique=True)
    _index("tasks_once_whole", "tasks", "project", "dialogue", unique=True, where="turn IS NULL")
    _index("tasks_dialogue", "tasks", "dialogue")
    op.create_table(
        "counts", _text("project", key=True, to="projects.id"), _text("pool", key=True),
        _text("state", key=True), _big("n"),
    )  # fmt: skip


def _leases() -> None:
    op.create_table(
        "leases", sa.Column("task", KEY, sa.ForeignKey("tasks.id"), primary_key=True, autoincrement=False),
        _text("account", key=True, to="accounts.id"), _big("token"), _text("state"), _big("expires_ms"),
        _text("reason", null=True),
    )  # fmt: skip
    _index("leases_held", "leases", "expires_ms", where="state = 'held'")
    _index("leases_of", "leases", "account", where="state = 'held'")
    op.create_table(
        "shares", _text("project", key=True, to="projects.id"), _text("pool", key=True),
        _text("account", key=True, to="accounts.id"), _number("answered", zero=True),
        _real("cursor_rank", null=True), _big("cursor_task", null=True), _big("wrapped_ms", null=True),
    )  # fmt: skip
    _index("shares_of", "shares", "account")


def _annotations() -> None:
    op.create_table(
        "annotations", _serial(), _text("key"), _text("project", null=True, to="projects.id"),
        sa.Column("task", KEY, sa.ForeignKey("tasks.id")), _text("dialogue", to="dialogues.id"),
        _number("turn", null=True), _text("labeler"), _text("kind"), _text("codes"), _text("findings"),
        _flag("seen_verdict"), _real("seconds", null=True), _big("at_ms"),
        sa.Column("supersedes", KEY, sa.ForeignKey("annotations.id")), _text("sha256"),
        sa.UniqueConstraint("key", name="annotations_key"),
        sa.UniqueConstraint("supersedes", name="annotations_supersedes"),
    )  # fmt: skip
    first = "supersedes IS NULL AND task IS NOT NULL"
    _index("annotations_once", "annotations", "task", "labeler", unique=True, where=first)
    _index("annotations_of_dialogue", "annotations", "dialogue", "id")
    _index("annotations_of_labeler", "annotations", "labeler", "id")


def _truth() -> None:
    op.create_table(
        "labels", _text("dialogue", key=True, to="dialogues.id"), _number("turn", key=True),
        _text("code", key=True), _text("method", key=True), _real("probability"), _number("n_labelers"),
        _number("start", null=True), _number("end", null=True), _big("at_ms"),
    )  # fmt: skip
    op.create_table(
        "gold", _text("dialogue", key=True, to="dialogues.id"), _number("turn", key=True),
        _text("code", key=True), _flag("present"), _text("source"), _text("reason", null=True),
        _flag("retired"), _big("at_ms"),
    )  # fmt: skip
    op.create_table(
        "appeals", _serial(), _text("account", to="accounts.id"), _text("dialogue", to="dialogues.id"),
        _number("turn"), _text("code"), _text("statement"), _text("state"),
        _text("decided_by", null=True, to="accounts.id"), _text("reason", null=True), _big("at_ms"),
        sa.UniqueConstraint("dialogue", "turn", "code", "account", name="appeals_once"),
    )  # fmt: skip
    _index("appeals_state", "appeals", "state", "id")


def _audit() -> None:
    op.create_table(
        "audit", sa.Column("id", KEY, primary_key=True, autoincrement=False), _big("at_ms"),
        *map(_text, ("account", "action", "subject", "content", "hash")),
    )  # fmt: skip
    head = op.create_table(
        "audit_head", _number("one", key=True), sa.Column("id", KEY, nullable=False), _text("hash")
    )
    op.bulk_insert(head, [{"one": 1, "id": 0, "hash": "0" * 64}])


def _append_only_sqlite(table: str) -> None:
    for event in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER {table}_no_{event.lower()} BEFORE {event} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        )


def _append_only_postgresql(table: str) -> None:
    op.execute(
        f"CREATE FUNCTION {table}_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{table} is append-only'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_append_only()"
    )
