"""Dawid-Skene with priors (IBCC), and with workers who err on the same items (EBCC); the model as a worker.

Baselines for `joint`, and methods to use where labels are frequent. Where they are rare and workers
give few answers each, all confusion matrices may drift together to another meaning of the labels: these
methods have nothing against it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.posterior import Posterior, normalise
from dialint.labeling.aggregation.sparse import worker_label_pairs

RIGHT, WRONG = 4.0, 1.0
"""Pseudo-answers of each worker to each truth: right ones, and wrong ones for each wrong label."""
CLASS, SUBTYPE = 1.0, 0.1
"""Pseudo-tasks of each label, and of all its subtypes together."""
SUBTYPES = 10
STARTS = 10
"""Starts of EBCC: on development crowds the best of 40 was no more accurate than the best of 10."""
MAX_ITERATIONS = 100
TOLERANCE = 1e-4
"""Largest change of a task's probability at which iterating ends."""


def ibcc(answers: Answers, model: Floats | None = None) -> Posterior:
    """Independent Bayesian classifier combination: Dawid-Skene with a Dirichlet prior on the class shares and
    on each row of each worker's confusion matrix, by mean-field variational Bayes.

    `model`, shape (tasks, labels), takes the place of the class shares where it is not NaN.

    Source: Kim and Ghahramani 2012, section 2, there by Gibbs sampling; the updates are those of Simpson et
    al. 2013, section 3. Ours: the rows' hyperparameters are fixed, 4 and 1, as in Li et al.'s comparison.
    """
    return _variational(answers, model, 1, np.random.default_rng(0))


def ebcc(answers: Answers, model: Floats | None = None, seed: int = 0, starts: int = STARTS) -> Posterior:
    """Enhanced Bayesian classifier combination: each label has ten subtypes, in each of which workers have
    confusions of their own, so that they may err on the same items. `model` as in `ibcc`. Each start splits
    the votes among the subtypes at random, by the seed; the start of the highest evidence bound is returned.

    Source: Li, Rubinstein and Cohn 2019, section 4, with the hyperparameters of their experiments. Ours:
    fewer starts than the 40 of their published code.
    """
    random = np.random.default_rng(seed)
    candidates = [_variational(answers, model, SUBTYPES, random) for _ in range(max(1, starts))]
    return max(candidates, key=lambda one: one.log_likelihood)


def model_as_worker(answers: Answers, model: Floats) -> Answers:
    """The answers with one worker more, the last: the model, who gives its most probable label wherever it is
    not NaN."""
    with_model = np.flatnonzero(~np.isnan(model).any(axis=1)).astype(np.int32)
    return replace(
        answers,
        task=np.concatenate([answers.task, with_model]),
        worker=np.concatenate([answers.worker, np.full(len(with_model), len(answers.workers), np.int32)]),
        label=np.concatenate([answers.label, model[with_model].argmax(axis=1).astype(np.int32)]),
        workers=(*answers.workers, "\x1fmodel"),
        seconds=None,
        at=None,
    )


def _variational(
    answers: Answers, model: Floats | None, subtypes: int, random: np.random.Generator
) -> Posterior:
    """The posterior, whose `log_likelihood` is the evidence lower bound."""
    from scipy.special import digamma

    answers = answers.without_constant()  # the prior of their rows would take them for right
    crowd, size = worker_label_pairs(answers), len(answers.labels)
    shares = normalise(answers.votes() + 1e-9)
    split_shares = random.dirichlet(np.ones(subtypes), (len(shares), size))
    responsibilities = (shares[:, :, None] * split_shares).reshape(
        len(shares), -1
    )  # (tasks, labels x subtypes)
    counts = crowd.counts(responsibilities)
    truth_of = np.repeat(np.arange(size), subtypes)
    row = np.where(np.eye(size) > 0, RIGHT, WRONG)
    pseudo_counts = row[truth_of][:, crowd.label].T  # (pairs, labels x subtypes)
    fixed = np.full(shares.shape, np.nan) if model is None else np.log(np.maximum(model, 1e-6))
    without_model = np.asarray(np.isnan(fixed).any(axis=1))
    iterations, change = 0, 1.0
    while iterations < MAX_ITERATIONS and change >= TOLERANCE:
        iterations += 1
        before = counts
        seen = crowd.per_worker(counts) + row.sum(axis=1)[truth_of]
        table = digamma(counts + pseudo_counts) - digamma(seen)[crowd.worker]
        classes = responsibilities[without_model].sum(axis=0).reshape(size, subtypes).sum(axis=1) + CLASS
        within = responsibilities.sum(axis=0).reshape(size, subtypes) + SUBTYPE / subtypes
        base = np.where(without_model[:, None], digamma(classes) - digamma(classes.sum()), fixed)
        split = digamma(within) - digamma(within.sum(axis=1, keepdims=True))
        counts, bound, change = crowd.expectation(
            table, base[:, truth_of] + split.reshape(-1), responsibilities
        )
    bound -= _divergence(classes, np.full(size, CLASS))
    bound -= _divergence(within, np.full(within.shape, SUBTYPE / subtypes))
    bound -= _divergence_of_rows(before, table, pseudo_counts, seen, row.sum(axis=1)[truth_of])
    truth = responsibilities.reshape(-1, size, subtypes).sum(axis=2)
    confusion = np.tile(row, (len(answers.workers), 1, 1))
    confusion[crowd.worker, :, crowd.label] += counts.reshape(-1, size, subtypes).sum(axis=2)
    confusion = normalise(confusion)
    skills = np.einsum("k,wkk->w", truth.mean(axis=0), confusion)
    return Posterior(truth, truth, skills, confusion, iterations, bound)


def _divergence(after: Floats, before: Floats) -> float:
    """Kullback-Leibler divergence in nats of Dirichlets `after` from Dirichlets `before`, one along the last
    axis, summed."""
    from scipy.special import digamma, gammaln

    whole = after.sum(axis=-1, keepdims=True)
    apart = (after - before) * (digamma(after) - digamma(whole)) - gammaln(after) + gammaln(before)
    return float(apart.sum() + gammaln(whole).sum() - gammaln(before.sum(axis=-1)).sum())


def _divergence_of_rows(
    counts: Floats, table: Floats, pseudo_counts: Floats, seen: Floats, prior: Floats
) -> float:
    """The same for the workers' rows, where labels without answers stay at the prior: `counts`, expected logs
    `table` and pseudo-answers `pseudo_counts`, shape (pairs, components), their sums `seen`, shape (workers,
    components), and those of the prior, shape (components,)."""
    from scipy.special import gammaln

    apart = counts * table - gammaln(counts + pseudo_counts) + gammaln(pseudo_counts)
    return float(apart.sum() + (gammaln(seen) - gammaln(prior)).sum())
