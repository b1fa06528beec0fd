"""Competence: whether a person's answers depend on the item at all.

Accuracy does not tell. Where errors are rare, somebody who always says no is right nearly always; with two
labels a coin is right half of the time. What tells is whether the answers *move with the items*: a person's
answers are regressed on what an average person would have answered in their place, by the other answers. The
slope is 1 for an average person, 0 for one who answers without knowledge of the item, in whatever shares, and
below 0 for one who has mistaken the labels. Without knowledge a person's answers could be permuted over the
same items, which gives the standard error of the slope exactly, whatever the items and the shares are. The
slopes of a crowd are a mixture of a point at 0 and a normal distribution of people who know something; the
posterior of the point is the probability of no knowledge. A person who gave one answer only has no slope;
there the probability that an average person would have done so decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass

import numpy as np

from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.raters.leave_one_out import LeaveOneOut

ROUNDS = 100
FIRST_SPREAD, LEAST_SPREAD = 0.3, 0.1
"""Standard deviation of the slopes of people who know something: initial value, and lower bound."""
PRIOR_SHARE, PRIOR_PEOPLE = 0.1, 4.0
"""Prior share of people without knowledge, and the number of people it is worth."""


@dataclass(frozen=True)
class Competence:
    """Of each worker, shape (workers,): `slope` with its standard error `spread` under blindness (NaN
    without answers that could tell), `log_odds` of knowing nothing (those of the crowd where nothing
    tells), `n` answers, and `commonest`, the share of the answers that are their code's commonest."""

    slope: Floats
    spread: Floats
    log_odds: Floats
    n: Floats
    commonest: Floats

    @property
    def no_knowledge(self) -> Floats:
        """The probability of no knowledge, shape (workers,)."""
        return 1.0 / (1.0 + np.exp(-np.clip(self.log_odds, -700, 700)))


@dataclass(frozen=True)
class _Moments:
    """Of each worker, shape (workers,): covariation of answers and expected answers, its `variance` when
    answers are dealt anew, variation of what is expected, answers, how often the commonest was given, and
    the logarithm of the chance of one's answers had one always wanted to give the same, over that of an
    average person."""

    moved: Floats
    variance: Floats
    information: Floats
    n: Floats
    commonest: Floats
    stubborn: Floats


def estimate_competence(codes: Iterable[LeaveOneOut]) -> Competence:
    """The competence of each worker, over all codes; they share their workers."""
    parts = [astuple(_moments(others)) for others in codes]
    sums = _Moments(*(np.sum([part[place] for part in parts], axis=0) for place in range(6)))
    tells = (sums.information > 1e-9) & (sums.variance > 1e-12)
    slope, spread = np.full(len(tells), np.nan), np.full(len(tells), np.nan)
    np.divide(sums.moved, sums.information, out=slope, where=tells)
    np.divide(np.sqrt(sums.variance), sums.information, out=spread, where=tells)
    stubborn = np.where(sums.commonest == sums.n, sums.stubborn, 0.0)
    log_odds = _log_odds(slope, spread, np.where(tells, 0.0, stubborn))
    return Competence(slope, spread, log_odds, sums.n, sums.commonest / np.maximum(sums.n, 1))


def _moments(others: LeaveOneOut) -> _Moments:
    """Source of the variance: Hoeffding 1951, theorem 2, for the sum of a(i, dealt(i))."""
    from scipy.special import gammaln

    answers, expected = others.answers, others.expected
    n_workers, n_labels = len(answers.workers), len(answers.labels)
    keys = answers.worker.astype(np.int64) * n_labels + answers.label
    label_counts = np.bincount(keys, minlength=n_workers * n_labels).reshape(-1, n_labels).astype(float)
    n = label_counts.sum(axis=1)
    means = np.stack([_sums(answers, column) for column in expected.T], axis=1)
    centred = expected - (means / np.maximum(n, 1)[:, None])[answers.worker]
    chosen = np.arange(len(answers)), answers.label
    information, dealt = np.zeros(n_workers), np.zeros(n_workers)
    for one in range(n_labels):
        information += _sums(answers, centred[:, one] ** 2)
        for other in range(n_labels):
            shared = _sums(answers, centred[:, one] * centred[:, other])
            own = label_counts[:, one] * (one == other) - label_counts[:, one] * label_counts[
                :, other
            ] / np.maximum(n, 1)
            dealt += shared * own
    # answers of unknown but constant shares (Jeffreys), all of them alike
    alike = gammaln(n + 0.5) - gammaln(0.5) + gammaln(n_labels / 2) - gammaln(n + n_labels / 2)
    stubborn = alike - _sums(answers, np.log(expected[chosen]))
    moved = _sums(answers, centred[chosen])
    return _Moments(moved, dealt / np.maximum(n - 1, 1), information, n, label_counts.max(axis=1), stubborn)


def _sums(answers: Answers, values: Floats) -> Floats:
    return np.asarray(np.bincount(answers.worker, values, len(answers.workers)), float)


def _log_odds(slope: Floats, spread: Floats, ratio: Floats) -> Floats:
    """Log odds of the point at 0 against the normal, whose mean, width and share are estimated from all;
    `ratio` stands for the logarithm of the likelihoods where there is no slope."""
    has_slope = ~np.isnan(slope)
    x, noise, ratio = slope[has_slope], spread[has_slope] ** 2, ratio.copy()
    share, centre, width = PRIOR_SHARE, 1.0, FIRST_SPREAD
    odds = ratio
    for _ in range(ROUNDS):
        hill = noise + width**2
        ratio[has_slope] = 0.5 * (np.log(hill / noise) + (x - centre) ** 2 / hill - x**2 / noise)
        odds = np.log(share / (1 - share)) + ratio
        knows = 1.0 / (1.0 + np.exp(np.clip(odds, -700, 700)))
        weight = knows[has_slope] / hill
        centre = (1.0 + float((weight * x).sum()) * width**2) / (1.0 + float(weight.sum()) * width**2)
        excess = FIRST_SPREAD**2 + float((knows[has_slope] * ((x - centre) ** 2 - noise)).sum())
        width = max(LEAST_SPREAD, np.sqrt(max(0.0, excess / (1.0 + float(knows[has_slope].sum())))))
        share = (PRIOR_SHARE * PRIOR_PEOPLE + float((1 - knows).sum())) / (PRIOR_PEOPLE + len(odds))
    return odds
