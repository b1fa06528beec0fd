"""The house method: one posterior of people and model, safe when answers are few.

What items are like is learnt with all workers alike (`items`) and then held; what workers are like is
learnt against it, each one shrunk towards the kinds and the pool (`crowd`); the model's probability,
where there is one, is the prior of each task (`model_prior`). At one answer a task this is the majority
with its uncertainty told; every further answer of a worker moves this worker alone.

How firmly workers are held to the pool, and how items differ, is chosen by how well
hidden answers are foretold: the truth is never looked at (`choice`).

Source: Dawid and Skene 1979 with shrinkage; kinds of workers after Venanzi et al. 2014. Measured on
dbdc3 (2026-11-22, `study`): learning items and workers together drifts away from the majority's truth
and loses 5 to 25 points of accuracy at 3 answers, which is why items are held.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labeling.truth.answers import Answers, Floats
from labeling.truth.joint.crowd import Crowd, confusion, newcomers, refreshed
from labeling.truth.joint.items import Form, learned_items
from labeling.truth.joint.model_prior import ModelPrior, model_prior, retrusted
from labeling.truth.posterior import Posterior, softmax
from labeling.truth.sparse import Pairs, pairs

MAX_ITERATIONS = 30
TOLERANCE = 1e-3
"""Largest change of a task's probability at which iterating ends."""


@dataclass(frozen=True)
class Fit:
    """All that the joint method holds after a fit: `member`, shape (tasks, components), and `counts`,
    shape (pairs, components), with which workers are known."""

    crowd: Crowd
    pairs: Pairs
    prior: ModelPrior | None
    member: Floats
    counts: Floats
    iterations: int
    log_likelihood: float

    def posterior(self) -> Posterior:
        """The fit as every method tells it."""
        items = self.crowd.items
        matrices = confusion(self.crowd, self.pairs, self.counts)
        skills = np.einsum("k,wkk->w", items.weights @ items.indicator, matrices)
        truth, expected = self.member @ items.verdicts, self.member @ items.shares
        return Posterior(truth, expected, skills, matrices, self.iterations, self.log_likelihood)


@dataclass(frozen=True)
class Assumptions:
    """What is assumed and not learnt in a fit: the `strength` with which workers are held to the pool, in
    answers (infinite: kinds only), and how items differ."""

    strength: float
    form: Form


def joint(answers: Answers, model: Floats | None = None, assumptions: Assumptions | None = None) -> Posterior:
    """The joint posterior of people and model.

    `model` holds its probabilities, shape (tasks, labels), rows of NaN where it is silent. `assumptions`
    are chosen by hidden answers if none are given.
    """
    if assumptions is None:
        from labeling.truth.joint.choice import chosen

        assumptions = chosen(answers, model)
    return fitted(answers, model, assumptions).posterior()


def fitted(
    answers: Answers, model: Floats | None, assumptions: Assumptions, max_iterations: int = MAX_ITERATIONS
) -> Fit:
    """The fit under `assumptions`."""
    items, member = learned_items(answers.votes(), assumptions.form)
    crowd, table = newcomers(items, assumptions.strength), pairs(answers)
    prior = None if model is None else model_prior(model)
    base = np.log(items.weights)
    if prior is not None:
        base = prior.component_logs(items)
        member = softmax(answers.votes() @ np.log(items.shares).T + base)[0]
    iterations, likelihood = 0, float("nan")
    counts = table.by_pair @ member
    while iterations < max_iterations:
        iterations += 1
        crowd, logs = refreshed(crowd, table, counts)
        if prior is not None:
            prior = retrusted(prior, items, member @ items.indicator)
            base = prior.component_logs(items)
        before = member
        member, sums = softmax(table.by_task @ logs + base)
        counts, likelihood = table.by_pair @ member, float(sums.sum())
        if np.abs(member - before).max() < TOLERANCE:
            break
    return Fit(crowd, table, prior, member, counts, iterations, likelihood)
