"""New answers without a full refit: the touched tasks, and what their workers are known by.

Items, kinds and strength stay those of the fit it began with; a full refit now and then learns these
anew. Measured against the refit in `tests/labeling/test_truth_incremental.py`, tolerance stated there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from detector.errors import InputRefused
from labeling.truth.answers import Answers, Floats
from labeling.truth.joint.fit import Fit
from labeling.truth.joint.items import Items
from labeling.truth.joint.model_prior import ModelPrior, model_prior
from labeling.truth.posterior import softmax

PASSES = 3
"""Times that tasks and workers are weighed against each other after an update."""


class Running:
    """The joint posterior of a growing crowd table.

    What an update costs depends on the answers to the touched tasks and not on the table. `answers`
    must be those of `fit`.
    """

    def __init__(self, fit: Fit, answers: Answers) -> None:
        self._crowd, self._labels = fit.crowd, {name: n for n, name in enumerate(answers.labels)}
        self._prior: ModelPrior | None = fit.prior
        self._tasks = {name: place for place, name in enumerate(answers.tasks)}
        self._workers = {name: place for place, name in enumerate(answers.workers)}
        self._member = list(fit.member)
        self._base = list(_bases(fit.crowd.items, fit.prior, len(answers.tasks)))
        shape = (len(answers.labels), fit.member.shape[1])
        self._counts = [np.zeros(shape) for _ in answers.workers]
        for worker, label, counts in zip(fit.pairs.worker, fit.pairs.label, fit.counts, strict=True):
            self._counts[worker][label] = counts
        self._given: defaultdict[int, dict[int, int]] = defaultdict(dict)
        for task, worker, label in zip(answers.task, answers.worker, answers.label, strict=True):
            self._given[int(task)][int(worker)] = int(label)

    def update(
        self, rows: Iterable[tuple[str, str, str]], model: Mapping[str, Sequence[float]] | None = None
    ) -> dict[str, Floats]:
        """Take in (task, worker, label) rows; the new probabilities, shape (labels,), of the tasks they
        touch. A worker's second answer to a task replaces the first. `model` has the model's probabilities
        of tasks among the rows that are new or of which it says something else now, NaN where it is silent.

        Raises:
            InputRefused: an unknown label; nothing is taken in.
        """
        rows = list(rows)
        for number, (_, _, label) in enumerate(rows):
            if label not in self._labels:
                raise InputRefused("E_LABEL", f"answer {number}: an unknown label")
        self._begin(dict.fromkeys(task for task, _, _ in rows), model or {})
        touched = {self._tasks[task]: task for task, _, _ in rows}
        for task, worker, label in rows:
            self._give(self._tasks[task], self._worker(worker), self._labels[label])
        for _ in range(PASSES):
            self._weigh(sorted(touched))
        return {name: self._truth(place) for place, name in touched.items()}

    def probabilities(self, task: str) -> Floats:
        """The probability of each label of a known task, shape (labels,)."""
        return self._truth(self._tasks[task])

    def _begin(self, names: Iterable[str], model: Mapping[str, Sequence[float]]) -> None:
        """Where the tasks of these names stand before any answer, if they are new or `model` names them."""
        chosen = [name for name in names if name not in self._tasks or name in model]
        if not chosen:
            return
        bases = _bases(self._crowd.items, self._said([model.get(name) for name in chosen]), len(chosen))
        for name, base, member in zip(chosen, bases, softmax(bases)[0], strict=True):
            if name in self._tasks:
                self._base[self._tasks[name]] = base
            else:
                self._tasks[name] = len(self._tasks)
                self._base.append(base)
                self._member.append(member)

    def _give(self, task: int, worker: int, label: int) -> None:
        given, counts = self._given[task], self._counts[worker]
        if worker in given:
            counts[given[worker]] -= self._member[task]
        given[worker] = label
        counts[label] += self._member[task]

    def _weigh(self, touched: Sequence[int]) -> None:
        people = sorted({worker for task in touched for worker in self._given[task]})
        dense = np.stack([self._counts[worker] for worker in people])
        members = self._crowd.memberships(dense)
        logs = self._crowd.logs(members, self._crowd.raw_tables(dense, members))
        row = {worker: place for place, worker in enumerate(people)}
        for task in touched:
            given = self._given[task].items()
            total = self._base[task] + sum(logs[row[worker], label] for worker, label in given)
            after = softmax(total[None])[0][0]
            for worker, label in given:
                self._counts[worker][label] += after - self._member[task]
            self._member[task] = after

    def _worker(self, name: str) -> int:
        if name not in self._workers:
            self._workers[name] = len(self._workers)
            self._counts.append(np.zeros((len(self._labels), len(self._crowd.items.truth))))
        return self._workers[name]

    def _truth(self, place: int) -> Floats:
        return np.asarray(self._member[place] @ self._crowd.items.verdicts, float)

    def _said(self, model: Sequence[Sequence[float] | None]) -> ModelPrior | None:
        """What the model says of some tasks, trusted as far as the fit found right."""
        if self._prior is None:
            return None
        silent = [float("nan")] * len(self._labels)
        logs = model_prior(np.array([silent if one is None else one for one in model], float)).logs
        return replace(self._prior, logs=logs)


def _bases(items: Items, prior: ModelPrior | None, n_tasks: int) -> Floats:
    """The logarithm of the tasks' probabilities before any answer, shape (tasks, components)."""
    return np.tile(np.log(items.weights), (n_tasks, 1)) if prior is None else prior.component_logs(items)
