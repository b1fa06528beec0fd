"""The methods by name: each takes answers and returns a posterior, `joint` also with a model's probabilities.

They are entries of the group ``dialint.aggregators``, where other packages offer theirs: functions from
`Answers` (and, with ``--model``, an array of probabilities) to `Posterior`. Each code of a task is a problem
of its own.

Raters of one group, such as judges of one base model or one prompt, have correlated errors: each group has a
latent opinion, which its members report by a confusion matrix each; a rater without a group is a group alone.
Agreement of three judges thus makes the opinion of their group certain, and the accuracy of the group is
estimated from other groups or people: without any of these it stays at the prior and nothing becomes certain,
where Dawid-Skene takes agreement for truth. The groups are an input. With gold, the answers and a model's log
probabilities are pooled by a logistic regression on the gold tasks alone, as the truth of the others would
drift to what a group says.
Source: Dawid and Skene 1979 on both levels, with the Dirichlet priors of Kim and Ghahramani 2012; dependence
of judges as a shared latent as in Balasubramanian et al. (arXiv 2601.22336), here one for each group; Cozman
and Cohen 2002 (unlabelled tasks harm where the model is wrong).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialint.detector.errors import ConfigError
from dialint.detector.plugins import Plugin, plugins
from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.joint import RIGHT, WRONG, joint_posterior
from dialint.labeling.aggregation.joint_items import TEMPERATURE, TEMPERATURE_SD
from dialint.labeling.aggregation.posterior import Posterior, normalise, softmax

PSEUDO_TASKS = 1.0
ROUNDS, TOLERANCE = 200, 1e-5
FLOOR = 1e-3
"""Lower bound of a model's probabilities."""
PRIOR_RIGHT, SPREAD = 2.0 / 3.0, 0.25
"""With gold: how often a group of two or more is right a priori, its members together, and the standard
deviation of each logarithm of a rater's matrix. Others changed log loss by .01 at most (2026-11-30)."""


def grouped_posterior(
    answers: Answers, model: Floats | None = None, gold: NDArray[np.int64] | None = None
) -> Posterior:
    """The posterior of the truth by expectation maximisation; `model` and `gold` as in `joint_posterior`. A
    model's probabilities take the place of the class rates if the answers are likelier with them. With gold
    it is `pool_answers`, of raters without a group as they were estimated."""
    fits = [_fit(answers, prior) for prior in ((None,) if model is None else (None, model))]
    posterior, group_logs, evidence = max(fits, key=lambda one: one[2])
    if gold is not None and (gold >= 0).any():
        return pool_answers(answers, model, gold, group_logs)
    use = "calibrated" if posterior is not fits[0][0] else "none"
    assumptions = {"form": "grouped", "use": use, "log_likelihoods": {"grouped": evidence / len(answers)}}
    return Posterior(posterior, posterior, assumptions=assumptions)


def pool_answers(
    answers: Answers, model: Floats | None, gold: NDArray[np.int64], group_logs: Floats
) -> Posterior:
    """The posterior by a log-linear pool: for each label an offset, the model's log probability times a
    temperature, and a weight for each rater's answer, the likeliest a posteriori on the gold tasks.

    A priori offsets are 0 and the temperature is 1, and the weights are `group_logs`, shape (groups, truth,
    answer), of a rater without a group, and of members such that they are right together in `PRIOR_RIGHT`.
    Where there is no model, the class rates of gold stand for it.
    """
    from scipy.optimize import minimize

    size, group, known = len(answers.labels), answers.group_indices(), gold >= 0
    members = np.bincount(group)[group][:, None, None]
    shared = np.eye(size) * math.log(PRIOR_RIGHT / (1.0 - PRIOR_RIGHT)) / members
    weights = np.where(members > 1, shared, group_logs[group].transpose(0, 2, 1)).reshape(-1, size)
    rates = normalise(np.bincount(gold[known], minlength=size) + PSEUDO_TASKS)
    prior = np.tile(rates, (len(gold), 1)) if model is None else model
    logs = np.log(np.clip(np.where(np.isnan(prior).any(axis=1, keepdims=True), rates, prior), FLOOR, 1.0))
    given = answers.worker.astype(np.int64) * size + answers.label  # the row of `weights` of each answer
    start = np.concatenate([np.zeros(size), [TEMPERATURE], weights.ravel()])
    precision = np.repeat([1.0, TEMPERATURE_SD**-2, SPREAD**-2], [size, 1, weights.size])

    def predict(x: Floats) -> tuple[Floats, Floats]:
        table = x[size + 1 :].reshape(-1, size)
        return softmax(x[:size] + x[size] * logs + _sums(answers.task, table[given], len(gold)))

    def loss(x: Floats) -> tuple[float, Floats]:
        away, (probabilities, _) = precision * (x - start), predict(x)
        error = (probabilities - np.eye(size)[gold]) * known[:, None]
        by_weight = _sums(given, error[answers.task], len(weights))
        gradient = np.concatenate([error.sum(axis=0), [(error * logs).sum()], by_weight.ravel()])
        misfit = np.log(probabilities[known, gold[known]]).sum()
        return float((away * (x - start)).sum() / 2 - misfit), gradient + away

    best: Any = minimize(loss, start, jac=True, method="L-BFGS-B")
    assumptions = {"form": "pooled", "use": "none" if model is None else "recalibrated"}
    posterior = predict(np.asarray(best.x, float))[0]
    return Posterior(posterior, posterior, assumptions=assumptions).with_gold(gold)


def _fit(answers: Answers, model: Floats | None) -> tuple[Floats, Floats, float]:
    """The probabilities, shape (tasks, labels), the log matrices of the groups, shape (groups, truth,
    opinion), and the log likelihood of all answers."""
    size, n_tasks = len(answers.labels), len(answers.tasks)
    group = answers.group_indices()
    alone = (np.bincount(group)[group] == 1)[:, None, None]  # (workers, 1, 1)
    pairs, pair_of = np.unique(
        answers.task.astype(np.int64) * len(group) + group[answers.worker], return_inverse=True
    )
    task, of_group = pairs // len(group), pairs % len(group)
    pseudo = np.where(np.eye(size) > 0, RIGHT, WRONG)
    group_logs = np.tile(np.log(normalise(pseudo)), (len(group), 1, 1))  # (groups, truth, opinion)
    member_logs = np.where(alone, np.log(np.eye(size) + 1e-12), np.log(normalise(pseudo)))
    rates, before = np.full(size, 1.0 / size), -np.inf
    fixed = None if model is None else np.log(np.clip(model, FLOOR, 1.0))
    for _ in range(ROUNDS):
        by_opinion = _sums(pair_of, member_logs[answers.worker, :, answers.label], len(pairs))
        both = by_opinion[:, None] + group_logs[of_group]  # (pairs, truth, opinion)
        opinions, of_truth = softmax(both.reshape(-1, size))
        prior = np.tile(np.log(rates), (n_tasks, 1))
        if fixed is not None:
            prior = np.where(np.isnan(fixed).any(axis=1, keepdims=True), prior, fixed)
        truth, sums = softmax(prior + _sums(task, of_truth.reshape(-1, size), n_tasks))
        likelihood = float(sums.sum())
        if likelihood - before < TOLERANCE * len(answers):
            break
        before = likelihood
        shared = truth[task][:, :, None] * opinions.reshape(-1, size, size)
        group_logs = np.log(normalise(_sums(of_group, shared, len(group)) + pseudo))
        counts = shared.sum(axis=1)[pair_of][..., None] * np.eye(size)[answers.label][:, None]
        members = np.log(normalise(_sums(answers.worker, counts, len(group)) + pseudo))
        member_logs = np.where(alone, member_logs, members)
        rates = normalise(truth.sum(axis=0) + PSEUDO_TASKS)
    return truth, group_logs, likelihood


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
