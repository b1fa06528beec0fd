"""The methods by name: each takes answers and returns a posterior, `joint` also with a model's probabilities.

They are entries of the group ``dialint.aggregators``, where other packages offer theirs: functions from
`Answers` (and, with ``--model``, an array of probabilities) to `Posterior`. Each code of a task is a problem
of its own.

Raters of one group, such as judges of one base model or one prompt, have correlated errors: each group has a
latent opinion, which its members report by a confusion matrix each, on gold by one for each truth; a rater
without a group is a group alone. Agreement of three judges thus makes the opinion of their group certain, and
the accuracy of the group is estimated from other groups, people or gold: without any of these it stays at the
prior and nothing becomes certain, where Dawid-Skene takes agreement for truth. The groups are an input.
Source: Dawid and Skene 1979 on both levels, with the Dirichlet priors of Kim and Ghahramani 2012; dependence
of judges as a shared latent as in Balasubramanian et al. (arXiv 2601.22336), here one for each group.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialint.detector.errors import ConfigError
from dialint.detector.plugins import Plugin, plugins
from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.joint import RIGHT, WRONG, joint_posterior
from dialint.labeling.aggregation.posterior import Posterior, normalise, softmax

PSEUDO_TASKS = 1.0
STRENGTH = 10.0
"""Pseudo-answers, for each truth and opinion, of a member's matrix for all truths."""
ROUNDS, TOLERANCE = 200, 1e-5
FLOOR = 1e-3
"""Lower bound of a model's probabilities."""


def grouped_posterior(
    answers: Answers, model: Floats | None = None, gold: NDArray[np.int64] | None = None
) -> Posterior:
    """The posterior of the truth by expectation maximisation. `model` and `gold` as in `joint_posterior`; a
    model's probabilities take the place of the class rates if the answers are likelier with them."""
    fits = [_fit(answers, prior, gold) for prior in ((None,) if model is None else (None, model))]
    posterior, evidence = max(fits, key=lambda one: one[1])
    use = "calibrated" if posterior is not fits[0][0] else "none"
    assumptions = {"form": "grouped", "use": use, "log_likelihoods": {"grouped": evidence / len(answers)}}
    return Posterior(posterior, posterior, assumptions=assumptions)


def _fit(answers: Answers, model: Floats | None, gold: NDArray[np.int64] | None) -> tuple[Floats, float]:
    """The probabilities, shape (tasks, labels), and the log likelihood of all answers."""
    size, n_tasks = len(answers.labels), len(answers.tasks)
    group = answers.group_indices()
    alone = np.bincount(group)[group] == 1  # (workers,)
    pairs, pair_of = np.unique(
        answers.task.astype(np.int64) * len(group) + group[answers.worker], return_inverse=True
    )
    task, of_group = pairs // len(group), pairs % len(group)
    pseudo = np.where(np.eye(size) > 0, RIGHT, WRONG)
    group_logs = np.tile(np.log(normalise(pseudo)), (len(group), 1, 1))  # (groups, truth, opinion)
    alone = alone[:, None, None, None]
    own = np.where(alone, np.log(np.eye(size) + 1e-12), np.log(normalise(pseudo)))
    member_logs = own.repeat(size, axis=1)  # (workers, truth, opinion, answer)
    rates, before = np.full(size, 1.0 / size), -np.inf
    fixed = None if model is None else np.log(np.clip(model, FLOOR, 1.0))
    gold = np.full(n_tasks, -1) if gold is None else gold
    gold_logs = np.where(gold[:, None] >= 0, np.log(np.eye(size)[gold] + 1e-12), 0.0)
    for _ in range(ROUNDS):
        both = _sums(pair_of, member_logs[answers.worker, :, :, answers.label], len(pairs))
        both += group_logs[of_group]  # (pairs, truth, opinion)
        opinions, of_truth = softmax(both.reshape(-1, size))
        prior = np.tile(np.log(rates), (n_tasks, 1))
        if fixed is not None:
            prior = np.where(np.isnan(fixed).any(axis=1, keepdims=True), prior, fixed)
        truth, sums = softmax(prior + _sums(task, of_truth.reshape(-1, size), n_tasks) + gold_logs)
        likelihood = float(sums.sum())
        if likelihood - before < TOLERANCE * len(answers):
            break
        before = likelihood
        shared = truth[task][:, :, None] * opinions.reshape(-1, size, size)
        group_logs = np.log(normalise(_sums(of_group, shared, len(group)) + pseudo))
        counts = shared[pair_of][..., None] * np.eye(size)[answers.label][:, None, None, :]
        pooled = normalise(_sums(answers.worker, counts.sum(axis=1), len(group)) + pseudo)
        counts[gold[answers.task] < 0] = 0.0  # the truth of other tasks would drift to what members share
        members = normalise(_sums(answers.worker, counts, len(group)) + STRENGTH * pooled[:, None])
        member_logs = np.where(alone, member_logs, np.log(members))
        rates = normalise(truth.sum(axis=0) + PSEUDO_TASKS)
    return truth, likelihood


def _sums(index: NDArray[np.integer], values: Floats, size: int) -> Floats:
    """The sums of the rows of `values` by `index`, shape (size, ...)."""
    flat = values.reshape(len(values), -1)
    columns = [np.bincount(index, column, size) for column in flat.T]
    return np.asarray(np.stack(columns, axis=1).reshape(size, *values.shape[1:]), float)


def majority(answers: Answers) -> Posterior:
    """Shares of the votes."""
    shares = normalise(answers.votes())
    return Posterior(shares, shares)


def wawa(answers: Answers) -> Posterior:
    """Votes weighted by each worker's agreement with the plain majority. Source: Appen's "worker agreement
    with aggregate"."""
    votes = answers.votes()
    leads = votes == votes.max(axis=1, keepdims=True)
    agreed = leads[answers.task, answers.label] / leads.sum(axis=1)[answers.task]
    right = np.bincount(answers.worker, agreed) + 0.5  # half a right answer of one: no weight of 0
    weights = right / (np.bincount(answers.worker) + 1.0)
    weighted = normalise(answers.votes(weights[answers.worker]))
    return Posterior(weighted, weighted)


def dawid_skene(answers: Answers) -> Posterior:
    """A full confusion matrix for every worker. It has no prior: with few labels an item it overfits, which
    is what `joint` is for. Source: Dawid and Skene 1979."""
    from crowdkit.aggregation import DawidSkene

    return fit_crowdkit(DawidSkene(), answers)


def one_coin(answers: Answers) -> Posterior:
    """One skill for every worker; wrong answers fall evenly on the other labels. Workers whose answer is
    always the same are left out: a single skill, unlike a matrix, cannot express their lack of knowledge.
    Source: Zhang, Chen, Zhou and Jordan 2016."""
    from crowdkit.aggregation import OneCoinDawidSkene

    return fit_crowdkit(OneCoinDawidSkene(), answers.without_constant())


GLAD_ITERATIONS = 20


def glad(answers: Answers) -> Posterior:
    """Workers' ability against items' difficulty. Source: Whitehill et al. 2009; crowd-kit's defaults
    but for at most 20 iterations. Slow: 100,000 answers and 5 iterations take 32 s."""
    from crowdkit.aggregation import GLAD

    return fit_crowdkit(GLAD(n_iter=GLAD_ITERATIONS, silent=True), answers)


def fit_crowdkit(model: Any, answers: Answers) -> Posterior:
    """Fit a `model` of crowd-kit; a task without answers gets the mean of the others."""
    import pandas as pd  # type: ignore[import-untyped]

    frame = pd.DataFrame({"task": answers.task, "worker": answers.worker, "label": answers.label})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas' future, not of ours
        predicted = model.fit_predict_proba(frame)
    by_label = predicted.reindex(columns=range(len(answers.labels)), fill_value=0.0).fillna(0.0)
    wide = by_label.reindex(range(len(answers.tasks))).fillna(by_label.mean())
    probabilities = normalise(wide.to_numpy(float) + 1e-12)
    return Posterior(probabilities, probabilities)


def find_plugin(method: str) -> Plugin:
    """The entry of the method of that name.

    Raises:
        ConfigError: there is none.
    """
    methods = plugins("dialint.aggregators")
    if method not in methods:
        raise ConfigError("E_OPTION", f"--method {method[:20]!r}: expected {', '.join(methods)}")
    return methods[method]


def aggregate_answers(
    answers: Answers, method: str, model: Floats | None = None, gold: NDArray[np.int64] | None = None
) -> Posterior:
    """The posterior of `answers` by the method of that name; `gold` is for the joint method alone, and so are
    groups of workers."""
    if method == "joint" and answers.groups is not None:
        return grouped_posterior(answers, model, gold)
    if method == "joint":
        return joint_posterior(answers, model, gold=gold)
    aggregate: Callable[..., Posterior] = find_plugin(method).load(Callable)
    return aggregate(answers) if model is None else aggregate(answers, model)
