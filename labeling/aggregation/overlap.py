"""Dynamic overlap: after each answer, is the truth known well enough, or is another answer needed?

Another one is worth asking for as far as it is expected to make the decision right: where people lean to both
sides alike, no number of answers allowed makes the decision sure, and asking ends early; where what was said
so far is merely little, it goes on. Decides from a posterior and knows neither leases nor money.

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
from dialint.labeling.aggregation.posterior import Components, Posterior, normalise
from dialint.labeling.aggregation.sparse import CELLS

SURE = 1e-6
"""No skill counts as nearer to 0 or 1 than this, so that one answer never proves anything."""


GAIN = 0.01
"""Right decisions that an answer must be expected to bring: one in a hundred answers."""
LOOKAHEAD, OUTCOMES = 5, 150
"""Further answers that are foretold at most, and kinds of votes that they may give, which many labels make
more of."""


class Decision(StrEnum):
    """What becomes of a task: enough is known, one more answer, or an expert's matter."""

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
    known = posterior.components
    gains = np.zeros((len(n_labelers), 0)) if known is None else expected_gains(known)
    rows = zip(posterior.confidence, n_labelers, gains, strict=True)
    return tuple(rule.decide(float(confidence), int(count), row) for confidence, count, row in rows)


def expected_gains(known: Components) -> Floats:
    """By how much the probability that the winner is right is expected to rise for each further answer by
    people of whom nothing is known, if up to 1, 2, ... `LOOKAHEAD` are asked for and as many as pay best are:
    shape (tasks, at most `LOOKAHEAD`), rows rise."""
    size = known.shares.shape[1]
    most = max(n for n in range(1, LOOKAHEAD + 1) if n == 1 or math.comb(n + size - 1, n) <= OUTCOMES)
    now = (known.member @ known.verdicts).max(axis=1)
    gains = np.zeros((len(known.member), most))
    for n in range(1, most + 1):
        given = possible_votes(n, size)
        orders = math.factorial(n) / np.array([math.prod(map(math.factorial, one)) for one in given.tolist()])
        chance = np.exp(np.log(known.shares) @ given.T) * orders  # (components, votes)
        for first in range(0, len(gains), step := max(1, CELLS // len(given))):
            rows = slice(first, first + step)
            right = (known.member[rows] @ (chance * of[:, None]) for of in known.verdicts.T)
            gains[rows, n - 1] = (reduce(np.maximum, right).sum(axis=1) - now[rows]) / n
    return np.maximum.accumulate(np.maximum(gains, 0.0), axis=1)


def one_coin_truth(
    given: Sequence[int], skills: Sequence[float], n_labels: int, prior: Floats | None = None
) -> Floats:
    """The probability of each label, shape (labels,), after answers `given` by people of those `skills`.

    A person is right with probability skill and otherwise gives any of the other labels alike. `prior`
    is even if none is given; a model's calibrated probabilities may stand there.
    """
    logs = np.zeros(n_labels) if prior is None else np.log(np.maximum(prior, SURE))
    for label, skill in zip(given, np.clip(skills, SURE, 1 - SURE), strict=True):
        wrong = np.full(n_labels, np.log((1.0 - skill) / max(1, n_labels - 1)))
        wrong[label] = np.log(skill)
        logs = logs + wrong
    return normalise(np.exp(logs - logs.max()))


def asked(
    given: Sequence[int],
    skills: Sequence[float],
    n_labels: int,
    rule: OverlapRule,
    prior: Floats | None = None,
) -> tuple[Floats, int]:
    """The truth after asking people in order for as long as the rule says, and how many were asked."""
    truth = one_coin_truth((), (), n_labels, prior)
    for count in range(len(given) + 1):
        truth = one_coin_truth(given[:count], skills[:count], n_labels, prior)
        if rule.decide(float(truth.max()), count) is not Decision.ASK:
            return truth, count
    return truth, len(given)
