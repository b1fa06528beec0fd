"""The joint method: one posterior of people and model, robust where answers are few.

It is the mean of three posteriors, as few answers refute none of them and each fails elsewhere:

- Heterogeneous items (`joint_items`): plain errors, rare ones too, and workers of different sharpness.
- Individual items: matters of taste, for which classes would be overconfident.
- Confusion matrices with Dirichlet priors, where the model is one worker more, who answers its likeliest
  label: the truth of most items informs that of the others. Alone it is far overconfident.

`WEIGHTS` are fixed: with few answers, held-out ones do not show which form has the better labels. Choosing by
them was .007 to .014 below in accuracy on people's answers, at about the same log loss
(`docs/experiments/aggregation.md`, 2026-11-30). Only where few items are not of the commonest label
(`FEW_ITEMS`), as with rare errors, do the matrices give their weight to heterogeneous items.

Items, and the model's prediction of them, are fitted with all workers alike and then held fixed; workers are
fitted against them. A worker is of a *kind*: the sharpness of the answers, from none (as all answers
are distributed) over the average person to better than that; the shares of the kinds are estimated from all
workers. With a finite `strength` a worker also has a table (truth x answer) of how much more often this
worker gives that answer to that truth than the kind would, shrunk towards 1 with a weight of `strength`
answers of an average worker to each truth. The mean of the tables over all answers is 1: the average worker
stays the average worker, so that the truth cannot drift towards a majority of like-minded workers.

Whether and how a model is used is decided by the evidence of the votes: not at all, unless it predicts them
better by more than the cost of its parameters. Whether the true label is the plurality of many people or the
class of the item is decided by gold if there is any.

Source: Dawid and Skene 1979 with shrinkage; kinds of workers after Venanzi et al. 2014; the third posterior
after Kim and Ghahramani 2012, by expectation maximisation. Measured on dbdc3 (2026-11-22): fitting items and
workers together drifts away from the majority's truth and loses 5 to 25 points of accuracy at 3 answers,
which is why items are held fixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

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

    @cached_property
    def kind_logs(self) -> Floats:
        """The logarithm of each kind's answer shares, shape (kinds, labels, components)."""
        shares = self.items.shares
        guessing = self.items.weights @ shares
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


WEIGHTS: dict[Form, float] = {"heterogeneous": 0.4, "individual": 0.2}
"""Weights of the two forms of items; the rest is that of the confusion matrices."""
FEW_ITEMS = 30.0
"""Number of expected items of other labels than the commonest up to which the matrices cannot be estimated
and have no weight. From twice as many on they have all of it, between a share."""
RIGHT, WRONG = 4.0, 1.0
"""Pseudo-answers of each worker to each truth: right ones, and wrong ones for each wrong label."""


def joint_posterior(
    answers: Answers, model: Floats | None = None, gold: NDArray[np.int64] | None = None
) -> Posterior:
    """The joint posterior of people and model.

    `model` holds its probabilities, shape (tasks, labels), rows of NaN where it has none; `gold` the true
    label of gold tasks, -1 elsewhere, shape (tasks,). If gold is clearly better predicted by the class of
    the item, as where most people overlook errors, the matrices alone count. Workers whose answer is always
    the same (`Answers.constant_workers`) are left out where workers have no matrix: shrunk towards the pool,
    they would count as average ones.
    """
    varied = answers.without_constant()
    matrices = confusion_posterior(answers, model, gold)
    if select_form(varied.votes(), gold) == "homogeneous":
        return replace(matrices, assumptions={"weights": {}, "uses": {}})
    uses: dict[Form, ModelUse] = {}
    posteriors: dict[Form, Posterior] = {}
    for form in WEIGHTS:
        items, uses[form] = select_items(varied, form, model, gold)
        posteriors[form] = fit_joint(varied, model, form, uses[form], gold=gold, items=items).posterior()
    expected = posteriors["heterogeneous"].probabilities[answers.n_labelers > 0].sum(axis=0)
    rare = float(np.clip(2.0 - (expected.sum() - expected.max()) / FEW_ITEMS, 0.0, 1.0))
    weights = dict(WEIGHTS)
    weights["heterogeneous"] += rare * (1.0 - sum(WEIGHTS.values()))
    parts = [(weights[form], posterior) for form, posterior in posteriors.items()]
    parts.append((1.0 - sum(weights.values()), matrices))
    return replace(mix_posteriors(parts), assumptions={"weights": weights, "uses": uses})


def confusion_posterior(
    answers: Answers, model: Floats | None = None, gold: NDArray[np.int64] | None = None
) -> Posterior:
    """The posterior by a confusion matrix of each worker, one of whom is the model; `model` and `gold` as in
    `joint_posterior`."""
    size, votes = len(answers.labels), answers.votes()
    if model is not None:
        tasks = np.flatnonzero(~np.isnan(model).any(axis=1)).astype(np.int32)
        answers = replace(
            answers,
            task=np.concatenate([answers.task, tasks]),
            worker=np.concatenate([answers.worker, np.full(len(tasks), len(answers.workers), np.int32)]),
            label=np.concatenate([answers.label, model[tasks].argmax(axis=1).astype(np.int32)]),
            workers=(*answers.workers, ""),
        )
    gold_logs = np.zeros((len(votes), size))
    if gold is not None:
        gold_logs[gold >= 0] = np.log(np.eye(size) + 1e-12)[gold[gold >= 0]]
    pairs, pseudo = worker_label_pairs(answers), np.where(np.eye(size) > 0, RIGHT, WRONG)
    truth = normalise((answers.votes() + 1e-9) * np.exp(gold_logs))
    counts = pairs.by_pair @ truth
    for _ in range(FIT_ITERATIONS):
        totals = np.tile(pseudo.sum(axis=1), (pairs.n_workers, 1))
        np.add.at(totals, pairs.worker, counts)
        table = np.log((counts + pseudo[:, pairs.label].T) / totals[pairs.worker])
        rates = normalise(truth.sum(axis=0) + 1.0)
        counts, _, change = pairs.expectation(table, np.log(rates) + gold_logs, truth)
        if change < TOLERANCE:
            break
    shares = normalise(truth.T @ votes + pseudo)
    return Posterior(truth, truth @ shares, Components(truth.astype(np.float32), shares, np.eye(size)))


def fit_joint(
    answers: Answers,
    model: Floats | None = None,
    form: Form = "heterogeneous",
    use: ModelUse = "recalibrated",
    strength: float = math.inf,
    gold: NDArray[np.int64] | None = None,
    items: ItemModel | None = None,
) -> JointFit:
    """Fit items of that `form`, unless fitted `items` are passed, and workers, shrunk towards the pool with
    this `strength` in answers (infinite: kinds only)."""
    votes = answers.votes()
    use = "none" if model is None else use
    model_logs = None if model is None or use == "none" else centred_model_logs(model)
    if items is None:
        items = fit_items(votes, form, use, model_logs, gold)
    base = items.component_logs(model_logs, gold, len(votes))
    table = worker_label_pairs(answers)
    kinds = normalise(np.exp(-((SHARPNESS - 1.0) ** 2)))  # most workers are near the average
    workers = WorkerModel(items, kinds, np.zeros((items.n_labels, items.n_labels)), strength)
    responsibilities = np.zeros(base.shape, np.float32)  # sums over tasks are taken in double
    counts, likelihood, change = table.expectation(
        np.log(items.shares).T[table.label], base, responsibilities
    )
    for _ in range(FIT_ITERATIONS):
        if change < TOLERANCE:
            break
        workers, logs = update_workers(workers, table, counts)
        counts, likelihood, change = table.expectation(logs, base, responsibilities)
    return JointFit(workers, table, base, normalise(responsibilities), counts, likelihood)


MIN_GOLD_GAIN = 2.0
"""Nats by which homogeneous items must predict gold better than heterogeneous ones do."""
MODEL_USES: tuple[ModelUse, ...] = ("none", "calibrated", "recalibrated")


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
