"""The item model: the answers of a large crowd to each item, and the true label that follows from them.

An item belongs to a latent class, one for each label, and the answer shares of the items of a class are a
Dirichlet around a centre of their own: concentrated, if tasks have an answer and people err at random;
dispersed, if items are heterogeneous. The true label of an item is the plurality vote of a jury, so that two
labels with nearly equal shares are nearly equally probable. In the limit of *homogeneous* items this is the
model of Dawid and Skene with one confusion matrix for all; that form can be requested, and there the true
label is the class.

Items are *individual* if each has a centre of its own, the model's probabilities for it (without a model, the
answer shares of all), and there are no classes: the form for matters of taste, where classes would be
overconfident.

The concentration, the centres, and the use of a model's probabilities for the class (`ModelUse`), are those
under which the votes are likeliest, with all workers alike. With two or three answers an item the votes
cannot distinguish heterogeneous items from homogeneous ones; then the prior decides, for nearly homogeneous
ones. Single workers are not modelled here.

Source: Dawid and Skene 1979; the Dirichlet-multinomial of Mosimann 1962 as the answers within a class, so
that items vary as in Han, Adiguzel and Carpenter 2024 (arXiv 2405.19521), who let difficulty vary instead;
Schwarz 1978 for `evidence`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.aggregation.answers import Floats
from dialint.labeling.aggregation.posterior import normalise, softmax

Form = Literal["homogeneous", "heterogeneous", "individual"]
ModelUse = Literal["none", "calibrated", "recalibrated"]
"""Use of a model's probabilities for the class of an item: none; as they are; or after a temperature and
offsets that are fitted to the votes."""

JURY_OF_TWO, JURY, JURIES = 51, 10, 500
"""A component of items that are not homogeneous is the vote of a jury. Its size with two labels, with more
labels, and the most different votes, for which the size is reduced if necessary: 130 instead of 500 cost .02
in accuracy with five labels (2026-11-30)."""
FLOOR = 0.01
"""Lower bound of a model's probabilities, and of the answer shares of heterogeneous items."""
INITIAL_ACCURACY = 0.8
"""Initial share of right answers, which with one answer a task cannot be estimated."""
PSEUDO_ANSWERS = 10.0
"""Pseudo-answers to each true label; wrong ones are uniform over the other labels."""
PSEUDO_TASKS = 1.0
"""Pseudo-tasks of each class: a label without any answer may still be true."""
MIN_CLARITY = 0.1
"""Of homogeneous items: lower bound of the true label's share, between a tie (0) and all answers (1)."""
LOG_CONCENTRATION, LOG_CONCENTRATION_SD = math.log(100.0), 1.0
"""Prior mean of the logarithm of the Dirichlets' concentration, and its standard deviation. Of 10, 30, 60
and 100 none was better on real people; 100 was best on simulated crowds of homogeneous items (2026-11-23)."""
LOG_INDIVIDUAL, LOG_INDIVIDUAL_SD = math.log(8.0), 1.0
"""The same of individual items, which two answers an item identify."""
TEMPERATURE, TEMPERATURE_SD = 1.0, 0.5
"""Prior mean of the exponent of a model's probabilities, and its standard deviation."""
MODEL_COST = 2.0
"""Nats by which a model must predict the votes better than the class rates do, which are free parameters
while a calibrated model has none: without it an uninformative model was used in a third of small crowds."""
ROUNDS, TOLERANCE = 200, 1e-6
"""Maximum iterations of a fit, and the gain in nats for each task at which it ends."""
MAX_TASKS_WITH_MODEL = 20_000
"""With a model, parameters are fitted to so many tasks at most, a random sample if there are more."""


@dataclass(frozen=True)
class ItemModel:
    """`shares`, shape (components, labels), are the answer shares of a large crowd; `label_probabilities`,
    same shape, the probability of each label to be true; `class_components`, shape (classes, components), the
    distribution of the items of each class over components.

    The class of an item has the prior `softmax(offsets + temperature * model_logs)`, shape (labels,), or
    `class_rates` where there is no model; of an individual item that is the centre of its Dirichlet.
    `concentration` of the Dirichlets and `evidence` in nats are for information, but for individual items.
    """

    form: Form
    shares: Floats
    label_probabilities: Floats
    class_components: Floats
    class_rates: Floats
    offsets: Floats
    temperature: float
    concentration: float = math.inf
    evidence: float = float("nan")

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.shares.shape[1])

    @property
    def weights(self) -> Floats:
        """The share of the items in each component."""
        return np.asarray(self.class_rates @ self.class_components, float)

    @property
    def pooled(self) -> Floats:
        """The answers of a large crowd to items of each truth, shape (truth, answer), rows sum to 1."""
        return normalise(self.label_probabilities.T @ (self.weights[:, None] * self.shares) + 1e-12)

    def component_logs(
        self, model_logs: Floats | None, gold: NDArray[np.int64] | None, n_tasks: int
    ) -> Floats:
        """The logarithm of each task's prior, shape (tasks, components), up to a constant a row: `model_logs`
        as `centred_model_logs` has it, `gold`, shape (tasks,), the known truth or -1."""
        if self.form == "individual":
            centres = self.class_rates[None] if model_logs is None else self.class_probabilities(model_logs)
            rows = jury_probabilities(jury_votes(self.n_labels), self.concentration, centres)
            logs = np.broadcast_to(np.log(rows + 1e-300), (n_tasks, len(self.shares)))
        elif model_logs is None:
            logs = np.broadcast_to(np.log(self.weights + 1e-300), (n_tasks, len(self.shares)))
        else:
            logs = np.log(self.class_probabilities(model_logs) @ self.class_components + 1e-300)
        if gold is not None:
            is_gold, logs = gold >= 0, np.array(logs)
            logs[is_gold] += np.log(self.label_probabilities.T[gold[is_gold]] + 1e-9)
        return logs

    def class_probabilities(self, model_logs: Floats) -> Floats:
        """The prior of each task's class, shape (tasks, labels)."""
        has_model = (model_logs != 0).any(axis=1, keepdims=True)
        return np.where(has_model, softmax(self.offsets + self.temperature * model_logs)[0], self.class_rates)


def centred_model_logs(probabilities: Floats) -> Floats:
    """The logarithms of a model's probabilities, shape (tasks, labels), about a mean of 0; 0 throughout where
    the model has none (NaN)."""
    has_none = np.asarray(np.isnan(probabilities).any(axis=1))
    logs = np.log(np.clip(np.where(has_none[:, None], 1.0, probabilities), FLOOR, None))
    logs -= logs.mean(axis=1, keepdims=True)
    logs[has_none] = 0.0
    return np.asarray(logs, float)


def fit_items(
    votes: Floats,
    form: Form,
    use: ModelUse = "none",
    model_logs: Floats | None = None,
    gold: NDArray[np.int64] | None = None,
) -> ItemModel:
    """Fit the item model to `votes`, shape (tasks, labels), by maximum posterior; `model_logs` and `gold` as
    in `ItemModel.component_logs`: a gold task is of the class of its label."""
    size = votes.shape[1]
    votes, model_logs, gold, counts = _sample_tasks(votes, None if use == "none" else model_logs, gold)
    gold_logs = np.where(gold[:, None] >= 0, np.log(np.eye(size)[gold] + 1e-12), 0.0)
    items = _fit_homogeneous(votes, use, model_logs, gold_logs, counts)
    if form == "individual" and size > 1:
        items = _fit_individual(votes, use, model_logs, counts, items)
    elif form == "heterogeneous" and size > 1:
        items = _fit_heterogeneous(votes, use, model_logs, gold_logs, counts, items)
    cost = {
        "none": 0.0,
        "calibrated": MODEL_COST,
        "recalibrated": MODEL_COST + math.log(max(1.0, counts.sum())) / 2,
    }
    return replace(items, evidence=items.evidence - cost[use])


def _sample_tasks(
    votes: Floats, model_logs: Floats | None, gold: NDArray[np.int64] | None
) -> tuple[Floats, Floats | None, NDArray[np.int64], Floats]:
    """Tasks to fit and their weights: distinct ones only or, with a model, a random sample."""
    gold = np.full(len(votes), -1) if gold is None else gold
    if model_logs is None:
        first, row_of = distinct_rows(np.column_stack([votes, gold]))
        return votes[first], None, gold[first], np.bincount(row_of).astype(float)
    selected = np.arange(len(votes))
    if len(votes) > MAX_TASKS_WITH_MODEL:
        selected = np.sort(np.random.default_rng(0).choice(len(votes), MAX_TASKS_WITH_MODEL, replace=False))
    return (
        votes[selected],
        model_logs[selected],
        gold[selected],
        np.full(len(selected), len(votes) / len(selected)),
    )


def distinct_rows(table: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first row of each kind in a table of whole numbers, kinds in the order of `np.unique`, and the kind
    of each row, shape (rows,): as one number a row, which is sorted twenty times as fast as rows are."""
    least = table.min(axis=0)
    sizes = (table.max(axis=0) - least).astype(np.int64) + 1
    if math.prod(sizes.tolist()) < 2**62:
        keys = np.ravel_multi_index(tuple((table - least).astype(np.int64).T), tuple(sizes))
        _, first, row_of = np.unique(keys, return_index=True, return_inverse=True)
    else:
        _, first, row_of = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first, np.int64), np.asarray(row_of, np.int64).reshape(-1)


def _fit_homogeneous(
    votes: Floats, use: ModelUse, model_logs: Floats | None, gold_logs: Floats, counts: Floats
) -> ItemModel:
    """Fit by expectation maximisation; `gold_logs`, shape (tasks, labels), is near minus infinity for classes
    that gold excludes."""
    size = votes.shape[1]
    class_rates = normalise(counts @ votes + 1.0)
    items = ItemModel(
        form="homogeneous",
        shares=_one_coin(INITIAL_ACCURACY, size),
        label_probabilities=np.eye(size),
        class_components=np.eye(size),
        class_rates=class_rates,
        offsets=np.zeros(size) if use == "calibrated" else np.log(class_rates) - np.log(class_rates).mean(),
        temperature=0.0 if use == "none" else 1.0,
    )
    before = -math.inf
    for _ in range(ROUNDS):
        prior = (
            np.log(items.class_rates)
            if model_logs is None
            else np.log(items.class_probabilities(model_logs) + 1e-300)
        )
        responsibilities, sums = softmax(votes @ np.log(items.shares).T + prior + gold_logs)
        weighted = responsibilities * counts[:, None]
        class_rates = normalise(weighted.sum(axis=0) + PSEUDO_TASKS)
        items = replace(items, shares=_confusion(weighted.T @ votes), class_rates=class_rates)
        if use == "none":
            items = replace(items, offsets=np.log(class_rates) - np.log(class_rates).mean())
        elif use == "recalibrated" and model_logs is not None:
            items = _recalibrate(items, model_logs, responsibilities, counts)
        likelihood = float(counts @ sums)
        if likelihood - before < TOLERANCE * counts.sum():
            break
        before = likelihood
    return replace(items, evidence=likelihood)


def _one_coin(right: float, size: int) -> Floats:
    return (
        np.where(np.eye(size) > 0, right, (1.0 - right) / max(1, size - 1)) if size > 1 else np.ones((1, 1))
    )


def _confusion(counts: Floats) -> Floats:
    """Answer shares of each truth, shape (truth, answer), from counts of the same shape, shrunk towards
    uniform wrong answers; the true label keeps the largest share."""
    size = len(counts)
    if size == 1:
        return np.ones((1, 1))
    right = (np.trace(counts) + INITIAL_ACCURACY) / (counts.sum() + 1.0)
    shares = normalise(counts + PSEUDO_ANSWERS * _one_coin(right, size) + 1e-9)
    wrong = normalise(shares * (1 - np.eye(size)) + 1e-12 * (1 - np.eye(size)))
    tie = wrong.max(axis=1) / (1.0 + wrong.max(axis=1))
    own = np.clip(np.diag(shares), tie + MIN_CLARITY * (1.0 - tie), 1.0 - FLOOR / 10)
    return np.asarray((1.0 - own)[:, None] * wrong + np.diag(own), float)


def _recalibrate(items: ItemModel, model_logs: Floats, responsibilities: Floats, counts: Floats) -> ItemModel:
    """Update offsets and temperature by one Newton step of the logistic regression of the classes on the
    model's logarithms."""
    size, precision = model_logs.shape[1], TEMPERATURE_SD**-2
    probabilities = softmax(items.offsets + items.temperature * model_logs)[0]
    has_model = counts * (model_logs != 0).any(axis=1)
    error, weighted = (
        (responsibilities - probabilities) * has_model[:, None],
        probabilities * has_model[:, None],
    )
    deviation = model_logs - (probabilities * model_logs).sum(axis=1, keepdims=True)
    gradient = np.append(
        error.sum(axis=0), (error * model_logs).sum() - precision * (items.temperature - TEMPERATURE)
    )
    hessian = np.empty((size + 1, size + 1))
    hessian[:size, :size] = np.diag(weighted.sum(axis=0)) - weighted.T @ probabilities
    hessian[:size, size] = hessian[size, :size] = (weighted * deviation).sum(axis=0)
    hessian[size, size] = (weighted * deviation * model_logs).sum() + precision
    step = np.clip(
        np.linalg.solve(hessian + 0.01 * max(1.0, has_model.sum()) * np.eye(size + 1), gradient), -1.0, 1.0
    )
    offsets = items.offsets + step[:size]
    temperature = float(np.clip(items.temperature + step[size], 0.01, 10.0))
    return replace(items, offsets=offsets - offsets.mean(), temperature=temperature)


def _fit_heterogeneous(
    votes: Floats,
    use: ModelUse,
    model_logs: Floats | None,
    gold_logs: Floats,
    counts: Floats,
    homogeneous: ItemModel,
) -> ItemModel:
    """Fit by L-BFGS on the penalised likelihood, starting from the fit of homogeneous items."""
    from scipy.optimize import minimize

    size = votes.shape[1]
    first, row_of = distinct_rows(votes)
    rows = votes[first]
    cells, n_offsets = size * size, 0 if use == "calibrated" else size
    has_model = (
        np.zeros((1, 1), bool)
        if model_logs is None
        else np.asarray((model_logs != 0).any(axis=1, keepdims=True))
    )
    likelihood, prior = 0.0, _one_coin(INITIAL_ACCURACY, size)

    def unpack(x: Floats) -> tuple[float, Floats, Floats, float]:
        centres = np.maximum(softmax(x[1 : 1 + cells].reshape(size, size))[0], 1e-6)
        offsets = x[1 + cells : 1 + cells + n_offsets] if n_offsets else np.zeros(size)
        return float(np.exp(x[0])), centres, offsets, float(x[-1]) if use == "recalibrated" else 1.0

    def loss(x: Floats) -> tuple[float, Floats]:
        nonlocal likelihood
        concentration, centres, offsets, temperature = unpack(x)
        log_likelihoods, by_alpha = _dirichlet_multinomial(rows[:, None], concentration * centres)
        if model_logs is None:
            class_probabilities = softmax(offsets[None])[0]
        else:
            class_probabilities = np.where(
                has_model, softmax(offsets + temperature * model_logs)[0], homogeneous.class_rates
            )
        responsibilities, sums = softmax(
            log_likelihoods[row_of] + np.log(np.maximum(class_probabilities, 1e-12)) + gold_logs
        )
        responsibilities *= counts[:, None]
        likelihood = float(counts @ sums)
        by_row = np.stack(
            [np.bincount(row_of, weights=one, minlength=len(rows)) for one in responsibilities.T], axis=1
        )
        by_centre = concentration * (by_row[:, :, None] * by_alpha).sum(axis=0)
        by_class = responsibilities - class_probabilities * responsibilities.sum(axis=1, keepdims=True)
        if model_logs is not None:
            by_class = by_class * has_model
        gradient = np.zeros(len(x))
        gradient[0] = (by_centre * centres).sum() - (x[0] - LOG_CONCENTRATION) / LOG_CONCENTRATION_SD**2
        by_centre = by_centre + PSEUDO_ANSWERS * prior / centres
        gradient[1 : 1 + cells] = (
            centres * (by_centre - (centres * by_centre).sum(axis=1, keepdims=True))
        ).ravel()
        penalty = (x[0] - LOG_CONCENTRATION) ** 2 / 2 / LOG_CONCENTRATION_SD**2 - PSEUDO_ANSWERS * float(
            (prior * np.log(centres)).sum()
        )
        if model_logs is None:
            by_class = np.vstack([by_class, PSEUDO_TASKS * (1.0 - size * class_probabilities)])
            penalty -= PSEUDO_TASKS * float(np.log(class_probabilities).sum())
        if n_offsets:
            gradient[1 + cells : 1 + cells + size] = by_class.sum(axis=0) - 0.1 * offsets
            penalty += 0.05 * float((offsets**2).sum())
        if use == "recalibrated" and model_logs is not None:
            gradient[-1] = (by_class * model_logs).sum() - (temperature - TEMPERATURE) / TEMPERATURE_SD**2
            penalty += (temperature - TEMPERATURE) ** 2 / 2 / TEMPERATURE_SD**2
        return (penalty - likelihood) / counts.sum(), -gradient / counts.sum()

    start_parts = [
        np.array([LOG_CONCENTRATION]),
        np.log(homogeneous.shares).ravel(),
        homogeneous.offsets[:n_offsets],
    ]
    start = np.concatenate([*start_parts, [homogeneous.temperature] * (use == "recalibrated")])
    bounds = [(-2.0, 8.0)] + [(-12.0, 12.0)] * (len(start) - 1)
    if use == "recalibrated":
        bounds[-1] = (0.01, 10.0)
    best: Any = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": ROUNDS})
    concentration, centres, offsets, temperature = unpack(np.asarray(best.x, float))
    loss(np.asarray(best.x, float))
    class_rates = softmax(offsets[None])[0][0]
    if model_logs is not None and has_model.any():
        class_rates = normalise(counts @ (softmax(offsets + temperature * model_logs)[0] * has_model))
    votes_of_jury = jury_votes(size)
    people = int(votes_of_jury[0].sum())
    return replace(
        homogeneous,
        form="heterogeneous",
        shares=FLOOR + (1.0 - size * FLOOR) * votes_of_jury / people,
        label_probabilities=normalise(
            (votes_of_jury == votes_of_jury.max(axis=1, keepdims=True)).astype(float)
        ),
        class_components=jury_probabilities(votes_of_jury, concentration, centres),
        class_rates=class_rates,
        offsets=offsets,
        temperature=temperature if use != "none" else 0.0,
        concentration=concentration,
        evidence=likelihood,
    )


def _fit_individual(
    votes: Floats, use: ModelUse, model_logs: Floats | None, counts: Floats, homogeneous: ItemModel
) -> ItemModel:
    """Fit by L-BFGS on the penalised likelihood; gold, of which there are no classes, does not take part."""
    from scipy.optimize import minimize

    size, fits_model = votes.shape[1], use == "recalibrated" and model_logs is not None
    rates = normalise(counts @ votes + PSEUDO_TASKS)
    items = replace(
        homogeneous,
        form="individual",
        class_rates=rates,
        offsets=np.log(rates) if use == "none" else np.zeros(size),
        temperature=0.0 if use == "none" else 1.0,
    )
    likelihood = 0.0

    def unpack(x: Floats) -> ItemModel:
        fitted = replace(items, concentration=float(np.exp(x[0])))
        return replace(fitted, offsets=x[1:-1], temperature=float(x[-1])) if fits_model else fitted

    def loss(x: Floats) -> tuple[float, Floats]:
        nonlocal likelihood
        now = unpack(x)
        centres = now.class_rates[None] if model_logs is None else now.class_probabilities(model_logs)
        alpha = now.concentration * np.maximum(centres, 1e-6)
        log_likelihoods, by_alpha = _dirichlet_multinomial(votes, alpha)
        likelihood = float(counts @ log_likelihoods)
        by_alpha *= alpha * counts[:, None]
        gradient = np.zeros(len(x))
        gradient[0] = by_alpha.sum() - (x[0] - LOG_INDIVIDUAL) / LOG_INDIVIDUAL_SD**2
        penalty = (x[0] - LOG_INDIVIDUAL) ** 2 / 2 / LOG_INDIVIDUAL_SD**2
        if fits_model and model_logs is not None:
            has_model = (model_logs != 0).any(axis=1, keepdims=True)
            by_logit = (by_alpha - centres * by_alpha.sum(axis=1, keepdims=True)) * has_model
            gradient[1:-1] = by_logit.sum(axis=0) - 0.1 * x[1:-1]
            gradient[-1] = (by_logit * model_logs).sum() - (x[-1] - TEMPERATURE) / TEMPERATURE_SD**2
            penalty += 0.05 * float((x[1:-1] ** 2).sum())
            penalty += (x[-1] - TEMPERATURE) ** 2 / 2 / TEMPERATURE_SD**2
        return (penalty - likelihood) / counts.sum(), -gradient / counts.sum()

    start = np.array([LOG_INDIVIDUAL, *items.offsets, 1.0] if fits_model else [LOG_INDIVIDUAL])
    bounds = [(-2.0, 8.0)] + ([(-12.0, 12.0)] * size + [(0.01, 10.0)] if fits_model else [])
    best: Any = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": ROUNDS})
    loss(np.asarray(best.x, float))
    jury = jury_votes(size)
    items = replace(
        unpack(np.asarray(best.x, float)),
        shares=FLOOR + (1.0 - size * FLOOR) * jury / int(jury[0].sum()),
        label_probabilities=normalise((jury == jury.max(axis=1, keepdims=True)).astype(float)),
        class_components=np.zeros((size, len(jury))),
        evidence=likelihood,
    )
    some = None if model_logs is None else model_logs[:: max(1, len(model_logs) // WEIGHED)]
    rows = np.exp(items.component_logs(some, None, 1 if some is None else len(some)))
    return replace(items, class_components=np.tile(rows.mean(axis=0), (size, 1)))


WEIGHED = 1000
"""Tasks at most whose priors are averaged to the share of all items in each component."""


def _dirichlet_multinomial(votes: Floats, alpha: Floats) -> tuple[Floats, Floats]:
    """The log probability of an ordered sequence of `votes`, shape (..., labels), and its gradient with
    respect to `alpha`."""
    from scipy.special import digamma, gammaln

    n, whole = votes.sum(axis=-1), alpha.sum(axis=-1)
    log_likelihoods = (
        gammaln(whole) - gammaln(whole + n) + (gammaln(alpha + votes) - gammaln(alpha)).sum(axis=-1)
    )
    gradient = digamma(alpha + votes) - digamma(alpha) + (digamma(whole) - digamma(whole + n))[..., None]
    return np.asarray(log_likelihoods, float), np.asarray(gradient, float)


def jury_votes(n_labels: int) -> NDArray[np.int64]:
    """All votes that a jury can give, shape (votes, labels); with two labels there are no ties."""
    fits: Callable[[int], bool] = lambda n: math.comb(n + n_labels - 1, n_labels - 1) <= JURIES  # noqa: E731
    most = JURY_OF_TWO if n_labels == 2 else JURY
    return possible_votes(max((n for n in range(1, most + 1) if fits(n)), default=1), n_labels)


def possible_votes(people: int, n_labels: int) -> NDArray[np.int64]:
    """All votes of so many people, shape (votes, labels)."""
    rows = combinations_with_replacement(range(n_labels), people)
    return np.array([np.bincount(one, minlength=n_labels) for one in rows], np.int64)


def jury_probabilities(votes_of_jury: NDArray[np.int64], concentration: float, centres: Floats) -> Floats:
    """The probability of each jury's vote around each centre, shape (centres, votes). A jury's shares vary
    more than the Dirichlet it is sampled from, so that Dirichlet is more concentrated: both together vary as
    they should."""
    from scipy.special import gammaln

    people = int(votes_of_jury[0].sum())
    room = people - 1 - concentration
    jury_concentration = people * concentration / room if room > 0.05 * people else 1e4
    alpha = jury_concentration * np.maximum(centres, 1e-6)[:, :, None]
    counts = np.arange(people + 1)
    by_votes = gammaln(alpha + counts) - gammaln(alpha) - gammaln(counts + 1.0)  # (rows, labels, votes)
    logs = np.zeros((len(centres), len(votes_of_jury)))
    for label, votes in enumerate(votes_of_jury.T):
        logs += by_votes[:, label, votes]
    return softmax(logs)[0]
