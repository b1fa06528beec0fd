"""The tables; `migrations` makes them and what SQLAlchemy cannot describe: triggers and the full-text index.

JSON is stored as canonical text, so that its hash is the same on both databases. Columns in ``_ms`` are
milliseconds since 1970. ``annotations`` and ``audit`` are
append-only; triggers refuse updates and deletes. A task's `rank` is minus its priority: the queue is ordered
by (rank, id), both ascending, and one index serves it.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import TypeEngine

VERSION = "0001"
"""The newest revision, which this code requires."""

FINDING_COUNTS = ("findings", "suggestions", "confirmed", "rejected", "changed", "added", "appealed", "overturned")  # fmt: skip # noqa: E501
"""Counts of findings; `added` ones are by people."""

Key = BigInteger().with_variant(Integer, "sqlite")
metadata = MetaData()


def _required(kind: type[TypeEngine[Any]], *names: str) -> list[Column[Any]]:
    return [Column(name, kind, nullable=False) for name in names]


def _optional(kind: type[TypeEngine[Any]], *names: str) -> list[Column[Any]]:
    return [Column(name, kind) for name in names]


def _index_some(name: str, condition: str, *columns: Column[Any], unique: bool = False) -> None:
    """Add a partial index: of the rows that meet the condition."""
    where = text(condition)
    Index(name, *columns, unique=unique, sqlite_where=where, postgresql_where=where)


accounts = Table(
    "accounts", metadata,
    Column("id", Text, primary_key=True),
    *_required(Text, "role", "status", "skills"),
    *_optional(Text, "password_hash", "agent"),
    Column("created_ms", BigInteger, nullable=False),
    Column("since", BigInteger, nullable=False, server_default="0"),  # last annotation before the status
)  # fmt: skip

dialogues = Table(
    "dialogues", metadata,
    Column("id", Text, primary_key=True),
    *_optional(Text, "agent", "team", "channel"),
    Column("created_ms", BigInteger, nullable=False),
    *_required(Text, "sha256", "content"),
)  # fmt: skip

Index("dialogues_agent", dialogues.c.agent, dialogues.c.created_ms, dialogues.c.id)
Index("dialogues_created", dialogues.c.created_ms, dialogues.c.id)

participants = Table(  # who spoke in a dialogue: its agent and the authors of its turns
    "participants", metadata,
    Column("dialogue", Text, ForeignKey("dialogues.id"), primary_key=True),
    Column("person", Text, primary_key=True),
)  # fmt: skip

verdicts = Table(
    "verdicts", metadata,
    Column("dialogue", Text, ForeignKey("dialogues.id"), primary_key=True),
    Column("release", Text, primary_key=True),
    Column("risk", Float, nullable=False),
    Column("flagged", Boolean, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    *_required(Text, "sha256", "content"),
)  # fmt: skip

Index("verdicts_created", verdicts.c.created_ms, verdicts.c.dialogue)
Index("verdicts_release", verdicts.c.release, verdicts.c.created_ms, verdicts.c.dialogue, verdicts.c.flagged)

projects = Table(
    "projects", metadata,
    Column("id", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("content", Text, nullable=False),
)  # fmt: skip

tasks = Table(
    "tasks", metadata,
    Column("id", Key, primary_key=True, autoincrement=True),
    Column("project", Text, ForeignKey("projects.id"), nullable=False),
    Column("dialogue", Text, ForeignKey("dialogues.id"), nullable=False),
    Column("turn", Integer),
    Column("pool", Text, nullable=False),
    Column("rank", Float, nullable=False),
    Column("inclusion_probability", Float),
    *_required(Text, "why", "state"),
    Column("source", Text, ForeignKey("projects.id")),
    Column("wanted", Integer, nullable=False),
    Column("answered", Integer, nullable=False, server_default="0"),
    Column("leased", Integer, nullable=False, server_default="0"),
    Column("token", BigInteger, nullable=False, server_default="0"),
    Column("created_ms", BigInteger, nullable=False),
)  # fmt: skip
Index("tasks_queue", tasks.c.project, tasks.c.pool, tasks.c.state, tasks.c.rank, tasks.c.id)
Index("tasks_once", tasks.c.project, tasks.c.dialogue, tasks.c.turn, unique=True)
_index_some("tasks_once_whole", "turn IS NULL", tasks.c.project, tasks.c.dialogue, unique=True)
Index("tasks_dialogue", tasks.c.dialogue)
_index_some("tasks_sampled", "inclusion_probability IS NOT NULL", tasks.c.dialogue)

leases = Table(
    "leases", metadata,
    Column("task", Key, ForeignKey("tasks.id"), primary_key=True),
    Column("account", Text, ForeignKey("accounts.id"), primary_key=True),
    Column("token", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("expires_ms", BigInteger, nullable=False),
    Column("reason", Text),
)  # fmt: skip
_index_some("leases_held", "state = 'held'", leases.c.expires_ms)
_index_some("leases_of", "state = 'held'", leases.c.account)
RETURNED = ("released", "expired")
"""States of a lease after which its holder may get the task again."""
_index_some("leases_returned", f"state IN {RETURNED}", leases.c.account, leases.c.token)

annotation_rows = Table(  # not `annotations`: a module that imports that name from __future__ would hide it
    "annotations", metadata,
    Column("id", Key, primary_key=True, autoincrement=True),
    Column("key", Text, nullable=False),
    Column("project", Text, ForeignKey("projects.id")),
    Column("task", Key, ForeignKey("tasks.id")),
    Column("dialogue", Text, ForeignKey("dialogues.id"), nullable=False),
    Column("turn", Integer),
    *_required(Text, "labeler", "kind", "codes", "findings"),
    Column("seen_verdict", Boolean, nullable=False),
    Column("seconds", Float),
    Column("at_ms", BigInteger, nullable=False),
    Column("supersedes", Key, ForeignKey("annotations.id")),
    Column("rejections", Text),
    UniqueConstraint("key", name="annotations_key"),
    UniqueConstraint("supersedes", name="annotations_supersedes"),
)  # fmt: skip
_index_some(
    "annotations_once", "supersedes IS NULL AND task IS NOT NULL",
    annotation_rows.c.task, annotation_rows.c.labeler, unique=True,
)  # fmt: skip
Index("annotations_of_dialogue", annotation_rows.c.dialogue, annotation_rows.c.id)
Index("annotations_of_labeler", annotation_rows.c.labeler, annotation_rows.c.id)
Index("annotations_of_project", annotation_rows.c.project, annotation_rows.c.id)

labels = Table(
    "labels", metadata,
    Column("dialogue", Text, ForeignKey("dialogues.id"), primary_key=True),
    Column("turn", Integer, primary_key=True),
    Column("code", Text, primary_key=True),
    Column("method", Text, primary_key=True),
    Column("probability", Float, nullable=False),
    Column("n_labelers", Integer, nullable=False),
    *_optional(Integer, "start", "end"),
    Column("at_ms", BigInteger, nullable=False),
)  # fmt: skip

gold = Table(
    "gold", metadata,
    Column("dialogue", Text, ForeignKey("dialogues.id"), primary_key=True),
    Column("turn", Integer, primary_key=True),
    Column("code", Text, primary_key=True),
    Column("present", Boolean, nullable=False),
    Column("source", Text, nullable=False),
    Column("reason", Text),
    Column("retired", Boolean, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("doubt", Text),
)  # fmt: skip

pairs = Table(  # dialogues that reveal each other: an injected error and its clean twin
    "pairs", metadata,
    Column("dialogue", Text, ForeignKey("dialogues.id"), primary_key=True),
    Column("pair", Text, nullable=False),
)  # fmt: skip
Index("pairs_pair", pairs.c.pair)

reads = Table(  # what an account read of a dialogue: the first time, by kind
    "reads", metadata,
    Column("account", Text, ForeignKey("accounts.id"), primary_key=True),
    Column("dialogue", Text, ForeignKey("dialogues.id"), primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
)  # fmt: skip

bulk_reads = Table(  # up to which annotation, or time of gold, an account has read a project ("": the store)
    "bulk_reads", metadata,
    Column("account", Text, ForeignKey("accounts.id"), primary_key=True),
    Column("project", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("upto", BigInteger, nullable=False),
)  # fmt: skip

settings = Table(
    "settings", metadata,
    Column("name", Text, primary_key=True),
    Column("content", Text, nullable=False),
)  # fmt: skip

appeals = Table(
    "appeals", metadata,
    Column("id", Key, primary_key=True, autoincrement=True),
    Column("account", Text, ForeignKey("accounts.id"), nullable=False),
    Column("dialogue", Text, ForeignKey("dialogues.id"), nullable=False),
    Column("turn", Integer, nullable=False),
    *_required(Text, "code", "statement", "state"),
    Column("decided_by", Text, ForeignKey("accounts.id")),
    Column("reason", Text),
    Column("at_ms", BigInteger, nullable=False),
    UniqueConstraint("dialogue", "turn", "code", "account", name="appeals_once"),
)  # fmt: skip
Index("appeals_state", appeals.c.state, appeals.c.id)

drafts = Table(  # unsigned: the audit log does not record them
    "drafts", metadata,
    Column("account", Text, ForeignKey("accounts.id"), primary_key=True),
    Column("item", Text, primary_key=True),
    Column("dialogue", Text, ForeignKey("dialogues.id"), nullable=False),
    Column("content", Text, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
)  # fmt: skip
Index("drafts_dialogue", drafts.c.dialogue)

preferences = Table(  # how an account likes its screens
    "preferences", metadata,
    Column("account", Text, ForeignKey("accounts.id"), primary_key=True),
    Column("content", Text, nullable=False),
)  # fmt: skip

notes = Table(  # what a lead writes to an agent, and when the agent has acknowledged it
    "notes", metadata,
    Column("id", Key, primary_key=True, autoincrement=True),
    Column("agent", Text, nullable=False),
    Column("dialogue", Text, ForeignKey("dialogues.id")),
    Column("author", Text, ForeignKey("accounts.id"), nullable=False),
    Column("content", Text, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("acknowledged_by", Text, ForeignKey("accounts.id")),
    Column("acknowledged_ms", BigInteger),
)  # fmt: skip
Index("notes_agent", notes.c.agent, notes.c.id)

documents = Table(  # versions of a taxonomy or policy edited in the console
    "documents", metadata,
    Column("kind", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("content", Text, nullable=False),
    Column("author", Text, ForeignKey("accounts.id"), nullable=False),
    Column("reason", Text, nullable=False),
    Column("published_ms", BigInteger),
    Column("at_ms", BigInteger, nullable=False),
)  # fmt: skip

identities = Table(  # who signs in by OpenID Connect
    "identities", metadata,
    Column("issuer", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("account", Text, ForeignKey("accounts.id"), nullable=False),
    Column("at_ms", BigInteger, nullable=False),
)  # fmt: skip

erasures = Table(  # dialogues that were deleted everywhere; nothing of their content is here
    "erasures", metadata,
    Column("dialogue_sha256", Text, primary_key=True),
    Column("account", Text, ForeignKey("accounts.id"), nullable=False),
    Column("reason", Text, nullable=False),
    Column("content", Text, nullable=False),  # counts of the deleted rows
    Column("at_ms", BigInteger, nullable=False),
)  # fmt: skip

# Derived from dialogues, verdicts, annotations and appeals by `derived`, for searching and counting. A text
# that the log lacks is empty here, and a name of more than 100 characters is cut.

dialogue_index = Table(  # number: 2^21 times at_ms, made unique, so that dialogues are ordered by time
    "dialogue_index", metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("dialogue", Text, ForeignKey("dialogues.id"), nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("day", Integer, nullable=False),
    *_required(Text, "agent", "team", "channel", "release", "status"),
    Column("quality", Float),
    Column("reviewed_errors", Text),  # as JSON: code and severity of each
    Column("coverage", Text, nullable=False),  # as JSON: codes that were not judged, and those of the judge
    Column("rating", Float),
    Column("worst", Text, nullable=False),
    Column("probability", Float, nullable=False),
    *_required(Text, "review", "appeal"),
    *_required(Integer, *(f"n_{name}" for name in FINDING_COUNTS)),
    UniqueConstraint("dialogue", name="dialogue_index_dialogue"),
)  # fmt: skip
for _name in ("agent", "team", "channel", "release", "probability"):
    Index(f"dialogue_index_{_name}", dialogue_index.c[_name], dialogue_index.c.number)
Index("dialogue_index_agent_likely", dialogue_index.c.agent, dialogue_index.c.probability, dialogue_index.c.number)  # fmt: skip # noqa: E501
USUAL = {"status": "scored", "review": "none", "appeal": "none", "decision": "open"}
"""The usual value of a column, which its partial index leaves out."""
for _name in ("status", "review", "appeal"):
    _index_some(
        f"dialogue_index_{_name}", f"{_name} <> '{USUAL[_name]}'", dialogue_index.c[_name],
        dialogue_index.c.number,
    )  # fmt: skip
_index_some("dialogue_index_reviewed", "reviewed_errors IS NOT NULL", dialogue_index.c.number)

finding_index = Table(  # findings and suggestions of the newest verdict, and what people added
    "finding_index", metadata,
    Column("number", BigInteger, ForeignKey("dialogue_index.number"), primary_key=True, autoincrement=False),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("day", Integer, nullable=False),
    *_required(Text, "agent", "team", "channel", "release"),
    Column("suggestion", Boolean, nullable=False),
    Column("turn", Integer, nullable=False),
    *_required(Text, "code", "severity"),
    Column("probability", Float, nullable=False),
    *_required(Text, "decision", "appeal", "review"),
)  # fmt: skip
Index("finding_index_agent", finding_index.c.agent, finding_index.c.number)
Index("finding_index_code", finding_index.c.code, finding_index.c.number)
Index("finding_index_likely", finding_index.c.code, finding_index.c.probability, finding_index.c.number)
Index("finding_index_probability", finding_index.c.probability, finding_index.c.number)
Index("finding_index_severity", finding_index.c.severity, finding_index.c.number)
_index_some("finding_index_decision", "decision <> 'open'", finding_index.c.decision, finding_index.c.number)

audit = Table(
    "audit", metadata,
    Column("id", Key, primary_key=True, autoincrement=False),
    Column("at_ms", BigInteger, nullable=False),
    *_required(Text, "account", "action", "subject", "content", "origin"),
    Column("changes", Text),
    Column("hash", Text, nullable=False),
)  # fmt: skip

Index("audit_subject", audit.c.subject, audit.c.id)

audit_head = Table(
    "audit_head", metadata,
    Column("one", Integer, primary_key=True, autoincrement=False),
    Column("id", Key, nullable=False),
    Column("hash", Text, nullable=False),
    Column("key", Text, nullable=False),  # its id
    Column("signature", Text, nullable=False),
)  # fmt: skip
