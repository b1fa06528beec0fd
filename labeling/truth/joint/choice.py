"""What the joint fit assumes: whatever foretells hidden answers best.

One answer is hidden from each of some tasks, the rest is fitted, and the hidden ones are foretold from
their tasks' other answers, as a stranger's; where answers are few, several times over. No truth is looked
at, and no answer that is foretold takes part in the fit.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from labeling.truth.answers import Answers, Floats
from labeling.truth.joint.fit import Assumptions, Fit, fitted
from labeling.truth.joint.items import MANY_LABELS, Form

STRENGTHS = (float("inf"), 300.0, 100.0, 30.0)
"""Tried in this order, the most cautious first, in answers for each truth."""
FIRST = 300.0
"""The strength at which it is chosen how items differ."""
SURELY = 2.0
"""Standard errors by which items that are alike must foretell better than items that differ: taking moot
items for plain ones costs 5 points of accuracy on real people, the other way round at most 1.5 on made-up
crowds (stc3, dbdc3, `simulated`, 2026-11-22)."""
HIDDEN = 0.5
"""Share of the tasks with two answers or more that lose one."""
ENOUGH, MOST_DRAWS = 20_000, 8
"""Small tables are tried in several draws of what is hidden, until all draws have so many answers: with one
draw another seed took items to differ otherwise in 4 of 10 simulated crowds, with three or eight in 1
(2026-11-22)."""
MAX_ITERATIONS = 10


def chosen(answers: Answers, model: Floats | None = None, seed: int = 0) -> Assumptions:
    """The assumptions that foretell hidden answers best: how items differ first, then the strength, where
    a bolder one must beat the best so far by a standard error of the difference."""
    n_draws = min(MOST_DRAWS, math.ceil(ENOUGH / max(1, len(answers))))
    draws = [hidden_answers(answers, seed + draw) for draw in range(n_draws)]
    trials = [(answers.where(~hidden), answers.where(hidden)) for hidden in draws if hidden.any()]
    if not trials:
        return Assumptions(STRENGTHS[0], "levels")

    def logs(assumptions: Assumptions) -> Floats:
        found = [foretold(fitted(seen, model, assumptions, MAX_ITERATIONS), asked) for seen, asked in trials]
        return np.concatenate(found)

    def clearly_better(gains: Floats, errors: float = 1.0) -> bool:
        """Whether the mean gain is above so many standard errors of a single draw: draws share answers."""
        return float(gains.mean()) > errors * float(gains.std()) / math.sqrt(len(gains) / len(trials))

    tried = {form: logs(Assumptions(FIRST, form)) for form in _forms(len(answers.labels))}
    alike = tried.pop("alike")
    form = max(tried, key=lambda form: float(tried[form].sum()))
    if clearly_better(alike - tried[form], SURELY):
        tried[form := "alike"] = alike
    best, kept = STRENGTHS[0], logs(Assumptions(STRENGTHS[0], form))
    for strength in STRENGTHS[1:]:
        found = tried[form] if strength == FIRST else logs(Assumptions(strength, form))
        if clearly_better(found - kept):
            best, kept = strength, found
    return Assumptions(best, form)


def _forms(n_labels: int) -> tuple[Form, ...]:
    return ("levels", "alike", "rivals") if 2 < n_labels <= MANY_LABELS else ("levels", "alike")


def hidden_answers(answers: Answers, seed: int) -> NDArray[np.bool_]:
    """One answer of each drawn task, shape (answers,)."""
    random = np.random.default_rng(seed)
    order = np.lexsort((random.random(len(answers)), answers.task))
    first = np.diff(answers.task[order], prepend=-1) != 0
    drawn = (answers.n_labelers >= 2) & (random.random(len(answers.tasks)) < HIDDEN)
    hidden = np.zeros(len(answers), bool)
    hidden[order[first]] = drawn[answers.task[order[first]]]
    return hidden


def foretold(fit: Fit, hidden: Answers) -> Floats:
    """The logarithm of the probability of each hidden answer, shape (answers,), had a stranger given it.

    A stranger, since the task is on trial and not the worker: whoever knows a worker's own leaning
    foretells that worker's answers better and the truth no better (dbdc3, 2026-11-22: 4 points worse).
    """
    expected = fit.member @ fit.crowd.items.shares
    return np.asarray(np.log(expected[hidden.task, hidden.label]), float)
