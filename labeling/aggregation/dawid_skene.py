"""Dawid-Skene, its one-coin form and, with priors, IBCC: vectorised and sparse.

Dawid-Skene has no prior but a floor of 1e-10 under every probability: with few labels an item it overfits,
which is what `joint` is for. The start, the order of the steps and the stopping rule are those of crowd-kit
1.4.2, so that its argmax is ours, at a tenth of its time. IBCC is a baseline for `joint`, and a method where
labels are frequent. Where they are rare and workers give few answers each, all confusion matrices may drift
together to another meaning of the labels: neither method has anything against it.

Source: Dawid and Skene 1979; Zhang, Chen, Zhou and Jordan 2016 for one coin.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.posterior import Pairs, Posterior, normalise, softmax, worker_label_pairs

FLOOR = 1e-10
MAX_ITERATIONS = 100
TOLERANCE = 1e-5
"""Least gain of the bound for one answer, in nats, for which another iteration is worth it."""

Tables = Callable[[Pairs, Floats], Floats]
"""From expected counts, shape (pairs, labels), to the probability of each pair's answer given each truth,
same shape."""


def dawid_skene(answers: Answers, max_iterations: int = MAX_ITERATIONS) -> Posterior:
    """A full confusion matrix for every worker."""
    return _fit(answers, _matrices, max_iterations)


def one_coin(answers: Answers, max_iterations: int = MAX_ITERATIONS) -> Posterior:
    """One skill for every worker; wrong answers fall evenly on the other labels. Workers whose answer is
    always the same are left out: one skill cannot say that they know nothing, as a matrix does."""
    return _fit(answers.without_constant(), _coins, max_iterations)


def _fit(answers: Answers, tables: Tables, max_iterations: int) -> Posterior:
    crowd = worker_label_pairs(answers)
    votes = answers.votes()
    truth = normalise(np.where(votes.any(axis=1, keepdims=True), votes, votes.sum(axis=0)))
    prior, table = truth.mean(axis=0), tables(crowd, crowd.counts(truth))
    bound, iterations, likelihood = -np.inf, 0, float("nan")
    while iterations < max_iterations:
        iterations += 1
        logs = crowd.by_task @ np.log(table) + np.log(np.maximum(prior, FLOOR))
        truth, sums = softmax(logs)
        likelihood = float(sums.sum())
        counts = crowd.counts(truth)
        prior, table = truth.mean(axis=0), tables(crowd, counts)
        new_bound = _bound(counts, truth, prior, table) / len(answers)
        if new_bound - bound < TOLERANCE:
            break
        bound = new_bound
    confusion = _confusion(crowd, table)
    skills = np.einsum("k,wkk->w", prior, confusion)
    return Posterior(truth, truth, skills, confusion, iterations, likelihood)


def _matrices(crowd: Pairs, counts: Floats) -> Floats:
    counts = np.maximum(counts, FLOOR)
    return np.asarray(counts / crowd.per_worker(counts)[crowd.worker], float)


def _coins(crowd: Pairs, counts: Floats) -> Floats:
    right = counts[np.arange(len(counts)), crowd.label]
    totals = crowd.per_worker(crowd.answers[:, None])[crowd.worker]
    skill = crowd.per_worker(right[:, None])[crowd.worker] / totals
    table = np.repeat((1.0 - skill) / max(1, crowd.n_labels - 1), crowd.n_labels, axis=1)
    table[np.arange(len(table)), crowd.label] = skill[:, 0]
    return np.clip(table, FLOOR, 1.0 - FLOOR)


def _bound(counts: Floats, truth: Floats, prior: Floats, table: Floats) -> float:
    """Crowd-kit's bound, which counts the prior once an answer and not once a task: it decides when to
    stop and nothing else."""
    joint = float((counts * (np.log(table) + np.log(np.maximum(prior, FLOOR)))).sum())
    floored = np.maximum(truth, FLOOR)
    return joint - float((floored * np.log(floored)).sum())


def _confusion(crowd: Pairs, table: Floats) -> Floats:
    """(workers, truth, answer); an answer that a worker never gave has no share in any row."""
    confusion = np.zeros((crowd.n_workers, crowd.n_labels, crowd.n_labels))
    confusion[crowd.worker, :, crowd.label] = table
    return confusion


RIGHT, WRONG = 4.0, 1.0
"""Of IBCC: pseudo-answers of each worker to each truth, right ones, and wrong ones for each wrong label."""
PSEUDO_TASKS = 1.0
"""Of IBCC: pseudo-tasks of each label."""
CHANGE = 1e-4
"""Of IBCC: largest change of a task's probability at which iterating ends."""


def ibcc(answers: Answers, model: Floats | None = None) -> Posterior:
    """Independent Bayesian classifier combination: Dawid-Skene with a Dirichlet prior on the class shares and
    on each row of each worker's confusion matrix, by mean-field variational Bayes.

    `model`, shape (tasks, labels), takes the place of the class shares where it is not NaN. The
    `log_likelihood` is that of the tasks under the expected logarithms.

    Source: Kim and Ghahramani 2012, section 2, there by Gibbs sampling; the updates are those of Simpson et
    al. 2013, section 3. Ours: the rows' hyperparameters are fixed, 4 and 1, as in Li et al.'s comparison.
    """
    from scipy.special import digamma

    answers = answers.without_constant()  # the prior of their rows would take them for right
    crowd, size = worker_label_pairs(answers), len(answers.labels)
    truth = normalise(answers.votes() + 1e-9)
    counts, row = crowd.counts(truth), np.where(np.eye(size) > 0, RIGHT, WRONG)
    fixed = np.full(truth.shape, np.nan) if model is None else np.log(np.maximum(model, 1e-6))
    without_model = np.asarray(np.isnan(fixed).any(axis=1))
    iterations, change, likelihood = 0, 1.0, float("nan")
    while iterations < MAX_ITERATIONS and change >= CHANGE:
        iterations += 1
        seen = crowd.per_worker(counts) + row.sum(axis=1)
        table = digamma(counts + row[:, crowd.label].T) - digamma(seen)[crowd.worker]
        classes = truth[without_model].sum(axis=0) + PSEUDO_TASKS
        base = np.where(without_model[:, None], digamma(classes) - digamma(classes.sum()), fixed)
        counts, likelihood, change = crowd.expectation(table, base, truth)
    confusion = np.tile(row, (len(answers.workers), 1, 1))
    confusion[crowd.worker, :, crowd.label] += counts
    confusion = normalise(confusion)
    skills = np.einsum("k,wkk->w", truth.mean(axis=0), confusion)
    return Posterior(truth, truth, skills, confusion, iterations, likelihood)
