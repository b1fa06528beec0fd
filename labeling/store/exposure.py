"""Records the participants of a dialogue, and the accounts that have seen verdicts or answers of others.

No account reviews, decides, sets gold on or decides appeals of its own dialogues, where its `agent` is the
dialogue's agent or the author of one of its turns. Each kind of a dialogue's data that was displayed to an
account is recorded once, and in the audit log the first time; later answers are recorded as not blind in any
project. A bulk read (aggregation, exports) records one row with the last number that it read. Permissions
are checked by the caller.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Literal

from sqlalchemy import bindparam, func, insert, null, or_, select, union_all

from dialint.detector.records import Dialogue
from dialint.labeling.store.database.schema import (
    annotation_rows,
    appeals,
    bulk_reads,
    gold,
    participants,
    reads,
    tasks,
)
from dialint.labeling.store.database.transactions import Transaction, upsert, upsert_statement
from dialint.labeling.store.records import Account, NotAllowed

ReadKind = Literal["dialogue", "verdict", "answers", "labels", "gold"]
"""The part of a dialogue's data that was read. After any but the first, answers are not blind."""
BulkKind = Literal["answers", "export", "gold"]
"""`answers` of others; everything about each dialogue with answers (`export`); all `gold`."""

APPEAL = "appeal"
"""Reason (`why`) of a task for the blind second review of an appeal."""
PART = "has a part in this dialogue"
EVERYWHERE = ""
"""The project of a bulk read of the whole store."""

_OWN = (
    select(participants.c.dialogue)
    .where(participants.c.person == bindparam("agent"))
    .where(participants.c.dialogue.in_(bindparam("dialogues", expanding=True)))
    .limit(1)
)
_KINDS = select(reads.c.kind).where(
    reads.c.account == bindparam("account"), reads.c.dialogue == bindparam("dialogue")
)
_ALL_READS = union_all(
    _KINDS.add_columns(null().label("project"), null().label("upto")),
    select(bulk_reads.c.kind, bulk_reads.c.project, bulk_reads.c.upto).where(
        bulk_reads.c.account == bindparam("account")
    ),
)
_ANSWERED = select(annotation_rows.c.id, annotation_rows.c.project, annotation_rows.c.labeler).where(
    annotation_rows.c.dialogue == bindparam("dialogue")
)


def is_own(transaction: Transaction, account: Account, dialogues: Collection[str]) -> bool:
    """Returns whether the account spoke in one of the dialogues."""
    if account.agent is None or not dialogues:
        return False
    parameters = {"agent": account.agent, "dialogues": list(dialogues)}
    return transaction.run(_OWN, parameters).first() is not None


def require_not_own(transaction: Transaction, account: Account, *dialogues: str) -> None:
    """Raise `NotAllowed` if the account spoke in one of the dialogues."""
    if is_own(transaction, account, dialogues):
        raise NotAllowed(
            "E_RIGHT", "{account} spoke in this dialogue; somebody else judges it", account=account.id
        )


def record_read(
    transaction: Transaction, account: str, dialogues: str | Collection[str], *kinds: ReadKind
) -> None:
    """Record that these kinds of data about one or more dialogues are displayed to the account, with one
    entry in the audit log. If all were before, nothing is written. After a read-only transaction, a write
    transaction follows before the result is returned."""
    names = [dialogues] if isinstance(dialogues, str) else sorted(dialogues)
    keys = {(name, kind) for name in names for kind in kinds}
    wanted = select(reads.c.dialogue, reads.c.kind).where(
        reads.c.account == account, reads.c.dialogue.in_(names), reads.c.kind.in_(kinds)
    )

    def select_new(reader: Transaction) -> list[tuple[str, ReadKind]]:
        return sorted(keys - {tuple(row) for row in reader.run(wanted)})

    if not keys or not select_new(transaction):
        return

    def write(writer: Transaction) -> None:
        new = select_new(writer)
        if not new:
            return
        rows = [
            {"account": account, "dialogue": name, "kind": kind, "at_ms": writer.now_ms} for name, kind in new
        ]
        writer.run(upsert_statement(reads, writer.on_sqlite, tuple(rows[0])), rows)
        new_names, new_kinds = sorted({name for name, _ in new}), sorted({kind for _, kind in new})
        if isinstance(dialogues, str):
            writer.log(account, "read", dialogues, kinds=new_kinds)
        else:
            writer.log(account, "read", f"{len(new_names)} dialogues", kinds=new_kinds, dialogues=new_names)

    transaction.afterwards(write)


def record_claim_read(transaction: Transaction, account: str, dialogue: str) -> None:
    """Record that a claimed task displays the verdict; the claim is in the audit log already."""
    row = {"account": account, "dialogue": dialogue, "kind": "verdict", "at_ms": transaction.now_ms}
    upsert(transaction, reads, row)


def record_bulk_read(transaction: Transaction, account: str, project: str | None, kind: BulkKind) -> None:
    """Record that the account reads all present data of this kind, of a project or of the store."""
    newest: Any = func.max(gold.c.at_ms) if kind == "gold" else func.max(annotation_rows.c.id)
    upto = transaction.run(select(func.coalesce(newest, 0))).scalar_one()
    key = {"account": account, "project": project or EVERYWHERE, "kind": kind}
    query = select(bulk_reads.c.upto).filter_by(**key)
    before = transaction.run(query).scalar_one_or_none()
    if before is not None and before >= upto:
        return

    def write(writer: Transaction) -> None:
        if writer.run(query).scalar_one_or_none() is None:
            writer.log(account, "read.all", project or "store", kind=kind)
        upsert(writer, bulk_reads, {**key, "upto": upto})

    transaction.afterwards(write)


def has_seen(transaction: Transaction, account: str, dialogue: str) -> bool:
    """Returns whether a verdict, answers of others, labels or gold of the dialogue were displayed to the
    account."""
    rows = transaction.run(_ALL_READS, {"account": account, "dialogue": dialogue}).all()
    bulk = [row for row in rows if row.upto is not None]
    if any(row.kind != "dialogue" for row in rows if row.upto is None):
        return True
    if not bulk:
        return False
    answers = transaction.run(_ANSWERED, {"dialogue": dialogue}).all()
    query = select(func.min(gold.c.at_ms)).where(gold.c.dialogue == dialogue)
    gold_ms = transaction.run(query).scalar_one_or_none()
    for read in bulk:
        if read.kind == "gold":
            if gold_ms is not None and gold_ms <= read.upto:
                return True
        elif any(
            one.id <= read.upto
            and read.project in (EVERYWHERE, one.project)
            and (read.kind == "export" or one.labeler != account)
            for one in answers
        ):
            return True
    return False


def has_part(transaction: Transaction, account: str, dialogue: str, before: int | None = None) -> bool:
    """Returns whether the account appealed in this dialogue, or annotated it other than by blind second
    reviews; with `before`, only annotations with smaller numbers count."""
    appealed = select(appeals.c.id).where(appeals.c.dialogue == dialogue, appeals.c.account == account)
    second = select(tasks.c.id).where(tasks.c.dialogue == dialogue, tasks.c.why == APPEAL)
    answered = select(annotation_rows.c.id).where(
        annotation_rows.c.dialogue == dialogue,
        annotation_rows.c.labeler == account,
        or_(annotation_rows.c.task.is_(None), annotation_rows.c.task.not_in(second)),
    )
    if before is not None:
        answered = answered.where(annotation_rows.c.id < before)
    return any(transaction.run(one.limit(1)).first() for one in (appealed, answered))


def is_independent(transaction: Transaction, account: Account, dialogue: str) -> bool:
    """Returns whether the account may give the blind second review of an appeal in this dialogue."""
    return not (
        is_own(transaction, account, (dialogue,))
        or has_part(transaction, account.id, dialogue)
        or has_seen(transaction, account.id, dialogue)
    )


def add_participants(transaction: Transaction, new: Iterable[Dialogue]) -> None:
    """Insert who spoke in new dialogues."""
    rows = []
    for dialogue in new:
        people = {dialogue.agent, *(turn.author for turn in dialogue.turns)}
        rows += [{"dialogue": dialogue.id, "person": person} for person in sorted(filter(None, people))]
    if rows:
        transaction.run(insert(participants), rows)
