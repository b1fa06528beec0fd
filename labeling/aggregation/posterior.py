"""The result of every method: posterior probabilities of the labels, and estimates of the workers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.aggregation.answers import Floats

MAX_COLUMNS = 32


@dataclass(frozen=True)
class Components:
    """The mixture components of items: `shares`, shape (components, labels), are the answer shares of a large
    crowd, `label_probabilities`, same shape, the probability of each label to be true; `responsibilities`,
    shape (tasks, components), in single precision, the posterior of the components of each task."""

    responsibilities: NDArray[np.float32]
    shares: Floats
    label_probabilities: Floats


@dataclass(frozen=True)
class Posterior:
    """The posterior of the true label of each task.

    `probabilities` has shape (tasks, labels), rows sum to 1. `expected` is the share of answers that a
    large crowd would give, same shape: the soft label for learning; the same array where a method does
    not distinguish the two. `skills`, shape (workers,), is each worker's probability of a right answer,
    where the method has one; `confusion`, shape (workers, labels, labels), the probability of an answer
    (last axis) given the truth (middle axis). `log_likelihood` is of the answers, in nats, NaN where
    the method has none; of a variational method the bound. `components`, where the method has them, predict
    further answers.
    """

    probabilities: Floats
    expected: Floats
    skills: Floats | None = None
    confusion: Floats | None = None
    iterations: int = 0
    log_likelihood: float = float("nan")
    components: Components | None = None

    @property
    def winners(self) -> NDArray[np.int64]:
        """The most probable label of each task, the first of equals, shape (tasks,)."""
        return np.asarray(self.probabilities.argmax(axis=1), np.int64)

    @property
    def confidence(self) -> Floats:
        """The probability of the winner, shape (tasks,), 0 to 1."""
        return np.asarray(self.probabilities.max(axis=1), float)

    def part(self, rows: slice) -> Posterior:
        """The posterior of some tasks only."""
        own = self.components
        return replace(
            self,
            probabilities=self.probabilities[rows],
            expected=self.expected[rows],
            components=None if own is None else replace(own, responsibilities=own.responsibilities[rows]),
        )

    def without_certainty(self) -> Posterior:
        """The same labels with probabilities that are not known."""
        unknown = np.full_like(self.probabilities, np.nan)
        return replace(self, probabilities=unknown, expected=unknown)

    def with_gold(self, gold_labels: NDArray[np.int64]) -> Posterior:
        """Replace probabilities by `gold_labels`, shape (tasks,): the index of the certain label, or -1 where
        there is none."""
        sure = np.eye(self.probabilities.shape[1])[gold_labels]
        return replace(self, probabilities=np.where(gold_labels[:, None] >= 0, sure, self.probabilities))


def normalise(values: NDArray[Any]) -> Floats:
    """`values` divided by their sum along the last axis, in double precision."""
    doubles = np.asarray(values, float)
    return np.asarray(doubles / doubles.sum(axis=-1, keepdims=True), float)


def softmax(logs: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows of `logs` as probabilities, and the logarithm of each row's sum of exponentials, as precise as
    `logs` are."""
    top = _reduce_rows(np.maximum, logs)
    shares = logs - top[:, None]
    np.exp(shares, out=shares)
    sums = _reduce_rows(np.add, shares)
    shares /= sums[:, None]
    return shares, top + np.log(sums)


def _reduce_rows(ufunc: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
    """`ufunc` reduced along rows; column by column where rows are short, which is ten times as fast."""
    if values.shape[1] > MAX_COLUMNS:
        return np.asarray(ufunc.reduce(values, axis=1))
    return np.asarray(reduce(ufunc, values.T))
