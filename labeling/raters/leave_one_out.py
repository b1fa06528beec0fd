"""What the others make of an item: the joint fit with one answer, or two, taken out again.

An answer must not testify for itself, nor a pair for each other. Taking an answer out is a subtraction
of logarithms; what the answer did to the beliefs about other workers stays, which is small wherever
there is something to say about anybody.
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
"""How firmly a worker's own table is held to the pool, in answers. Looser than for finding the truth: held
firmly, whoever always gives the same answer is a surprise each time, and two of them look like a
conspiracy (dbdc3 at 12 answers an item, 2026-11-22: at 100 answers 60 people, at 3 nobody)."""
ROWS = 1 << 17
"""Answers looked at at a time."""


@dataclass(frozen=True)
class LeaveOneOut:
    """`answers` and the joint `fit` to them. `totals`, shape (tasks, components), are the logarithms that
    all answers of a task give its components; `logs`, shape (workers, labels, components), of the chance
    of each worker's each answer."""

    answers: Answers
    fit: JointFit
    totals: Floats
    logs: Floats

    @property
    def verdicts(self) -> Floats:
        """The chance of each label to be a component's truth, shape (components, labels)."""
        return self.fit.crowd.items.verdicts

    def without(self, *rows: NDArray[np.int64]) -> Floats:
        """The probability of each component of each task, shape (n, components), without the answers at
        `rows`: index arrays of shape (n,), all of the same tasks."""
        found = self.totals[self.answers.task[rows[0]]]
        for row in rows:
            found = found - self.logs[self.answers.worker[row], self.answers.label[row]]
        return softmax(found)[0]

    @property
    def log_likelihood(self) -> float:
        """Of all answers, in nats: which of two fits to the same answers is the likelier."""
        return self.fit.log_likelihood

    @cached_property
    def expected(self) -> Floats:
        """What an average person would answer in each answer's place, by the others, shape
        (answers, labels), rows sum to 1."""
        return self._summed(self.fit.crowd.items.shares)

    @cached_property
    def truth(self) -> Floats:
        """The truth of each answer's task by the others, shape (answers, labels), rows sum to 1."""
        return self._summed(self.verdicts)

    def _summed(self, by_component: Floats) -> Floats:
        found = np.empty((len(self.answers), by_component.shape[1]))
        for first in range(0, len(found), ROWS):
            rows = np.arange(first, min(first + ROWS, len(found)))
            found[rows] = self.without(rows) @ by_component
        return found


def leave_one_out(answers: Answers, form: Form) -> LeaveOneOut:
    """What the others make of each item, if items differ by that form."""
    fit = fit_joint(answers, None, Assumptions(STRENGTH, form))
    pairs, parts = fit.pairs, []
    for _, _, dense in worker_blocks(pairs, fit.counts):
        members = fit.crowd.memberships(dense)
        parts.append(fit.crowd.logs(members, fit.crowd.raw_tables(dense, members)))
    logs = np.concatenate(parts)
    totals = pairs.by_task @ logs[pairs.worker, pairs.label] + fit.base
    return LeaveOneOut(answers, fit, np.asarray(totals, float), logs)
