"""What graded answers say of somebody: pure functions over (what is known, what was said).

Gold holds no span, so presence at the turn is graded, not the boundaries of the evidence.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Row

from dialint.detector.statistics import wilson_interval


class Known(NamedTuple):
    """Gold: whether `code` is there in `turn`."""

    turn: int
    code: str
    present: bool


class Grade(NamedTuple):
    """One question that was answered and whose answer is known."""

    turn: int
    code: str
    present: bool
    said: bool


@dataclass(frozen=True)
class Graded:
    """An answer with all its grades. `seconds` is what it took, if known."""

    number: int
    account: str
    dialogue: str
    seconds: float | None
    grades: tuple[Grade, ...]


def graded(row: Row[Any], known: Sequence[Known], of_dialogue: Collection[str]) -> Graded:
    """An answer (a row of ``annotations``) against what is known of its dialogue. Only what was asked is
    graded; a code in `of_dialogue`, asked of the whole dialogue, once: found anywhere, present anywhere."""
    asked = set(json.loads(row.codes))
    found = {(finding["turn"], finding["code"]) for finding in json.loads(row.findings)}
    grades = []
    whole: dict[str, bool] = {}
    for turn, code, present in known:
        if code not in asked or row.turn not in (None, turn):
            continue
        if code in of_dialogue and row.turn is None:
            whole[code] = whole.get(code, False) or present
        else:
            grades.append(Grade(turn, code, present, (turn, code) in found))
    said = {code for _, code in found}
    last = max((turn for turn, _, _ in known), default=0)
    grades += [Grade(last, code, present, code in said) for code, present in whole.items()]
    return Graded(row.id, row.labeler, row.dialogue, row.seconds, tuple(grades))


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
        """Mean of the shares of hits and of passes, 0 to 1; one of them where the other has no questions;
        none without any. Most turns are clean, so the plain share would flatter who never looks."""
        return _mean((self.hits, self.n_present), (self.passes, self.n_absent), lower=False)

    @property
    def least_balanced(self) -> float:
        """A lower limit of it: the mean of the Wilson limits of both shares (each 97.5 %, so the mean is on
        the safe side); 0 where one of them has no questions."""
        if not (self.n_present and self.n_absent):
            return 0.0
        return _mean((self.hits, self.n_present), (self.passes, self.n_absent), lower=True) or 0.0


def _mean(*shares: tuple[int, int], lower: bool) -> float | None:
    values = [wilson_interval(k, n)[0] if lower else k / n for k, n in shares if n]
    return sum(values) / len(values) if values else None


def accuracy(answers: Iterable[Graded], code: str | None = None) -> Accuracy:
    """All grades of these answers, or those of one code, together."""
    grades = [grade for answer in answers for grade in answer.grades if code in (None, grade.code)]
    present = [grade.said for grade in grades if grade.present]
    absent = [not grade.said for grade in grades if not grade.present]
    return Accuracy(sum(present), len(present), sum(absent), len(absent))
