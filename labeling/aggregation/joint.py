"""The joint method: one posterior of people and model, robust where answers are few.

Items, and how far a model predicts their class, are fitted with all workers alike (`joint_items`) and then
held fixed; workers are fitted against them, each one shrunk towards the pool in two steps. First a *kind*:
how sharply a worker answers, from not at all (`Guessing`) over the average person to better than that; the
shares of the kinds are estimated from all workers. Then a table (truth x answer) of how much more often this
worker gives that answer to that truth than the kind would, shrunk towards 1 with a weight of `strength`
answers of an average worker to each truth. The mean of the tables over all answers is 1: the average worker
stays the average worker, so that the truth cannot drift towards a majority of like-minded workers. With one
answer a task this is the majority with its uncertainty; every further answer of a worker changes the estimate
of this worker only.

Assumptions are selected by the answers (`choose_assumptions`). Whether and how a model is used is decided by
the evidence of the votes: not at all, unless it predicts them better by more than the cost of its parameters.
Whether the true label is the plurality of many people or the class of the item is decided by gold if there is
any. How a worker without knowledge answers, how strongly workers are shrunk, and how probable each form of
the items is, heterogeneous or individual, is decided by held-out answers: one answer is removed from each of
some tasks, the rest is fitted, and the held-out ones are predicted from the other answers to their tasks,
as answers of an unknown worker; where answers are few, in several samples. No answer that is predicted takes
part in the fit. Forms that predict alike are averaged, as classes would be too sure of what is a matter of
taste. Without a model individual items must predict better by a standard error: they take a rare error that
one of two people finds for none.

Source: Dawid and Skene 1979 with shrinkage; kinds of workers after Venanzi et al. 2014. Measured on dbdc3
(2026-11-22): fitting items and workers together drifts away from the majority's truth and loses 5 to 25
points of accuracy at 3 answers, which is why items are held fixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.joint_items import Form, ItemModel, ModelUse, centred_model_logs, fit_items
from dialint.labeling.aggregation.posterior import (
    CELLS,
    Components,
    Pairs,
    Posterior,
    mix_posteriors,
    normalise,
    softmax,
    worker_label_pairs,
)

Guessing = Literal["anything", "as the crowd"]
"""The answers of a worker without knowledge of the item: uniform, or distributed as all answers are."""

SHARPNESS = np.array([0.0, 0.3, 0.6, 1.0, 1.5, 2.2])
"""Exponents of the pooled shares: 0 is no knowledge of the item, 1 the average person."""


@dataclass(frozen=True)
class WorkerModel:
    """`kinds`, shape (6,), the shares of the kinds; `centre`, shape (truth, answer), the mean log table,
    which is subtracted; `strength` in answers, infinite for no tables."""

    items: ItemModel
    kinds: Floats
    centre: Floats
    strength: float
    guessing: Guessing = "as the crowd"

    @cached_property
    def kind_logs(self) -> Floats:
        """The logarithm of each kind's answer shares, shape (kinds, labels, components)."""
        shares = self.items.shares
        guessing = (
            self.items.weights @ shares if self.guessing == "as the crowd" else np.ones(shares.shape[1])
        )
        rows = [shares**x * guessing ** max(0.0, 1.0 - x) for x in SHARPNESS]
        return np.ascontiguousarray(np.log(normalise(np.stack(rows))).transpose(0, 2, 1))

    def kind_probabilities(self, counts: Floats) -> Floats:
        """The probability of each kind, shape (workers, kinds), from expected `counts` of answers, shape
        (workers, labels, components)."""
        size = len(counts)
        logs = self.kind_logs.reshape(len(SHARPNESS), -1)
        return softmax(counts.reshape(size, -1) @ logs.T + np.log(self.kinds))[0]

    def raw_tables(self, counts: Floats, kind_probabilities: Floats) -> Floats:
        """Logarithm of the workers' own tables before centring, shape (workers, truth, answer)."""
        if np.isinf(self.strength):
            return np.zeros((len(counts), self.items.n_labels, self.items.n_labels))
        expected = np.exp(self._mix(kind_probabilities)) * counts.sum(axis=1)[:, None]
        own, expected_own = (self._by_truth(values) for values in (counts, expected))
        weight = self.strength * self.items.pooled
        return np.asarray(np.log((own + weight) / (expected_own + weight)), float)

    def logs(self, kind_probabilities: Floats, raw: Floats) -> Floats:
        """The log probability of each answer, shape (workers, labels, components)."""
        own = (raw - self.centre).transpose(0, 2, 1)
        flat = np.ascontiguousarray(own).reshape(-1, self.items.n_labels) @ self.items.label_probabilities.T
        return _log_normalised(self._mix(kind_probabilities) + flat.reshape(*own.shape[:2], -1))

    def _by_truth(self, values: Floats) -> Floats:
        """Sums over components, shape (workers, labels, components), by truth: (workers, truth, answer)."""
        flat = values.reshape(-1, values.shape[2]) @ self.items.label_probabilities
        return np.asarray(flat.reshape(*values.shape[:2], -1).transpose(0, 2, 1), float)

    def _mix(self, kind_probabilities: Floats) -> Floats:
        """The kinds' logarithms averaged for each worker, shape (workers, labels, components), a distribution
        of labels in each component."""
        logs = self.kind_logs
        return _log_normalised(
            (kind_probabilities @ logs.reshape(len(logs), -1)).reshape(-1, *logs.shape[1:])
        )


def _log_normalised(logs: Floats) -> Floats:
    """`logs`, shape (workers, labels, components), less the logarithm of their sum over labels; they are near
    0, so that no maximum has to be subtracted first."""
    return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)), float)


def initial_workers(items: ItemModel, strength: float, guessing: Guessing = "as the crowd") -> WorkerModel:
    """The prior of workers: most are near the average."""
    kinds = normalise(np.exp(-((SHARPNESS - 1.0) ** 2)))
    return WorkerModel(items, kinds, np.zeros((items.n_labels, items.n_labels)), strength, guessing)


def update_workers(workers: WorkerModel, pairs: Pairs, counts: Floats) -> tuple[WorkerModel, Floats]:
    """The M step: the workers fitted to `counts`, shape (pairs, components); and the log probability of each
    pair's answer, same shape, under the previous kinds and centre."""
    table = np.empty_like(counts)
    shares, centre, weight = np.ones(len(workers.kinds)), np.zeros_like(workers.centre), 0.0
    for selected, first, dense in worker_blocks(pairs, counts):
        kind_probabilities = workers.kind_probabilities(dense)
        raw = workers.raw_tables(dense, kind_probabilities)
        at = (pairs.worker[selected] - first, pairs.label[selected])
        table[selected] = workers.logs(kind_probabilities, raw)[at]
        answers = dense.sum(axis=(1, 2))
        shares += kind_probabilities[answers > 0].sum(axis=0)
        centre += np.einsum("w,wkl->kl", answers, raw)
        weight += float(answers.sum())
    return replace(workers, kinds=normalise(shares), centre=centre / max(weight, 1e-12)), table


def worker_blocks(pairs: Pairs, counts: Floats) -> Iterator[tuple[NDArray[np.int64] | slice, int, Floats]]:
    """Iterate over blocks of workers: the slice of their pairs, the first worker, and the counts as a dense
    table of shape (workers, labels, components)."""
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
"""Largest change of a task's probability at which iteration ends."""


@dataclass(frozen=True)
class JointFit:
    """A fit of the joint method: `base`, shape (tasks, components), the log priors of the tasks, which
    include a model's; `responsibilities`, same shape, their posteriors; and `counts`,
    shape (pairs, components), the expected answers of each worker."""

    workers: WorkerModel
    pairs: Pairs
    base: Floats
    responsibilities: Floats
    counts: Floats
    log_likelihood: float

    def posterior(self) -> Posterior:
        """The fit in the form common to all methods."""
        items = self.workers.items
        truth = normalise(self.responsibilities @ items.label_probabilities)
        expected = normalise(self.responsibilities @ items.shares)
        components = Components(
            self.responsibilities.astype(np.float32), items.shares, items.label_probabilities
        )
        return Posterior(truth, expected, components)


@dataclass(frozen=True)
class Assumptions:
    """The assumptions of a fit: the `strength` with which workers are shrunk towards the pool, in answers
    (infinite: kinds only), the form of the items, how a model is used if there is one, and how workers
    without knowledge answer."""

    strength: float
    form: Form = "heterogeneous"
    use: ModelUse = "recalibrated"
    guessing: Guessing = "as the crowd"
    log_likelihoods: Mapping[Form, float] = field(default_factory=dict, compare=False)
    """The mean log probability of a held-out answer under each form that was tried."""
    mixture: Mapping[Form, tuple[ModelUse, float]] = field(default_factory=dict, compare=False)
    """The forms that held-out answers leave possible, how each uses a model, and its weight; if empty, the
    one above."""


def joint_posterior(
    answers: Answers,
    model: Floats | None = None,
    assumptions: Assumptions | None = None,
    gold: NDArray[np.int64] | None = None,
) -> Posterior:
    """The joint posterior of people and model.

    `model` holds its probabilities, shape (tasks, labels), rows of NaN where it has none; `gold` the true
    label of gold tasks, -1 elsewhere, shape (tasks,). `assumptions` are chosen if none are given.
    Workers whose answer is always the same are left out (`Answers.constant_workers`): shrunk towards the
    pool, they would count as average ones.
    """
    answers = answers.without_constant()
    if assumptions is None:
        assumptions = choose_assumptions(answers, model, gold=gold)
    parts = [
        (weight, fit_joint(answers, model, replace(assumptions, form=form, use=use), gold=gold).posterior())
        for form, (use, weight) in (assumptions.mixture or {assumptions.form: (assumptions.use, 1.0)}).items()
    ]
    strength = None if math.isinf(assumptions.strength) else assumptions.strength  # JSON has no infinity
    return replace(mix_posteriors(parts), assumptions={**asdict(assumptions), "strength": strength})


def fit_joint(
    answers: Answers,
    model: Floats | None,
    assumptions: Assumptions,
    max_iterations: int = FIT_ITERATIONS,
    gold: NDArray[np.int64] | None = None,
    items: ItemModel | None = None,
) -> JointFit:
    """Fit the joint model under `assumptions`; with `items`, if they are fitted already, workers only."""
    votes, use = answers.votes(), "none" if model is None else assumptions.use
    model_logs = None if model is None or use == "none" else centred_model_logs(model)
    if items is None:
        items = fit_items(votes, assumptions.form, use, model_logs, gold)
    base = items.component_logs(model_logs, gold, len(votes))
    table = worker_label_pairs(answers)
    workers = initial_workers(items, assumptions.strength, assumptions.guessing)
    responsibilities = np.zeros(base.shape, np.float32)  # sums over tasks are taken in double
    counts, likelihood, change = table.expectation(
        np.log(items.shares).T[table.label], base, responsibilities
    )
    for _ in range(max_iterations):
        if change < TOLERANCE:
            break
        workers, logs = update_workers(workers, table, counts)
        counts, likelihood, change = table.expectation(logs, base, responsibilities)
    return JointFit(
        workers,
        table,
        base,
        normalise(responsibilities),
        counts,
        likelihood,
    )


STRENGTHS = (float("inf"), 1000.0, 300.0, 100.0, 30.0, 10.0, 3.0)
"""In answers for each truth; tried in this order, the most cautious first, until one is clearly worse."""
MIN_GOLD_GAIN = 2.0
"""Nats by which homogeneous items must predict gold better than heterogeneous ones do."""
HELD_OUT_SHARE = 0.5
"""Share of the tasks with two answers or more from which one is held out."""
ENOUGH_TRIAL_ANSWERS, MAX_HELD_OUT_SAMPLES = 20_000, 4
"""Small tables are tried with several held-out samples, until these have so many answers together."""
MOST_TRIAL_ANSWERS = 100_000
"""Of larger tables about so many answers are used, all answers to a sample of the tasks."""
TRIAL_ITERATIONS = 10
MIN_WEIGHT = 0.01
"""A form of the items less probable than this by the held-out answers is left out."""
MODEL_USES: tuple[ModelUse, ...] = ("none", "calibrated", "recalibrated")


def choose_assumptions(
    answers: Answers, model: Floats | None = None, seed: int = 0, gold: NDArray[np.int64] | None = None
) -> Assumptions:
    """Select the use of the model by its evidence, weigh the forms of the items by held-out answers, unless
    gold decides, then select the rest for the better form, where a bolder assumption must predict held-out
    answers better than the best so far by a standard error of the difference."""
    forms: tuple[Form, ...] = ("heterogeneous", "individual")
    if select_form(answers.votes(), gold) == "homogeneous":
        forms = ("homogeneous",)
    selected = {form: select_items(answers, form, model, gold) for form in forms}
    if len(answers) > MOST_TRIAL_ANSWERS:
        sampled = np.random.default_rng(seed).random(len(answers.tasks)) < MOST_TRIAL_ANSWERS / len(answers)
        sampled &= answers.n_labelers > 0
        answers, model = answers.where(sampled[answers.task]), None if model is None else model[sampled]
        gold, answers = None if gold is None else gold[sampled], answers.compact()
    n_samples = min(MAX_HELD_OUT_SAMPLES, math.ceil(ENOUGH_TRIAL_ANSWERS / max(1, len(answers))))
    samples = [sample_held_out(answers, seed + index) for index in range(n_samples)]
    trials = [(answers.where(~hidden), answers.where(hidden)) for hidden in samples if hidden.any()]
    candidates = [Assumptions(STRENGTHS[0], form, selected[form][1], "anything") for form in forms]
    if not trials:
        return candidates[0]

    def evaluate(assumptions: Assumptions) -> Floats:
        items = selected[assumptions.form][0]
        fits = [fit_joint(seen, model, assumptions, TRIAL_ITERATIONS, gold, items) for seen, _ in trials]
        logs = [held_out_log_probabilities(fit, held) for fit, (_, held) in zip(fits, trials, strict=True)]
        return np.concatenate(logs)

    def difference(logs: Floats, other: Floats) -> tuple[float, float]:
        gains = logs - other  # samples share answers: the standard error is that of one
        return float(gains.mean()), float(gains.std()) / math.sqrt(len(gains) / len(trials))

    logs_of_form = {one.form: evaluate(one) for one in candidates}
    means = {form: float(logs.mean()) for form, logs in logs_of_form.items()}
    if forms[-1] == "individual" and selected["individual"][1] == "none":
        gain, error = difference(logs_of_form["individual"], logs_of_form["heterogeneous"])
        forms = forms if gain > error else forms[:1]
    best = max((one for one in candidates if one.form in forms), key=lambda one: means[one.form])
    best_logs = logs_of_form[best.form]
    n_answers = len(best_logs) / len(trials)
    weights = normalise(np.exp([n_answers * (means[form] - means[best.form]) for form in forms]))
    for strength in STRENGTHS:  # the first only changes `guessing`, the others are bolder
        first = strength == STRENGTHS[0]
        trial = replace(best, guessing="as the crowd") if first else replace(best, strength=strength)
        logs = evaluate(trial)
        gain, error = difference(logs, best_logs)
        if gain > error:
            best, best_logs = trial, logs
        elif not first and gain < -2 * error:
            break
    mixture = {
        form: (selected[form][1], float(weight))
        for form, weight in zip(forms, weights / weights[weights >= MIN_WEIGHT].sum(), strict=True)
        if weight >= MIN_WEIGHT
    }
    return replace(best, log_likelihoods=means, mixture=mixture)


def select_form(votes: Floats, gold: NDArray[np.int64] | None) -> Form:
    """Select the definition of the true label: the answer of most people, unless gold is clearly better
    predicted by the class, as where most people overlook errors."""
    if gold is None or not ((gold >= 0) & (votes.sum(axis=1) > 0)).any():
        return "heterogeneous"
    with_gold = np.flatnonzero((gold >= 0) & (votes.sum(axis=1) > 0))
    scores: dict[Form, float] = {}
    for form in ("heterogeneous", "homogeneous"):
        items = fit_items(votes, form)
        logs = votes[with_gold] @ np.log(items.shares).T + items.component_logs(None, None, len(with_gold))
        posterior = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
        probabilities = (posterior @ items.label_probabilities)[np.arange(len(with_gold)), gold[with_gold]]
        scores[form] = float(np.log(np.maximum(probabilities, 1e-4)).sum())
    is_better = scores["homogeneous"] > scores["heterogeneous"] + MIN_GOLD_GAIN
    return "homogeneous" if is_better else "heterogeneous"


def select_items(
    answers: Answers, form: Form, model: Floats | None, gold: NDArray[np.int64] | None = None
) -> tuple[ItemModel, ModelUse]:
    """Select the items of highest evidence, and the use of the model in their fit."""
    votes, model_logs = answers.votes(), None if model is None else centred_model_logs(model)
    uses = MODEL_USES if model_logs is not None and model_logs.any() else MODEL_USES[:1]
    trial = [(fit_items(votes, form, use, model_logs, gold), use) for use in uses]
    return max(trial, key=lambda one: one[0].evidence)


def sample_held_out(answers: Answers, seed: int) -> NDArray[np.bool_]:
    """A mask with one answer of each sampled task, shape (answers,)."""
    random = np.random.default_rng(seed)
    order = np.lexsort((random.random(len(answers)), answers.task))
    first = np.diff(answers.task[order], prepend=-1) != 0
    sampled = (answers.n_labelers >= 2) & (random.random(len(answers.tasks)) < HELD_OUT_SHARE)
    hidden = np.zeros(len(answers), bool)
    hidden[order[first]] = sampled[answers.task[order[first]]]
    return hidden


def held_out_log_probabilities(fit: JointFit, hidden: Answers) -> Floats:
    """The log probability of each held-out answer, shape (answers,), as the answer of an unknown worker.

    Of an unknown worker, since the fit of the tasks is tested and not that of the worker: a worker's own bias
    predicts the answers of this worker better and the true label no better (dbdc3, 2026-11-22: 4 points
    worse).
    """
    expected = fit.responsibilities @ fit.workers.items.shares
    return np.asarray(np.log(expected[hidden.task, hidden.label]), float)
