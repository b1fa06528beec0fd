"""Cases for experts: a disputed turn with its annotations and labels, and the expert's decision.

The expert's answer and the gold that follows from it are one transaction. Every code that the project asks of
the turn becomes gold: present if the expert marked it, absent otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select

from dialint.detector.records import Finding, Label, Record, Verdict
from dialint.labeling.annotation import Annotation
from dialint.labeling.store import dialogues
from dialint.labeling.store.annotations import list_annotations, submit
from dialint.labeling.store.database.schema import annotation_rows, tasks
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.gold import set_gold
from dialint.labeling.store.permissions import read_operation, write_operation
from dialint.labeling.store.projects import get_project
from dialint.labeling.store.records import Gold, NotAllowed, StoreRefused, TaskState, TaskView
from dialint.labeling.store.task_queue import lock_task
from dialint.labeling.store.task_view import view_task

MAX_CHARACTERS = 4000


@write_operation("decide")
def decide_case(
    transaction: Transaction,
    actor: str,
    task: int,
    token: int,
    key: str,
    findings: Sequence[Finding],
    reason: str,
    seconds: float | None = None,
    not_applicable: Collection[str] = (),
) -> Annotation:
    """Decide a case that the actor holds; repeating the call with the same key changes nothing. Codes that
    are `not_applicable` to the turn get no gold: as a question they make no sense there.

    Raises:
        StaleLease: the actor does not hold it any more.
        StoreRefused: no reason, not a turn of an adjudication project, a finding of a code that is not
            applicable, or as for `submit`.
    """
    if not 0 < len(reason.strip()) <= MAX_CHARACTERS or "\x00" in reason:
        most = MAX_CHARACTERS
        raise StoreRefused("E_DECISION", "a decision needs a reason of 1 to {most} characters", most=most)
    row = lock_task(transaction, task)
    project = get_project(transaction, row.project)
    if project.purpose != "adjudication" or row.turn is None:
        raise StoreRefused("E_DECISION", "only a turn of an adjudication project is decided")
    present = {finding.code for finding in findings}
    if not present.isdisjoint(not_applicable):
        raise StoreRefused("E_DECISION", "a code that is not applicable has no finding")
    saved = submit(transaction, actor, task, token, key, findings, seconds)
    if not_applicable:
        transaction.log(actor, "case.not_applicable", f"task {task}", codes=sorted(not_applicable))
    item: dict[str, Any] = {"dialogue": row.dialogue, "turn": row.turn, "source": "expert", "reason": reason}
    for code in project.codes:
        if code not in not_applicable:
            set_gold(transaction, actor, Gold(**item, code=code, present=code in present))
    return saved


class ExpertCase(Record):
    """A task that an expert decides, with the verdict, all labels, and the annotations that it is about.
    `why` states the open questions as of when it was sent to experts."""

    task: TaskView
    why: str
    verdict: Verdict | None
    answers: tuple[Annotation, ...]
    labels: tuple[Label, ...]


@read_operation("decide")
def load_case(transaction: Transaction, actor: str, task: int) -> ExpertCase:
    """A case with the labels of its dialogue and the annotations of the project that it was sent from, or of
    all if it was sent from the whole store; raises `NotAllowed` if there is none."""
    seen = view_task(transaction, actor, task)
    if get_project(transaction, seen.project).purpose != "adjudication":
        raise NotAllowed("E_RIGHT", "only tasks of adjudication are shown with all answers")
    name = seen.dialogue.id
    whole, verdict = dialogues.read(transaction, actor, name)
    row = transaction.run(select(tasks.c.why, tasks.c.source).where(tasks.c.id == task)).one()
    of_source = select(annotation_rows.c.id).where(annotation_rows.c.dialogue == name)
    if row.source is not None:
        of_source = of_source.where(annotation_rows.c.project == row.source)
    ids = set(map(str, transaction.run(of_source).scalars()))
    return ExpertCase(
        why=row.why,
        task=seen.model_copy(update={"dialogue": whole, "verdict": verdict}),
        verdict=verdict,
        answers=tuple(each for each in list_annotations(transaction, actor, name) if each.id in ids),
        labels=dialogues.list_labels(transaction, actor, name),
    )


class OpenCase(NamedTuple):
    """An undecided turn; `priority` is the expected cost of leaving it undecided."""

    task: int
    dialogue: str
    turn: int | None
    priority: float
    state: TaskState


@read_operation("decide")
def list_open_cases(transaction: Transaction, actor: str, project: str, n: int = 100) -> tuple[OpenCase, ...]:
    """The first `n` undecided cases of an adjudication project, highest priority first, without annotations.

    Raises:
        StoreRefused: no such project, or not one of adjudication.
    """
    if get_project(transaction, project).purpose != "adjudication":
        raise StoreRefused("E_PROJECT", "{project}: not a project of adjudication", project=project)
    rows = select(tasks).where(tasks.c.project == project, tasks.c.state.in_(("open", "full")))
    return tuple(
        OpenCase(row.id, row.dialogue, row.turn, -row.rank, row.state)
        for row in transaction.run(rows.order_by(tasks.c.rank, tasks.c.id).limit(n))
    )
