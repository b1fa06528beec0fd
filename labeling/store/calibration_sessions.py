"""Calibration sessions as their members see them: progress, and the answers of all once the session is over.

A session is a project of purpose ``calibration``. A member sees the answers of the others only when everybody
has answered every item or a lead has closed the session, under pseudonyms, masked as the items were; leads
see everything at any time.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import Row, func, select

from dialint.detector.records import Dialogue, Record
from dialint.labeling.annotation import Annotation, judged_turns
from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.schema import annotation_rows, projects, settings, tasks
from dialint.labeling.store.database.transactions import Transaction, upsert
from dialint.labeling.store.dialogues import load_dialogue
from dialint.labeling.store.exposure import record_bulk_read, record_read
from dialint.labeling.store.masked_view import mask_annotation, view_for_account
from dialint.labeling.store.permissions import (
    get_account,
    has_permission,
    read_operation,
    require_permission,
    write_operation,
)
from dialint.labeling.store.projects import get_project
from dialint.labeling.store.rater_status import NEWEST
from dialint.labeling.store.records import Account, Conflict, NotAllowed, Project, StoreRefused
from dialint.labeling.store.stored_annotations import to_annotation
from dialint.labeling.store.task_view import view_task

MAX_NOTE = 8000
NOTE = "calibration note: "
"""Begins the name of the setting that holds a session's note."""


class Member(NamedTuple):
    """A member of a session, and the number of its items that they have answered."""

    name: str
    answered: int


class CalibrationSession(NamedTuple):
    """A session with its progress. `is_over`: everybody has answered everything, or a lead closed it.
    `newest` is the number of its newest answer, a correction too; 0 without one."""

    project: Project
    created: datetime
    items: int
    members: tuple[Member, ...]
    is_closed: bool
    is_over: bool
    newest: int

    @property
    def names(self) -> list[str]:
        """The names of the members."""
        return [member.name for member in self.members]


class SessionNote(Record):
    """Result of the discussion, by the lead who wrote it last."""

    text: str
    author: str
    at: datetime


class SessionAnswers(NamedTuple):
    """The answers of a session that count, oldest first. For members their labelers are pseudonyms but for
    the member's own name; who may not review sees masked quotes, and aliases in place of dialogues' ids.
    `tasks` and `judged` are the task and the turns that can hold an error, by the dialogue's id or alias."""

    answers: tuple[Annotation, ...]
    tasks: dict[str, int]
    judged: dict[str, tuple[int, ...]]


@read_operation("label")
def list_sessions(transaction: Transaction, actor: str) -> tuple[CalibrationSession, ...]:
    """The sessions that the actor is a member of, or all of them for a lead; newest first."""
    account = get_account(transaction, actor)
    rows = transaction.run(select(projects).order_by(projects.c.created_ms.desc(), projects.c.id)).all()
    sessions = (_load_session(transaction, row) for row in rows)
    is_lead = has_permission(account, "plan")
    return tuple(each for each in sessions if each and (is_lead or actor in each.names))


def _load_session(transaction: Transaction, row: Row[Any]) -> CalibrationSession | None:
    """The session of a row of ``projects``, or none."""
    project = Project.model_validate_json(row.content)
    if project.purpose != "calibration":
        return None
    columns = annotation_rows.c
    n, newest = func.count(columns.task.distinct()).label("n"), func.max(columns.id).label("newest")
    answered = select(columns.labeler, n, newest).where(columns.project == project.id)
    rows = transaction.run(answered.group_by(columns.labeler)).all()
    by_person = {each.labeler: each.n for each in rows}
    is_item = (tasks.c.project == project.id, tasks.c.pool == "main", tasks.c.state != "withdrawn")
    n_items = transaction.run(select(func.count()).where(*is_item)).scalar_one()
    names = {*project.members, *by_person}
    members = tuple(Member(name, by_person.get(name, 0)) for name in sorted(names))
    is_done = n_items > 0 and all(member.answered >= n_items for member in members)
    is_closed = row.state == "closed"
    return CalibrationSession(
        project, datetime.fromtimestamp(row.created_ms / 1000, UTC), n_items, members, is_closed,
        is_closed or is_done, max((each.newest for each in rows), default=0),
    )  # fmt: skip


def _require_results(transaction: Transaction, actor: str, name: str) -> tuple[Account, CalibrationSession]:
    """The account and the session, if the actor may see its results."""
    account = require_permission(transaction, actor, "label")
    get_project(transaction, name)
    row = transaction.run(select(projects).where(projects.c.id == name)).one()
    session = _load_session(transaction, row)
    if session is None:
        raise StoreRefused("E_PROJECT", "{name}: not a calibration session", name=name)
    if not has_permission(account, "plan"):
        if actor not in session.names:
            raise NotAllowed("E_RIGHT", "{actor} is no member of {name}", actor=actor, name=name)
        if not session.is_over:
            raise NotAllowed(
                "E_RIGHT", "{name} is not over: its results would spoil blind answers", name=name
            )
    return account, session


@read_operation()
def load_answers(transaction: Transaction, actor: str, name: str) -> SessionAnswers:
    """The answers of a session.

    Raises:
        NotAllowed: the actor is no member, or the session is not over and the actor no lead.
        StoreRefused: no such session.
    """
    account, session = _require_results(transaction, actor, name)
    rows = transaction.run(
        select(annotation_rows)
        .where(annotation_rows.c.project == name, annotation_rows.c.task.is_not(None))
        .where(NEWEST)
        .order_by(annotation_rows.c.id)
    ).all()
    record_bulk_read(transaction, actor, name, "answers")
    pseudonyms = {name: f"member {number}" for number, name in enumerate(session.names, 1)} | {actor: actor}
    if has_permission(account, "plan"):
        pseudonyms = {name: name for name in session.names}
    views = {
        row.dialogue: view_for_account(transaction, account, session.project, row.dialogue)
        for row in rows
        if row.findings != "[]"
    }
    answers: list[Annotation] = []
    by_dialogue: dict[str, int] = {}
    judged: dict[str, tuple[int, ...]] = {}
    for row in rows:
        answer = mask_annotation(account, views.get(row.dialogue), row.task, to_annotation(row))
        answers.append(answer.model_copy(update={"labeler": pseudonyms[row.labeler]}))
        if answer.dialogue_id not in judged:
            dialogue = load_dialogue(transaction, row.dialogue)
            assert dialogue is not None, "a foreign key"
            judged[answer.dialogue_id] = judged_turns(dialogue)
            by_dialogue[answer.dialogue_id] = row.task
    return SessionAnswers(tuple(answers), by_dialogue, judged)


@read_operation()
def load_item(transaction: Transaction, actor: str, name: str, task: int) -> Dialogue:
    """The dialogue of an item as the actor saw it when answering; a lead sees all of it.

    Raises:
        NotAllowed: as for `load_answers`, or a member has not answered the item.
    """
    account, _session = _require_results(transaction, actor, name)
    query = select(tasks.c.dialogue).where(tasks.c.id == task, tasks.c.project == name)
    dialogue = transaction.run(query).scalar_one_or_none()
    if dialogue is None:
        raise NotAllowed("E_RIGHT", "task {task} is none of {name}", task=task, name=name)
    seen = view_task(transaction, actor, task, again=not has_permission(account, "plan"))
    record_read(transaction, actor, dialogue, "answers")
    return seen.dialogue


@write_operation("plan")
def save_note(
    transaction: Transaction, actor: str, name: str, text: str, seen: SessionNote | None
) -> SessionNote:
    """Write the note of a session in place of `seen`, the one that the actor has read.

    Raises:
        Conflict: somebody has written another one since.
        StoreRefused: no such session, or the note is too long.
    """
    _require_results(transaction, actor, name)
    if len(text) > MAX_NOTE or "\x00" in text:
        raise StoreRefused("E_NOTE", "a note has at most {most:,} characters", most=MAX_NOTE)
    stored = _find_note(transaction, name)
    if stored is not None and (stored.author, stored.text) == (actor, text):
        return stored
    if stored is not None and stored != seen:
        raise Conflict(
            "{author} has written another note since; saving again replaces it",
            (stored,), text, author=stored.author,
        )  # fmt: skip
    at = datetime.fromtimestamp(transaction.now_ms / 1000, UTC)
    note = SessionNote(text=text, author=actor, at=at)
    row = {"name": NOTE + name, "content": canonical_json(note.model_dump(mode="json"))}
    upsert(transaction, settings, row)
    transaction.log(actor, "calibration.note", name)
    return note


@read_operation()
def load_note(transaction: Transaction, actor: str, name: str) -> SessionNote | None:
    """The note of a session, or none."""
    _require_results(transaction, actor, name)
    return _find_note(transaction, name)


def _find_note(transaction: Transaction, name: str) -> SessionNote | None:
    query = select(settings.c.content).where(settings.c.name == NOTE + name)
    content = transaction.run(query).scalar_one_or_none()
    return None if content is None else SessionNote.model_validate_json(content)
