"""New answers without a full refit: the touched tasks, and what their workers are known by.

Items, kinds and strength stay those of the fit it began with; a full refit now and then learns these
anew. Measured against the refit in `tests/labeling/aggregation/test_incremental.py`, tolerance stated there.
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
"""Times that tasks and workers are weighed against each other after an update."""


class IncrementalPosterior:
    """The joint posterior of a growing crowd table.

    What an update costs depends on the answers to the touched tasks and not on the table. `answers`
    must be those of `fit`.
    """

    def __init__(self, fit: JointFit, answers: Answers) -> None:
        self._crowd, self._labels = fit.crowd, {name: n for n, name in enumerate(answers.labels)}
        self._hears = fit.hears
        self._tasks = {name: place for place, name in enumerate(answers.tasks)}
        self._workers = {name: place for place, name in enumerate(answers.workers)}
        self._member = list(fit.member)
        self._base = list(fit.base)
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

    def components(self, tasks: Sequence[str]) -> Components:
        """What known tasks may be like, in that order."""
        items = self._crowd.items
        member = np.zeros((len(tasks), len(items.shares)), np.float32)
        for row, task in enumerate(tasks):
            member[row] = self._member[self._tasks[task]]
        return Components(member, items.shares, items.verdicts)

    def _begin(self, names: Iterable[str], model: Mapping[str, Sequence[float]]) -> None:
        """Where the tasks of these names stand before any answer, if they are new or `model` names them."""
        chosen = [name for name in names if name not in self._tasks or name in model]
        if not chosen:
            return
        silent = [float("nan")] * len(self._labels)
        said = (
            centred_model_logs(np.array([model.get(name, silent) for name in chosen], float))
            if self._hears
            else None
        )
        bases = self._crowd.items.component_logs(said, None, len(chosen))
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
            self._counts.append(np.zeros((len(self._labels), len(self._crowd.items.shares))))
        return self._workers[name]

    def _truth(self, place: int) -> Floats:
        return normalise(self._member[place] @ self._crowd.items.verdicts)
