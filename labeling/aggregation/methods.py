"""The methods by name: each takes answers and returns a posterior, two of them with a model's probabilities.

They are entries of the group ``dialint.aggregators``, where other packages offer theirs: functions from
`Answers` (and, with ``--model``, an array of probabilities) to `Posterior`.

Several codes asked of one task are a problem each, with the workers' confusion matrices apart or shared.
Apart, a worker may be good at one code and bad at another, and each code is fitted to its own answers only.
Shared, the answers to all codes inform one matrix for each worker; right when the labels mean the same
everywhere (yes and no) and each code alone has few answers a worker.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialint.detector.errors import ConfigError
from dialint.detector.plugins import Plugin, plugins
from dialint.labeling.aggregation.answers import Answers, Floats, stack_codes
from dialint.labeling.aggregation.joint import joint_posterior
from dialint.labeling.aggregation.posterior import Posterior, normalise, worker_label_pairs


def majority(answers: Answers) -> Posterior:
    """Shares of the votes."""
    shares = normalise(answers.votes())
    return Posterior(shares, shares)


def wawa(answers: Answers) -> Posterior:
    """Votes weighted by each worker's agreement with the plain majority, where a tie counts one over the
    number of labels that lead.

    Source: Appen's "worker agreement with aggregate". We add half a right answer of one to each worker,
    so that nobody's weight is 0 or rests on a single answer.
    """
    votes = answers.votes()
    leads = votes == votes.max(axis=1, keepdims=True)
    agreed = leads[answers.task, answers.label] / leads.sum(axis=1)[answers.task]
    right = np.bincount(answers.worker, agreed) + 0.5
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


def mace(answers: Answers) -> Posterior:
    """Workers who know or guess. Source: Hovy et al. 2013; crowd-kit's defaults, seed 0, and one start:
    crowd-kit 1.4.2 begins each of its ten restarts from the same seed, so nine of them repeat the first.
    For tables of some 100,000 answers."""
    from crowdkit.aggregation import MACE

    return fit_crowdkit(MACE(n_restarts=1), answers)


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


RIGHT, WRONG = 4.0, 1.0
"""Of IBCC: pseudo-answers of each worker to each truth, right ones, and wrong ones for each wrong label."""
PSEUDO_TASKS = 1.0
"""Of IBCC: pseudo-tasks of each label."""
MAX_ITERATIONS, CHANGE = 100, 1e-4
"""Of IBCC: largest change of a task's probability at which iterating ends."""


def ibcc(answers: Answers, model: Floats | None = None) -> Posterior:
    """Independent Bayesian classifier combination: Dawid-Skene with a Dirichlet prior on the class shares and
    on each row of each worker's confusion matrix, by mean-field variational Bayes. A baseline for `joint`,
    and a method where labels are frequent; where they are rare and workers give few answers each, all
    matrices may drift together to another meaning of the labels.

    `model`, shape (tasks, labels), takes the place of the class shares where it is not NaN.

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
    iterations, change = 0, 1.0
    while iterations < MAX_ITERATIONS and change >= CHANGE:
        iterations += 1
        seen = crowd.per_worker(counts) + row.sum(axis=1)
        table = digamma(counts + row[:, crowd.label].T) - digamma(seen)[crowd.worker]
        classes = truth[without_model].sum(axis=0) + PSEUDO_TASKS
        base = np.where(without_model[:, None], digamma(classes) - digamma(classes.sum()), fixed)
        counts, _, change = crowd.expectation(table, base, truth)
    return Posterior(truth, truth)


WITH_MODEL = ("joint", "ibcc")
"""Own methods that take a model's probabilities, shape (tasks, labels), rows of NaN where it has none."""


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
    """The posterior of `answers` by the method of that name; `gold` is for the joint method alone."""
    if method == "joint":
        return joint_posterior(answers, model, gold=gold)
    aggregate: Callable[..., Posterior] = find_plugin(method).load(Callable)
    return aggregate(answers) if model is None else aggregate(answers, model)


def aggregate_codes(
    tables: Mapping[str, Answers],
    method: str,
    models: Mapping[str, Floats] | None = None,
    shared: bool = False,
    golds: Mapping[str, NDArray[np.int64]] | None = None,
) -> dict[str, Posterior]:
    """The posterior of each code; with `shared`, from one fit with one table a worker. `golds` has the known
    label of each task or -1, shape (tasks,), for the joint method.

    Raises:
        ConfigError: `shared`, and the codes do not have the same labels.
    """
    if not shared or len(tables) < 2:
        return {
            code: aggregate_answers(table, method, (models or {}).get(code), (golds or {}).get(code))
            for code, table in tables.items()
        }
    if len({table.labels for table in tables.values()}) > 1:
        raise ConfigError("E_OPTION", "--share-workers needs the same labels for every code")
    stacked = None if models is None else np.concatenate([models[code] for code in tables])
    gold = None if golds is None else np.concatenate([golds[code] for code in tables])
    whole = aggregate_answers(stack_codes(tables), method, stacked, gold)
    ends = np.cumsum([len(table.tasks) for table in tables.values()])
    starts = ends - [len(table.tasks) for table in tables.values()]
    return {code: whole.part(slice(a, b)) for code, a, b in zip(tables, starts, ends, strict=True)}
