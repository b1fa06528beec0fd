"""The cap on a project's time: whether the answers in its main queue have taken the minutes that it may cost.

Control tasks count as the main ones that they replace, so the cap tells nobody which were which. An answer
takes the seconds of its last correction, which go on from those before. Without recorded seconds it takes
none.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import bindparam, case, func, select

from dialint.labeling.store.database.schema import annotation_rows, erasures, tasks
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.records import Project

UNSETTLED = 250
"""So many of the newest answers are summed anew each time: in PostgreSQL one may be committed after another
that has a higher number."""


class _Sum(NamedTuple):
    """Seconds of the answers up to the number `upto`, when the store had so many erasures."""

    upto: int
    seconds: float
    n_erasures: int


_SUMS: WeakKeyDictionary[Store, dict[str, _Sum]] = WeakKeyDictionary()
"""What was summed before, by project: answers are append-only but for erasures, and a sum over 150,000 of
them at each claim would take half a second."""

_ROWS, _EARLIER = annotation_rows, annotation_rows.alias("earlier")
_OTHER_POOLS = select(tasks.c.id).where(
    tasks.c.project == bindparam("project"), tasks.c.pool.in_(("training", "exam"))
)
_SECONDS = _ROWS.c.seconds - func.coalesce(_EARLIER.c.seconds, 0.0)
_SETTLED = _ROWS.c.id <= bindparam("settled")
_NEWEST = select(
    select(func.max(_ROWS.c.id)).where(_ROWS.c.project == bindparam("project")).scalar_subquery(),
    select(func.count()).select_from(erasures).scalar_subquery(),
)
_SUM = (
    select(func.sum(case((_SETTLED, _SECONDS), else_=0.0)), func.sum(case((_SETTLED, 0.0), else_=_SECONDS)))
    .select_from(_ROWS.outerjoin(_EARLIER, _EARLIER.c.id == _ROWS.c.supersedes))
    .where(_ROWS.c.project == bindparam("project"), _ROWS.c.id > bindparam("upto"))
    .where(_ROWS.c.task.is_not(None), _ROWS.c.task.not_in(_OTHER_POOLS))
)


def sum_seconds(transaction: Transaction, project: str) -> float:
    """Seconds that the answers in a project's main queue have taken, as far as they are recorded."""
    newest, n_erasures = tuple(transaction.run(_NEWEST, {"project": project}).one())
    sums = _SUMS.setdefault(transaction.store, {})
    previous = sums.get(project)
    if previous is None or previous.n_erasures != n_erasures or previous.upto > (newest or 0):
        previous = _Sum(0, 0.0, n_erasures)
    settled = max(previous.upto, (newest or 0) - UNSETTLED)
    key = {"project": project, "upto": previous.upto, "settled": settled}
    older, newer = tuple(transaction.run(_SUM, key).one())
    sums[project] = _Sum(settled, previous.seconds + (older or 0.0), n_erasures)
    return float(sums[project].seconds + (newer or 0.0))


def is_used_up(transaction: Transaction, project: Project) -> bool:
    """Whether a project has a cap and its answers have reached it."""
    cap = project.max_minutes
    return cap is not None and sum_seconds(transaction, project.id) >= cap * 60
