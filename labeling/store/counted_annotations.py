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
"""Annotations in one read transaction."""
DIALOGUES_PAGE = 500

_LATER = annotation_rows.alias()


def _select_counted(*pools: Pool) -> Select[Any]:
    """Select the annotations after the number `after` and up to `upto` that count, as of `upto`: answers to
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
        .where(annotation_rows.c.id > bindparam("after"), annotation_rows.c.id <= bindparam("upto"))
        .where(~banned.exists(), newer.scalar_subquery().is_(None))
        .where(
            or_(
                and_(annotation_rows.c.task.is_(None), ~again.exists()),
                pool.scalar_subquery().in_(("main", *pools)),
            )
        )
        .order_by(annotation_rows.c.id)
    )


def iterate_counted(
    store: Store, actor: str, project: str | None = None, *, controls: bool = False
) -> Iterator[Annotation]:
    """Yield the annotations that are aggregated into labels, oldest first, of one project or of all.

    Left out are superseded annotations, those of banned accounts, and answers to training, exam and, without
    `controls`, control tasks. Of annotations that answer no task, the newest by each person to the same
    questions counts. They are read in pages, each in a short transaction, as of the call: later answers are
    not included, and answers that are being saved during the call may or may not be.
    """
    query = _select_counted("control") if controls else _select_counted()
    if project is not None:
        query = query.where(annotation_rows.c.project == project)
    after, upto = 0, _load_last(store, actor, project)
    while rows := _load_page(store, actor, query.limit(PAGE), {"after": after, "upto": upto}):
        yield from map(to_annotation, rows)
        after = rows[-1].id


def iterate_counted_on(store: Store, actor: str, dialogues: Sequence[str]) -> Iterator[Annotation]:
    """As `iterate_counted` for all annotations of some dialogues, by dialogue, oldest first: it reads no
    others."""
    upto = _load_last(store, actor, None)
    query = _select_counted().order_by(None).order_by(annotation_rows.c.dialogue, annotation_rows.c.id)
    for start in range(0, len(dialogues), DIALOGUES_PAGE):
        page = query.where(annotation_rows.c.dialogue.in_(dialogues[start : start + DIALOGUES_PAGE]))
        yield from map(to_annotation, _load_page(store, actor, page, {"after": 0, "upto": upto}))


@read_operation("review")
def _load_last(transaction: Transaction, actor: str, project: str | None) -> int:
    account = get_account(transaction, actor)
    record_bulk_read(transaction, account, project, "answers")
    return int(transaction.run(select(func.coalesce(func.max(annotation_rows.c.id), 0))).scalar_one())


@read_operation("review")
def _load_page(
    transaction: Transaction, actor: str, query: Select[Any], parameters: dict[str, int]
) -> Sequence[Row[Any]]:
    return transaction.run(query, parameters).all()
