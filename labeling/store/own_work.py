"""What an account sees of its own work beside the tasks themselves: how much waits for it, how many answers
it is paid for, and what was right in a training task that it has answered.

No grade here is computed from control tasks or exams: a number that moves after some answers would reveal
them. The number of answers moves after each alike.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import func, select

from dialint.labeling.store.database.schema import annotation_rows, counts, gold, leases, shares, tasks
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.errors import NotAllowed
from dialint.labeling.store.exposure import record_read
from dialint.labeling.store.grades import grade_account
from dialint.labeling.store.permissions import get_account, read_operation
from dialint.labeling.store.projects import get_project
from dialint.labeling.store.records import Gold

MAX_GRADED = 200
"""Newest training answers that are graded."""
MAX_EXACT = 20_000
"""Of a longer queue the actor's own tasks are not subtracted: looking them up would take longer than this
number is worth."""
_CLAIMED_STATES = ("held", "answered", "skipped")


@read_operation("label")
def count_waiting(transaction: Transaction, actor: str, project: str) -> int:
    """Open tasks of a project's main pool that the actor may still get: not those that the actor holds, has
    answered or has skipped. Tasks that somebody else holds for now are
    among them if they need more answers. With control tasks in the project the number is rounded up to tens:
    as it does not fall after a control task, it would tell one.

    Raises:
        NotAllowed: the account is unknown or closed.
    """
    of_project = (counts.c.project == project, counts.c.pool == "main", counts.c.state == "open")
    n_open = transaction.run(select(counts.c.n).where(*of_project)).scalar_one_or_none() or 0
    if not n_open:
        return 0
    if n_open > MAX_EXACT:
        return int(n_open)
    is_open = (tasks.c.project == project, tasks.c.pool == "main", tasks.c.state == "open")
    mine = (
        select(func.count())
        .select_from(leases)
        .join(tasks, tasks.c.id == leases.c.task)
        .where(*is_open, leases.c.account == actor, leases.c.state.in_(_CLAIMED_STATES))
    )
    n = int(n_open - transaction.run(mine).scalar_one())
    return n if not get_project(transaction, project).control_share else -(-n // 10) * 10


@read_operation("label")
def count_own_answers(transaction: Transaction, actor: str, project: str) -> int:
    """The answers that the actor gave in a project's main queue, control tasks among them; a correction is no
    further answer.

    Raises:
        NotAllowed: the account is unknown or closed.
    """
    own = (shares.c.project == project, shares.c.account == actor, shares.c.pool.in_(("main", "control")))
    return int(transaction.run(select(func.sum(shares.c.answered)).where(*own)).scalar() or 0)


class TrainingGrade(NamedTuple):
    """Questions of training tasks that the actor answered, and how many rightly."""

    n_right: int
    n: int


@read_operation("label")
def load_training_gold(transaction: Transaction, actor: str, task: int) -> tuple[Gold, ...]:
    """The gold labels of a training task that the actor has answered, in order of turn and code. That they
    were displayed is recorded, so a later answer on this dialogue is not blind.

    Raises:
        NotAllowed: it is no training task, or the actor has not answered it.
    """
    account = get_account(transaction, actor)
    row = transaction.run(select(tasks).where(tasks.c.id == task)).one_or_none()
    own = select(annotation_rows.c.id).where(
        annotation_rows.c.task == task, annotation_rows.c.labeler == actor
    )
    if row is None or row.pool != "training" or transaction.run(own.limit(1)).first() is None:
        raise NotAllowed("E_RIGHT", "only a training task shows its solution, after one's own answer")
    codes = get_project(transaction, row.project).codes
    query = select(gold).where(gold.c.dialogue == row.dialogue, gold.c.doubt.is_(None))
    rows = transaction.run(query.order_by(gold.c.turn, gold.c.code)).all()
    record_read(transaction, account, row.dialogue, "gold")
    names = ("dialogue", "turn", "code", "present", "source", "reason")
    return tuple(
        Gold(**{name: getattr(each, name) for name in names})
        for each in rows
        if each.code in codes and row.turn in (None, each.turn)
    )


@read_operation("label")
def grade_own_training(transaction: Transaction, actor: str) -> TrainingGrade:
    """How the actor answered the newest training tasks; nothing of exams and control tasks."""
    graded = grade_account(transaction, actor, "training", n=MAX_GRADED)
    grades = [grade for answer in graded for grade in answer.grades]
    return TrainingGrade(sum(grade.marked == grade.present for grade in grades), len(grades))
