"""The annotations that count: what aggregation, exports and reports read, and their changes since an entry of
the audit log, for incremental aggregation.

Changes follow the audit log, not the numbers of annotations: entries become visible in the order of their
numbers, while of two annotations saved concurrently the one with the smaller number may be committed later,
and would be missed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, Select, and_, bindparam, func, or_, select

from dialint.labeling.annotation import Annotation
from dialint.labeling.store.database.schema import (
    accounts,
    annotation_rows,
    audit,
    audit_head,
    tasks,
    verdicts,
)
from dialint.labeling.store.database.transactions import Store, Transaction, read_operation
from dialint.labeling.store.exposure import record_bulk_read
from dialint.labeling.store.permissions import require_permission
from dialint.labeling.store.records import Pool
from dialint.labeling.store.stored_annotations import to_annotation

PAGE = 1000
"""Annotations in one read transaction."""

_LATER = annotation_rows.alias()


def _numbers() -> Select[Any]:
    """Numbers of the annotations of the page after the number `after`, up to `upto`."""
    return (
        select(annotation_rows.c.id)
        .where(annotation_rows.c.id > bindparam("after"), annotation_rows.c.id <= bindparam("upto"))
        .order_by(annotation_rows.c.id)
        .limit(bindparam("page"))
    )


def _counted(*pools: Pool) -> Select[Any]:
    """Of the annotations after the number `after` and up to `end` those that count, as things were at `upto`:
    answers to tasks in `main` or one of `pools`, and what answers no task.

    Subqueries are asked for values: of an EXISTS PostgreSQL would make a hash of all tasks, for every page.
    """
    banned = select(accounts.c.id).where(
        accounts.c.id == annotation_rows.c.labeler, accounts.c.status == "banned"
    )
    newer = select(_LATER.c.id).where(
        _LATER.c.supersedes == annotation_rows.c.id, _LATER.c.id <= bindparam("upto")
    )
    again = select(_LATER.c.id).where(
        _LATER.c.dialogue == annotation_rows.c.dialogue,
        _LATER.c.id > annotation_rows.c.id,
        _LATER.c.id <= bindparam("upto"),
        _LATER.c.labeler == annotation_rows.c.labeler,
        _LATER.c.task.is_(None),
        _LATER.c.codes == annotation_rows.c.codes,
        or_(
            _LATER.c.turn == annotation_rows.c.turn,
            and_(_LATER.c.turn.is_(None), annotation_rows.c.turn.is_(None)),
        ),
    )
    pool = select(tasks.c.pool).where(tasks.c.id == annotation_rows.c.task)
    return (
        select(annotation_rows)
        .where(annotation_rows.c.id > bindparam("after"), annotation_rows.c.id <= bindparam("end"))
        .where(~banned.exists(), newer.scalar_subquery().is_(None))
        .where(
            or_(
                and_(annotation_rows.c.task.is_(None), ~again.exists()),
                pool.scalar_subquery().in_(("main", *pools)),
            )
        )
        .order_by(annotation_rows.c.id)
    )


_THEIRS = annotation_rows.c.project == bindparam("project")
OF_ALL = select(func.max(_numbers().subquery().c.id)), _counted()
"""The number that a page ends with, and what counts of the page; of all projects."""
OF_PROJECT = select(func.max(_numbers().where(_THEIRS).subquery().c.id)), _counted().where(_THEIRS)
"""The same of one."""
WITH_CONTROLS = _counted("control"), _counted("control").where(_THEIRS)
"""What counts of a page of all projects and of one, if control tasks do."""
OF_THESE = _counted().where(_THEIRS, annotation_rows.c.id.in_(bindparam("ids", expanding=True)))
"""Of the annotations of one project with these `ids` those that count."""


def iterate_counted(
    store: Store, actor: str, project: str | None = None, *, controls: bool = False
) -> Iterator[Annotation]:
    """What truth is built from, oldest first, of one project or of all: the newest annotations of people
    whose work counts. Left out are what was corrected since, the banned, and answers to training, exam and,
    without `controls`, control tasks; of what answers no task, the newest by each person to the same
    questions counts.

    It is read in pages, each a short transaction of its own, as of the call: what is answered meanwhile
    is not in it. Answers just being saved then may or may not be.

    Raises:
        NotAllowed: the actor does not review.
    """
    place = {
        "project": project,
        "upto": _last(store, actor, project),
        "after": 0,
        "page": PAGE,
    }
    while page := _page(store, actor, place, controls):
        place["after"], rows = page
        yield from map(to_annotation, rows)


@read_operation
def _last(transaction: Transaction, actor: str, project: str | None) -> int:
    account = require_permission(transaction, actor, "review")
    record_bulk_read(transaction, account, project, "answers")
    return int(transaction.run(select(func.coalesce(func.max(annotation_rows.c.id), 0))).scalar_one())


@read_operation
def _page(
    transaction: Transaction, actor: str, place: dict[str, Any], controls: bool
) -> tuple[int, Sequence[Row[Any]]] | None:
    """The number of the last annotation looked at, and those that count; none when all were looked at."""
    require_permission(transaction, actor, "review")
    ends, counted = OF_ALL if place["project"] is None else OF_PROJECT
    if controls:
        counted = WITH_CONTROLS[place["project"] is not None]
    end = transaction.run(ends, place).scalar_one_or_none()
    return None if end is None else (end, transaction.run(counted, {**place, "end": end}).all())


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
def get_last_entry(transaction: Transaction, actor: str) -> int:
    """The last entry of the audit log, to ask for news from.

    Raises:
        NotAllowed: the actor does not review.
    """
    require_permission(transaction, actor, "review")
    return int(transaction.run(_HEAD).scalar_one())


@read_operation
def load_changes(transaction: Transaction, actor: str, project: str, after: int) -> ChangeSet:
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
def list_newest_releases(transaction: Transaction, actor: str, project: str) -> dict[str, str]:
    """The release of the newest verdict on each dialogue with answers in a project.

    Raises:
        NotAllowed: the actor does not review.
    """
    require_permission(transaction, actor, "review")
    return {row.dialogue: row.release for row in transaction.run(_RELEASES, {"project": project})}
