"""The status of labelers by rules: keep, retrain, suspend or admit.

Rules are data in the store, set by a lead. The window of a labeler holds their newest graded answers since
their status was last set: to control tasks or, in training, to qualification tasks (the pool `exam`).
`evaluate_status` reports the action that the rules require and why, `apply_rules` applies it. Only accounts
of the role `labeler` are evaluated. No rule bans: that is a person's decision (`accounts.ban`).

Answers are graded by the present gold and grades are not stored: correcting gold corrects every grade. Gold
has no span, so presence in the turn is graded, not the boundaries of the evidence. Who calls the functions
of grades checks permissions.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import ConfigDict, Field, model_validator
from sqlalchemy import Row, bindparam, select

from dialint.detector import taxonomy
from dialint.detector.records import Probability, Record
from dialint.detector.statistics import wilson_interval
from dialint.labeling.store.accounts import write_status
from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.schema import accounts, annotation_rows, gold, settings, tasks
from dialint.labeling.store.database.transactions import Store, Transaction, upsert
from dialint.labeling.store.permissions import read_operation, write_operation
from dialint.labeling.store.records import Pool, Status


class GoldAnswer(NamedTuple):
    """Gold of one question: whether `code` is `present` in `turn`."""

    turn: int
    code: str
    present: bool


class Grade(NamedTuple):
    """One answered question that has gold: whether the labeler `marked` the code, and whether it is
    `present`."""

    turn: int
    code: str
    present: bool
    marked: bool


@dataclass(frozen=True)
class GradedAnswer:
    """An answer with all its grades. `seconds` is its duration, or none."""

    number: int
    account: str
    dialogue: str
    seconds: float | None
    grades: tuple[Grade, ...]


def grade_answer(
    row: Row[Any], gold_answers: Sequence[GoldAnswer], of_dialogue: Collection[str]
) -> GradedAnswer:
    """Grade an answer (a row of ``annotations``) against the gold of its dialogue. Only the questions asked
    are graded. A code in `of_dialogue` (dialogue scope) that was asked of the whole dialogue gets one grade:
    marked anywhere against present anywhere."""
    codes = set(json.loads(row.codes))
    marked = {(finding["turn"], finding["code"]) for finding in json.loads(row.findings)}
    grades = []
    whole: dict[str, bool] = {}
    for turn, code, present in gold_answers:
        if code not in codes or row.turn not in (None, turn):
            continue
        if code in of_dialogue and row.turn is None:
            whole[code] = whole.get(code, False) or present
        else:
            grades.append(Grade(turn, code, present, (turn, code) in marked))
    marked_codes = {code for _, code in marked}
    last = max((turn for turn, _, _ in gold_answers), default=0)
    grades += [Grade(last, code, present, code in marked_codes) for code, present in whole.items()]
    return GradedAnswer(row.id, row.labeler, row.dialogue, row.seconds, tuple(grades))


@dataclass(frozen=True)
class Accuracy:
    """Answers to questions where the error is there (`hits` of `n_present`) and where it is not (`passes` of
    `n_absent`)."""

    hits: int = 0
    n_present: int = 0
    passes: int = 0
    n_absent: int = 0

    @property
    def balanced(self) -> float | None:
        """Mean of the shares of hits and of passes, in [0, 1]; one of them where the other has no questions;
        none without any. Most turns are clean, so plain accuracy would favor labelers who mark nothing."""
        shares = [k / n for k, n in self._counts if n]
        return sum(shares) / len(shares) if shares else None

    @property
    def least_balanced(self) -> float:
        """Lower limit of `balanced`: the mean of the lower Wilson limits of both shares (each 97.5 %, so the
        mean is conservative); 0 where one of them has no questions."""
        limits = [wilson_interval(k, n)[0] if n else 0.0 for k, n in self._counts]
        return sum(limits) / 2 if self.n_present and self.n_absent else 0.0

    @property
    def _counts(self) -> tuple[tuple[int, int], tuple[int, int]]:
        return (self.hits, self.n_present), (self.passes, self.n_absent)


def measure_accuracy(answers: Iterable[GradedAnswer]) -> Accuracy:
    """Accuracy over all grades of these answers."""
    grades = [grade for answer in answers for grade in answer.grades]
    present = [grade.marked for grade in grades if grade.present]
    absent = [not grade.marked for grade in grades if not grade.present]
    return Accuracy(sum(present), len(present), sum(absent), len(absent))


_NEWER = annotation_rows.alias()
NEWEST = ~select(_NEWER.c.id).where(_NEWER.c.supersedes == annotation_rows.c.id).exists()
"""Selects answers that no later annotation supersedes."""

_ANSWERS = select(annotation_rows).join(tasks, tasks.c.id == annotation_rows.c.task).where(NEWEST)
_GOLD = (
    select(gold)
    .where(gold.c.doubt.is_(None), gold.c.dialogue.in_(bindparam("names", expanding=True)))
    .order_by(gold.c.dialogue, gold.c.turn, gold.c.code)
)
_POOLS = tasks.c.pool.in_(bindparam("pools", expanding=True))
_OF_ACCOUNT = (
    _ANSWERS.where(
        annotation_rows.c.labeler == bindparam("account"), annotation_rows.c.id > bindparam("since")
    )
    .where(_POOLS)
    .order_by(annotation_rows.c.id.desc())
    .limit(bindparam("n"))
)
_OF_DIALOGUE = (
    _ANSWERS.where(annotation_rows.c.dialogue == bindparam("dialogue"), _POOLS)
    .order_by(annotation_rows.c.id)
)  # fmt: skip


def grade_account(
    transaction: Transaction, account: str, *pools: Pool, n: int, since: int = 0
) -> list[GradedAnswer]:
    """Grade the newest `n` answers of an account to tasks of these pools, newest first, after the annotation
    number `since`; answers whose gold is in doubt or deleted have no grades."""
    parameters = {"account": account, "since": since, "pools": list(pools), "n": n}
    return _grade_rows(transaction, transaction.run(_OF_ACCOUNT, parameters).all())


def grade_dialogue(transaction: Transaction, dialogue: str, *pools: Pool) -> list[GradedAnswer]:
    """Grade all answers to the tasks of these pools on a dialogue, oldest first."""
    parameters = {"dialogue": dialogue, "pools": list(pools)}
    return _grade_rows(transaction, transaction.run(_OF_DIALOGUE, parameters).all())


def _grade_rows(transaction: Transaction, rows: Sequence[Row[Any]]) -> list[GradedAnswer]:
    gold_answers = load_gold_answers(transaction, {row.dialogue for row in rows})
    return [grade_answer(row, gold_answers.get(row.dialogue, ()), _dialogue_codes()) for row in rows]


def load_gold_answers(transaction: Transaction, names: Iterable[str]) -> dict[str, list[GoldAnswer]]:
    """Gold by dialogue, retired gold included, gold in doubt excluded."""
    answers: dict[str, list[GoldAnswer]] = defaultdict(list)
    for row in transaction.run(_GOLD, {"names": sorted(names)}):
        answers[row.dialogue].append(GoldAnswer(row.turn, row.code, row.present))
    return answers


@cache
def _dialogue_codes() -> frozenset[str]:
    """Codes of dialogue scope in the packaged taxonomy."""
    return frozenset(code for code, one in taxonomy.load_taxonomy().codes.items() if one.scope == "dialogue")


Count = Annotated[int, Field(ge=1)]
NAME = "rules"


class RaterRules(Record):
    """Thresholds of the rules. Accuracy is balanced (`Accuracy`): guessing gets 0.5."""

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
    def _possible(self) -> RaterRules:
        if self.suspend_below > self.retrain_below:
            raise ValueError("suspend_below must not exceed retrain_below")
        if self.exam_most < self.exam_least:
            raise ValueError("exam_most must not be less than exam_least")
        return self


@read_operation("discipline")
def get_rules(transaction: Transaction, actor: str) -> RaterRules:
    """The rules in force."""
    return load_rules(transaction)


@write_operation("discipline")
def set_rules(transaction: Transaction, actor: str, rules: RaterRules) -> None:
    """Replace the rules in force."""
    content = rules.model_dump(mode="json")
    upsert(transaction, settings, {"name": NAME, "content": canonical_json(content)})
    transaction.log(actor, "rules.replace", NAME, **content)


def load_rules(transaction: Transaction) -> RaterRules:
    """As `get_rules`; permissions are checked by the caller."""
    stored = transaction.run(select(settings.c.content).where(settings.c.name == NAME)).scalar_one_or_none()
    return RaterRules() if stored is None else RaterRules.model_validate_json(stored)


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
    `Accuracy`); `fast` is the share of the `n_timed` answers with a duration that are faster than
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


def _evaluate_account(transaction: Transaction, row: Row[Any], rules: RaterRules) -> RaterStatus:
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
        does = "suspend"
        why = f"{100 * fast:.0f} % of the last {n_timed} answers took less than {rules.fast_s:g} s"
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


def _evaluate_trainee(overall: Accuracy, n: int, rules: RaterRules) -> tuple[Action, str]:
    """Admits when the lower limit of accuracy is high enough, so that a few lucky answers do not suffice."""
    if n < rules.exam_least:
        return "keep", f"{n} of at least {rules.exam_least} exam answers"
    figures = f"accuracy at least {overall.least_balanced:.2f} in {n} exam answers"
    if overall.least_balanced >= rules.exam_pass:
        return "admit", f"{figures}: {rules.exam_pass:g} passes"
    if n >= min(rules.exam_most, rules.window):
        return "suspend", f"{figures}: {rules.exam_pass:g} would pass, and there are no more tries"
    return "keep", f"{figures}: {rules.exam_pass:g} passes"


def _evaluate_active(overall: Accuracy, n: int, rules: RaterRules) -> tuple[Action, str]:
    if n < rules.least or overall.balanced is None:
        return "keep", f"{n} of at least {rules.least} graded answers"
    figures = f"accuracy {overall.balanced:.2f} in {n} graded answers"
    if overall.balanced < rules.suspend_below:
        return "suspend", f"{figures}: below {rules.suspend_below:g}"
    if overall.balanced < rules.retrain_below:
        return "retrain", f"{figures}: below {rules.retrain_below:g}"
    return "keep", figures
