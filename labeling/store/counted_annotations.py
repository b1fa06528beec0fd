"""The annotations that count: what aggregation, exports and reports read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Row, Select, and_, bindparam, func, or_, select

from dialint.labeling.annotation import Annotation
from dialint.labeling.store.database.schema import accounts, annotation_rows, tasks
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
