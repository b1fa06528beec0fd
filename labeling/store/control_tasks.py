"""Control tasks: tasks with gold that replace some tasks of the main pool, to measure labelers.

Whether a claim gets a control task is sampled from the operating system's randomness and not stored, so
reading the store does not predict it. The least displayed control task comes next; a task's rank counts its
displays. A control task that was released or expired is the next one its holder gets, as in the main pool:
claiming again reveals nothing. Nobody gets a dialogue twice, or both a dialogue and its twin. There is no
control task where the main pool has nothing more for the account.

Gold that good labelers contradict is put in doubt: it grades nobody and is not displayed until an expert
decides (`gold.decide_gold`). This is checked before each display, so that wrong gold does little harm.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import partial
from random import SystemRandom
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, Row, Select, bindparam, exists, func, or_, select, update

from dialint.labeling.store.database.schema import RETURNED, gold, leases, pairs, tasks, verdicts
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.dialogues import MAX_PER_CALL
from dialint.labeling.store.grades import GradedAnswer, grade_account, grade_dialogue, measure_accuracy
from dialint.labeling.store.permissions import require_permission
from dialint.labeling.store.projects import get_project
from dialint.labeling.store.rater_status import Rules, load_rules
from dialint.labeling.store.records import Account, NewTask, Pool, Project
from dialint.labeling.store.task_queue import is_not_own, withdraw
from dialint.labeling.store.tasks import add


class Contradicted(NamedTuple):
    """A question whose gold `n` of `n_good` good labelers contradict."""

    turn: int
    code: str
    n: int
    n_good: int


def is_doubted(transaction: Transaction, dialogue: str) -> bool:
    """Whether good labelers contradict the gold of a dialogue; if so, the gold is marked as in doubt."""
    answers, rules = grade_dialogue(transaction, dialogue, "control"), load_rules(transaction)
    labelers = {answer.account for answer in answers}
    if not find_contradicted(answers, labelers, rules, min_wrong=1):  # saves grading every labeler
        return False
    good = {account for account in labelers if _is_good_labeler(transaction, account, dialogue, rules)}
    contradictions = find_contradicted(answers, good, rules)
    for turn, code, n, n_good in contradictions:
        key = (gold.c.dialogue == dialogue, gold.c.turn == turn, gold.c.code == code)
        why = f"{n} of {n_good} good labelers say otherwise"
        transaction.run(update(gold).where(*key).values(doubt=why))
        transaction.log("system", "gold.doubt", f"{dialogue} {turn} {code}", good=n_good, contradict=n)
    return bool(contradictions)


def find_contradicted(
    answers: Sequence[GradedAnswer], good: Collection[str], rules: Rules, *, min_wrong: int | None = None
) -> list[Contradicted]:
    """Questions whose gold enough labelers in `good` contradict, in order of turn and code. With `min_wrong`
    the share of wrong answers does not matter, only their number."""
    wrong_answers: dict[tuple[int, str], list[bool]] = {}
    for answer in answers:
        if answer.account in good:
            for grade in answer.grades:
                wrong_answers.setdefault((grade.turn, grade.code), []).append(grade.marked != grade.present)

    def is_contradicted(wrong: Sequence[bool]) -> bool:
        if min_wrong:
            return sum(wrong) >= max(min_wrong, math.ceil(rules.doubt_least * rules.doubt_share))
        return len(wrong) >= rules.doubt_least and sum(wrong) > rules.doubt_share * len(wrong)

    return [
        Contradicted(turn, code, sum(wrong), len(wrong))
        for (turn, code), wrong in sorted(wrong_answers.items())
        if is_contradicted(wrong)
    ]


def _is_good_labeler(transaction: Transaction, account: str, dialogue: str, rules: Rules) -> bool:
    """Whether the account is accurate enough on control tasks of other dialogues."""
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
    while (row := transaction.run(_FRESH[account.agent is not None], parameters).one_or_none()) is not None:
        if _is_usable(transaction, row, project):
            transaction.run(_INCREMENT_DISPLAYS, {"its_task": row.id})
            return row
    return None


def _fresh(*, agent: bool) -> Select[Any]:
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
    query = select(tasks).where(*_CONTROL, n_met.scalar_subquery() == 0)
    if agent:
        query = query.where(is_not_own())
    query = query.order_by(tasks.c.rank, tasks.c.id).limit(1)
    return query.with_for_update(key_share=True, skip_locked=True, of=tasks)


_FRESH = {agent: _fresh(agent=agent) for agent in (False, True)}


def _is_usable(transaction: Transaction, row: Row[Any], project: Project) -> bool:
    """Whether the task may still be displayed; if not, its dialogue is withdrawn from every project."""
    n_displays = transaction.run(_N_DISPLAYS, {"dialogue": row.dialogue}).scalar_one()
    if n_displays >= project.control_uses:
        transaction.run(update(gold).where(gold.c.dialogue == row.dialogue).values(retired=True))
        transaction.log("system", "gold.retire", row.dialogue, shown=int(n_displays))
    elif not is_doubted(transaction, row.dialogue):
        return True
    withdraw(transaction, row.dialogue, "control")
    return False


def add_control_tasks(store: Store, actor: str, project: str, *, pool: Pool = "control") -> int:
    """Add a task for each dialogue whose gold fits a project and that has no task in it yet; return how many.

    Gold fits if it covers one of the project's codes and none of it is retired or in doubt; where the project
    is pre-labelled, the dialogue also needs a verdict. Tasks of the pool `exam` decide whether accounts in
    training are admitted.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: no such project.
    """
    names = store.read(partial(_list_control_dialogues, actor=actor, project=project))
    new = [NewTask(dialogue=name, pool=pool, why="gold") for name in names]
    batches = (new[start : start + MAX_PER_CALL] for start in range(0, len(new), MAX_PER_CALL))
    return sum(add(store, actor, project, batch) for batch in batches)


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
