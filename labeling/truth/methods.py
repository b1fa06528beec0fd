"""The methods by name: each takes answers and gives a posterior, some with a model's probabilities."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.truth.answers import Answers, Floats
from dialint.labeling.truth.bayesian import ebcc, ibcc, model_as_worker
from dialint.labeling.truth.borrowed import glad, mace
from dialint.labeling.truth.dawid_skene import dawid_skene, one_coin
from dialint.labeling.truth.joint.fit import joint
from dialint.labeling.truth.posterior import Posterior
from dialint.labeling.truth.voting import crowdlab, majority, shrunk_votes, wawa

MethodName = Literal[
    "joint", "majority", "wawa", "shrunk-votes", "dawid-skene", "one-coin", "ibcc", "ebcc", "mace", "glad",
    "crowdlab", "ibcc-worker", "ebcc-worker",
]  # fmt: skip

METHODS: dict[str, Callable[[Answers], Posterior]] = {
    "joint": joint,
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


def _as_worker(method: Callable[[Answers], Posterior], answers: Answers, model: Floats) -> Posterior:
    return method(model_as_worker(answers, model))


WITH_MODEL: dict[str, Callable[[Answers, Floats], Posterior]] = {
    "joint": joint,
    "shrunk-votes": shrunk_votes,
    "crowdlab": crowdlab,
    "ibcc": ibcc,
    "ebcc": ebcc,
    "ibcc-worker": partial(_as_worker, ibcc),
    "ebcc-worker": partial(_as_worker, ebcc),
}
"""Methods that take a model's probabilities, shape (tasks, labels), rows of NaN where it is silent. `ibcc`
and `ebcc` take them for the prior of each task, and for the answer of one more worker under the other
names."""


def aggregated(
    answers: Answers, method: str, model: Floats | None = None, gold: NDArray[np.int64] | None = None
) -> Posterior:
    """The posterior of `answers` by the method of that name; `gold` as `joint` takes it, for `joint` alone.

    Raises:
        KeyError: with a model, a method that takes none; without, one that needs one.
    """
    if method == "joint":
        return joint(answers, model, gold=gold)
    return METHODS[method](answers) if model is None else WITH_MODEL[method](answers, model)
