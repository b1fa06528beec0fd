"""Competence: the dependence of a person's answers on the item, judged by the others' answers.

Accuracy does not show it. Where errors are rare, a person who always says no is right nearly always; with two
labels random answers are right half of the time. The question is whether the answers *move with the items*: a
person's answers are regressed on the expected answers of an average person, by the other answers. The slope
is 1 for an average person, 0 for one who answers without knowledge of the item, in whatever shares, and below
0 for one who mistakes the labels for each other. Without knowledge a person's answers could be permuted over
the same items, which gives the standard error of the slope exactly, whatever the items and the shares are.
The slopes of a crowd are a mixture of a point at 0 and a normal distribution of people who know something;
the posterior of the point is the probability of no knowledge. A person who gave only one answer has no slope;
there the probability that an average person would have done so decides.

An answer must not support itself, nor a pair each other, so posteriors are those of the joint fit without it.
Removing an answer is a subtraction of log probabilities; its effect on the estimates of other workers stays,
which is small wherever there are enough answers to flag anybody.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.joint import JointFit, fit_joint, worker_blocks
from dialint.labeling.aggregation.joint_items import Form
from dialint.labeling.aggregation.posterior import softmax

STRENGTH = 3.0
"""Strength of the shrinkage of a worker's table towards the pool, in answers: shrunk strongly, a worker who
always gives the same answer is improbable each time, and two of them look like colluders (dbdc3 at 12 answers
an item, 2026-11-22: at 100 answers 60 people, at 3 nobody)."""
BLOCK_ROWS = 1 << 17
"""Answers per block."""


@dataclass(frozen=True)
class LeaveOneOut:
    """`answers` and the joint `fit` to them. `totals`, shape (tasks, components), are the log probabilities
    of a task's components given all its answers; `logs`, shape (workers, labels, components), the log
    probabilities of each worker's answers."""

    answers: Answers
    fit: JointFit
    totals: Floats
    logs: Floats

    @property
    def label_probabilities(self) -> Floats:
        """The probability of each label to be the true one of a component, shape (components, labels)."""
        return self.fit.workers.items.label_probabilities

    def component_posterior(self, *rows: NDArray[np.int64]) -> Floats:
        """The probability of each component of each task, shape (n, components), without the answers at
        `rows`: index arrays of shape (n,), all of the same tasks."""
        logs = self.totals[self.answers.task[rows[0]]]
        for row in rows:
            logs = logs - self.logs[self.answers.worker[row], self.answers.label[row]]
        return softmax(logs)[0]

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of all answers in nats, to compare two fits to the same answers."""
        return self.fit.log_likelihood

    @cached_property
    def expected(self) -> Floats:
        """The probability of each answer of an average person, by the other answers to the task, shape
        (answers, labels), rows sum to 1."""
        return self._average(self.fit.workers.items.shares)

    @cached_property
    def truth(self) -> Floats:
        """The probability of each label of each answer's task, by the other answers, shape (answers, labels),
        rows sum to 1."""
        return self._average(self.label_probabilities)

    def _average(self, by_component: Floats) -> Floats:
        """The mean of `by_component`, shape (components, labels), under each answer's left-out posterior."""
        sums = np.empty((len(self.answers), by_component.shape[1]))
        for first in range(0, len(sums), BLOCK_ROWS):
            rows = np.arange(first, min(first + BLOCK_ROWS, len(sums)))
            sums[rows] = self.component_posterior(rows) @ by_component
        return sums


def leave_one_out(answers: Answers, form: Form) -> LeaveOneOut:
    """Fit the joint model, with items of this form, and store the log probabilities of every answer."""
    fit = fit_joint(answers, None, form, strength=STRENGTH)
    pairs, parts = fit.pairs, []
    for _, _, dense in worker_blocks(pairs, fit.counts):
        kind_probabilities = fit.workers.kind_probabilities(dense)
        parts.append(fit.workers.logs(kind_probabilities, fit.workers.raw_tables(dense, kind_probabilities)))
    logs = np.concatenate(parts)
    totals = pairs.by_task @ logs[pairs.worker, pairs.label] + fit.base
    return LeaveOneOut(answers, fit, np.asarray(totals, float), logs)


ROUNDS = 100
FIRST_SPREAD, MIN_SPREAD = 0.3, 0.1
"""Standard deviation of the slopes of people who know something: initial value, and lower bound."""
PRIOR_SHARE, PRIOR_PEOPLE = 0.1, 4.0
"""Prior share of people without knowledge, and its weight in people."""


@dataclass(frozen=True)
class Competence:
    """Figures of each worker, shape (workers,): `slope` with its standard error `spread` under no knowledge
    (NaN where it is not defined), `log_odds` of no knowledge (those of the crowd where there is no evidence),
    `n` answers, and `commonest`, the share of the answers that are the worker's commonest to their code."""

    slope: Floats
    spread: Floats
    log_odds: Floats
    n: Floats
    commonest: Floats

    @property
    def no_knowledge(self) -> Floats:
        """The probability of no knowledge, shape (workers,)."""
        return 1.0 / (1.0 + np.exp(-np.clip(self.log_odds, -700, 700)))


def estimate_competence(codes: Iterable[LeaveOneOut]) -> Competence:
    """Estimate the competence of each worker over all codes, which share their workers."""
    covariation, variance, information, n, commonest, one_answer = np.sum(list(map(_moments, codes)), axis=0)
    has_slope = (information > 1e-9) & (variance > 1e-12)
    slope, spread = np.full(len(has_slope), np.nan), np.full(len(has_slope), np.nan)
    np.divide(covariation, information, out=slope, where=has_slope)
    np.divide(np.sqrt(variance), information, out=spread, where=has_slope)
    ratio = np.where(has_slope | (commonest != n), 0.0, one_answer)
    return Competence(slope, spread, _log_odds(slope, spread, ratio), n, commonest / np.maximum(n, 1))


def _moments(others: LeaveOneOut) -> Floats:
    """Sums of each worker, shape (6, workers): the covariation of answers and expected answers, its variance
    under permutation, the variation of expected answers, the number of answers, that of the commonest one,
    and the log-likelihood ratio of always giving the same answer over an average person.

    Source of the variance: Hoeffding 1951, theorem 2, for the sum of a(i, permuted(i)).
    """
    from scipy.special import gammaln

    answers, expected = others.answers, others.expected
    n_workers, n_labels = len(answers.workers), len(answers.labels)
    keys = answers.worker.astype(np.int64) * n_labels + answers.label
    label_counts = np.bincount(keys, minlength=n_workers * n_labels).reshape(-1, n_labels).astype(float)
    n = label_counts.sum(axis=1)
    means = np.stack([_sums(answers, column) for column in expected.T], axis=1)
    centred = expected - (means / np.maximum(n, 1)[:, None])[answers.worker]
    chosen = np.arange(len(answers)), answers.label
    information, permuted = np.zeros(n_workers), np.zeros(n_workers)
    for one in range(n_labels):
        information += _sums(answers, centred[:, one] ** 2)
        for other in range(n_labels):
            shared = _sums(answers, centred[:, one] * centred[:, other])
            own = label_counts[:, one] * (one == other) - label_counts[:, one] * label_counts[
                :, other
            ] / np.maximum(n, 1)
            permuted += shared * own
    # answers of unknown but constant shares (Jeffreys prior), all of them the same
    log_same = gammaln(n + 0.5) - gammaln(0.5) + gammaln(n_labels / 2) - gammaln(n + n_labels / 2)
    one_answer = log_same - _sums(answers, np.log(expected[chosen]))
    variance, commonest = permuted / np.maximum(n - 1, 1), label_counts.max(axis=1)
    return np.stack([_sums(answers, centred[chosen]), variance, information, n, commonest, one_answer])


def _sums(answers: Answers, values: Floats) -> Floats:
    return np.asarray(np.bincount(answers.worker, values, len(answers.workers)), float)


def _log_odds(slope: Floats, spread: Floats, ratio: Floats) -> Floats:
    """Log odds of the point at 0 against the normal distribution, whose mean, width and share are estimated
    from all workers; `ratio` is the log-likelihood ratio where there is no slope."""
    has_slope = ~np.isnan(slope)
    x, noise, ratio = slope[has_slope], spread[has_slope] ** 2, ratio.copy()
    share, centre, width = PRIOR_SHARE, 1.0, FIRST_SPREAD
    odds = ratio
    for _ in range(ROUNDS):
        total_variance = noise + width**2
        ratio[has_slope] = 0.5 * (
            np.log(total_variance / noise) + (x - centre) ** 2 / total_variance - x**2 / noise
        )
        odds = np.log(share / (1 - share)) + ratio
        knows = 1.0 / (1.0 + np.exp(np.clip(odds, -700, 700)))
        weight = knows[has_slope] / total_variance
        centre = (1.0 + float((weight * x).sum()) * width**2) / (1.0 + float(weight.sum()) * width**2)
        excess = FIRST_SPREAD**2 + float((knows[has_slope] * ((x - centre) ** 2 - noise)).sum())
        width = max(MIN_SPREAD, np.sqrt(max(0.0, excess / (1.0 + float(knows[has_slope].sum())))))
        share = (PRIOR_SHARE * PRIOR_PEOPLE + float((1 - knows).sum())) / (PRIOR_PEOPLE + len(odds))
    return odds
