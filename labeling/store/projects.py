"""Projects: codes, overlap, required skills, limits and deadline of a labeling task queue."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from pydantic import ValidationError
from sqlalchemy import Row, Select, bindparam, case, func, insert, select, update

from dialint.detector.errors import Message, invalid_value
from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.schema import accounts, annotation_rows, projects
from dialint.labeling.store.database.schema import tasks as task_rows
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.permissions import read_operation, to_account, write_operation
from dialint.labeling.store.records import Project, StoreRefused

_PROJECT = select(projects).where(projects.c.id == bindparam("name"))


@write_operation("plan")
def create(transaction: Transaction, actor: str, project: Project) -> Project:
    """Create an open project; creating an equal one again changes nothing.

    Raises:
        StoreRefused: the name is taken by another one, or no account has all skills that it needs.
    """
    content = canonical_json(project.model_dump(mode="json"))
    existing = transaction.fetch_row(_PROJECT, project.id)
    if existing is not None:
        if existing.content != content:
            raise StoreRefused("E_PROJECT", "{project}: the name is taken", project=project.id)
        return project
    held = map(to_account, transaction.run(select(accounts))) if project.skills else ()
    if project.skills and not any(set(project.skills) <= set(each.skills) for each in held):
        raise StoreRefused(
            "E_SKILL", "no account has {skills}; give the skills to somebody first",
            skills=", ".join(project.skills),
        )  # fmt: skip
    row = {"id": project.id, "state": "open", "created_ms": transaction.now_ms, "content": content}
    transaction.run(insert(projects), row)
    transaction.log(actor, "project.create", project.id, **project.model_dump(mode="json"))
    return project


@write_operation("plan")
def set_state(transaction: Transaction, actor: str, name: str, state: str) -> None:
    """Close a project (no more claims, answers or corrections; drafts stay) or reopen it."""
    get_project(transaction, name)
    if state not in ("open", "closed"):
        raise StoreRefused("E_PROJECT", "a project is open or closed")
    transaction.run(update(projects).where(projects.c.id == name).values(state=state))
    transaction.log(actor, "project.state", name, state=state)


@write_operation("plan")
def change_limits(
    transaction: Transaction,
    actor: str,
    name: str,
    *,
    overlap: int,
    most: int,
    fair_share: float | None,
    control_share: float,
    deadline: datetime | None,
) -> Project:
    """Change what a project may cost. The overlap holds for tasks that are added from now on.

    Raises:
        StoreRefused: no such project, or limits that contradict each other.
    """
    changes = {
        "overlap": overlap, "most": most, "fair_share": fair_share, "control_share": control_share,
        "deadline": deadline,
    }  # fmt: skip
    try:
        changed = Project.model_validate(get_project(transaction, name).model_dump() | changes)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        problem, field = invalid_value(first), ".".join(map(str, first["loc"]))
        if not field:
            raise StoreRefused("E_PROJECT", problem) from None
        raise StoreRefused("E_PROJECT", "{field} {problem}", field=field, problem=problem) from None
    values = {"content": canonical_json(changed.model_dump(mode="json"))}
    transaction.run(update(projects).where(projects.c.id == name).values(values))
    written = changed.model_dump(mode="json", include=set(changes))
    transaction.log(actor, "project.limits", name, **written)
    return changed


class Spending(NamedTuple):
    """The cost of a project so far and the rest of its budget. Seconds are those that are recorded."""

    answers: int
    """All of them: in training and exams and imported ones, too. A correction is none of its own."""
    seconds: float
    """Of all answers, each with its corrections, whose seconds go on from those of the answer."""
    timed_answers: int
    """Answers whose seconds are recorded."""
    open_answers: int
    """Answers that the tasks still ask for, while the project is open."""

    @property
    def minutes_left(self) -> float | None:
        """The open answers at the mean time of those so far; none without any."""
        if not self.open_answers:
            return 0.0
        return self.open_answers * self.seconds / self.timed_answers / 60 if self.timed_answers else None


@read_operation("plan")
def list_spending(transaction: Transaction, actor: str) -> dict[str, Spending]:
    """Returns the spending of each project, oldest first."""
    rows, corrected = annotation_rows.c, annotation_rows.alias("corrected")
    spent: Select[Any] = select(
        rows.project,
        func.count() - func.count(rows.supersedes),
        func.sum(rows.seconds - func.coalesce(corrected.c.seconds, 0.0)),
        func.count(case((corrected.c.seconds.is_(None), rows.seconds))),
    )
    spent = spent.select_from(annotation_rows.outerjoin(corrected, corrected.c.id == rows.supersedes))
    spent = spent.where(rows.project.is_not(None)).group_by(rows.project)
    by_project = {name: figures for name, *figures in map(tuple, transaction.run(spent))}
    left: Select[Any] = select(task_rows.c.project, func.sum(task_rows.c.wanted - task_rows.c.answered))
    left = left.join(projects, projects.c.id == task_rows.c.project).where(projects.c.state == "open")
    left = left.where(task_rows.c.pool == "main", task_rows.c.state.in_(("open", "full")))
    open_answers = dict(map(tuple, transaction.run(left.group_by(task_rows.c.project))))
    spending = {}
    for project, _state in _load_all(transaction):
        answers, seconds, timed = by_project.get(project.id, (0, None, 0))
        spending[project.id] = Spending(
            answers, float(seconds or 0.0), timed, int(open_answers.get(project.id, 0))
        )
    return spending


@read_operation("label")
def list_projects(transaction: Transaction, actor: str) -> list[tuple[Project, str]]:
    """All projects with their state, oldest first."""
    return _load_all(transaction)


@read_operation("review")
def count_annotations(transaction: Transaction, actor: str, name: str) -> int:
    """Count the answers of a project, imported ones included, corrections not."""
    rows = annotation_rows.c
    query = select(func.count()).where(rows.project == name, rows.supersedes.is_(None))
    return int(transaction.run(query).scalar_one())


def list_names(transaction: Transaction, purpose: str | None = None) -> list[str]:
    """The names of all projects, or of those with this purpose, oldest first; permissions are checked by the
    caller."""
    return [each.id for each, _ in _load_all(transaction) if purpose in (None, each.purpose)]


def _load_all(transaction: Transaction) -> list[tuple[Project, str]]:
    rows = transaction.run(select(projects).order_by(projects.c.created_ms, projects.c.id))
    return [(Project.model_validate_json(row.content), row.state) for row in rows]


def _load_row(transaction: Transaction, name: str) -> Row[Any]:
    row = transaction.fetch_row(_PROJECT, name)
    if row is not None:
        return row
    names = ", ".join(list_names(transaction))
    existing = Message("there are {names}", names=names) if names else Message("there is none yet")
    raise StoreRefused(
        "E_PROJECT",
        "{name!r}: no such project; {existing}; `dialint label project create NAME --codes CODES` makes one",
        name=name[:80], existing=existing,
    )  # fmt: skip


def get_project(transaction: Transaction, name: str) -> Project:
    """The project with this name.

    Raises:
        StoreRefused: there is none.
    """
    return Project.model_validate_json(_load_row(transaction, name).content)


def require_open(transaction: Transaction, name: str) -> None:
    """Raise `StoreRefused` if a project is closed. A task that was claimed before the deadline may be
    answered after it."""
    if _load_row(transaction, name).state != "open":
        raise StoreRefused(
            "E_PROJECT", "{name}: closed; nothing is added to it, nothing corrected", name=name
        )


def get_open_project(transaction: Transaction, name: str) -> Project:
    """The project with this name, if tasks may be claimed from it.

    Raises:
        StoreRefused: there is none, it is closed, or its deadline has passed.
    """
    row = _load_row(transaction, name)
    project = Project.model_validate_json(row.content)
    if project.deadline is not None and project.deadline.timestamp() * 1000 < transaction.now_ms:
        raise StoreRefused("E_PROJECT", "{name}: past its deadline", name=name)
    if row.state != "open":
        raise StoreRefused("E_PROJECT", "{name}: {state}", name=name, state=row.state)
    return project
