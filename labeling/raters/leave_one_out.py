"""Leave-one-out posteriors: the joint fit of an item without one answer, or without two.

An answer must not support itself, nor a pair each other. Removing an answer is a subtraction of log
probabilities; its effect on the estimates of other workers stays, which is small wherever there are enough
answers to flag anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.joint import Assumptions, JointFit, fit_joint, worker_blocks
from dialint.labeling.aggregation.joint_items import Form
from dialint.labeling.aggregation.posterior import softmax

STRENGTH = 3.0
"""How strongly a worker's own table is shrunk towards the pool, in answers. Weaker than for aggregation:
shrunk strongly, a worker who always gives the same answer is improbable each time, and two of them look like
colluders (dbdc3 at 12 answers an item, 2026-11-22: at 100 answers 60 people, at 3 nobody)."""
BLOCK_ROWS = 1 << 17
"""Answers per block."""


@dataclass(frozen=True)
class LeaveOneOut:
    """`answers` and the joint `fit` to them. `totals`, shape (tasks, components), are the log probabilities
    of a task's components given all its answers; `logs`, shape (workers, labels, components), the log
    probabilities of each worker's answers."""

    answers: Answers
    fit: JointFit
    totals: Floats
    logs: Floats

    @property
    def label_probabilities(self) -> Floats:
        """The probability of each label to be the true one of a component, shape (components, labels)."""
        return self.fit.workers.items.label_probabilities

    def component_posterior(self, *rows: NDArray[np.int64]) -> Floats:
        """The probability of each component of each task, shape (n, components), without the answers at
        `rows`: index arrays of shape (n,), all of the same tasks."""
        logs = self.totals[self.answers.task[rows[0]]]
        for row in rows:
            logs = logs - self.logs[self.answers.worker[row], self.answers.label[row]]
        return softmax(logs)[0]

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of all answers in nats, to compare two fits to the same answers."""
        return self.fit.log_likelihood

    @cached_property
    def expected(self) -> Floats:
        """The probability of each answer of an average person, by the other answers to the task, shape
        (answers, labels), rows sum to 1."""
        return self._average(self.fit.workers.items.shares)

    @cached_property
    def truth(self) -> Floats:
        """The probability of each label of each answer's task, by the other answers, shape (answers, labels),
        rows sum to 1."""
        return self._average(self.label_probabilities)

    def _average(self, by_component: Floats) -> Floats:
        """The mean of `by_component`, shape (components, labels), under each answer's left-out posterior."""
        sums = np.empty((len(self.answers), by_component.shape[1]))
        for first in range(0, len(sums), BLOCK_ROWS):
            rows = np.arange(first, min(first + BLOCK_ROWS, len(sums)))
            sums[rows] = self.component_posterior(rows) @ by_component
        return sums


def leave_one_out(answers: Answers, form: Form) -> LeaveOneOut:
    """Fit the joint model, with items of this form, and keep what is needed to remove answers from it."""
    fit = fit_joint(answers, None, Assumptions(STRENGTH, form))
    pairs, parts = fit.pairs, []
    for _, _, dense in worker_blocks(pairs, fit.counts):
        kind_probabilities = fit.workers.kind_probabilities(dense)
        parts.append(fit.workers.logs(kind_probabilities, fit.workers.raw_tables(dense, kind_probabilities)))
    logs = np.concatenate(parts)
    totals = pairs.by_task @ logs[pairs.worker, pairs.label] + fit.base
    return LeaveOneOut(answers, fit, np.asarray(totals, float), logs)
