"""The backlog: open tasks by project, and how long people need for one."""

from __future__ import annotations

from statistics import median
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select

from dialint.labeling.store.database.schema import annotation_rows, counts
from dialint.labeling.store.database.schema import projects as project_rows
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.permissions import read_operation
from dialint.labeling.store.records import Project, Purpose

RECENT = 200
"""The newest timed answers of a project that its median is of."""
LEAST = 5
"""Fewer give no median."""


class Backlog(NamedTuple):
    """The work that waits in an open project: tasks that want more answers, and the median seconds of the
    newest `n_timed` answers; of answers in projects of the same purpose, or outside of tasks, where the
    project has too few of its own; None where these are too few, too."""

    project: str
    purpose: Purpose
    n_open: int
    median_s: float | None
    n_timed: int

    @property
    def minutes(self) -> float | None:
        """Open tasks times median seconds, in minutes."""
        return None if self.median_s is None else self.n_open * self.median_s / 60


@read_operation("plan")
def read_backlog(transaction: Transaction, actor: str) -> tuple[Backlog, ...]:
    """The backlog of every open project, oldest first."""
    rows = transaction.run(select(project_rows).order_by(project_rows.c.created_ms, project_rows.c.id)).all()
    listed = {row.id: Project.model_validate_json(row.content) for row in rows if row.state == "open"}
    waiting: Select[Any] = select(counts.c.project, func.sum(counts.c.n)).where(
        counts.c.pool == "main", counts.c.state.in_(("open", "full"))
    )
    n_open = {row[0]: int(row[1]) for row in map(tuple, transaction.run(waiting.group_by(counts.c.project)))}
    backlog = []
    for project in listed.values():
        seconds = _newest_seconds(transaction, project.id)
        if len(seconds) < LEAST:
            seconds = _newest_seconds(transaction, None, project.purpose)
        middle = median(seconds) if len(seconds) >= LEAST else None
        backlog.append(Backlog(project.id, project.purpose, n_open.get(project.id, 0), middle, len(seconds)))
    return tuple(backlog)


def _newest_seconds(
    transaction: Transaction, project: str | None, purpose: Purpose | None = None
) -> list[float]:
    """Seconds of the newest timed answers to a project's tasks; without one, of answers to no task by the
    people who do such work."""
    columns = annotation_rows.c
    query = select(columns.seconds).where(columns.seconds > 0)
    if project is not None:
        query = query.where(columns.project == project)
    else:
        kinds = ("crowd",) if purpose == "label" else ("reviewer", "expert")
        query = query.where(columns.project.is_(None), columns.kind.in_(kinds))
    rows = transaction.run(query.order_by(columns.id.desc()).limit(RECENT)).scalars()
    return [float(each) for each in rows]
