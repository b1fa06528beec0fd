"""MACE and GLAD of crowd-kit (extra ``crowd``) behind our interface.

Crowd-kit uses pandas, so these two are for tables of some 100,000 answers; GLAD is slow even there
(100,000 answers and 5 iterations: 32 s).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.posterior import Posterior, normalise

GLAD_ITERATIONS = 20


def mace(answers: Answers) -> Posterior:
    """Workers who know or guess. Source: Hovy et al. 2013; crowd-kit's defaults, seed 0, and one start:
    crowd-kit 1.4.2 begins each of its ten restarts from the same seed, so nine of them repeat the first.

    `skills` are the probabilities that a worker does not guess.
    """
    from crowdkit import aggregation

    model = aggregation.MACE(n_restarts=1)
    probabilities = _probabilities(model, answers)
    return Posterior(probabilities, probabilities, skills=_reorder_workers(answers, model.spamming_[:, 1]))


def crowdkit_dawid_skene(answers: Answers) -> Posterior:
    """Crowd-kit's own Dawid-Skene, to compare with ours; not among the methods."""
    from crowdkit import aggregation

    probabilities = _probabilities(aggregation.DawidSkene(), answers)
    return Posterior(probabilities, probabilities)


def glad(answers: Answers) -> Posterior:
    """Workers' ability against items' difficulty. Source: Whitehill et al. 2009; crowd-kit's defaults
    but for at most 20 iterations.

    `skills` are the probabilities of a right answer to an item of middle difficulty.
    """
    from crowdkit import aggregation

    model = aggregation.GLAD(n_iter=GLAD_ITERATIONS, silent=True)
    probabilities = _probabilities(model, answers)
    ability = model.alphas_.reindex(range(len(answers.workers))).to_numpy(float)
    return Posterior(probabilities, probabilities, skills=1.0 / (1.0 + np.exp(-ability)))


def to_frame(answers: Answers) -> Any:
    """The answers as crowd-kit wants them: a pandas frame of indices under task, worker and label."""
    import pandas as pd  # type: ignore[import-untyped]

    return pd.DataFrame({"task": answers.task, "worker": answers.worker, "label": answers.label})


def _probabilities(model: Any, answers: Answers) -> Floats:
    """The model's probabilities, shape (tasks, labels); even where a task has no answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas' future, not of ours
        predicted = model.fit_predict_proba(to_frame(answers))
    wide = predicted.reindex(index=range(len(answers.tasks)), columns=range(len(answers.labels)))
    return normalise(np.nan_to_num(wide.to_numpy(float), nan=0.0) + 1e-12)


def _reorder_workers(answers: Answers, values: Floats) -> Floats:
    """Crowd-kit numbers workers as they appear; back to our numbers, NaN for those without answers."""
    _, first = np.unique(answers.worker, return_index=True)
    order = answers.worker[np.sort(first)]
    result = np.full(len(answers.workers), np.nan)
    result[order] = values
    return result
