"""Crowd tables as sparse products: from what workers are like to tasks, and back.

A *pair* is a worker and a label that this worker gave at least once; pairs are sorted by worker. One
product with `by_task` sums a table of pairs over each task's answers, one with `by_pair` sums a table
of tasks over each pair's answers: an EM step is these two, whatever the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labeling.truth.answers import Answers, Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Pairs:
    """`worker` and `label` have shape (pairs,); `by_task` (tasks, pairs), `by_pair` its transpose."""

    worker: NDArray[np.int64]
    label: NDArray[np.int64]
    by_task: csr_array[Any]
    by_pair: csr_array[Any]
    n_workers: int
    n_labels: int

    @property
    def answers(self) -> Floats:
        """How many answers each pair stands for, shape (pairs,)."""
        return np.asarray(np.diff(self.by_pair.indptr), float)

    def per_worker(self, values: Floats) -> Floats:
        """Sums over each worker's pairs: (pairs, anything) becomes (workers, anything)."""
        starts = np.searchsorted(self.worker, np.arange(self.n_workers))
        filled = np.add.reduceat(np.concatenate((values, np.zeros((1, values.shape[1])))), starts, axis=0)
        filled[np.bincount(self.worker, minlength=self.n_workers) == 0] = 0.0
        return np.asarray(filled, float)


def pairs(answers: Answers) -> Pairs:
    """The pairs of a crowd table."""
    from scipy.sparse import csr_array

    size = len(answers.labels)
    keys = answers.worker.astype(np.int64) * size + answers.label
    seen = np.bincount(keys, minlength=len(answers.workers) * size) > 0
    found = np.flatnonzero(seen)
    place = (np.cumsum(seen) - 1)[keys]
    shape = (len(answers.tasks), len(found))
    by_task = csr_array((np.ones(len(answers)), (answers.task, place)), shape)
    by_pair = csr_array(by_task.T)
    return Pairs(found // size, found % size, by_task, by_pair, len(answers.workers), size)
