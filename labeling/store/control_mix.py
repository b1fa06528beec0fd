"""Replaces some tasks of the main pool by control tasks: which, how often, and until when.

Whether a claim is exchanged is drawn from the operating system's randomness, kept nowhere and of no use to
whoever has read the store. What is shown least comes next; a task's rank is how often it was shown. A
control task that was given back or ran out is what its holder gets next, as it is in the main pool: asking
again tells nothing. Nobody sees a dialogue twice, or both a dialogue and its twin. There is no control
task where the main pool has nothing more for the account.
"""

from __future__ import annotations

from random import SystemRandom
from typing import Any

from sqlalchemy import BindParameter, Row, Select, bindparam, func, select, update

from dialint.labeling.store.database.schema import RETURNED, gold, leases, pairs, tasks
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.gold_review import is_doubted
from dialint.labeling.store.records import Account, Project
from dialint.labeling.store.task_queue import is_not_own, withdraw

RNG = SystemRandom()

_CONTROL = (tasks.c.project == bindparam("project"), tasks.c.pool == "control", tasks.c.state == "open")
_STATES: BindParameter[str] = bindparam("states", RETURNED, expanding=True, literal_execute=True)
"""Written into the statement: SQLite finds the partial index by no other way."""
_RETURNED = (
    select(tasks)
    .join(leases, leases.c.task == tasks.c.id)
    .where(*_CONTROL, leases.c.account == bindparam("account"), leases.c.state.in_(_STATES))
    .order_by(leases.c.token.desc())
    .limit(1)
    .with_for_update(key_share=True, skip_locked=True, of=tasks)
)
_SHOWN = update(tasks).where(tasks.c.id == bindparam("its_task")).values(rank=tasks.c.rank + 1)
_TIMES = select(func.sum(tasks.c.rank)).where(
    tasks.c.dialogue == bindparam("dialogue"), tasks.c.pool == "control"
)


def draw_control_task(transaction: Transaction, account: Account, project: Project) -> Row[Any] | None:
    """The control task, locked, that the account gets in the place of one from the main pool, if any."""
    if not project.control_share:
        return None
    place = {"project": project.id, "account": account.id, "agent": account.agent}
    row = transaction.run(_RETURNED, place).one_or_none()
    if row is not None or RNG.random() >= project.control_share:
        return row
    while (row := transaction.run(_FRESH[account.agent is not None], place).one_or_none()) is not None:
        if _usable(transaction, row, project):
            transaction.run(_SHOWN, {"its_task": row.id})
            return row
    return None


def _fresh(*, agent: bool) -> Select[Any]:
    """Shown least, then oldest; neither it nor its twin was ever in the account's hands."""
    own, twin, seen = pairs.alias(), pairs.alias(), tasks.alias()
    met = (
        select(func.count())
        .select_from(own)
        .join(twin, twin.c.pair == own.c.pair)
        .join(seen, seen.c.dialogue == twin.c.dialogue)
        .join(leases, leases.c.task == seen.c.id)
        .where(own.c.dialogue == tasks.c.dialogue, leases.c.account == bindparam("account"))
    )
    question = select(tasks).where(*_CONTROL, met.scalar_subquery() == 0)
    if agent:
        question = question.where(is_not_own())
    question = question.order_by(tasks.c.rank, tasks.c.id).limit(1)
    return question.with_for_update(key_share=True, skip_locked=True, of=tasks)


_FRESH = {agent: _fresh(agent=agent) for agent in (False, True)}


def _usable(transaction: Transaction, row: Row[Any], project: Project) -> bool:
    """Whether it may still be shown; if not, it is withdrawn from every project."""
    times = transaction.run(_TIMES, {"dialogue": row.dialogue}).scalar_one()
    if times >= project.control_uses:
        transaction.run(update(gold).where(gold.c.dialogue == row.dialogue).values(retired=True))
        transaction.log("system", "gold.retire", row.dialogue, shown=int(times))
    elif not is_doubted(transaction, row.dialogue):
        return True
    withdraw(transaction, row.dialogue, "control")
    return False
