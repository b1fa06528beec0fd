"""The methods by name: each takes answers and returns a posterior, `joint` also with a model's probabilities.

They are entries of the group ``dialint.aggregators``, where other packages offer theirs: functions from
`Answers` (and, with ``--model``, an array of probabilities) to `Posterior`. Several codes asked of one task
are a problem each.
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
from dialint.labeling.aggregation.joint import joint_posterior
from dialint.labeling.aggregation.judge_groups import grouped_posterior
from dialint.labeling.aggregation.posterior import Posterior, normalise


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
    always the same are left out: one skill cannot say that they know nothing, as a matrix does. Source:
    Zhang, Chen, Zhou and Jordan 2016."""
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
