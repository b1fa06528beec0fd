"""Dynamic overlap: after each answer, is the truth known well enough, or is another answer needed?

Decides from a posterior and knows neither leases nor money.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from detector.errors import ConfigError
from labeling.truth.answers import Floats
from labeling.truth.posterior import Posterior, normalised

SURE = 1e-6
"""No skill counts as nearer to 0 or 1 than this, so that one answer never proves anything."""


class Decision(StrEnum):
    """What becomes of a task: enough is known, one more answer, or an expert's matter."""

    STOP = "stop"
    ASK = "ask"
    GIVE_UP = "give up"


@dataclass(frozen=True)
class OverlapRule:
    """When asking ends: at `sure` (probability of the winner), not before `minimum` answers and not
    after `maximum`."""

    minimum: int = 2
    maximum: int = 5
    sure: float = 0.95

    def __post_init__(self) -> None:
        if not 0 <= self.minimum <= self.maximum or self.maximum < 1:
            raise ConfigError("E_OPTION", "overlap: the minimum must not be above the maximum")
        if not 0.5 <= self.sure <= 1:
            raise ConfigError("E_OPTION", "overlap: sure must lie between 0.5 and 1")

    def decide(self, confidence: float, n_labelers: int) -> Decision:
        """What to do with a task whose winner has this probability after this many answers."""
        if n_labelers >= self.minimum and confidence >= self.sure:
            return Decision.STOP
        return Decision.ASK if n_labelers < self.maximum else Decision.GIVE_UP


def decisions(posterior: Posterior, n_labelers: NDArray[np.int64], rule: OverlapRule) -> tuple[Decision, ...]:
    """What to do with each task, in the posterior's order."""
    pairs = zip(posterior.confidence, n_labelers, strict=True)
    return tuple(rule.decide(float(confidence), int(count)) for confidence, count in pairs)


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
    return normalised(np.exp(logs - logs.max()))


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
