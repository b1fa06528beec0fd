"""The joint method: one posterior of people and model, safe when answers are few.

Items, and how far a model tells where they lean, are fitted with all workers alike (`joint_items`) and then
held fixed; workers are fitted against them, each one shrunk towards the pool in two steps. First a *kind*:
how sharply a worker answers, from not at all (`Guessing`) over the average person to better than that; the
shares of the kinds are estimated from all workers. Then a table (truth x answer) of how much more often this
worker gives that answer to that truth than the kind would, shrunk towards 1 as if `strength` answers an
average worker gave to each truth stood behind it. The tables' mean over all answers is 1: the average worker
stays the average worker, so that the truth cannot drift towards a majority of like-minded workers. At one
answer a task this is the majority with its uncertainty; every further answer of a worker moves this worker
alone.

What is assumed is chosen from the answers (`choose_assumptions`). How a model is used is decided by the
evidence of the votes: not at all, unless it predicts them better by more than the cost of its parameters.
What is meant by true, the plurality of many people or what items lean to, is decided by gold if there is any.
How a worker without knowledge answers, and how strongly workers are shrunk, is decided by hidden answers: one
answer is hidden from each of some tasks, the rest is fitted, and the hidden ones are predicted from their
tasks' other answers, as a stranger's; where answers are few, several times over. No answer that is predicted
takes part in the fit.

Source: Dawid and Skene 1979 with shrinkage; kinds of workers after Venanzi et al. 2014. Measured on dbdc3
(2026-11-22): fitting items and workers together drifts away from the majority's truth and loses 5 to 25
points of accuracy at 3 answers, which is why items are held fixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.joint_items import Form, ItemModel, ModelUse, centred_model_logs, fit_items
from dialint.labeling.aggregation.posterior import Components, Posterior, normalise, softmax
from dialint.labeling.aggregation.sparse import CELLS, Pairs, worker_label_pairs

Guessing = Literal["anything", "as the crowd"]
"""How whoever knows nothing of an item answers: any label alike, or as people do on all items."""

SHARPNESS = np.array([0.0, 0.3, 0.6, 1.0, 1.5, 2.2])
"""Exponents of the pooled shares: 0 knows nothing of the item, 1 is the average person."""


@dataclass(frozen=True)
class WorkerModel:
    """`kinds`, shape (6,), the shares of the kinds; `centre`, shape (truth, answer), the logarithm of the
    tables' mean that is taken out; `strength` in answers, infinite for no tables."""

    items: ItemModel
    kinds: Floats
    centre: Floats
    strength: float
    blind: Guessing = "as the crowd"

    def kind_logs(self) -> Floats:
        """The logarithm of each kind's answer shares, shape (kinds, labels, components)."""
        shares = self.items.shares
        blind = self.items.weights @ shares if self.blind == "as the crowd" else np.ones(shares.shape[1])
        rows = [shares**x * blind ** max(0.0, 1.0 - x) for x in SHARPNESS]
        return np.ascontiguousarray(np.log(normalise(np.stack(rows))).transpose(0, 2, 1))

    def memberships(self, counts: Floats) -> Floats:
        """The probability of each kind, shape (workers, kinds), from expected `counts` of answers, shape
        (workers, labels, components)."""
        size = len(counts)
        logs = self.kind_logs().reshape(len(SHARPNESS), -1)
        return softmax(counts.reshape(size, -1) @ logs.T + np.log(self.kinds))[0]

    def raw_tables(self, counts: Floats, members: Floats) -> Floats:
        """Logarithm of the workers' own tables before centring, shape (workers, truth, answer)."""
        if np.isinf(self.strength):
            return np.zeros((len(counts), self.items.n_labels, self.items.n_labels))
        expected = np.exp(self._mixed(members)) * counts.sum(axis=1)[:, None]
        own, thought = (self._by_truth(values) for values in (counts, expected))
        weight = self.strength * self.items.pooled
        return np.asarray(np.log((own + weight) / (thought + weight)), float)

    def logs(self, members: Floats, raw: Floats) -> Floats:
        """The logarithm of each answer's chance, shape (workers, labels, components)."""
        own = (raw - self.centre).transpose(0, 2, 1)
        flat = np.ascontiguousarray(own).reshape(-1, self.items.n_labels) @ self.items.verdicts.T
        return _log_normalised(self._mixed(members) + flat.reshape(*own.shape[:2], -1))

    def _by_truth(self, values: Floats) -> Floats:
        """Sums over components, shape (workers, labels, components), by truth: (workers, truth, answer)."""
        flat = values.reshape(-1, values.shape[2]) @ self.items.verdicts
        return np.asarray(flat.reshape(*values.shape[:2], -1).transpose(0, 2, 1), float)

    def _mixed(self, members: Floats) -> Floats:
        """The kinds' logarithms averaged for each worker, shape (workers, labels, components), a distribution
        of labels in each component."""
        logs = self.kind_logs()
        return _log_normalised((members @ logs.reshape(len(logs), -1)).reshape(-1, *logs.shape[1:]))


def _log_normalised(logs: Floats) -> Floats:
    """`logs`, shape (workers, labels, components), less the logarithm of their sum over labels; they are near
    0 as chances are, so that no maximum need be taken out first."""
    return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)), float)


def initial_workers(items: ItemModel, strength: float, blind: Guessing = "as the crowd") -> WorkerModel:
    """A crowd of which nothing is known but the items: most are near the average."""
    kinds = normalise(np.exp(-((SHARPNESS - 1.0) ** 2)))
    return WorkerModel(items, kinds, np.zeros((items.n_labels, items.n_labels)), strength, blind)


def update_workers(crowd: WorkerModel, pairs: Pairs, counts: Floats) -> tuple[WorkerModel, Floats]:
    """The crowd learnt anew from `counts`, shape (pairs, components); and the logarithm of the chance of
    each pair's answer, same shape, under the kinds and the centre from before."""
    table = np.empty_like(counts)
    shares, centre, weight = np.ones(len(crowd.kinds)), np.zeros_like(crowd.centre), 0.0
    for selected, first, dense in worker_blocks(pairs, counts):
        members = crowd.memberships(dense)
        raw = crowd.raw_tables(dense, members)
        at = (pairs.worker[selected] - first, pairs.label[selected])
        table[selected] = crowd.logs(members, raw)[at]
        answers = dense.sum(axis=(1, 2))
        shares += members[answers > 0].sum(axis=0)
        centre += np.einsum("w,wkl->kl", answers, raw)
        weight += float(answers.sum())
    return replace(crowd, kinds=normalise(shares), centre=centre / max(weight, 1e-12)), table


def confusion_matrices(crowd: WorkerModel, pairs: Pairs, counts: Floats) -> Floats:
    """Every worker's chance of an answer given the truth, shape (workers, truth, answer)."""
    within = crowd.items.verdicts * crowd.items.weights[:, None]
    within = within / np.maximum(within.sum(axis=0), 1e-300)  # (components, truth)
    rows = []
    for _, _, dense in worker_blocks(pairs, counts):
        members = crowd.memberships(dense)
        chance = np.exp(crowd.logs(members, crowd.raw_tables(dense, members)))
        rows.append(np.einsum("wlc,ck->wkl", chance, within))
    return np.concatenate(rows)


def worker_blocks(pairs: Pairs, counts: Floats) -> Iterator[tuple[NDArray[np.int64] | slice, int, Floats]]:
    """Runs of workers: the slice of their pairs, the first worker, and the counts as a dense table of
    shape (workers, labels, components)."""
    step = max(1, CELLS // (pairs.n_labels * counts.shape[1]))
    for first in range(0, pairs.n_workers, step):
        last = min(first + step, pairs.n_workers)
        begin, end = np.searchsorted(pairs.worker, (first, last))
        selected = slice(int(begin), int(end))
        dense = np.zeros((last - first, pairs.n_labels, counts.shape[1]))
        dense[pairs.worker[selected] - first, pairs.label[selected]] = counts[selected]
        yield selected, first, dense


FIT_ITERATIONS = 30
TOLERANCE = 1e-3
"""Largest change of a task's probability at which iterating ends."""


@dataclass(frozen=True)
class JointFit:
    """All that the joint method holds after a fit: `base`, shape (tasks, components), the logarithms of the
    tasks' priors, with the model's word if it `hears` one; `member`, same shape, their posteriors; and
    `counts`, shape (pairs, components), with which workers are known."""

    crowd: WorkerModel
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
        matrices = confusion_matrices(self.crowd, self.pairs, self.counts)
        skills = np.einsum("k,wkk->w", items.weights @ items.verdicts, matrices)
        truth, expected = normalise(self.member @ items.verdicts), normalise(self.member @ items.shares)
        may_be = Components(self.member.astype(np.float32), items.shares, items.verdicts)
        return Posterior(truth, expected, skills, matrices, self.iterations, self.log_likelihood, may_be)


@dataclass(frozen=True)
class Assumptions:
    """What is assumed and not learnt in a fit: the `strength` with which workers are held to the pool, in
    answers (infinite: kinds only), the form of the items, how a model is used if there is one, and how
    whoever knows nothing answers."""

    strength: float
    form: Form = "moot"
    use: ModelUse = "recalibrated"
    blind: Guessing = "as the crowd"


def joint_posterior(
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
        assumptions = choose_assumptions(answers, model, gold=gold)
    return fit_joint(answers, model, assumptions, gold=gold).posterior()


def fit_joint(
    answers: Answers,
    model: Floats | None,
    assumptions: Assumptions,
    max_iterations: int = FIT_ITERATIONS,
    gold: NDArray[np.int64] | None = None,
    items: ItemModel | None = None,
) -> JointFit:
    """The fit under `assumptions`; `items` where they were learnt before."""
    votes, use = answers.votes(), "none" if model is None else assumptions.use
    said = None if model is None or use == "none" else centred_model_logs(model)
    if items is None:
        items = fit_items(votes, assumptions.form, use, said, gold)
    base = items.component_logs(said, gold, len(votes))
    crowd, table = (
        initial_workers(items, assumptions.strength, assumptions.blind),
        worker_label_pairs(answers),
    )
    member = np.zeros(base.shape, np.float32)  # sums over tasks are taken in double
    counts, likelihood, change = table.expectation(np.log(items.shares).T[table.label], base, member)
    iterations = 0
    while iterations < max_iterations and change >= TOLERANCE:
        iterations += 1
        crowd, logs = update_workers(crowd, table, counts)
        counts, likelihood, change = table.expectation(logs, base, member)
    return JointFit(crowd, table, said is not None, base, normalise(member), counts, iterations, likelihood)


STRENGTHS = (float("inf"), 1000.0, 300.0, 100.0, 30.0, 10.0, 3.0)
"""Tried in this order, the most cautious first, in answers for each truth, until one does clearly worse."""
LEAST_GOLD_GAIN = 2.0
"""Nats by which items that lean must foretell gold better than pluralities do."""
HIDDEN = 0.5
"""Share of the tasks with two answers or more that lose one."""
ENOUGH_TRIAL_ANSWERS, MOST_DRAWS = 20_000, 4
"""Small tables are tried in several draws of what is hidden, until all draws have so many answers."""
MOST_TRIAL_ANSWERS = 100_000
"""Of larger tables so many answers are tried, all those to some tasks."""
TRIAL_ITERATIONS = 10
MODEL_USES: tuple[ModelUse, ...] = ("none", "calibrated", "recalibrated")


def choose_assumptions(
    answers: Answers, model: Floats | None = None, seed: int = 0, gold: NDArray[np.int64] | None = None
) -> Assumptions:
    """The form and the use of the model of most evidence, then the rest, where a bolder assumption must
    foretell hidden answers better than the best so far by a standard error of the difference."""
    form = select_form(answers.votes(), gold)
    items, use = select_items(answers, form, model, gold)
    if len(answers) > MOST_TRIAL_ANSWERS:
        drawn = np.random.default_rng(seed).random(len(answers.tasks)) < MOST_TRIAL_ANSWERS / len(answers)
        drawn &= answers.n_labelers > 0
        answers, model = answers.where(drawn[answers.task]), None if model is None else model[drawn]
        gold, answers = None if gold is None else gold[drawn], answers.compact()
    n_draws = min(MOST_DRAWS, math.ceil(ENOUGH_TRIAL_ANSWERS / max(1, len(answers))))
    draws = [sample_held_out(answers, seed + draw) for draw in range(n_draws)]
    trials = [(answers.where(~hidden), answers.where(hidden)) for hidden in draws if hidden.any()]
    best = Assumptions(STRENGTHS[0], form, use, "anything")
    if not trials:
        return best

    def logs(tried: Assumptions) -> Floats:
        found = [
            held_out_log_probabilities(fit_joint(seen, model, tried, TRIAL_ITERATIONS, gold, items), asked)
            for seen, asked in trials
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


def select_form(votes: Floats, gold: NDArray[np.int64] | None) -> Form:
    """What is meant by true: what most people would say, unless gold is clearly better foretold by where
    items lean, as where most people overlook what is there."""
    if gold is None or not ((gold >= 0) & (votes.sum(axis=1) > 0)).any():
        return "moot"
    known = np.flatnonzero((gold >= 0) & (votes.sum(axis=1) > 0))
    score: dict[Form, float] = {}
    for form in ("moot", "alike"):
        items = fit_items(votes, form)
        logs = votes[known] @ np.log(items.shares).T + items.component_logs(None, None, len(known))
        chance = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)) @ items.verdicts
        score[form] = float(np.log(np.maximum(chance[np.arange(len(known)), gold[known]], 1e-4)).sum())
    return "alike" if score["alike"] > score["moot"] + LEAST_GOLD_GAIN else "moot"


def select_items(
    answers: Answers, form: Form, model: Floats | None, gold: NDArray[np.int64] | None = None
) -> tuple[ItemModel, ModelUse]:
    """The items of most evidence, and the use of the model with which they were learnt."""
    votes, said = answers.votes(), None if model is None else centred_model_logs(model)
    uses = MODEL_USES if said is not None and said.any() else MODEL_USES[:1]
    tried = [(fit_items(votes, form, use, said, gold), use) for use in uses]
    return max(tried, key=lambda one: one[0].evidence)


def sample_held_out(answers: Answers, seed: int) -> NDArray[np.bool_]:
    """One answer of each drawn task, shape (answers,)."""
    random = np.random.default_rng(seed)
    order = np.lexsort((random.random(len(answers)), answers.task))
    first = np.diff(answers.task[order], prepend=-1) != 0
    drawn = (answers.n_labelers >= 2) & (random.random(len(answers.tasks)) < HIDDEN)
    hidden = np.zeros(len(answers), bool)
    hidden[order[first]] = drawn[answers.task[order[first]]]
    return hidden


def held_out_log_probabilities(fit: JointFit, hidden: Answers) -> Floats:
    """The logarithm of the probability of each hidden answer, shape (answers,), had a stranger given it.

    A stranger, since the task is on trial and not the worker: whoever knows a worker's own leaning
    foretells that worker's answers better and the truth no better (dbdc3, 2026-11-22: 4 points worse).
    """
    expected = fit.member @ fit.crowd.items.shares
    return np.asarray(np.log(expected[hidden.task, hidden.label]), float)
