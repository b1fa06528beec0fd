"""Dawid-Skene and its one-coin form by expectation maximisation, vectorised and sparse.

No prior but a floor of 1e-10 under every probability: with few labels an item it overfits, which is
what `joint` is for.

Source: Dawid and Skene 1979; Zhang, Chen, Zhou and Jordan 2016 for one coin. The start, the order of
the steps and the stopping rule are those of crowd-kit 1.4.2, so that its argmax is ours.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.posterior import Posterior, normalise, softmax
from dialint.labeling.aggregation.sparse import Pairs, worker_label_pairs

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
