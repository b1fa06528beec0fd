"""What the joint fit assumes, by what the answers show.

How far a model is heard is decided by the evidence of the votes (`items`): not at all, unless it foretells
them better by more than what it costs to learn how. What is meant by true, the plurality of many people or
what items lean to, is decided by gold if there is any. How whoever knows nothing answers, and how firmly
workers are held to the pool, is decided by hidden answers: one answer is hidden from each of some tasks, the
rest is fitted, and the hidden ones are foretold from their tasks' other answers, as a stranger's; where
answers are few, several times over. No answer that is foretold takes part in the fit.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.truth.answers import Answers, Floats
from dialint.labeling.truth.joint.fit import Assumptions, Fit, fitted
from dialint.labeling.truth.joint.items import Form, Items, Use, learned_items, model_logs

STRENGTHS = (float("inf"), 1000.0, 300.0, 100.0, 30.0, 10.0, 3.0)
"""Tried in this order, the most cautious first, in answers for each truth, until one does clearly worse."""
SURELY = 2.0
"""Nats by which items that lean must foretell gold better than pluralities do."""
HIDDEN = 0.5
"""Share of the tasks with two answers or more that lose one."""
ENOUGH, MOST_DRAWS = 20_000, 4
"""Small tables are tried in several draws of what is hidden, until all draws have so many answers."""
PLENTY = 100_000
"""Of larger tables so many answers are tried, all those to some tasks."""
MAX_ITERATIONS = 10
USES: tuple[Use, ...] = ("none", "calibrated", "recalibrated")


def chosen(
    answers: Answers, model: Floats | None = None, seed: int = 0, gold: NDArray[np.int64] | None = None
) -> Assumptions:
    """The form and the use of the model of most evidence, then the rest, where a bolder assumption must
    foretell hidden answers better than the best so far by a standard error of the difference."""
    form = form_by_gold(answers.votes(), gold)
    items, use = most_evidence(answers, form, model, gold)
    if len(answers) > PLENTY:
        drawn = np.random.default_rng(seed).random(len(answers.tasks)) < PLENTY / len(answers)
        drawn &= answers.n_labelers > 0
        answers, model = answers.where(drawn[answers.task]), None if model is None else model[drawn]
        gold, answers = None if gold is None else gold[drawn], answers.compact()
    n_draws = min(MOST_DRAWS, math.ceil(ENOUGH / max(1, len(answers))))
    draws = [hidden_answers(answers, seed + draw) for draw in range(n_draws)]
    trials = [(answers.where(~hidden), answers.where(hidden)) for hidden in draws if hidden.any()]
    best = Assumptions(STRENGTHS[0], form, use, "anything")
    if not trials:
        return best

    def logs(tried: Assumptions) -> Floats:
        found = [
            foretold(fitted(seen, model, tried, MAX_ITERATIONS, gold, items), asked) for seen, asked in trials
        ]
        return np.concatenate(found)

    kept = logs(best)
    for strength in STRENGTHS:  # the first with other people, the others bolder
        first = strength == STRENGTHS[0]
        tried = replace(best, blind="as the crowd") if first else replace(best, strength=strength)
        found = logs(tried)
        gains = found - kept  # draws share answers: the standard error is that of a single draw
        error = float(gains.std()) / math.sqrt(len(gains) / len(trials))
        if float(gains.mean()) > error:
            best, kept = tried, found
        elif not first and float(gains.mean()) < -2 * error:
            break
    return best


def form_by_gold(votes: Floats, gold: NDArray[np.int64] | None) -> Form:
    """What is meant by true: what most people would say, unless gold is clearly better foretold by where
    items lean, as where most people overlook what is there."""
    if gold is None or not ((gold >= 0) & (votes.sum(axis=1) > 0)).any():
        return "moot"
    known = np.flatnonzero((gold >= 0) & (votes.sum(axis=1) > 0))
    score: dict[Form, float] = {}
    for form in ("moot", "alike"):
        items = learned_items(votes, form)
        logs = votes[known] @ np.log(items.shares).T + items.component_logs(None, None, len(known))
        chance = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)) @ items.verdicts
        score[form] = float(np.log(np.maximum(chance[np.arange(len(known)), gold[known]], 1e-4)).sum())
    return "alike" if score["alike"] > score["moot"] + SURELY else "moot"


def most_evidence(
    answers: Answers, form: Form, model: Floats | None, gold: NDArray[np.int64] | None = None
) -> tuple[Items, Use]:
    """The items of most evidence, and the use of the model with which they were learnt."""
    votes, said = answers.votes(), None if model is None else model_logs(model)
    uses = USES if said is not None and said.any() else USES[:1]
    tried = [(learned_items(votes, form, use, said, gold), use) for use in uses]
    return max(tried, key=lambda one: one[0].evidence)


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
