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
"""Annotations, or entries of the audit log, in one read transaction."""

_LATER = annotation_rows.alias()


def _numbers() -> Select[Any]:
    """Select the numbers of a page of annotations, after `after` and up to `upto`."""
    return (
        select(annotation_rows.c.id)
        .where(annotation_rows.c.id > bindparam("after"), annotation_rows.c.id <= bindparam("upto"))
        .order_by(annotation_rows.c.id)
        .limit(bindparam("page"))
    )


def _select_counted(*pools: Pool) -> Select[Any]:
    """Select the annotations after the number `after` and up to `end` that count, as of `upto`: answers to
    tasks in `main` or one of `pools`, and annotations that answer no task.

    Subqueries are compared as values: for an EXISTS, PostgreSQL would hash all tasks for every page.
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


_IN_PROJECT = annotation_rows.c.project == bindparam("project")
OF_ALL = select(func.max(_numbers().subquery().c.id)), _select_counted()
"""The last number of a page, and the annotations of the page that count; of all projects."""
OF_PROJECT = (
    select(func.max(_numbers().where(_IN_PROJECT).subquery().c.id)),
    _select_counted().where(_IN_PROJECT),
)
"""The same for one project."""
WITH_CONTROLS = _select_counted("control"), _select_counted("control").where(_IN_PROJECT)
"""The annotations of a page that count, with control tasks: of all projects, and of one."""
BY_IDS = _select_counted().where(_IN_PROJECT, annotation_rows.c.id.in_(bindparam("ids", expanding=True)))
"""The annotations of one project with these `ids` that count."""

ON_DIALOGUES = (
    _select_counted()
    .where(annotation_rows.c.dialogue.in_(bindparam("dialogues", expanding=True)))
    .order_by(None)
    .order_by(annotation_rows.c.dialogue, annotation_rows.c.id)
)
"""The annotations of these `dialogues` that count."""
DIALOGUES_PAGE = 500


def iterate_counted(
    store: Store, actor: str, project: str | None = None, *, controls: bool = False
) -> Iterator[Annotation]:
    """Yield the annotations that are aggregated into labels, oldest first, of one project or of all.

    Left out are superseded annotations, those of banned accounts, and answers to training, exam and, without
    `controls`, control tasks. Of annotations that answer no task, the newest by each person to the same
    questions counts. They are read in pages, each in a short transaction, as of the call: later answers are
    not included, and answers that are being saved during the call may or may not be.

    Raises:
        NotAllowed: the actor does not review.
    """
    parameters = {"project": project, "upto": _last(store, actor, project), "after": 0, "page": PAGE}
    while page := _page(store, actor, parameters, controls):
        parameters["after"], rows = page
        yield from map(to_annotation, rows)


def iterate_counted_on(store: Store, actor: str, dialogues: Sequence[str]) -> Iterator[Annotation]:
    """As `iterate_counted` for all annotations of some dialogues, by dialogue, oldest first: it reads no
    others.

    Raises:
        NotAllowed: the actor does not review.
    """
    upto = _last(store, actor, None)
    for start in range(0, len(dialogues), DIALOGUES_PAGE):
        page = dialogues[start : start + DIALOGUES_PAGE]
        yield from map(to_annotation, _page_on(store, actor, page, upto))


@read_operation
def _page_on(transaction: Transaction, actor: str, dialogues: Sequence[str], upto: int) -> Sequence[Row[Any]]:
    require_permission(transaction, actor, "review")
    parameters = {"dialogues": dialogues, "after": 0, "end": upto, "upto": upto}
    return transaction.run(ON_DIALOGUES, parameters).all()


@read_operation
def _last(transaction: Transaction, actor: str, project: str | None) -> int:
    account = require_permission(transaction, actor, "review")
    record_bulk_read(transaction, account, project, "answers")
    return int(transaction.run(select(func.coalesce(func.max(annotation_rows.c.id), 0))).scalar_one())


@read_operation
def _page(
    transaction: Transaction, actor: str, parameters: dict[str, Any], controls: bool
) -> tuple[int, Sequence[Row[Any]]] | None:
    """The last number of the page and its annotations that count; none after the last page."""
    require_permission(transaction, actor, "review")
    last, counted = OF_ALL if parameters["project"] is None else OF_PROJECT
    if controls:
        counted = WITH_CONTROLS[parameters["project"] is not None]
    end = transaction.run(last, parameters).scalar_one_or_none()
    return None if end is None else (end, transaction.run(counted, {**parameters, "end": end}).all())


ANSWER_ACTIONS = ("annotate",)
RETURN_ACTIONS = ("task.release", "task.skip", "task.expire")
ACCOUNT_ACTIONS = ("account.status", "account.exclude")
VERDICT_ACTIONS = ("verdicts.add",)
GOLD_ACTIONS = ("gold.put", "gold.bring_in")
MAX_NUMBER = 2**63 - 1
"""Above the number of any annotation, so that every superseding annotation counts."""

_HEAD = select(audit_head.c.id)
_ENTRIES = (
    select(audit.c.id, audit.c.action, audit.c.subject, audit.c.content)
    .where(audit.c.id > bindparam("after"), audit.c.id <= bindparam("head"))
    .where(
        audit.c.action.in_(
            (*ANSWER_ACTIONS, *RETURN_ACTIONS, *ACCOUNT_ACTIONS, *VERDICT_ACTIONS, *GOLD_ACTIONS)
        )
    )
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
    """Changes up to the entry `upto`: the new `answers` that count, oldest first; the dialogues of tasks that
    were returned to the queue (`gave_back`); whether the status of `people`, `verdicts` or `gold` changed.
    `more` says that further changes are left for the next call."""

    upto: int
    more: bool = False
    answers: tuple[Annotation, ...] = ()
    gave_back: frozenset[str] = frozenset()
    people: bool = False
    verdicts: bool = False
    gold: bool = False


@read_operation
def get_last_entry(transaction: Transaction, actor: str) -> int:
    """The number of the last entry of the audit log, to load changes from.

    Raises:
        NotAllowed: the actor does not review.
    """
    require_permission(transaction, actor, "review")
    return int(transaction.run(_HEAD).scalar_one())


@read_operation
def load_changes(transaction: Transaction, actor: str, project: str, after: int) -> ChangeSet:
    """Load the changes after the entry `after`, from up to `PAGE` entries.

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
        not actions.isdisjoint(ACCOUNT_ACTIONS),
        not actions.isdisjoint(VERDICT_ACTIONS),
        not actions.isdisjoint(GOLD_ACTIONS),
    )


def _answers(transaction: Transaction, project: str, entries: Sequence[Row[Any]]) -> tuple[Annotation, ...]:
    numbers = [json.loads(entry.content)["id"] for entry in entries if entry.action in ANSWER_ACTIONS]
    if not numbers:
        return ()
    parameters = {"project": project, "ids": numbers, "after": 0, "end": max(numbers), "upto": MAX_NUMBER}
    return tuple(to_annotation(row) for row in transaction.run(BY_IDS, parameters))


def _gave_back(transaction: Transaction, project: str, entries: Sequence[Row[Any]]) -> frozenset[str]:
    numbers = [int(entry.subject.split()[1]) for entry in entries if entry.action in RETURN_ACTIONS]
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
