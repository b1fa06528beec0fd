"""Updates the joint posterior without a full refit: only tasks with new answers, and the workers of these.

Items, kinds and strength stay those of the initial fit; `RunningPosteriors` refits from time to time to
estimate them anew. Compared with the refit in `tests/labeling/aggregation/test_incremental.py`, which states
the tolerance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dialint.detector.errors import InputRefused
from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.joint import JointFit
from dialint.labeling.aggregation.joint_items import centred_model_logs
from dialint.labeling.aggregation.posterior import Components, normalise, softmax

PASSES = 3
"""Passes over tasks and workers after an update."""


class IncrementalPosterior:
    """The joint posterior of a growing crowd table.

    The cost of an update depends on the answers to the changed tasks and not on the table. `answers` must be
    those of `fit`; further ones of `ignored` workers are left out.
    """

    def __init__(self, fit: JointFit, answers: Answers, ignored: frozenset[str] = frozenset()) -> None:
        self._ignored = ignored
        self._worker_model, self._labels = fit.workers, {name: n for n, name in enumerate(answers.labels)}
        self._uses_model = fit.uses_model
        self._tasks = {name: task for task, name in enumerate(answers.tasks)}
        self._workers = {name: worker for worker, name in enumerate(answers.workers)}
        self._responsibilities = list(fit.responsibilities)
        self._base = list(fit.base)
        shape = (len(answers.labels), fit.responsibilities.shape[1])
        self._counts = [np.zeros(shape) for _ in answers.workers]
        for worker, label, counts in zip(fit.pairs.worker, fit.pairs.label, fit.counts, strict=True):
            self._counts[worker][label] = counts
        self._labels_of: defaultdict[int, dict[int, int]] = defaultdict(dict)
        for task, worker, label in zip(answers.task, answers.worker, answers.label, strict=True):
            self._labels_of[int(task)][int(worker)] = int(label)

    def update(
        self, rows: Iterable[tuple[str, str, str]], model: Mapping[str, Sequence[float]] | None = None
    ) -> dict[str, Floats]:
        """Add (task, worker, label) rows and return the new probabilities, shape (labels,), of their tasks.

        A worker's second answer to a task replaces the first. `model` has the model's probabilities of those
        tasks that are new or for which they changed, NaN where it has none.

        Raises:
            InputRefused: an unknown label; nothing is added.
        """
        rows = list(rows)
        for number, (_, _, label) in enumerate(rows):
            if label not in self._labels:
                raise InputRefused("E_LABEL", f"answer {number}: an unknown label")
        self._add_tasks(dict.fromkeys(task for task, _, _ in rows), model or {})
        changed_tasks = {self._tasks[task]: task for task, _, _ in rows}
        for task, worker, label in rows:
            if worker in self._ignored:
                continue
            self._add_answer(self._tasks[task], self._worker_index(worker), self._labels[label])
        for _ in range(PASSES):
            self._refit(sorted(changed_tasks))
        return {name: self._label_probabilities(task) for task, name in changed_tasks.items()}

    def probabilities(self, task: str) -> Floats:
        """The probability of each label of a known task, shape (labels,)."""
        return self._label_probabilities(self._tasks[task])

    def components(self, tasks: Sequence[str]) -> Components:
        """The component posteriors of `tasks`, in their order."""
        items = self._worker_model.items
        responsibilities = np.zeros((len(tasks), len(items.shares)), np.float32)
        for row, task in enumerate(tasks):
            responsibilities[row] = self._responsibilities[self._tasks[task]]
        return Components(responsibilities, items.shares, items.label_probabilities)

    def _add_tasks(self, names: Iterable[str], model: Mapping[str, Sequence[float]]) -> None:
        """Set the priors of the tasks of these names that are new or that `model` has."""
        changed = [name for name in names if name not in self._tasks or name in model]
        if not changed:
            return
        without_model = [float("nan")] * len(self._labels)
        model_logs = (
            centred_model_logs(np.array([model.get(name, without_model) for name in changed], float))
            if self._uses_model
            else None
        )
        bases = self._worker_model.items.component_logs(model_logs, None, len(changed))
        for name, base, responsibilities in zip(changed, bases, softmax(bases)[0], strict=True):
            if name in self._tasks:
                self._base[self._tasks[name]] = base
            else:
                self._tasks[name] = len(self._tasks)
                self._base.append(base)
                self._responsibilities.append(responsibilities)

    def _add_answer(self, task: int, worker: int, label: int) -> None:
        labels, counts = self._labels_of[task], self._counts[worker]
        if worker in labels:
            counts[labels[worker]] -= self._responsibilities[task]
        labels[worker] = label
        counts[label] += self._responsibilities[task]

    def _refit(self, changed_tasks: Sequence[int]) -> None:
        workers = sorted({worker for task in changed_tasks for worker in self._labels_of[task]})
        dense = np.stack([self._counts[worker] for worker in workers])
        kind_probabilities = self._worker_model.kind_probabilities(dense)
        logs = self._worker_model.logs(
            kind_probabilities, self._worker_model.raw_tables(dense, kind_probabilities)
        )
        row = {worker: index for index, worker in enumerate(workers)}
        for task in changed_tasks:
            labels = self._labels_of[task].items()
            total = self._base[task] + sum(logs[row[worker], label] for worker, label in labels)
            after = softmax(total[None])[0][0]
            for worker, label in labels:
                self._counts[worker][label] += after - self._responsibilities[task]
            self._responsibilities[task] = after

    def _worker_index(self, name: str) -> int:
        if name not in self._workers:
            self._workers[name] = len(self._workers)
            self._counts.append(np.zeros((len(self._labels), len(self._worker_model.items.shares))))
        return self._workers[name]

    def _label_probabilities(self, task: int) -> Floats:
        return normalise(self._responsibilities[task] @ self._worker_model.items.label_probabilities)
