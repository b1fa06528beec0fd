"""The human ceiling: how often one person says what the others, taken together, say.

A model that agrees with people as often as they agree with each other cannot be told apart from a person
by this measure; it need not be as good as all of them together.
"""

from __future__ import annotations

import numpy as np

from dialint.detector.statistics import ROUNDS, Estimate, bootstrap_estimate, ratio
from dialint.labeling.aggregation.answers import Answers, Floats


def left_out_agreement(answers: Answers) -> Floats:
    """For each answer, shape (answers,), 1 if it is the plurality of the task's other answers; a share
    if several labels lead, one over how many; NaN without others."""
    others = answers.votes()[answers.task]
    row = np.arange(len(answers))
    others[row, answers.label] -= 1.0
    top = others.max(axis=1)
    leads = others == top[:, None]
    agreed = leads[row, answers.label] / leads.sum(axis=1)
    return np.where(top > 0, agreed, np.nan)


def human_ceiling(answers: Answers, rounds: int = ROUNDS, seed: int = 0) -> Estimate:
    """Leave-one-out agreement over all answers, with its interval by task."""
    return bootstrap_estimate(_by_task(answers, np.ones(len(answers), bool)), _share, rounds, seed)


def worker_agreement(answers: Answers, worker: int, rounds: int = ROUNDS, seed: int = 0) -> Estimate:
    """Leave-one-out agreement of one worker, given as an index."""
    return bootstrap_estimate(_by_task(answers, answers.worker == worker), _share, rounds, seed)


def _by_task(answers: Answers, chosen: np.typing.NDArray[np.bool_]) -> Floats:
    agreed = left_out_agreement(answers)
    told = chosen & ~np.isnan(agreed)
    sums = np.bincount(answers.task[told], weights=agreed[told], minlength=len(answers.tasks))
    counts = np.bincount(answers.task[told], minlength=len(answers.tasks))
    return np.column_stack([sums, counts]).astype(float)


def _share(sums: Floats) -> Floats:
    return ratio(sums[:, 0], sums[:, 1])
