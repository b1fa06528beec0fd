"""The result of every method, and the sparse sums that all of them are made of.

A *pair* is a worker and a label that this worker gave at least once; pairs are sorted by worker. One
product with `by_task` sums a table of pairs over each task's answers, one with its transpose sums a table
of tasks over each pair's answers: an EM step is these two, whatever the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.aggregation.answers import Answers, Floats

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

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
    not distinguish the two. `components`, where the method has them, predict further answers; `assumptions`
    are those that the answers decided, for the manifest.
    """

    probabilities: Floats
    expected: Floats
    components: Components | None = None
    assumptions: Mapping[str, Any] | None = None

    def without_certainty(self) -> Posterior:
        """The same labels with probabilities that are not known."""
        unknown = np.full_like(self.probabilities, np.nan)
        return replace(self, probabilities=unknown, expected=unknown)

    def with_gold(self, gold_labels: NDArray[np.int64]) -> Posterior:
        """Replace probabilities by `gold_labels`, shape (tasks,): the index of the certain label, or -1 where
        there is none."""
        sure = np.eye(self.probabilities.shape[1])[gold_labels]
        return replace(self, probabilities=np.where(gold_labels[:, None] >= 0, sure, self.probabilities))


def mix_posteriors(parts: Sequence[tuple[float, Posterior]]) -> Posterior:
    """The weighted mean of posteriors with components; the weights sum to 1."""
    components = [(weight, one.components) for weight, one in parts if one.components is not None]
    return Posterior(
        np.sum([weight * one.probabilities for weight, one in parts], axis=0),
        np.sum([weight * one.expected for weight, one in parts], axis=0),
        Components(
            np.concatenate([np.float32(weight) * one.responsibilities for weight, one in components], axis=1),
            np.concatenate([one.shares for _, one in components]),
            np.concatenate([one.label_probabilities for _, one in components]),
        ),
    )


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


CELLS = 1 << 19
"""Numbers of a block of tasks or workers (4 MiB), few enough to stay in the cache from the first step to the
last."""


@dataclass(frozen=True)
class Pairs:
    """`worker` and `label` have shape (pairs,), `by_task` (tasks, pairs)."""

    worker: NDArray[np.int64]
    label: NDArray[np.int64]
    by_task: csr_array[Any]
    n_workers: int
    n_labels: int

    @cached_property
    def by_pair(self) -> csc_array[Any]:
        """The transpose of `by_task`, shape (pairs, tasks)."""
        return self.by_task.T

    def expectation(
        self, logs: Floats, base: Floats, responsibilities: NDArray[Any]
    ) -> tuple[Floats, float, float]:
        """The E step: `responsibilities`, shape (tasks, components), becomes the softmax of the tasks' sums
        of `logs`, shape (pairs, components), plus `base`, shaped as `responsibilities`, in whose precision it
        is computed. The counts that follow, the sum over tasks of the logarithms of what the rows were
        divided by, and the largest change in `responsibilities`."""
        counts, likelihood, change = np.zeros_like(logs), 0.0, 0.0
        step = max(1, CELLS // max(1, logs.shape[1]))
        logs = logs.astype(responsibilities.dtype, copy=False)
        for first in range(0, len(responsibilities), step):
            rows = slice(first, first + step)
            if step < len(responsibilities):
                answers = self.by_task[rows]
                answers_of_pairs = answers.T
            else:  # small tables are fitted by the hundred: slicing would take a third of the time
                answers, answers_of_pairs = self.by_task, self.by_pair
            total = answers @ logs
            total += base[rows]
            after, sums = softmax(total)
            counts += answers_of_pairs @ after
            likelihood += float(sums.sum(dtype=float))
            before = responsibilities[rows]
            np.subtract(after, before, out=before)
            change = max(change, float(before.max()), -float(before.min()))
            before[:] = after
        return counts, likelihood, change


def worker_label_pairs(answers: Answers) -> Pairs:
    """The pairs of a crowd table."""
    from scipy.sparse import csr_array

    size = len(answers.labels)
    keys = answers.worker.astype(np.int64) * size + answers.label
    seen = np.bincount(keys, minlength=len(answers.workers) * size) > 0
    pairs = np.flatnonzero(seen)
    place = (np.cumsum(seen) - 1)[keys]
    shape = (len(answers.tasks), len(pairs))
    by_task = csr_array((np.ones(len(answers), np.float32), (answers.task, place)), shape)
    return Pairs(pairs // size, pairs % size, by_task, len(answers.workers), size)
