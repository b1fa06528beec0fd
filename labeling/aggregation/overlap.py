"""Adaptive overlap: whether the label of a task is certain enough after each answer, or one more is needed.

One more answer is worthwhile as far as it is expected to make the decision right: where people are divided,
no number of answers up to the maximum makes the decision certain, and no more are requested; where answers
are merely few, they are. Decides from a posterior, without leases and costs.

Source: expected value of information (Raiffa and Schlaifer 1961, preposterior analysis) with the share of
right decisions as the gain. One answer often cannot change a decision that three could, so the gain of
several answers is computed, for each of them (Frazier and Powell 2010 on why one step ahead is not enough).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce

import numpy as np

from dialint.detector.errors import ConfigError
from dialint.labeling.aggregation.answers import Floats
from dialint.labeling.aggregation.joint_items import possible_votes
from dialint.labeling.aggregation.posterior import CELLS, Components

GAIN = 0.01
"""Expected gain in right decisions from which an answer is requested: one in a hundred answers."""
LOOKAHEAD, OUTCOMES = 5, 150
"""Maximum number of further answers considered, and of the different votes that they may give; with many
labels fewer answers are considered."""


class Decision(StrEnum):
    """What to do with a task: it is certain, it needs one more answer, or an expert decides."""

    STOP = "stop"
    ASK = "ask"
    GIVE_UP = "give up"


@dataclass(frozen=True)
class OverlapRule:
    """When no more answers are requested: from probability `sure` of the winner, between `minimum` and
    `maximum` answers; and where no further answer is expected to raise the share of right decisions by
    `gain`. With a gain of 0 tasks that are not certain get the maximum."""

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
        """What to do with a task whose winner has this probability after this many answers; `gains` is a row
        of `expected_gains`; if it is empty, one more answer is requested."""
        if n_labelers >= self.minimum and confidence >= self.sure:
            return Decision.STOP
        left = min(self.maximum - n_labelers, len(gains))
        if n_labelers >= self.maximum:
            return Decision.GIVE_UP
        is_worthwhile = n_labelers < self.minimum or left == 0 or gains[left - 1] >= self.gain
        return Decision.ASK if is_worthwhile else Decision.GIVE_UP


def expected_gains(components: Components) -> Floats:
    """The expected increase of the probability of the winner for each further answer of unknown workers, with
    up to 1, 2, ... `LOOKAHEAD` answers and the best number of them: shape (tasks, at most `LOOKAHEAD`), rows
    are ascending."""
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
