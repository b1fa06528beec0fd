"""The house method: one posterior of people and model, safe when answers are few.

What items are like, with what a model says of them, is learnt with all workers alike (`items`) and then
held; what workers are like is learnt against it, each one shrunk towards the kinds and the pool (`crowd`).
At one answer a task this is the majority with its uncertainty told; every further answer of a worker moves
this worker alone. What is assumed is chosen from the answers (`choice`).

Source: Dawid and Skene 1979 with shrinkage; kinds of workers after Venanzi et al. 2014. Measured on
dbdc3 (2026-11-22, `study`): learning items and workers together drifts away from the majority's truth
and loses 5 to 25 points of accuracy at 3 answers, which is why items are held.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.truth.answers import Answers, Floats
from dialint.labeling.truth.joint.crowd import Blind, Crowd, confusion, newcomers, refreshed
from dialint.labeling.truth.joint.items import Form, Items, Use, learned_items, model_logs
from dialint.labeling.truth.posterior import Components, Posterior, normalised
from dialint.labeling.truth.sparse import Pairs, pairs

MAX_ITERATIONS = 30
TOLERANCE = 1e-3
"""Largest change of a task's probability at which iterating ends."""


@dataclass(frozen=True)
class Fit:
    """All that the joint method holds after a fit: `base`, shape (tasks, components), the logarithms of the
    tasks' priors, with the model's word if it `hears` one; `member`, same shape, their posteriors; and
    `counts`, shape (pairs, components), with which workers are known."""

    crowd: Crowd
    pairs: Pairs
    hears: bool
    base: Floats
    member: Floats
    counts: Floats
    iterations: int
    log_likelihood: float

    def posterior(self) -> Posterior:
        """The fit as every method tells it."""
        items = self.crowd.items
        matrices = confusion(self.crowd, self.pairs, self.counts)
        skills = np.einsum("k,wkk->w", items.weights @ items.verdicts, matrices)
        truth, expected = normalised(self.member @ items.verdicts), normalised(self.member @ items.shares)
        may_be = Components(self.member.astype(np.float32), items.shares, items.verdicts)
        return Posterior(truth, expected, skills, matrices, self.iterations, self.log_likelihood, may_be)


@dataclass(frozen=True)
class Assumptions:
    """What is assumed and not learnt in a fit: the `strength` with which workers are held to the pool, in
    answers (infinite: kinds only), the form of the items, how a model is used if there is one, and how
    whoever knows nothing answers."""

    strength: float
    form: Form = "moot"
    use: Use = "recalibrated"
    blind: Blind = "as the crowd"


def joint(
    answers: Answers,
    model: Floats | None = None,
    assumptions: Assumptions | None = None,
    gold: NDArray[np.int64] | None = None,
) -> Posterior:
    """The joint posterior of people and model.

    `model` holds its probabilities, shape (tasks, labels), rows of NaN where it is silent; `gold` the label
    of tasks whose truth is known, -1 elsewhere, shape (tasks,). `assumptions` are chosen if none are given.
    """
    if assumptions is None:
        from dialint.labeling.truth.joint.choice import chosen

        assumptions = chosen(answers, model, gold=gold)
    return fitted(answers, model, assumptions, gold=gold).posterior()


def fitted(
    answers: Answers,
    model: Floats | None,
    assumptions: Assumptions,
    max_iterations: int = MAX_ITERATIONS,
    gold: NDArray[np.int64] | None = None,
    items: Items | None = None,
) -> Fit:
    """The fit under `assumptions`; `items` where they were learnt before."""
    votes, use = answers.votes(), "none" if model is None else assumptions.use
    said = None if model is None or use == "none" else model_logs(model)
    if items is None:
        items = learned_items(votes, assumptions.form, use, said, gold)
    base = items.component_logs(said, gold, len(votes))
    crowd, table = newcomers(items, assumptions.strength, assumptions.blind), pairs(answers)
    member = np.zeros(base.shape, np.float32)  # sums over tasks are taken in double
    counts, likelihood, change = table.expectation(np.log(items.shares).T[table.label], base, member)
    iterations = 0
    while iterations < max_iterations and change >= TOLERANCE:
        iterations += 1
        crowd, logs = refreshed(crowd, table, counts)
        counts, likelihood, change = table.expectation(logs, base, member)
    return Fit(crowd, table, said is not None, base, normalised(member), counts, iterations, likelihood)
