"""A crowd table in memory: task, worker and label of each answer, as indices into names.

One row is one person's one answer to one task. `crowd_tables` reads files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int32]
TASK_END = re.compile(r"/-?\d+(?:/[^/\d][^/]*)?\Z")
MAX_CONSTANT_PROBABILITY = 0.01
"""Probability below which a worker's answers, all the same, are none of an attentive person."""


@dataclass(frozen=True)
class Answers:
    """Three index arrays of shape (answers,), with the names they point to.

    A task and worker occur together at most once. `seconds` is the duration of each answer, NaN where
    unknown and none where unknown for all. `groups` names each worker's group of correlated errors, such as
    the judges of one base model: "" without a group, none if no worker has one.
    """

    task: Indices
    worker: Indices
    label: Indices
    tasks: tuple[str, ...]
    workers: tuple[str, ...]
    labels: tuple[str, ...]
    seconds: Floats | None = None
    groups: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.task)

    @property
    def n_labelers(self) -> NDArray[np.int64]:
        """Number of answers of each task, shape (tasks,)."""
        return np.bincount(self.task, minlength=len(self.tasks))

    @property
    def dialogues(self) -> Indices:
        """The index of each task's dialogue, shape (tasks,): a task is named DIALOGUE/TURN or
        DIALOGUE/TURN/CODE, any other is a dialogue of its own."""
        ends = map(TASK_END.search, self.tasks)
        names = [
            task[: end.start()] or task if end else task for task, end in zip(self.tasks, ends, strict=True)
        ]
        return np.unique(np.array(names, object), return_inverse=True)[1].astype(np.int32)

    def votes(self, weights: Floats | None = None) -> Floats:
        """Returns the number of answers with each label, shape (tasks, labels), or the sum of their
        `weights`, shape (answers,)."""
        size = len(self.labels)
        keys = self.task.astype(np.int64) * size + self.label
        return np.bincount(keys, weights, len(self.tasks) * size).reshape(-1, size).astype(float)

    def where(self, mask: NDArray[np.bool_]) -> Answers:
        """The answers for which `mask`, shape (answers,), holds; all names stay, and so do the indices."""
        return replace(
            self,
            task=self.task[mask],
            worker=self.worker[mask],
            label=self.label[mask],
            seconds=None if self.seconds is None else self.seconds[mask],
        )

    def constant_workers(self) -> NDArray[np.bool_]:
        """Returns the workers who always give the same label although the others' answers to the same tasks
        make that improbable, shape (workers,): their answers carry no information about the task."""
        n_workers, n_labels = len(self.workers), len(self.labels)
        votes, others = self.votes(), self.n_labelers[self.task] - 1
        label_counts = np.bincount(
            self.worker.astype(np.int64) * n_labels + self.label, minlength=n_workers * n_labels
        )
        is_constant = (label_counts.reshape(n_workers, n_labels) > 0).sum(axis=1) == 1
        compared = others > 0
        agreed = np.where(compared, votes[self.task, self.label] - 1, 0) / np.maximum(others, 1)
        n_compared = np.bincount(self.worker[compared], minlength=n_workers)
        # one answer of each kind is added: who gave a single one that nobody shared is no constant worker
        share = (np.bincount(self.worker, weights=agreed, minlength=n_workers) + 1.0) / (n_compared + 2.0)
        return np.asarray(is_constant & (share**n_compared < MAX_CONSTANT_PROBABILITY), bool)

    def group_indices(self) -> NDArray[np.int64]:
        """Returns the group of each worker, shape (workers,); a worker without one is a group alone."""
        groups = self.groups or ("",) * len(self.workers)
        keys = [
            (name, "") if name else ("", worker) for name, worker in zip(groups, self.workers, strict=True)
        ]
        place = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        return np.array([place[key] for key in keys], np.int64)

    def without_constant(self) -> Answers:
        """The answers but those of `constant_workers`; all names stay."""
        return self.where(~self.constant_workers()[self.worker])

    def with_labels(self, labels: Iterable[str]) -> Answers:
        """The same answers with additional `labels`, all sorted; the same object if none is new."""
        all_labels = tuple(sorted({*self.labels, *labels}))
        if len(all_labels) == len(self.labels):
            return self
        index = np.array([all_labels.index(name) for name in self.labels], np.int32)
        return replace(self, label=index[self.label], labels=all_labels)

    def compact(self) -> Answers:
        """The same answers; tasks and workers without any are gone, labels stay."""
        tasks, task = np.unique(self.task, return_inverse=True)
        workers, worker = np.unique(self.worker, return_inverse=True)
        return replace(
            self,
            task=task.astype(np.int32),
            worker=worker.astype(np.int32),
            tasks=tuple(self.tasks[index] for index in tasks),
            workers=tuple(self.workers[index] for index in workers),
            groups=None if self.groups is None else tuple(self.groups[index] for index in workers),
        )
