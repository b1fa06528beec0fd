"""Projects: codes, overlap, required skills, limits and deadline of a labeling task queue."""

from __future__ import annotations

from sqlalchemy import bindparam, func, insert, select, update

from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.schema import annotation_rows, projects
from dialint.labeling.store.database.transactions import Transaction, read_operation, write_operation
from dialint.labeling.store.errors import StoreRefused
from dialint.labeling.store.permissions import require_permission
from dialint.labeling.store.records import Project

_PROJECT = select(projects).where(projects.c.id == bindparam("id"))


@write_operation(repeatable=True)
def create(transaction: Transaction, actor: str, project: Project) -> Project:
    """Create an open project; creating an equal one again changes nothing.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: the name is taken by another one.
    """
    require_permission(transaction, actor, "plan")
    content = canonical_json(project.model_dump(mode="json"))
    existing = transaction.run(_PROJECT, {"id": project.id}).one_or_none()
    if existing is not None:
        if existing.content != content:
            raise StoreRefused("E_PROJECT", f"{project.id}: the name is taken")
        return project
    row = {"id": project.id, "state": "open", "created_ms": transaction.now_ms, "content": content}
    transaction.run(insert(projects), row)
    transaction.log(actor, "project.create", project.id, **project.model_dump(mode="json"))
    return project


@write_operation(repeatable=True)
def set_state(transaction: Transaction, actor: str, name: str, state: str) -> None:
    """Close a project (no more claims, answers or corrections; drafts stay) or reopen it.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: no such project, or no such state.
    """
    require_permission(transaction, actor, "plan")
    get_project(transaction, name)
    if state not in ("open", "closed"):
        raise StoreRefused("E_PROJECT", "a project is open or closed")
    transaction.run(update(projects).where(projects.c.id == name).values(state=state))
    transaction.log(actor, "project.state", name, state=state)


@read_operation
def list_projects(transaction: Transaction, actor: str) -> list[tuple[Project, str]]:
    """All projects with their state, oldest first."""
    require_permission(transaction, actor, "label")
    rows = transaction.run(select(projects).order_by(projects.c.created_ms, projects.c.id))
    return [(Project.model_validate_json(row.content), row.state) for row in rows]


@read_operation
def count_annotations(transaction: Transaction, actor: str, name: str) -> int:
    """How many annotations belong to a project, corrections and imported ones included.

    Raises:
        NotAllowed: the actor does not review.
    """
    require_permission(transaction, actor, "review")
    query = select(func.count()).where(annotation_rows.c.project == name)
    return int(transaction.run(query).scalar_one())


def list_names(transaction: Transaction, purpose: str | None = None) -> list[str]:
    """The names of all projects, or of those with this purpose, oldest first."""
    rows = transaction.run(select(projects).order_by(projects.c.created_ms, projects.c.id))
    existing = [Project.model_validate_json(row.content) for row in rows]
    return [project.id for project in existing if purpose in (None, project.purpose)]


def _unknown_project_error(transaction: Transaction, name: str) -> StoreRefused:
    names = list_names(transaction)
    existing = f"there are {', '.join(names)}" if names else "there is none yet"
    hint = "`dialint label project create NAME --codes CODES` makes one"
    return StoreRefused("E_PROJECT", f"{name[:80]!r}: no such project; {existing}; {hint}")


def get_project(transaction: Transaction, name: str) -> Project:
    """The project with this name.

    Raises:
        StoreRefused: there is none.
    """
    row = transaction.run(_PROJECT, {"id": name}).one_or_none()
    if row is None:
        raise _unknown_project_error(transaction, name)
    return Project.model_validate_json(row.content)


def require_open(transaction: Transaction, name: str) -> None:
    """Raise if a project is closed. A task that was claimed before the deadline may be answered after it.

    Raises:
        StoreRefused: there is none, or it was closed.
    """
    row = transaction.run(_PROJECT, {"id": name}).one_or_none()
    if row is None:
        raise _unknown_project_error(transaction, name)
    if row.state != "open":
        raise StoreRefused("E_PROJECT", f"{name}: closed; nothing is added to it, nothing corrected")


def get_open_project(transaction: Transaction, name: str) -> Project:
    """The project with this name, if tasks may be claimed from it.

    Raises:
        StoreRefused: there is none, it is closed, or its deadline has passed.
    """
    row = transaction.run(_PROJECT, {"id": name}).one_or_none()
    project = None if row is None else Project.model_validate_json(row.content)
    if row is None or project is None:
        raise _unknown_project_error(transaction, name)
    late = project.deadline is not None and project.deadline.timestamp() * 1000 < transaction.now_ms
    if row.state != "open" or late:
        raise StoreRefused("E_PROJECT", f"{name}: {'past its deadline' if late else row.state}")
    return project
