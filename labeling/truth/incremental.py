"""New answers without a full refit: the touched tasks, and what their workers are known by.

Items, kinds and strength stay those of the fit it began with; a full refit now and then learns these
anew. Measured against the refit in `tests/labeling/test_truth_incremental.py`, tolerance stated there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from detector.errors import InputRefused
from labeling.truth.answers import Answers, Floats
from labeling.truth.joint.fit import Fit
from labeling.truth.joint.model_prior import ModelPrior, model_prior
from labeling.truth.posterior import softmax

PASSES = 3
"""Times that tasks and workers are weighed against each other after an update."""


class Running:
    """The joint posterior of a growing crowd table.

    What an update costs depends on the answers to the touched tasks and not on the table. `answers`
    must be those of `fit`; a worker may answer a task once.
    """

    def __init__(self, fit: Fit, answers: Answers) -> None:
        self._crowd, self._labels = fit.crowd, {name: n for n, name in enumerate(answers.labels)}
        self._prior: ModelPrior | None = fit.prior
        self._tasks = {name: place for place, name in enumerate(answers.tasks)}
        self._workers = {name: place for place, name in enumerate(answers.workers)}
        self._member = list(fit.member)
        self._base = self._bases(fit, len(answers.tasks))
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
        touch. `model` has the model's probabilities of tasks not seen before.

        Raises:
            InputRefused: an unknown label, or a worker's second answer to a task; nothing is taken in.
        """
        rows = list(rows)
        self._check(rows)
        touched: dict[int, str] = {}
        for task, worker, label in rows:
            place = self._task(task, (model or {}).get(task))
            self._given[place][self._worker(worker)] = self._labels[label]
            self._counts[self._workers[worker]][self._labels[label]] += self._member[place]
            touched[place] = task
        for _ in range(PASSES):
            self._weigh(sorted(touched))
        return {name: self._truth(place) for place, name in touched.items()}

    def probabilities(self, task: str) -> Floats:
        """The probability of each label of a known task, shape (labels,)."""
        return self._truth(self._tasks[task])

    def _check(self, rows: Sequence[tuple[str, str, str]]) -> None:
        seen: set[tuple[str, str]] = set()
        for number, (task, worker, label) in enumerate(rows):
            if label not in self._labels:
                raise InputRefused("E_LABEL", f"answer {number}: an unknown label")
            before = self._given.get(self._tasks.get(task, -1), {})
            if (task, worker) in seen or self._workers.get(worker, -1) in before:
                raise InputRefused("E_LABEL", f"answer {number}: this worker answered this task before")
            seen.add((task, worker))

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

    def _task(self, name: str, said: Sequence[float] | None) -> int:
        if name not in self._tasks:
            self._tasks[name] = len(self._tasks)
            base = np.log(self._crowd.items.weights)
            if said is not None and self._prior is not None:
                logs = model_prior(np.array([said], float)).logs
                prior = ModelPrior(logs, self._prior.trust, self._prior.offsets)
                base = prior.component_logs(self._crowd.items)[0]
            self._base.append(base)
            self._member.append(softmax(base[None])[0][0])
        return self._tasks[name]

    def _worker(self, name: str) -> int:
        if name not in self._workers:
            self._workers[name] = len(self._workers)
            self._counts.append(np.zeros((len(self._labels), len(self._crowd.items.truth))))
        return self._workers[name]

    def _truth(self, place: int) -> Floats:
        return np.asarray(self._member[place] @ self._crowd.items.verdicts, float)

    @staticmethod
    def _bases(fit: Fit, n_tasks: int) -> list[Floats]:
        if fit.prior is None:
            return [np.log(fit.crowd.items.weights)] * n_tasks
        return list(fit.prior.component_logs(fit.crowd.items))
