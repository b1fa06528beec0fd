"""Who is strict and who is lenient: each one's share of yes against what the others say of the same.

On each question that others answered, too, the difference is one's own answer (1 or 0) less the share of
yes among the others; strict is above 0. Intervals are bootstrapped by dialogue, as turns of a dialogue
hang together, and hold for one person and code at a time: of a hundred even people some five will seem to
lean. It does not say who is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dialint.detector.statistics import Estimate, bootstrap_estimate, ratio
from dialint.labeling.aggregation.dialogue_answers import CodeAnswers, CollectedAnswers

LEAST_DIALOGUES = 8
"""Fewer say too little for an interval to mean anything."""
ALL = "all"
"""Stands for all codes together."""
Leans = Literal["strict", "lenient", "even", "too few"]


@dataclass(frozen=True)
class Leaning:
    """One person on one code: `yes` of `n` questions, where the others' mean share is `others`;
    `difference` of the two with its interval, its `n` counting dialogues."""

    worker: str
    code: str
    n: int
    yes: float
    others: float
    difference: Estimate

    @property
    def leans(self) -> Leans:
        """What may be said."""
        if self.difference.n < LEAST_DIALOGUES:
            return "too few"
        if self.difference.low > 0:
            return "strict"
        return "lenient" if self.difference.high < 0 else "even"


def leanings(found: CollectedAnswers, rounds: int = 1000, seed: int = 0) -> list[Leaning]:
    """Everybody's leaning, on all codes together first and then code by code, people by name."""
    told: dict[tuple[str, str], list[tuple[str, float, float]]] = {}
    for code in sorted(found.codes):
        for worker, dialogue, own, others in _compared(found.codes[code]):
            for key in ((worker, ALL), (worker, code)):
                told.setdefault(key, []).append((dialogue, own, others))
    order = sorted(told, key=lambda key: (key[0], key[1] != ALL, key[1]))
    return [_leaning(worker, code, told[worker, code], rounds, seed) for worker, code in order]


def _compared(answers: CodeAnswers) -> Iterator[tuple[str, str, float, float]]:
    """Who, about which dialogue, own answer and the others' share of yes."""
    for item, votes in answers.said.items():
        if len(votes) > 1:
            yes = sum(votes.values())
            for worker, own in votes.items():
                yield worker, item.dialogue, float(own), (yes - own) / (len(votes) - 1)


def _leaning(worker: str, code: str, rows: list[tuple[str, float, float]], rounds: int, seed: int) -> Leaning:
    dialogues, place = np.unique([dialogue for dialogue, _, _ in rows], return_inverse=True)
    own = np.array([row[1] for row in rows])
    others = np.array([row[2] for row in rows])
    sums = np.column_stack(
        [
            np.bincount(place, own - others, minlength=len(dialogues)),
            np.bincount(place, minlength=len(dialogues)).astype(float),
        ]
    )
    difference = bootstrap_estimate(sums, lambda drawn: ratio(drawn[:, 0], drawn[:, 1]), rounds, seed)
    return Leaning(worker, code, len(rows), float(own.mean()), float(others.mean()), difference)
