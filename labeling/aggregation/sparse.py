"""Crowd tables as sparse products: sums over the answers of workers to tasks, and back.

A *pair* is a worker and a label that this worker gave at least once; pairs are sorted by worker. One
product with `by_task` sums a table of pairs over each task's answers, one with its transpose sums a table
of tasks over each pair's answers: an EM step is these two, whatever the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.posterior import softmax

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

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

    @property
    def answers(self) -> Floats:
        """The number of answers of each pair, shape (pairs,)."""
        return np.bincount(self.by_task.indices, minlength=len(self.worker)).astype(float)

    def counts(self, responsibilities: Floats) -> Floats:
        """Expected answers of each pair in each component, shape (pairs, components), from the tasks'
        probabilities `responsibilities`, shape (tasks, components)."""
        return np.asarray(self.by_pair @ responsibilities, float)

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

    def per_worker(self, values: Floats) -> Floats:
        """Sums over each worker's pairs: (pairs, anything) becomes (workers, anything)."""
        starts = np.searchsorted(self.worker, np.arange(self.n_workers))
        filled = np.add.reduceat(np.concatenate((values, np.zeros((1, values.shape[1])))), starts, axis=0)
        filled[np.bincount(self.worker, minlength=self.n_workers) == 0] = 0.0
        return np.asarray(filled, float)


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
