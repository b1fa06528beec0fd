"""Adaptive overlap: after each answer, is the label sure enough, or is another answer needed?

Another one is worth it as far as it is expected to make the decision right: where people are divided, no
number of answers within the maximum makes the decision sure, and asking ends early; where answers are merely
few, it goes on. Decides from a posterior and knows neither leases nor money.

Source: expected value of information (Raiffa and Schlaifer 1961, preposterior analysis) with the share of
right decisions as the gain. A single answer more often cannot turn a decision that three could, so that the
gain of several is taken, for each of them (Frazier and Powell 2010 on why one step ahead is not enough).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from dialint.detector.errors import ConfigError
from dialint.labeling.aggregation.answers import Floats
from dialint.labeling.aggregation.joint_items import possible_votes
from dialint.labeling.aggregation.posterior import Components, Posterior
from dialint.labeling.aggregation.sparse import CELLS

GAIN = 0.01
"""Right decisions that an answer must be expected to bring: one in a hundred answers."""
LOOKAHEAD, OUTCOMES = 5, 150
"""The most further answers that are simulated, and the most votes that they may give: many labels have
more."""


class Decision(StrEnum):
    """What becomes of a task: it is sure, it needs one more answer, or an expert decides."""

    STOP = "stop"
    ASK = "ask"
    GIVE_UP = "give up"


@dataclass(frozen=True)
class OverlapRule:
    """When asking ends: at `sure` (probability of the winner), not before `minimum` answers and not after
    `maximum`; and where no further answer is expected to raise the share of right decisions by `gain`. With a
    gain of 0 what is not sure is asked about for as long as may be."""

    minimum: int = 2
    maximum: int = 5
    sure: float = 0.95
    gain: float = GAIN

    def __post_init__(self) -> None:
        if not 0 <= self.minimum <= self.maximum or self.maximum < 1:
            raise ConfigError("E_OPTION", "overlap: the minimum must not be above the maximum")
        if not 0.5 <= self.sure <= 1:
            raise ConfigError("E_OPTION", "overlap: sure must lie between 0.5 and 1")
        if not 0 <= self.gain <= 1:
            raise ConfigError("E_OPTION", "overlap: gain must lie between 0 and 1")

    def decide(self, confidence: float, n_labelers: int, gains: Sequence[float] | Floats = ()) -> Decision:
        """What to do with a task whose winner has this probability after this many answers; `gains` as a row
        of `expected_gains`, empty where they are not known: then it is asked on."""
        if n_labelers >= self.minimum and confidence >= self.sure:
            return Decision.STOP
        left = min(self.maximum - n_labelers, len(gains))
        if n_labelers >= self.maximum:
            return Decision.GIVE_UP
        worth = n_labelers < self.minimum or left == 0 or gains[left - 1] >= self.gain
        return Decision.ASK if worth else Decision.GIVE_UP


def decisions(posterior: Posterior, n_labelers: NDArray[np.int64], rule: OverlapRule) -> tuple[Decision, ...]:
    """What to do with each task, in the posterior's order."""
    components = posterior.components
    gains = np.zeros((len(n_labelers), 0)) if components is None else expected_gains(components)
    rows = zip(posterior.confidence, n_labelers, gains, strict=True)
    return tuple(rule.decide(float(confidence), int(count), row) for confidence, count, row in rows)


def expected_gains(components: Components) -> Floats:
    """By how much the probability that the winner is right is expected to rise for each further answer by
    people of whom nothing is known, if up to 1, 2, ... `LOOKAHEAD` are asked for and as many as pay best are:
    shape (tasks, at most `LOOKAHEAD`), rows rise."""
    size = components.shares.shape[1]
    most = max(n for n in range(1, LOOKAHEAD + 1) if n == 1 or math.comb(n + size - 1, n) <= OUTCOMES)
    now = (components.responsibilities @ components.label_probabilities).max(axis=1)
    gains = np.zeros((len(components.responsibilities), most))
    for n in range(1, most + 1):
        votes = possible_votes(n, size)
        orders = math.factorial(n) / np.array([math.prod(map(math.factorial, one)) for one in votes.tolist()])
        probability = np.exp(np.log(components.shares) @ votes.T) * orders  # (components, votes)
        for first in range(0, len(gains), step := max(1, CELLS // len(votes))):
            rows = slice(first, first + step)
            right = (
                components.responsibilities[rows] @ (probability * of[:, None])
                for of in components.label_probabilities.T
            )
            gains[rows, n - 1] = (reduce(np.maximum, right).sum(axis=1) - now[rows]) / n
    return np.maximum.accumulate(np.maximum(gains, 0.0), axis=1)
