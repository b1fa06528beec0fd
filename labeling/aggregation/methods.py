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
from dialint.labeling.aggregation.posterior import Posterior, normalise


def majority(answers: Answers) -> Posterior:
    """Shares of the votes. `skills` are the shares of a worker's answers that agree with the winner."""
    shares = normalise(answers.votes())
    return Posterior(shares, shares, skills=_agreement(answers, shares))


def wawa(answers: Answers) -> Posterior:
    """Votes weighted by each worker's agreement with the plain majority.

    Source: Appen's "worker agreement with aggregate". We add half a right answer of one to each worker,
    so that nobody's weight is 0 or rests on a single answer.
    """
    agreed = _agreement(answers, normalise(answers.votes()), smoothing=1.0)
    weighted = normalise(answers.votes(agreed[answers.worker]))
    return Posterior(weighted, weighted, skills=agreed)


def _agreement(answers: Answers, shares: Floats, smoothing: float = 0.0) -> Floats:
    """The share of each worker's answers that have the most votes, one over their number in a tie;
    `smoothing` pseudo-answers of one half are added. NaN for a worker without any."""
    leads = shares == shares.max(axis=1, keepdims=True)
    agreed = leads[answers.task, answers.label] / leads.sum(axis=1)[answers.task]
    right = np.bincount(answers.worker, weights=agreed, minlength=len(answers.workers))
    totals = np.bincount(answers.worker, minlength=len(answers.workers)) + smoothing
    result = np.full(len(totals), np.nan)
    np.divide(right + smoothing / 2, totals, out=result, where=totals > 0)
    return result


GLAD_ITERATIONS = 20


def mace(answers: Answers) -> Posterior:
    """Workers who know or guess. Source: Hovy et al. 2013; crowd-kit's defaults, seed 0, and one start:
    crowd-kit 1.4.2 begins each of its ten restarts from the same seed, so nine of them repeat the first.

    `skills` are the probabilities that a worker does not guess. For tables of some 100,000 answers.
    """
    from crowdkit.aggregation import MACE

    model = MACE(n_restarts=1)
    probabilities = crowdkit_probabilities(model, answers)
    _, first = np.unique(answers.worker, return_index=True)
    skills = np.full(len(answers.workers), np.nan)
    skills[answers.worker[np.sort(first)]] = model.spamming_[:, 1]  # crowd-kit numbers workers as they appear
    return Posterior(probabilities, probabilities, skills=skills)


def glad(answers: Answers) -> Posterior:
    """Workers' ability against items' difficulty. Source: Whitehill et al. 2009; crowd-kit's defaults
    but for at most 20 iterations.

    `skills` are the probabilities of a right answer to an item of middle difficulty. Slow: 100,000 answers
    and 5 iterations take 32 s.
    """
    from crowdkit.aggregation import GLAD

    model = GLAD(n_iter=GLAD_ITERATIONS, silent=True)
    probabilities = crowdkit_probabilities(model, answers)
    ability = model.alphas_.reindex(range(len(answers.workers))).to_numpy(float)
    return Posterior(probabilities, probabilities, skills=1.0 / (1.0 + np.exp(-ability)))


def crowdkit_probabilities(model: Any, answers: Answers) -> Floats:
    """Fit a `model` of crowd-kit: its probabilities, shape (tasks, labels), even where nobody answered."""
    import pandas as pd  # type: ignore[import-untyped]

    frame = pd.DataFrame({"task": answers.task, "worker": answers.worker, "label": answers.label})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas' future, not of ours
        predicted = model.fit_predict_proba(frame)
    wide = predicted.reindex(index=range(len(answers.tasks)), columns=range(len(answers.labels)))
    return normalise(np.nan_to_num(wide.to_numpy(float), nan=0.0) + 1e-12)


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
