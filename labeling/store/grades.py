"""Graded answers: labelers' answers compared with gold, and the accuracy that follows.

Grades are computed from the present annotations and gold and not stored: correcting gold corrects every
grade. Gold has no span, so presence in the turn is graded, not the boundaries of the evidence. Permissions
are checked by the caller.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Row, bindparam, select

from dialint.detector import taxonomy
from dialint.detector.statistics import wilson_interval
from dialint.labeling.store.database.schema import annotation_rows, gold, tasks
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.records import Pool


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
        return _mean((self.hits, self.n_present), (self.passes, self.n_absent), lower=False)

    @property
    def least_balanced(self) -> float:
        """Lower limit of `balanced`: the mean of the lower Wilson limits of both shares (each 97.5 %, so the
        mean is conservative); 0 where one of them has no questions."""
        if not (self.n_present and self.n_absent):
            return 0.0
        return _mean((self.hits, self.n_present), (self.passes, self.n_absent), lower=True) or 0.0


def _mean(*shares: tuple[int, int], lower: bool) -> float | None:
    values = [wilson_interval(k, n)[0] if lower else k / n for k, n in shares if n]
    return sum(values) / len(values) if values else None


def measure_accuracy(answers: Iterable[GradedAnswer]) -> Accuracy:
    """Accuracy over all grades of these answers."""
    grades = [grade for answer in answers for grade in answer.grades]
    present = [grade.marked for grade in grades if grade.present]
    absent = [not grade.marked for grade in grades if not grade.present]
    return Accuracy(sum(present), len(present), sum(absent), len(absent))


_NEWER = annotation_rows.alias()
NEWEST = ~select(_NEWER.c.id).where(_NEWER.c.supersedes == annotation_rows.c.id).exists()
"""Selects answers that no later annotation supersedes."""

_COLUMNS = [annotation_rows.c[name] for name in ("id", "labeler", "dialogue", "turn", "codes", "findings", "seconds")]  # fmt: skip # noqa: E501
_ANSWERS = select(*_COLUMNS).join(tasks, tasks.c.id == annotation_rows.c.task).where(NEWEST)
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
