"""Tasks: adding them to a project's queue, their states, and the view that a labeler gets of them.

The counts of a task, and the state that follows from them, are changed by `task_queue.update_task`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from random import SystemRandom
from typing import Any, Literal, NamedTuple, get_args

from sqlalchemy import BindParameter, Row, Select, bindparam, exists, false, func, insert, or_, select, update

from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.schema import RETURNED, dialogues, gold, leases, pairs, tasks, verdicts
from dialint.labeling.store.database.transactions import Store, Transaction, read_pages
from dialint.labeling.store.dialogues import MAX_PER_CALL, compute_sha256
from dialint.labeling.store.permissions import read_operation, require_permission, write_operation
from dialint.labeling.store.projects import get_project
from dialint.labeling.store.rater_status import (
    RaterRules,
    grade_account,
    grade_dialogue,
    load_rules,
    measure_accuracy,
)
from dialint.labeling.store.records import Account, NewTask, Pool, Project, StoreRefused, TaskState
from dialint.labeling.store.task_queue import (
    UNLIMITED,
    count_by_state,
    is_not_own,
    lock_task,
    update_task,
    withdraw,
)

STATES: tuple[TaskState, ...] = get_args(TaskState)
Design = Literal["random", "risk", "uncertain", "stratified", "audit"]
"""Designs of a sample of dialogues; see `queue.sampling.SamplingConfig`."""


class SamplingUnit(NamedTuple):
    """A dialogue of a sampling frame; `risk` is the mean of its verdicts over releases, for designs that
    need it."""

    id: str
    agent: str | None
    team: str | None
    channel: str | None
    risk: float = 0.0


@write_operation("plan")
def add(transaction: Transaction, actor: str, project: str, new: Sequence[NewTask]) -> int:
    """Add up to 1,000 tasks to a project's queue; return how many were new. An existing one (the same
    dialogue and turn) is not changed. Everybody may answer tasks of the pools `training`, `exam` and
    `control`, whatever the overlap; the priority of control tasks is ignored.

    Raises:
        StoreRefused: an unknown project or dialogue, a duplicate turn, or a control task without gold.
    """
    return insert_tasks(transaction, actor, get_project(transaction, project), new)


def add_all(store: Store, actor: str, project: str, new: Sequence[NewTask]) -> int:
    """As `add`, for any number of tasks in as many transactions as that needs."""
    starts = range(0, len(new), MAX_PER_CALL)
    return sum(add(store, actor, project, new[start : start + MAX_PER_CALL]) for start in starts)


def insert_tasks(transaction: Transaction, actor: str, target: Project, new: Sequence[NewTask]) -> int:
    """As `add`; permissions are checked by the caller."""
    project = target.id
    items = {(task.dialogue, task.turn): task for task in new}
    if len(items) != len(new) or len(new) > MAX_PER_CALL:
        raise StoreRefused(
            "E_TASK", "expected at most {most} tasks, each dialogue and turn once", most=MAX_PER_CALL
        )
    ids = {task.dialogue for task in new}
    if len(transaction.run(select(dialogues.c.id).where(dialogues.c.id.in_(ids))).all()) != len(ids):
        raise StoreRefused("E_TASK", "a task's dialogue is not in the store")
    controls = {task.dialogue for task in new if task.pool == "control"}
    _validate_controls(transaction, target, controls)
    query = select(tasks.c.dialogue, tasks.c.turn).where(
        tasks.c.project == project, tasks.c.dialogue.in_(ids)
    )
    for row in transaction.run(query):
        items.pop((row.dialogue, row.turn), None)
    if items:
        shared = {"project": project, "state": "open", "created_ms": transaction.now_ms}
        rows = [
            {
                **task.model_dump(exclude={"priority"}),
                **shared,
                # of a control task the rank counts the displays
                "rank": 0.0 if task.pool == "control" else -task.priority,
                "wanted": target.overlap if task.pool == "main" else UNLIMITED,
            }
            for task in items.values()
        ]
        transaction.run(insert(tasks), rows)
        in_pairs = select(pairs.c.dialogue).where(pairs.c.dialogue.in_(controls))
        paired = set(transaction.run(in_pairs).scalars())
        if new_pairs := [{"dialogue": name, "pair": name} for name in sorted(controls - paired)]:
            transaction.run(insert(pairs), new_pairs)
        digest = compute_sha256(canonical_json([task.model_dump() for task in items.values()]))
        transaction.log(actor, "tasks.add", project, n=len(items), sha256=digest)
    return len(items)


def _validate_controls(transaction: Transaction, project: Project, ids: set[str]) -> None:
    """Raise unless each dialogue has gold, and a verdict where the project is pre-labelled."""
    for table, is_needed in ((gold, True), (verdicts, project.prelabelled)):
        if ids and is_needed:
            rows = transaction.run(select(table.c.dialogue).where(table.c.dialogue.in_(ids)).distinct())
            if missing := len(ids) - len(rows.all()):
                raise StoreRefused(
                    "E_CONTROL", "{missing} control tasks without {table}", missing=missing, table=table.name
                )


@write_operation("plan")
def set_wanted(transaction: Transaction, actor: str, task: int, n: int) -> TaskState:
    """Set the total number of answers that a task needs: fewer can complete it, more reopen it, 0 withdraws
    it."""
    row = lock_task(transaction, task)
    if n < 0:
        raise StoreRefused("E_TASK", "a task cannot want fewer than no answers")
    state = update_task(transaction, row, wanted=n)
    transaction.log(actor, "task.want", f"task {task}", wanted=n)
    return state


@read_operation("review")
def count_tasks(transaction: Transaction, actor: str, project: str) -> dict[Pool, dict[TaskState, int]]:
    """Count the tasks of a project by pool and state."""
    counts = count_by_state(transaction, project)
    return {pool: {state: counts.get((pool, state), 0) for state in STATES} for pool in get_args(Pool)}


class TaskProgress(NamedTuple):
    """The counts of a task: wanted answers, answers, and held leases."""

    id: int
    dialogue: str
    turn: int | None
    wanted: int
    answered: int
    leased: int


def list_answered_tasks(transaction: Transaction, project: str) -> list[TaskProgress]:
    """The main-pool tasks of a project that have answers and are not withdrawn; the caller checks
    permissions."""
    columns = [tasks.c[name] for name in TaskProgress._fields]
    is_answered = (tasks.c.project == project, tasks.c.pool == "main", tasks.c.answered > 0)
    rows = select(*columns).where(*is_answered, tasks.c.wanted > 0).order_by(tasks.c.id)
    return [TaskProgress(*tuple(row)) for row in transaction.run(rows)]


@write_operation("plan")
def set_wanted_if_unchanged(transaction: Transaction, actor: str, task: TaskProgress, n: int) -> None:
    """As `set_wanted`, unless the task was answered or changed since it was read."""
    now = lock_task(transaction, task.id)
    if (now.wanted, now.answered) == (task.wanted, task.answered):
        set_wanted(transaction, actor, task.id, n)


def iterate_reasons(store: Store, project: str) -> Iterator[tuple[str, str]]:
    """Dialogue and reason (`why`) of every task of a project, read in pages; permissions are checked by the
    caller."""
    columns = (tasks.c.dialogue, tasks.c.why)
    for row in read_pages(store, (tasks.c.id,), columns, tasks.c.project == project):
        yield row.dialogue, row.why


def load_sampling_frame(
    transaction: Transaction, actor: str, project: str, design: Design
) -> list[SamplingUnit]:
    """Load every dialogue that a design covers and that has no task in the project yet, in order of id."""
    require_permission(transaction, actor, "plan")
    get_project(transaction, project)
    has_task = exists().where(tasks.c.project == project, tasks.c.dialogue == dialogues.c.id)
    columns = (dialogues.c.id, dialogues.c.agent, dialogues.c.team, dialogues.c.channel)
    query = select(*columns).where(~has_task)
    if design in ("risk", "uncertain"):
        risk = select(verdicts.c.dialogue, func.avg(verdicts.c.risk).label("risk"))
        mean = risk.group_by(verdicts.c.dialogue).subquery()
        query = query.add_columns(mean.c.risk).join(mean, mean.c.dialogue == dialogues.c.id)
    if design == "audit":
        has_verdict = exists().where(verdicts.c.dialogue == dialogues.c.id)
        is_flagged = has_verdict.where(verdicts.c.flagged != false())
        query = query.where(has_verdict, ~is_flagged)
    return [SamplingUnit(*tuple(row)) for row in transaction.run(query.order_by(dialogues.c.id))]


def get_dialogue_id(store: Store, task: int) -> str:
    """The id of a task's dialogue; the caller checks permissions and does not display it to labelers."""
    query = select(tasks.c.dialogue).where(tasks.c.id == task)
    return str(store.read(lambda transaction: transaction.run(query).scalar_one()))


def mark_doubted(transaction: Transaction, dialogue: str) -> bool:
    """Returns whether good labelers contradict the gold of a dialogue, and if so marks it as in doubt."""
    answers, rules = grade_dialogue(transaction, dialogue, "control"), load_rules(transaction)
    wrong = [grade.marked != grade.present for answer in answers for grade in answer.grades]
    if sum(wrong) < rules.doubt_least * rules.doubt_share:  # saves grading every labeler
        return False
    labelers = {answer.account for answer in answers}
    good = {account for account in labelers if _is_good_labeler(transaction, account, dialogue, rules)}
    by_question: dict[tuple[int, str], list[bool]] = {}
    for answer in answers:
        for grade in answer.grades if answer.account in good else ():
            by_question.setdefault((grade.turn, grade.code), []).append(grade.marked != grade.present)
    is_any = False
    for (turn, code), wrong in sorted(by_question.items()):
        n_good, n = len(wrong), sum(wrong)
        if n_good >= rules.doubt_least and n > rules.doubt_share * n_good:
            key = (gold.c.dialogue == dialogue, gold.c.turn == turn, gold.c.code == code)
            why = f"{n} of {n_good} good labelers say otherwise"
            transaction.run(update(gold).where(*key).values(doubt=why))
            transaction.log("system", "gold.doubt", f"{dialogue} {turn} {code}", good=n_good, contradict=n)
            is_any = True
    return is_any


def _is_good_labeler(transaction: Transaction, account: str, dialogue: str, rules: RaterRules) -> bool:
    """Returns whether the account is accurate enough on control tasks of other dialogues."""
    answers = grade_account(transaction, account, "control", n=rules.window)
    others = [answer for answer in answers if answer.grades and answer.dialogue != dialogue]
    balanced = measure_accuracy(others).balanced
    return len(others) >= rules.least and balanced is not None and balanced >= rules.good_at


RNG = SystemRandom()

_CONTROL = (tasks.c.project == bindparam("project"), tasks.c.pool == "control", tasks.c.state == "open")
_STATES: BindParameter[str] = bindparam("states", RETURNED, expanding=True, literal_execute=True)
"""Rendered into the statement as literals: SQLite uses the partial index only then."""
_RETURNED = (
    select(tasks)
    .join(leases, leases.c.task == tasks.c.id)
    .where(*_CONTROL, leases.c.account == bindparam("account"), leases.c.state.in_(_STATES))
    .order_by(leases.c.token.desc())
    .limit(1)
    .with_for_update(key_share=True, skip_locked=True, of=tasks)
)
_INCREMENT_DISPLAYS = update(tasks).where(tasks.c.id == bindparam("its_task")).values(rank=tasks.c.rank + 1)
_N_DISPLAYS = select(func.sum(tasks.c.rank)).where(
    tasks.c.dialogue == bindparam("dialogue"), tasks.c.pool == "control"
)


def sample_control_task(transaction: Transaction, account: Account, project: Project) -> Row[Any] | None:
    """Return the control task, locked, that replaces a main-pool task for this claim, or none."""
    if not project.control_share:
        return None
    parameters = {"project": project.id, "account": account.id, "agent": account.agent}
    row = transaction.run(_RETURNED, parameters).one_or_none()
    if row is not None or RNG.random() >= project.control_share:
        return row
    while (row := transaction.run(_FRESH, parameters).one_or_none()) is not None:
        if _is_usable(transaction, row, project):
            transaction.run(_INCREMENT_DISPLAYS, {"its_task": row.id})
            return row
    return None


def _select_fresh() -> Select[Any]:
    """Select the least displayed, then oldest control task whose dialogue and twin the account never held."""
    own, twin, seen = pairs.alias(), pairs.alias(), tasks.alias()
    n_met = (
        select(func.count())
        .select_from(own)
        .join(twin, twin.c.pair == own.c.pair)
        .join(seen, seen.c.dialogue == twin.c.dialogue)
        .join(leases, leases.c.task == seen.c.id)
        .where(own.c.dialogue == tasks.c.dialogue, leases.c.account == bindparam("account"))
    )
    query = select(tasks).where(*_CONTROL, n_met.scalar_subquery() == 0, is_not_own())
    query = query.order_by(tasks.c.rank, tasks.c.id).limit(1)
    return query.with_for_update(key_share=True, skip_locked=True, of=tasks)


_FRESH = _select_fresh()


def _is_usable(transaction: Transaction, row: Row[Any], project: Project) -> bool:
    """Returns whether the task may still be displayed; if not, withdraws its dialogue from every project."""
    n_displays = transaction.run(_N_DISPLAYS, {"dialogue": row.dialogue}).scalar_one()
    if n_displays >= project.control_uses:
        transaction.run(update(gold).where(gold.c.dialogue == row.dialogue).values(retired=True))
        transaction.log("system", "gold.retire", row.dialogue, shown=int(n_displays))
    elif not mark_doubted(transaction, row.dialogue):
        return True
    withdraw(transaction, row.dialogue, "control")
    return False


def add_control_tasks(store: Store, actor: str, project: str, *, pool: Pool = "control") -> int:
    """Add a task for each dialogue whose gold fits a project and that has no task in it yet; return how many.

    Gold fits if it covers one of the project's codes and none of it is retired or in doubt; where the project
    is pre-labelled, the dialogue also needs a verdict. Tasks of the pool `exam` decide whether accounts in
    training are admitted.
    """
    names = store.read(partial(_list_control_dialogues, actor=actor, project=project))
    new = [NewTask(dialogue=name, pool=pool, why="gold") for name in names]
    return add_all(store, actor, project, new)


def mix_in_gold(store: Store, actor: str, project: str) -> int:
    """Add control tasks if the project has a share of them; return how many."""
    wants_control = store.read(partial(get_project, name=project)).control_share > 0
    return add_control_tasks(store, actor, project) if wants_control else 0


def _list_control_dialogues(transaction: Transaction, actor: str, project: str) -> list[str]:
    require_permission(transaction, actor, "plan")
    target = get_project(transaction, project)
    unusable = gold.alias()
    has_task = exists().where(tasks.c.project == project, tasks.c.dialogue == gold.c.dialogue)
    is_unusable = exists().where(
        unusable.c.dialogue == gold.c.dialogue, or_(unusable.c.retired, unusable.c.doubt.is_not(None))
    )
    query = select(gold.c.dialogue).where(gold.c.code.in_(target.codes), ~has_task, ~is_unusable)
    if target.prelabelled:
        query = query.where(exists().where(verdicts.c.dialogue == gold.c.dialogue))
    return list(transaction.run(query.distinct().order_by(gold.c.dialogue)).scalars())
