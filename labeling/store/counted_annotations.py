"""The annotations that count: what aggregation, exports and reports read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Row, Select, and_, bindparam, func, or_, select

from dialint.labeling.annotation import Annotation
from dialint.labeling.store.database.schema import accounts, annotation_rows, tasks
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.exposure import record_bulk_read
from dialint.labeling.store.permissions import get_account, read_operation
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
    """
    parameters = {"project": project, "upto": _last(store, actor, project), "after": 0, "page": PAGE}
    while page := _page(store, actor, parameters, controls):
        parameters["after"], rows = page
        yield from map(to_annotation, rows)


def iterate_counted_on(store: Store, actor: str, dialogues: Sequence[str]) -> Iterator[Annotation]:
    """As `iterate_counted` for all annotations of some dialogues, by dialogue, oldest first: it reads no
    others."""
    upto = _last(store, actor, None)
    for start in range(0, len(dialogues), DIALOGUES_PAGE):
        page = dialogues[start : start + DIALOGUES_PAGE]
        yield from map(to_annotation, _page_on(store, actor, page, upto))


@read_operation("review")
def _page_on(transaction: Transaction, actor: str, dialogues: Sequence[str], upto: int) -> Sequence[Row[Any]]:
    parameters = {"dialogues": dialogues, "after": 0, "end": upto, "upto": upto}
    return transaction.run(ON_DIALOGUES, parameters).all()


@read_operation("review")
def _last(transaction: Transaction, actor: str, project: str | None) -> int:
    account = get_account(transaction, actor)
    record_bulk_read(transaction, account, project, "answers")
    return int(transaction.run(select(func.coalesce(func.max(annotation_rows.c.id), 0))).scalar_one())


@read_operation("review")
def _page(
    transaction: Transaction, actor: str, parameters: dict[str, Any], controls: bool
) -> tuple[int, Sequence[Row[Any]]] | None:
    """The last number of the page and its annotations that count; none after the last page."""
    last, counted = OF_ALL if parameters["project"] is None else OF_PROJECT
    if controls:
        counted = WITH_CONTROLS[parameters["project"] is not None]
    end = transaction.run(last, parameters).scalar_one_or_none()
    return None if end is None else (end, transaction.run(counted, {**parameters, "end": end}).all())
