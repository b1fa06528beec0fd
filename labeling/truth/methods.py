"""The methods by name: each takes answers and gives a posterior."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from labeling.truth.answers import Answers, Floats
from labeling.truth.borrowed import glad, mace
from labeling.truth.dawid_skene import dawid_skene, one_coin
from labeling.truth.joint.fit import joint
from labeling.truth.posterior import Posterior
from labeling.truth.voting import majority, wawa

MethodName = Literal["joint", "majority", "wawa", "dawid-skene", "one-coin", "mace", "glad"]

METHODS: dict[str, Callable[[Answers], Posterior]] = {
    "joint": joint,
    "majority": majority,
    "wawa": wawa,
    "dawid-skene": dawid_skene,
    "one-coin": one_coin,
    "mace": mace,
    "glad": glad,
}
"""`joint` alone takes a model's probabilities as well."""


def aggregated(answers: Answers, method: str, model: Floats | None = None) -> Posterior:
    """The posterior of `answers` by the method of that name; `model` as `joint` takes it."""
    if model is not None:
        return joint(answers, model)
    return METHODS[method](answers)
