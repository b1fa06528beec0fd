"""The methods by name: each takes answers and gives a posterior, some with a model's probabilities.

Several codes asked of one task are a problem each, with the workers' confusion matrices apart or shared.
Apart, a worker may be good at one code and bad at another, and each code is fitted to its own answers only.
Shared, the answers to all codes inform one matrix for each worker; right when the labels mean the same
everywhere (yes and no) and each code alone has few answers a worker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dialint.detector.errors import ConfigError
from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.bayesian import ebcc, ibcc, model_as_worker
from dialint.labeling.aggregation.crowdkit_methods import glad, mace
from dialint.labeling.aggregation.dawid_skene import dawid_skene, one_coin
from dialint.labeling.aggregation.joint import joint_posterior
from dialint.labeling.aggregation.posterior import Posterior
from dialint.labeling.aggregation.voting import crowdlab, majority, shrunk_votes, wawa

METHODS: dict[str, Callable[[Answers], Posterior]] = {
    "joint": joint_posterior,
    "majority": majority,
    "wawa": wawa,
    "shrunk-votes": shrunk_votes,
    "dawid-skene": dawid_skene,
    "one-coin": one_coin,
    "ibcc": ibcc,
    "ebcc": ebcc,
    "mace": mace,
    "glad": glad,
}


def _with_model_as_worker(
    method: Callable[[Answers], Posterior], answers: Answers, model: Floats
) -> Posterior:
    return method(model_as_worker(answers, model))


WITH_MODEL: dict[str, Callable[[Answers, Floats], Posterior]] = {
    "joint": joint_posterior,
    "shrunk-votes": shrunk_votes,
    "crowdlab": crowdlab,
    "ibcc": ibcc,
    "ebcc": ebcc,
    "ibcc-worker": partial(_with_model_as_worker, ibcc),
    "ebcc-worker": partial(_with_model_as_worker, ebcc),
}
"""Methods that take a model's probabilities, shape (tasks, labels), rows of NaN where it has none. `ibcc`
and `ebcc` take them for the prior of each task, and for the answer of one more worker under the other
names."""


def aggregate_answers(
    answers: Answers, method: str, model: Floats | None = None, gold: NDArray[np.int64] | None = None
) -> Posterior:
    """The posterior of `answers` by the method of that name; `gold` is for the joint method alone.

    Raises:
        KeyError: with a model, a method that takes none; without, one that needs one.
    """
    if method == "joint":
        return joint_posterior(answers, model, gold=gold)
    return METHODS[method](answers) if model is None else WITH_MODEL[method](answers, model)


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


def stack_codes(tables: Mapping[str, Answers]) -> Answers:
    """All codes as one table; a task is (code, task), and workers, who are the same in all, stay."""
    parts = list(tables.values())
    shift = np.cumsum([0, *(len(part.tasks) for part in parts[:-1])]).astype(np.int32)
    return Answers(
        np.concatenate([part.task + step for part, step in zip(parts, shift, strict=True)]),
        np.concatenate([part.worker for part in parts]),
        np.concatenate([part.label for part in parts]),
        tuple(f"{code}\x1f{task}" for code, part in tables.items() for task in part.tasks),
        parts[0].workers,
        parts[0].labels,
    )
