"""The status of labelers by rules: keep, retrain, suspend or admit.

Rules are data in the store, set by a lead. The window of a labeler holds their newest graded answers since
their status was last set: to control tasks or, in training, to qualification tasks (the pool `exam`).
`evaluate_status` reports the action that the rules require and why, `apply_rules` applies it. Only accounts
of the role `labeler` are evaluated. No rule bans: that is a person's decision (`accounts.ban`).
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator
from sqlalchemy import Row, bindparam, select

from dialint.detector.records import Probability, Record
from dialint.labeling.store.accounts import write_status
from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.schema import accounts, annotation_rows, settings
from dialint.labeling.store.database.transactions import Store, Transaction, upsert
from dialint.labeling.store.grades import Accuracy, grade_account, measure_accuracy
from dialint.labeling.store.permissions import read_operation, write_operation
from dialint.labeling.store.records import Pool, Status

Count = Annotated[int, Field(ge=1)]
NAME = "rules"


class Rules(Record):
    """Thresholds of the rules. Accuracy is balanced (see `grades`): guessing gets 0.5."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    window: Count = 50
    """How many of the newest answers since the last change of status count."""
    least: Count = 10
    """Fewer graded answers decide nothing."""
    retrain_below: Probability = 0.6
    """Accuracy on control tasks below which an account is sent to training."""
    suspend_below: Probability = 0.4
    """Accuracy on control tasks below which an account is suspended."""
    fast_s: Annotated[float, Field(gt=0)] = 2.0
    """Seconds below which an answer is too fast to have read the task."""
    fast_share: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Share of answers that are too fast at which an account is suspended."""
    exam_least: Count = 10
    """Graded answers in the pool exam before an account in training is admitted."""
    exam_pass: Probability = 0.6
    """Lower limit of the accuracy in the pool exam that admits."""
    exam_most: Count = 40
    """Answers in the pool exam after which an account that was not admitted is suspended."""
    good_at: Probability = 0.8
    """Accuracy of a good labeler: gold that good labelers contradict is doubted."""
    doubt_least: Count = 5
    """Fewer good labelers cannot put gold in doubt."""
    doubt_share: Probability = 0.5
    """Share of the good labelers who must contradict gold to put it in doubt."""

    @model_validator(mode="after")
    def _possible(self) -> Rules:
        if self.suspend_below > self.retrain_below:
            raise ValueError("suspend_below must not exceed retrain_below")
        if self.exam_most < self.exam_least:
            raise ValueError("exam_most must not be less than exam_least")
        return self


@read_operation("discipline")
def get_rules(transaction: Transaction, actor: str) -> Rules:
    """The rules in force."""
    return load_rules(transaction)


@write_operation("discipline")
def set_rules(transaction: Transaction, actor: str, rules: Rules) -> None:
    """Replace the rules in force."""
    content = rules.model_dump(mode="json")
    upsert(transaction, settings, {"name": NAME, "content": canonical_json(content)})
    transaction.log(actor, "rules.replace", NAME, **content)


def load_rules(transaction: Transaction) -> Rules:
    """As `get_rules`; permissions are checked by the caller. Rules that are no more are passed over."""
    stored = transaction.run(select(settings.c.content).where(settings.c.name == NAME)).scalar_one_or_none()
    content: dict[str, Any] = {} if stored is None else json.loads(stored)
    return Rules(**{name: value for name, value in content.items() if name in Rules.model_fields})


Action = Literal["keep", "retrain", "suspend", "admit"]
STATUS_AFTER: dict[Action, Status] = {"retrain": "training", "suspend": "suspended", "admit": "active"}

_EVALUATED = select(accounts.c.id, accounts.c.status, accounts.c.since).where(
    accounts.c.role == "labeler", accounts.c.status.in_(("active", "training"))
)
_EVALUATED_ACCOUNT = _EVALUATED.where(accounts.c.id == bindparam("account")).with_for_update()
_SECONDS = (
    select(annotation_rows.c.seconds)
    .where(annotation_rows.c.labeler == bindparam("account"), annotation_rows.c.task.is_not(None))
    .where(annotation_rows.c.id > bindparam("since"), annotation_rows.c.seconds.is_not(None))
    .order_by(annotation_rows.c.id.desc())
    .limit(bindparam("n"))
)


class RaterStatus(Record):
    """The status of a labeler, and the action that the rules require; `why` states the figures.
    `accuracy` is balanced, `least_accuracy` its lower limit, of so many `hits` and `passes` (see
    `grades.Accuracy`); `fast` is the share of the `n_timed` answers with a duration that are faster than
    anybody reads."""

    account: str
    status: Status
    does: Action
    why: str
    n_answers: int
    accuracy: float | None
    least_accuracy: float
    hits: int
    n_present: int
    passes: int
    n_absent: int
    fast: float | None
    n_timed: int


@read_operation("discipline")
def evaluate_status(transaction: Transaction, actor: str) -> tuple[RaterStatus, ...]:
    """Return the action that the rules require for each labeler, by name; nothing is changed."""
    rules = load_rules(transaction)
    rows = transaction.run(_EVALUATED.order_by(accounts.c.id)).all()
    return tuple(_evaluate_account(transaction, row, rules) for row in rows)


def apply_rules(store: Store, actor: str) -> tuple[RaterStatus, ...]:
    """Apply the actions that the rules require, one account per transaction, in which it is evaluated again;
    return what was applied."""
    names = [status.account for status in evaluate_status(store, actor) if status.does != "keep"]
    applied = [_apply(store, actor, name) for name in names]
    return tuple(status for status in applied if status is not None)


@write_operation("discipline", repeatable=False)
def _apply(transaction: Transaction, actor: str, account: str) -> RaterStatus | None:
    row = transaction.run(_EVALUATED_ACCOUNT, {"account": account}).one_or_none()
    if row is None:
        return None
    evaluated = _evaluate_account(transaction, row, load_rules(transaction))
    if evaluated.does == "keep":
        return None
    figures = evaluated.model_dump(mode="json", exclude={"account", "status"})
    write_status(transaction, actor, account, STATUS_AFTER[evaluated.does], rule=figures)
    return evaluated


def _evaluate_account(transaction: Transaction, row: Row[Any], rules: Rules) -> RaterStatus:
    pool: Pool = "exam" if row.status == "training" else "control"
    parameters = {"account": row.id, "since": row.since, "n": rules.window}
    answers = grade_account(transaction, row.id, pool, n=rules.window, since=row.since)
    answers = [answer for answer in answers if answer.grades]
    seconds = transaction.run(_SECONDS, parameters).scalars().all()
    overall = measure_accuracy(answers)
    n_timed = len(seconds)
    fast = sum(one < rules.fast_s for one in seconds) / n_timed if n_timed >= rules.least else None
    evaluate = _evaluate_trainee if row.status == "training" else _evaluate_active
    does, why = evaluate(overall, len(answers), rules)
    if does != "suspend" and fast is not None and fast >= rules.fast_share:
        does, why = "suspend", f"{fast:.0%} of the last {n_timed} answers took less than {rules.fast_s:g} s"
    return RaterStatus(
        account=row.id,
        status=row.status,
        does=does,
        why=why,
        n_answers=len(answers),
        accuracy=overall.balanced,
        least_accuracy=overall.least_balanced,
        **asdict(overall),
        fast=fast,
        n_timed=n_timed,
    )


def _evaluate_trainee(overall: Accuracy, n: int, rules: Rules) -> tuple[Action, str]:
    """Admits when the lower limit of accuracy is high enough, so that a few lucky answers do not suffice."""
    if n < rules.exam_least:
        return "keep", f"{n} of at least {rules.exam_least} exam answers"
    figures = f"accuracy at least {overall.least_balanced:.2f} in {n} exam answers"
    if overall.least_balanced >= rules.exam_pass:
        return "admit", f"{figures}: {rules.exam_pass:g} passes"
    if n >= min(rules.exam_most, rules.window):
        return "suspend", f"{figures}: {rules.exam_pass:g} would pass, and there are no more tries"
    return "keep", f"{figures}: {rules.exam_pass:g} passes"


def _evaluate_active(overall: Accuracy, n: int, rules: Rules) -> tuple[Action, str]:
    if n < rules.least or overall.balanced is None:
        return "keep", f"{n} of at least {rules.least} graded answers"
    figures = f"accuracy {overall.balanced:.2f} in {n} graded answers"
    if overall.balanced < rules.suspend_below:
        return "suspend", f"{figures}: below {rules.suspend_below:g}"
    if overall.balanced < rules.retrain_below:
        return "retrain", f"{figures}: below {rules.retrain_below:g}"
    return "keep", figures
