"""Where labelers stand by the rules, and what follows: nothing, retraining, suspension, or the way in.

The window of somebody's history holds their newest graded answers since their status was last set: to
control tasks, or, in training, to the exam. `review` says what would be done and why, `apply` does it. Only
accounts of the role `labeler` are judged; a ban is not among what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Row, bindparam, select

from dialint.detector.records import Record
from dialint.labeling.store.accounts import put_status
from dialint.labeling.store.crowd.history import of_account
from dialint.labeling.store.crowd.measures import Accuracy, Graded, accuracy
from dialint.labeling.store.crowd.rules import Rules, rules_of
from dialint.labeling.store.database.schema import accounts, annotation_rows
from dialint.labeling.store.database.transactions import Store, Transaction, reading, writing
from dialint.labeling.store.records import Pool, Status
from dialint.labeling.store.rights import authorised

Does = Literal["keep", "retrain", "suspend", "admit"]
BECOMES: dict[Does, Status] = {"retrain": "training", "suspend": "suspended", "admit": "active"}

_JUDGED = select(accounts.c.id, accounts.c.status, accounts.c.since).where(
    accounts.c.role == "labeler", accounts.c.status.in_(("active", "training"))
)
_ONE = _JUDGED.where(accounts.c.id == bindparam("account")).with_for_update()
_SECONDS = (
    select(annotation_rows.c.seconds)
    .where(annotation_rows.c.labeler == bindparam("account"), annotation_rows.c.task.is_not(None))
    .where(annotation_rows.c.id > bindparam("since"), annotation_rows.c.seconds.is_not(None))
    .order_by(annotation_rows.c.id.desc())
    .limit(bindparam("n"))
)


class Share(Record):
    """`right` of `n` questions of one kind were answered right."""

    right: int
    n: int


class CodeMeasure(Record):
    """One code by itself."""

    code: str
    n_answers: int
    accuracy: float | None
    present: Share
    absent: Share


class Measure(Record):
    """Where somebody stands, and what the rules want done; `why` has the figures in words. `accuracy` is
    balanced, `least_accuracy` its lower limit (see `measures`); `fast` is the share of answers faster than
    anybody reads, of `n_timed`."""

    account: str
    status: Status
    does: Does
    why: str
    n_answers: int
    accuracy: float | None
    least_accuracy: float
    present: Share
    absent: Share
    fast: float | None
    n_timed: int
    codes: tuple[CodeMeasure, ...]


@dataclass(frozen=True)
class _Window:
    """What somebody is judged by: graded answers, and seconds of answers of every kind."""

    answers: Sequence[Graded]
    seconds: Sequence[float]


@reading
def review(transaction: Transaction, actor: str) -> tuple[Measure, ...]:
    """What the rules want done to whom, by name; nothing is done.

    Raises:
        NotAllowed: the actor does not discipline.
    """
    authorised(transaction, actor, "discipline")
    rules = rules_of(transaction)
    rows = transaction.run(_JUDGED.order_by(accounts.c.id)).all()
    return tuple(_measured(transaction, row, rules) for row in rows)


def apply(store: Store, actor: str) -> tuple[Measure, ...]:
    """Do what the rules want, one account a transaction, each measured anew in it; what was done.

    Raises:
        NotAllowed: the actor does not discipline.
    """
    wanted = [measure.account for measure in review(store, actor) if measure.does != "keep"]
    done = [_apply(store, actor, account) for account in wanted]
    return tuple(measure for measure in done if measure is not None)


@writing()
def _apply(transaction: Transaction, actor: str, account: str) -> Measure | None:
    authorised(transaction, actor, "discipline")
    row = transaction.run(_ONE, {"account": account}).one_or_none()
    if row is None:
        return None
    measure = _measured(transaction, row, rules_of(transaction))
    if measure.does == "keep":
        return None
    figures = measure.model_dump(mode="json", exclude={"account", "status", "codes"})
    put_status(transaction, actor, account, BECOMES[measure.does], rule=figures)
    return measure


def _measured(transaction: Transaction, row: Row[Any], rules: Rules) -> Measure:
    pool: Pool = "exam" if row.status == "training" else "control"
    place = {"account": row.id, "since": row.since, "n": rules.window}
    answers = of_account(transaction, row.id, pool, n=rules.window, since=row.since)
    window = _Window(
        [answer for answer in answers if answer.grades], transaction.run(_SECONDS, place).scalars().all()
    )
    return judged(row.id, row.status, window, rules)


def judged(account: str, status: Status, window: _Window, rules: Rules) -> Measure:
    """What the rules say of a window; pure."""
    whole = accuracy(window.answers)
    codes = _codes(window.answers)
    fast = _fast(window.seconds, rules)
    find = _candidate if status == "training" else _member
    does, why = find(whole, len(window.answers), codes, rules)
    if does != "suspend" and fast is not None and fast >= rules.fast_share:
        n = len(window.seconds)
        does, why = "suspend", f"{fast:.0%} of the last {n} answers took less than {rules.fast_s:g} s"
    return Measure(
        account=account,
        status=status,
        does=does,
        why=why,
        n_answers=len(window.answers),
        accuracy=whole.balanced,
        least_accuracy=whole.least_balanced,
        **_shares(whole),
        fast=fast,
        n_timed=len(window.seconds),
        codes=codes,
    )


def _shares(found: Accuracy) -> dict[str, Share]:
    return {
        "present": Share(right=found.hits, n=found.n_present),
        "absent": Share(right=found.passes, n=found.n_absent),
    }


def _codes(answers: Sequence[Graded]) -> tuple[CodeMeasure, ...]:
    asked = [{grade.code for grade in answer.grades} for answer in answers]
    measures = []
    for code in sorted(set().union(*asked)):
        found = accuracy(answers, code)
        n = sum(code in codes for codes in asked)
        measures.append(CodeMeasure(code=code, n_answers=n, accuracy=found.balanced, **_shares(found)))
    return tuple(measures)


def _fast(seconds: Sequence[float], rules: Rules) -> float | None:
    if len(seconds) < rules.least:
        return None
    return sum(one < rules.fast_s for one in seconds) / len(seconds)


def _candidate(whole: Accuracy, n: int, _codes: Sequence[CodeMeasure], rules: Rules) -> tuple[Does, str]:
    """Passes when even the lower limit is good enough: a lucky few answers do not do."""
    if n < rules.exam_least:
        return "keep", f"{n} of at least {rules.exam_least} exam answers"
    figures = f"accuracy at least {whole.least_balanced:.2f} in {n} exam answers"
    if whole.least_balanced >= rules.exam_pass:
        return "admit", f"{figures}: {rules.exam_pass:g} passes"
    if n >= min(rules.exam_most, rules.window):
        return "suspend", f"{figures}: {rules.exam_pass:g} would pass, and there are no more tries"
    return "keep", f"{figures}: {rules.exam_pass:g} passes"


def _member(whole: Accuracy, n: int, codes: Sequence[CodeMeasure], rules: Rules) -> tuple[Does, str]:
    if n < rules.least or whole.balanced is None:
        return "keep", f"{n} of at least {rules.least} graded answers"
    figures = f"accuracy {whole.balanced:.2f} in {n} graded answers"
    if whole.balanced < rules.suspend_below:
        return "suspend", f"{figures}: below {rules.suspend_below:g}"
    if whole.balanced < rules.retrain_below:
        return "retrain", f"{figures}: below {rules.retrain_below:g}"
    least = rules.code_retrain_below
    for one in codes:
        if least is not None and one.n_answers >= rules.least and (one.accuracy or 0.0) < least:
            figures = f"{one.code}: accuracy {one.accuracy:.2f} in {one.n_answers} graded answers"
            return "retrain", f"{figures}: below {least:g}"
    return "keep", figures
