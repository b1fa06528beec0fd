"""Counting votes: every vote alike, or weighted by how often its giver sides with the others."""

from __future__ import annotations

import numpy as np

from labeling.truth.answers import Answers, Floats
from labeling.truth.posterior import Posterior, normalised


def majority(answers: Answers) -> Posterior:
    """Shares of the votes. `skills` are the shares of a worker's answers that agree with the winner."""
    shares = normalised(answers.votes())
    return Posterior(shares, shares, skills=_agreement(answers, shares))


def wawa(answers: Answers) -> Posterior:
    """Votes weighted by each worker's agreement with the plain majority.

    Source: Appen's "worker agreement with aggregate". We add half a right answer of one to each worker,
    so that nobody's weight is 0 or rests on a single answer.
    """
    agreed = _agreement(answers, normalised(answers.votes()), smoothing=1.0)
    size = len(answers.labels)
    flat = np.bincount(
        answers.task.astype(np.int64) * size + answers.label,
        weights=agreed[answers.worker],
        minlength=len(answers.tasks) * size,
    )
    weighted = normalised(np.asarray(flat, float).reshape(-1, size))
    return Posterior(weighted, weighted, skills=agreed)


def _agreement(answers: Answers, shares: Floats, smoothing: float = 0.0) -> Floats:
    """The share of each worker's answers that lead, one over how many lead in a tie; `smoothing` answers
    at one half on top. NaN for a worker without any."""
    leads = shares == shares.max(axis=1, keepdims=True)
    agreed = leads[answers.task, answers.label] / leads.sum(axis=1)[answers.task]
    right = np.bincount(answers.worker, weights=agreed, minlength=len(answers.workers))
    given = np.bincount(answers.worker, minlength=len(answers.workers)) + smoothing
    found = np.full(len(given), np.nan)
    np.divide(right + smoothing / 2, given, out=found, where=given > 0)
    return found
