"""Changes of a project's answers since an entry of the audit log, for incremental aggregation.

The log, not the numbers of annotations: entries become visible in the order of their numbers, while of two
annotations saved at once the one with the smaller number may come later, and would be passed over.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, bindparam, select

from dialint.labeling.annotation import Annotation
from dialint.labeling.store.counted_annotations import OF_THESE, PAGE
from dialint.labeling.store.database.schema import annotation_rows, audit, audit_head, tasks, verdicts
from dialint.labeling.store.database.transactions import Transaction, read_operation
from dialint.labeling.store.exposure import record_bulk_read
from dialint.labeling.store.permissions import require_permission
from dialint.labeling.store.stored_annotations import to_annotation

ANSWERED = ("annotate",)
GIVEN_BACK = ("task.release", "task.skip", "task.expire")
PEOPLE = ("account.status", "account.exclude")
VERDICTS = ("verdicts.add",)
GOLD = ("gold.put", "gold.bring_in")
LAST = 2**63 - 1
"""Above all numbers: whatever supersedes an answer is seen."""

_HEAD = select(audit_head.c.id)
_ENTRIES = (
    select(audit.c.id, audit.c.action, audit.c.subject, audit.c.content)
    .where(audit.c.id > bindparam("after"), audit.c.id <= bindparam("head"))
    .where(audit.c.action.in_((*ANSWERED, *GIVEN_BACK, *PEOPLE, *VERDICTS, *GOLD)))
    .order_by(audit.c.id)
    .limit(bindparam("page"))
)
_DIALOGUES = (
    select(tasks.c.dialogue)
    .where(tasks.c.id.in_(bindparam("ids", expanding=True)))
    .where(tasks.c.project == bindparam("project"), tasks.c.pool == "main")
    .distinct()
)
_RELEASES = (
    select(verdicts.c.dialogue, verdicts.c.release)
    .where(
        verdicts.c.dialogue.in_(
            select(annotation_rows.c.dialogue).where(annotation_rows.c.project == bindparam("project"))
        )
    )
    .order_by(verdicts.c.created_ms, verdicts.c.release)
)


@dataclass(frozen=True)
class ChangeSet:
    """What happened up to the entry `upto`: the `answers` that count now, oldest first; the dialogues of
    tasks that somebody `gave_back`; whether the standing of `people`, `verdicts` or `gold` changed. Where
    there is `more`, there was too much to tell at once."""

    upto: int
    more: bool = False
    answers: tuple[Annotation, ...] = ()
    gave_back: frozenset[str] = frozenset()
    people: bool = False
    verdicts: bool = False
    gold: bool = False


@read_operation
def last_entry(transaction: Transaction, actor: str) -> int:
    """The last entry of the audit log, to ask for news from.

    Raises:
        NotAllowed: the actor does not review.
    """
    require_permission(transaction, actor, "review")
    return int(transaction.run(_HEAD).scalar_one())


@read_operation
def changes_since(transaction: Transaction, actor: str, project: str, after: int) -> ChangeSet:
    """What happened after the entry `after`.

    Raises:
        NotAllowed: the actor does not review.
    """
    account = require_permission(transaction, actor, "review")
    head = int(transaction.run(_HEAD).scalar_one())
    entries = transaction.run(_ENTRIES, {"after": after, "head": head, "page": PAGE}).all()
    if not entries:
        return ChangeSet(head)
    more = len(entries) == PAGE
    actions = {entry.action for entry in entries}
    answers = _answers(transaction, project, entries)
    if answers:
        record_bulk_read(transaction, account, project, "answers")
    return ChangeSet(
        entries[-1].id if more else head,
        more,
        answers,
        _gave_back(transaction, project, entries),
        not actions.isdisjoint(PEOPLE),
        not actions.isdisjoint(VERDICTS),
        not actions.isdisjoint(GOLD),
    )


def _answers(transaction: Transaction, project: str, entries: Sequence[Row[Any]]) -> tuple[Annotation, ...]:
    numbers = [json.loads(entry.content)["id"] for entry in entries if entry.action in ANSWERED]
    if not numbers:
        return ()
    place = {"project": project, "ids": numbers, "after": 0, "end": max(numbers), "upto": LAST}
    rows = transaction.run(OF_THESE, place)
    return tuple(to_annotation(row) for row in rows)


def _gave_back(transaction: Transaction, project: str, entries: Sequence[Row[Any]]) -> frozenset[str]:
    numbers = [int(entry.subject.split()[1]) for entry in entries if entry.action in GIVEN_BACK]
    if not numbers:
        return frozenset()
    return frozenset(transaction.run(_DIALOGUES, {"project": project, "ids": numbers}).scalars())


@read_operation
def newest_releases(transaction: Transaction, actor: str, project: str) -> dict[str, str]:
    """The release of the newest verdict on each dialogue with answers in a project.

    Raises:
        NotAllowed: the actor does not review.
    """
    require_permission(transaction, actor, "review")
    return {row.dialogue: row.release for row in transaction.run(_RELEASES, {"project": project})}
