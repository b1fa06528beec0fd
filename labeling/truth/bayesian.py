"""Dawid-Skene with priors (IBCC), and with workers who err on the same items (EBCC); the model as a worker.

Peers to measure `joint` by, and methods to use where labels are frequent. Where they are rare and workers
give few answers each, all confusion matrices may drift together to where a label means something else;
nothing holds them here.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from labeling.truth.answers import Answers, Floats
from labeling.truth.posterior import Posterior, normalised, softmax
from labeling.truth.sparse import pairs

RIGHT, WRONG = 4.0, 1.0
"""Pseudo-answers of each worker to each truth: right ones, and wrong ones for each wrong label."""
CLASS, SUBTYPE = 1.0, 0.1
"""Pseudo-tasks of each label, and of all its subtypes together."""
SUBTYPES = 10
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
    return _variational(answers, model, 1, 0)


def ebcc(answers: Answers, model: Floats | None = None, seed: int = 0) -> Posterior:
    """Enhanced Bayesian classifier combination: each label has ten subtypes, in each of which workers have
    confusions of their own, so that they may err on the same items. `model` as in `ibcc`.

    Source: Li, Rubinstein and Cohn 2019, section 4, with the hyperparameters of their experiments. Ours: one
    start, in which votes are dealt to the subtypes by the seed, not the best of many by the evidence bound.
    """
    return _variational(answers, model, SUBTYPES, seed)


def model_as_worker(answers: Answers, model: Floats) -> Answers:
    """The answers with one worker more, the last: the model, who gives its most probable label wherever it is
    not NaN."""
    spoken = np.flatnonzero(~np.isnan(model).any(axis=1)).astype(np.int32)
    return replace(
        answers,
        task=np.concatenate([answers.task, spoken]),
        worker=np.concatenate([answers.worker, np.full(len(spoken), len(answers.workers), np.int32)]),
        label=np.concatenate([answers.label, model[spoken].argmax(axis=1).astype(np.int32)]),
        workers=(*answers.workers, "\x1fmodel"),
        seconds=None,
        at=None,
    )


def _variational(answers: Answers, model: Floats | None, subtypes: int, seed: int) -> Posterior:
    from scipy.special import digamma

    crowd, size = pairs(answers), len(answers.labels)
    votes = answers.votes()
    shares = normalised(votes + 1e-9)
    dealt = np.random.default_rng(seed).dirichlet(np.ones(subtypes), (len(shares), size))
    member = (shares[:, :, None] * dealt).reshape(len(shares), -1)  # (tasks, labels x subtypes)
    truth_of = np.repeat(np.arange(size), subtypes)
    row = np.where(np.eye(size) > 0, RIGHT, WRONG)
    fixed = np.full(shares.shape, np.nan) if model is None else np.log(np.maximum(model, 1e-6))
    iterations, change, sums = 0, 1.0, np.zeros(0)
    while iterations < MAX_ITERATIONS and change >= TOLERANCE:
        iterations += 1
        counts = crowd.by_pair @ member
        seen = crowd.per_worker(counts)[crowd.worker] + row.sum(axis=1)[truth_of]
        table = digamma(counts + row[truth_of][:, crowd.label].T) - digamma(seen)
        tasks = member.sum(axis=0).reshape(size, subtypes)
        classes, within = tasks.sum(axis=1) + CLASS, tasks + SUBTYPE / subtypes
        base = np.where(np.isnan(fixed), digamma(classes) - digamma(classes.sum()), fixed)
        split = digamma(within) - digamma(within.sum(axis=1, keepdims=True))
        before = member
        member, sums = softmax(crowd.by_task @ table + base[:, truth_of] + split.reshape(-1))
        change = float(np.abs(member - before).max())
    truth = member.reshape(-1, size, subtypes).sum(axis=2)
    counts = crowd.by_pair @ truth
    confusion = np.tile(row, (len(answers.workers), 1, 1))
    confusion[crowd.worker, :, crowd.label] += counts
    confusion = normalised(confusion)
    skills = np.einsum("k,wkk->w", truth.mean(axis=0), confusion)
    return Posterior(truth, truth, skills, confusion, iterations, float(sums.sum()))
