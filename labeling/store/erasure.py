"""Erasure of dialogues: everything that the store holds of them is deleted in one transaction, with a proof.

Annotations are append-only: a trigger refuses to delete one unless the content of its dialogue was emptied
before, which only `erase` does, on the way to deleting the dialogue itself. The audit log stays whole. It
never held text of a dialogue, only digests under the store's key; what remains in it are the ids of erased
dialogues, as primary keys, and what was done when and by whom. An id that identifies a customer therefore
stays readable in the log.

`erase` leaves no row. Bytes of deleted rows may remain in the database's files until `scrub` rewrites them.
Backups, exported files and folders of scored logs are outside of the store: each proof says so.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy import ColumnElement, Delete, Row, Table, delete, func, select, update
from sqlalchemy import text as sql_text
from sqlalchemy.exc import DBAPIError

from dialint.detector.records import Record
from dialint.labeling.store.database import schema
from dialint.labeling.store.database.audit import Head, canonical_json
from dialint.labeling.store.database.changes import WORDS
from dialint.labeling.store.database.derived import forget
from dialint.labeling.store.database.engine import PATIENCE_S, is_locked
from dialint.labeling.store.database.schema import annotation_rows, audit, dialogues, erasures
from dialint.labeling.store.database.schema import leases as lease_rows
from dialint.labeling.store.database.schema import tasks as task_rows
from dialint.labeling.store.database.transactions import Store, Transaction, to_world_error, upsert
from dialint.labeling.store.exposure import require_not_own
from dialint.labeling.store.permissions import read_operation, require_permission, write_operation
from dialint.labeling.store.records import StoreRefused

ERASE = "dialogues.erase"
"""Action of the entries of the audit log about erasures."""
MAX_PER_CALL = 1000
MAX_REASON = 500
ERASED: tuple[Table, ...] = (
    schema.labels, schema.gold, schema.pairs, schema.reads, schema.appeals, schema.notes,
    schema.verdicts, schema.participants, schema.drafts, annotation_rows,
)  # fmt: skip
"""Tables of which the rows with a `dialogue` are deleted, in this order; then go leases with their tasks,
tasks and dialogues."""
RETAINED: dict[str, str] = {
    "accounts": "people of the company", "projects": "no dialogues",
    "bulk_reads": "numbers", "settings": "rules",
    "preferences": "screens",
    "documents": "taxonomy and policies",
    "identities": "who signs in", "erasures": "what was erased", "audit": "digests and ids",
    "audit_head": "a signature",
}  # fmt: skip
"""Why the rows of the other sealed tables stay; a test names every table that is in neither. Derived tables
follow (`derived.forget`)."""
OUTSIDE = (
    "Backups made before hold the dialogues until they are deleted.",
    "Exported files, datasets, reports and the folders of scored logs are outside of the store.",
    "Replicas and archived write-ahead logs of PostgreSQL hold them for as long as they are kept.",
    "The audit log keeps the ids of the dialogues and digests under the store's key, no text.",
)


class DialogueMatch(Record):
    """A dialogue that may be erased."""

    id: str
    agent: str | None
    team: str | None
    channel: str | None
    added_ms: int


class Erasure(Record):
    """What was erased of one dialogue: `counts` are deleted rows by table."""

    dialogue_sha256: str
    account: str
    reason: str
    counts: dict[str, int]
    at_ms: int


class Proof(Record):
    """That dialogues were erased: `head` is the entry of the audit log, whose hash a later
    ``dialint db verify --expect-head`` still finds; `scrubbed` says how the files were rewritten, if so."""

    erased: tuple[Erasure, ...]
    counts: dict[str, int]
    head: str
    scrubbed: Annotated[str | None, Field(max_length=200)] = None
    outside: tuple[str, ...] = OUTSIDE


@read_operation("administer")
def find_dialogues(
    transaction: Transaction,
    actor: str,
    *,
    ids: Sequence[str] = (),
    text: str | None = None,
    agent: str | None = None,
    channel: str | None = None,
    since_ms: int | None = None,
    until_ms: int | None = None,
) -> list[DialogueMatch]:
    """The first 1,000 dialogues that meet all given conditions, by id; times are those of the import. `text`
    is searched for in everything that is stored of a dialogue, whatever the case of ASCII letters: all are
    read, as an index of words might lack some.

    Raises:
        StoreRefused: no condition is given, or more than 1,000 ids.
    """
    if len(ids) > MAX_PER_CALL:
        raise StoreRefused(
            "E_BATCH", "{n} dialogues in one call, at most {most}", n=len(ids), most=MAX_PER_CALL
        )
    conditions: list[ColumnElement[bool]] = [dialogues.c.id.in_(ids)] if ids else []
    conditions += [
        column == value
        for column, value in ((dialogues.c.agent, agent), (dialogues.c.channel, channel))
        if value is not None
    ]
    if text is not None:
        conditions.append(dialogues.c.content.icontains(canonical_json(text)[1:-1], autoescape=True))
    conditions += [] if since_ms is None else [dialogues.c.created_ms >= since_ms]
    conditions += [] if until_ms is None else [dialogues.c.created_ms < until_ms]
    if not conditions:
        raise StoreRefused("E_ERASE", "say which dialogues")
    columns = [dialogues.c[name] for name in ("id", "agent", "team", "channel", "created_ms")]
    rows = transaction.run(select(*columns).where(*conditions).order_by(dialogues.c.id).limit(MAX_PER_CALL))
    return [DialogueMatch(**dict(zip(DialogueMatch.model_fields, row, strict=True))) for row in rows]


@read_operation()
def preview(transaction: Transaction, actor: str, ids: Sequence[str]) -> dict[str, int]:
    """How many rows of each table `erase` would delete now; nothing is changed.

    Raises:
        NotAllowed: the actor is no admin, or spoke in one of the dialogues.
        StoreRefused: a dialogue is not in the store.
    """
    _check(transaction, actor, ids, "preview")
    counts = {}
    for table, statement in _deletions(ids).items():
        assert statement.whereclause is not None
        query = select(func.count()).select_from(table).where(statement.whereclause)
        counts[table.name] = int(transaction.run(query).scalar_one())
    return {name: n for name, n in counts.items() if n}


@write_operation(repeatable=False)
def _erase(transaction: Transaction, actor: str, ids: Sequence[str], reason: str) -> tuple[str, ...]:
    """Delete everything about the dialogues; return their sha256."""
    tasks = _check(transaction, actor, ids, reason)
    forget(transaction, ids)
    counts: dict[str, Counter[str]] = {name: Counter() for name in ids}
    owners = {("leases", task.id): task.dialogue for task in tasks}
    transaction.run(update(dialogues).where(dialogues.c.id.in_(ids)).values(content=""))  # see the triggers
    for table, statement in _deletions(ids).items():
        for row in transaction.run(statement.returning(_OWNER_COLUMN[table])):
            counts[owners.get((table.name, row[0]), row[0])][table.name] += 1
    digests = {name: hash_id(name) for name in ids}
    for name, digest in digests.items():
        record = {"dialogue_sha256": digest, "account": actor, "reason": reason, "at_ms": transaction.now_ms}
        upsert(transaction, erasures, {**record, "content": canonical_json(counts[name])})
    transaction.log(actor, ERASE, f"{len(ids)} dialogues", reason=reason, sha256=sorted(digests.values()))
    return tuple(digests.values())


def erase(store: Store, actor: str, ids: Sequence[str], reason: str) -> Proof:
    """Delete up to 1,000 dialogues everywhere in the store, in one transaction; return the proof.

    Raises:
        NotAllowed: the actor is no admin, or spoke in one of the dialogues.
        StoreRefused: a dialogue is not in the store, or there is no reason; nothing was deleted.
    """
    digests = _erase(store, actor, ids, reason)
    return read_proof(store, actor, digests)


@read_operation("administer")
def read_proof(transaction: Transaction, actor: str, digests: Sequence[str]) -> Proof:
    """The proof of erasures that were made, by the sha256 of the dialogues' ids.

    Raises:
        StoreRefused: one of them was not erased.
    """
    rows = transaction.run(select(erasures).where(erasures.c.dialogue_sha256.in_(digests)))
    erased = tuple(sorted(map(_to_erasure, rows), key=lambda each: (each.at_ms, each.dialogue_sha256)))
    if missing := set(digests) - {each.dialogue_sha256 for each in erased}:
        raise StoreRefused("E_ERASE", "{n} of these dialogues were not erased", n=len(missing))
    total: Counter[str] = Counter()
    for each in erased:
        total.update(each.counts)
    query = select(audit.c.id, audit.c.hash, audit.c.content).where(audit.c.action == ERASE)
    with transaction.run(query.order_by(audit.c.id.desc()).execution_options(yield_per=10)) as entries:
        entry = next(
            row for row in entries if erased[-1].dialogue_sha256 in json.loads(row.content)["sha256"]
        )
    return Proof(erased=erased, counts=dict(sorted(total.items())), head=str(Head(entry.id, entry.hash)))


@read_operation("administer")
def list_erasures(transaction: Transaction, actor: str, limit: int = 100) -> list[Erasure]:
    """The newest erasures."""
    newest = select(erasures).order_by(erasures.c.at_ms.desc(), erasures.c.dialogue_sha256).limit(limit)
    return list(map(_to_erasure, transaction.run(newest)))


def scrub(store: Store, actor: str) -> str:
    """Rewrite the database's files, so that they hold no bytes of deleted rows; return how, for a proof.

    SQLite: the full-text index is merged, VACUUM, and the write-ahead log is emptied. PostgreSQL: VACUUM FULL
    of the tables that dialogues are deleted from, each locked meanwhile; segments of the write-ahead log are
    reused in time. Blocks that the file system freed are not overwritten.

    Raises:
        NotAllowed: the actor is no admin.
        WorldError: others keep the database busy for too long, or the disk is full.
    """
    store.read(lambda transaction: require_permission(transaction, actor, "administer"))
    sqlite = store.engine.dialect.name == "sqlite"
    tables = ", ".join(table.name for table in (*ERASED, lease_rows, task_rows, dialogues))
    started_s = time.monotonic()
    while True:
        try:
            with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                if not sqlite:
                    connection.execute(sql_text(f"VACUUM (FULL) {tables}"))
                    return "VACUUM FULL of PostgreSQL's tables; its write-ahead log is reused in time"
                plain: Any = connection.connection.dbapi_connection
                if connection.in_transaction():
                    connection.rollback()
                # its segments keep words of deleted rows until they are merged
                plain.execute(f"INSERT INTO {WORDS[0]} ({WORDS[0]}) VALUES ('optimize')")
                plain.execute("VACUUM")
                if plain.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0:
                    return "VACUUM of SQLite's file, and its write-ahead log emptied"
        except DBAPIError as error:
            if not is_locked(error) or time.monotonic() - started_s > PATIENCE_S:
                raise to_world_error(error, store.engine) from error
        if time.monotonic() - started_s > PATIENCE_S:
            raise StoreRefused("E_BUSY", "the store is busy; nothing was rewritten yet, try again later")
        time.sleep(0.05)


def hash_id(dialogue: str) -> str:
    """The hex SHA-256 of a dialogue's id, by which a proof names it."""
    return hashlib.sha256(dialogue.encode()).hexdigest()


def _check(transaction: Transaction, actor: str, ids: Sequence[str], reason: str) -> Sequence[Row[Any]]:
    """Check the request, and return the tasks on the dialogues, which a writer locks."""
    account = require_permission(transaction, actor, "administer")
    if not ids or len(set(ids)) != len(ids) or len(ids) > MAX_PER_CALL:
        raise StoreRefused("E_ERASE", "name 1 to {most} dialogues, each once", most=MAX_PER_CALL)
    if not reason.strip() or len(reason) > MAX_REASON or "\x00" in reason:
        raise StoreRefused("E_ERASE", "a reason of 1 to {most} characters is needed", most=MAX_REASON)
    select_ids = select(dialogues.c.id).where(dialogues.c.id.in_(ids)).order_by(dialogues.c.id)
    if transaction.writes:  # whoever saves an answer or a draft meanwhile waits, and finds the dialogue gone
        select_ids = select_ids.with_for_update(key_share=True)
    stored = set(transaction.run(select_ids).scalars())
    if missing := sorted(set(ids) - stored):
        raise StoreRefused(
            "E_ERASE", "{name!r}: there is no such dialogue; nothing was erased", name=missing[0][:80]
        )
    require_not_own(transaction, account, *ids)
    query = select(task_rows).where(task_rows.c.dialogue.in_(ids)).order_by(task_rows.c.id)
    return transaction.run(query.with_for_update() if transaction.writes else query).all()


def _deletions(ids: Sequence[str]) -> dict[Table, Delete]:
    """The statements that delete everything of the dialogues, in an order that keeps foreign keys."""
    numbers = select(task_rows.c.id).where(task_rows.c.dialogue.in_(ids))
    return {
        **{table: delete(table).where(table.c.dialogue.in_(ids)) for table in ERASED},
        lease_rows: delete(lease_rows).where(lease_rows.c.task.in_(numbers)),
        task_rows: delete(task_rows).where(task_rows.c.dialogue.in_(ids)),
        dialogues: delete(dialogues).where(dialogues.c.id.in_(ids)),
    }


_OWNER_COLUMN: dict[Table, Any] = {
    **{table: table.c.dialogue for table in (*ERASED, task_rows)},
    lease_rows: lease_rows.c.task, dialogues: dialogues.c.id,
}  # fmt: skip


def _to_erasure(row: Row[Any]) -> Erasure:
    values = {name: getattr(row, name) for name in ("dialogue_sha256", "account", "reason", "at_ms")}
    return Erasure(**values, counts=json.loads(row.content))
