"""Gold that good labelers contradict is doubted: it grades nobody and is not shown until an expert decides.

It is looked at before each showing, so that bad gold does little harm, and reported, never dropped.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Row, select, update

from dialint.labeling.store.database.schema import gold, tasks
from dialint.labeling.store.database.transactions import Transaction, read_operation, write_operation
from dialint.labeling.store.errors import StoreRefused
from dialint.labeling.store.exposure import record_read
from dialint.labeling.store.gold import put_gold
from dialint.labeling.store.grades import GradedAnswer, grade_account, grade_dialogue, measure_accuracy
from dialint.labeling.store.permissions import require_permission
from dialint.labeling.store.rater_status import Rules, load_rules
from dialint.labeling.store.records import Gold
from dialint.labeling.store.task_queue import ENDLESS, lock_task, update_task


class Contradicted(NamedTuple):
    """A question whose gold `n` of `n_good` good labelers contradict."""

    turn: int
    code: str
    n: int
    n_good: int


def is_doubted(transaction: Transaction, dialogue: str) -> bool:
    """Whether the gold of a dialogue is contradicted; if so, it says so from now on."""
    answers, rules = grade_dialogue(transaction, dialogue, "control"), load_rules(transaction)
    everybody = {answer.account for answer in answers}
    if not find_contradicted(answers, everybody, rules, least=1):  # saves looking at who is good
        return False
    good = {account for account in everybody if _good(transaction, account, dialogue, rules)}
    contradictions = find_contradicted(answers, good, rules)
    for turn, code, n, n_good in contradictions:
        key = (gold.c.dialogue == dialogue, gold.c.turn == turn, gold.c.code == code)
        why = f"{n} of {n_good} good labelers say otherwise"
        transaction.run(update(gold).where(*key).values(doubt=why))
        transaction.log("system", "gold.doubt", f"{dialogue} {turn} {code}", good=n_good, contradict=n)
    return bool(contradictions)


def find_contradicted(
    answers: Sequence[GradedAnswer], good: Collection[str], rules: Rules, *, least: int | None = None
) -> list[Contradicted]:
    """Questions whose gold is contradicted by enough of those in `good`, in order of turn and code. With
    `least`, by so many of them, whatever share that is."""
    wrong_answers: dict[tuple[int, str], list[bool]] = {}
    for answer in answers:
        if answer.account in good:
            for grade in answer.grades:
                wrong_answers.setdefault((grade.turn, grade.code), []).append(grade.said != grade.present)
    enough = math.ceil(rules.doubt_least * rules.doubt_share)
    return [
        Contradicted(turn, code, sum(wrong), len(wrong))
        for (turn, code), wrong in sorted(wrong_answers.items())
        if (sum(wrong) >= max(least, enough) if least else _is_doubted(wrong, rules))
    ]


def _is_doubted(wrong: Sequence[bool], rules: Rules) -> bool:
    return len(wrong) >= rules.doubt_least and sum(wrong) > rules.doubt_share * len(wrong)


def _good(transaction: Transaction, account: str, dialogue: str, rules: Rules) -> bool:
    """By their answers to other control tasks."""
    theirs = grade_account(transaction, account, "control", n=rules.window)
    others = [answer for answer in theirs if answer.grades and answer.dialogue != dialogue]
    balanced = measure_accuracy(others).balanced
    return len(others) >= rules.least and balanced is not None and balanced >= rules.good_at


@read_operation
def list_doubted(transaction: Transaction, actor: str) -> tuple[Gold, ...]:
    """Gold in doubt, by dialogue, turn and code; for those who decide."""
    account = require_permission(transaction, actor, "decide")
    rows = select(gold).where(gold.c.doubt.is_not(None)).order_by(gold.c.dialogue, gold.c.turn, gold.c.code)
    doubted = tuple(map(_record, transaction.run(rows)))
    for dialogue in dict.fromkeys(one.dialogue for one in doubted):
        record_read(transaction, account, dialogue, "gold")
    return doubted


@write_operation(repeatable=True)
def decide_gold(
    transaction: Transaction, actor: str, dialogue: str, turn: int, code: str, *, present: bool, reason: str
) -> Gold:
    """Say what is true after all; it grades again, and the dialogue is shown again if nothing else of it is
    in doubt.

    Raises:
        NotAllowed: the actor does not decide, or spoke in the dialogue.
        StoreRefused: there is no such gold, or no reason.
    """
    require_permission(transaction, actor, "decide")
    key = (gold.c.dialogue == dialogue, gold.c.turn == turn, gold.c.code == code)
    row = transaction.run(select(gold).where(*key).with_for_update()).one_or_none()
    if row is None or not reason.strip():
        raise StoreRefused("E_GOLD", "no such gold" if row is None else "a decision needs a reason")
    changes = {"present": present, "source": "expert", "reason": reason, "doubt": None}
    decided = _record(row).model_copy(update=changes)
    put_gold(transaction, actor, decided)
    still = select(gold.c.turn).where(gold.c.dialogue == dialogue, gold.c.doubt.is_not(None)).limit(1)
    if not row.retired and transaction.run(still).one_or_none() is None:
        _show_again(transaction, dialogue)
    return decided


def _show_again(transaction: Transaction, dialogue: str) -> None:
    withdrawn = select(tasks.c.id).where(
        tasks.c.dialogue == dialogue, tasks.c.pool == "control", tasks.c.wanted == 0
    )
    for task in transaction.run(withdrawn.order_by(tasks.c.id)).scalars().all():
        update_task(transaction, lock_task(transaction, task), wanted=ENDLESS)


def _record(row: Row[Any]) -> Gold:
    return Gold(**{name: getattr(row, name) for name in Gold.model_fields})
