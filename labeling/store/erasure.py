"""Erasure of dialogues: everything that the store holds of them is deleted in one transaction, with a proof.

Annotations are append-only: a trigger refuses to delete one unless the content of its dialogue was emptied
before, which only `erase` does before it deletes the dialogue itself. The audit log stays complete. It never
held text of a dialogue, only digests under the store's key; it keeps the ids of erased dialogues, as primary
keys, with actions, times and accounts. An id that identifies a customer therefore stays readable in the log.

`erase` leaves no row. Bytes of deleted rows may remain in the database's files until `scrub` rewrites them.
Backups, exported files and folders of scored logs are outside of the store: each proof says so.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy import ColumnElement, Row, Table, delete, func, select, update
from sqlalchemy import text as sql_text
from sqlalchemy.exc import DBAPIError

from dialint.detector.records import Record
from dialint.detector.registry import Registry
from dialint.labeling.store.database import schema
from dialint.labeling.store.database.audit import Head, canonical_json
from dialint.labeling.store.database.changes import WORDS
from dialint.labeling.store.database.derived import delete_derived
from dialint.labeling.store.database.engine import PATIENCE_S, is_locked
from dialint.labeling.store.database.schema import annotation_rows, audit, dialogues, erasures
from dialint.labeling.store.database.schema import leases as lease_rows
from dialint.labeling.store.database.schema import tasks as task_rows
from dialint.labeling.store.database.transactions import Store, Transaction, to_world_error, upsert
from dialint.labeling.store.dialogues import compute_sha256
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
tasks and dialogues. Derived tables follow (`derived.delete_derived`); a test states why the others stay."""
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
    """The erasure of one dialogue: `counts` are deleted rows by table."""

    dialogue_sha256: str
    account: str
    reason: str
    counts: dict[str, int]
    at_ms: int


class Proof(Record):
    """Proof of erasures: `head` is the entry of the audit log, whose hash a later ``dialint db verify
    --expect-head`` still finds; `scrubbed` says how the files were rewritten, if they were."""

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
    n, columns = len(ids), dialogues.c
    if n > MAX_PER_CALL:
        raise StoreRefused("E_BATCH", "{n} dialogues in one call, at most {most}", n=n, most=MAX_PER_CALL)
    conditions: list[ColumnElement[bool]] = [columns.id.in_(ids)] if ids else []
    conditions += [] if agent is None else [columns.agent == agent]
    conditions += [] if channel is None else [columns.channel == channel]
    conditions += [] if since_ms is None else [columns.created_ms >= since_ms]
    conditions += [] if until_ms is None else [columns.created_ms < until_ms]
    if text is not None:
        conditions.append(columns.content.icontains(canonical_json(text)[1:-1], autoescape=True))
    if not conditions:
        raise StoreRefused("E_ERASE", "say which dialogues")
    query = select(
        columns.id, columns.agent, columns.team, columns.channel, columns.created_ms.label("added_ms")
    )
    rows = transaction.run(query.where(*conditions).order_by(columns.id).limit(MAX_PER_CALL))
    return [DialogueMatch(**row) for row in rows.mappings()]


@read_operation()
def preview(transaction: Transaction, actor: str, ids: Sequence[str]) -> dict[str, int]:
    """Count the rows of each table that `erase`, which raises the same, would delete now."""
    _check(transaction, actor, ids, "preview")
    counts = {}
    for table, condition in _conditions(ids).items():
        query = select(func.count()).select_from(table).where(condition)
        counts[table.name] = int(transaction.run(query).scalar_one())
    return {name: n for name, n in counts.items() if n}


@write_operation(repeatable=False)
def _erase(transaction: Transaction, actor: str, ids: Sequence[str], reason: str) -> tuple[str, ...]:
    """Delete everything about the dialogues; return their sha256."""
    tasks = _check(transaction, actor, ids, reason)
    delete_derived(transaction, ids)
    counts: dict[str, Counter[str]] = {name: Counter() for name in ids}
    dialogue_of = {task.id: task.dialogue for task in tasks}
    transaction.run(update(dialogues).where(dialogues.c.id.in_(ids)).values(content=""))  # see the triggers
    for table, condition in _conditions(ids).items():
        for owner in transaction.run(delete(table).where(condition).returning(_owner(table))).scalars():
            counts[dialogue_of[owner] if table is lease_rows else owner][table.name] += 1
    digests = {name: compute_sha256(name) for name in ids}
    for name, digest in digests.items():
        record = {"dialogue_sha256": digest, "account": actor, "reason": reason, "at_ms": transaction.now_ms}
        upsert(transaction, erasures, {**record, "content": canonical_json(counts[name])})
    transaction.log(actor, ERASE, f"{len(ids)} dialogues", reason=reason, sha256=sorted(digests.values()))
    return tuple(digests.values())


def erase(store: Store, actor: str, ids: Sequence[str], reason: str) -> Proof:
    """Delete up to 1,000 dialogues everywhere in the store, in one transaction, after the verdicts on them of
    a roll-out on this machine; return the proof.

    Raises:
        NotAllowed: the actor is no admin, or spoke in one of the dialogues.
        StoreRefused: a dialogue is not in the store, or there is no reason; nothing was deleted.
    """
    store.read(lambda transaction: _check(transaction, actor, ids, reason))
    Registry("scan").erase(frozenset(ids))
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
    total = sum((Counter(each.counts) for each in erased), Counter[str]())
    entries = select(audit.c.id, audit.c.hash).where(
        audit.c.action == ERASE, audit.c.content.contains(erased[-1].dialogue_sha256)
    )
    entry = transaction.run(entries.order_by(audit.c.id.desc()).limit(1)).one()
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
    if missing := sorted({*ids} - {*transaction.run(select_ids).scalars()}):
        name = missing[0][:80]
        raise StoreRefused("E_ERASE", "{name!r}: there is no such dialogue; nothing was erased", name=name)
    require_not_own(transaction, account, *ids)
    query = select(task_rows).where(task_rows.c.dialogue.in_(ids)).order_by(task_rows.c.id)
    return transaction.run(query.with_for_update() if transaction.writes else query).all()


def _owner(table: Table) -> Any:
    """The column with the dialogue of a row; of a lease, with its task."""
    if table is lease_rows:
        return lease_rows.c.task
    return dialogues.c.id if table is dialogues else table.c.dialogue


def _conditions(ids: Sequence[str]) -> dict[Table, ColumnElement[bool]]:
    """Returns the condition for rows of the dialogues by table, in an order in which foreign keys let them be
    deleted."""
    numbers = select(task_rows.c.id).where(task_rows.c.dialogue.in_(ids))
    tables = (*ERASED, lease_rows, task_rows, dialogues)
    return {table: _owner(table).in_(numbers if table is lease_rows else ids) for table in tables}


def _to_erasure(row: Row[Any]) -> Erasure:
    values = {name: value for name, value in row._mapping.items() if name != "content"}
    return Erasure(**values, counts=json.loads(row.content))
