"""What items are like: what a large crowd would answer to each, and what that makes true.

An item leans to a label, and the answer shares of the items that lean alike are a Dirichlet around a centre
of their own: firmly, if tasks have an answer and people err at random; loosely, if items are moot. The truth
of an item is what the plurality of a jury would say, so that two labels with nearly equal shares are nearly
equally true. In the limit of items that are all *alike* this is the model of Dawid and Skene with one
confusion matrix for all; that form can be asked for, and there the truth is what an item leans to.

How firmly, the centres, and how far a model's probabilities tell where an item leans (`ModelUse`), are those
under which the votes are likeliest, with all workers alike. With two or three answers an item the votes
cannot tell moot items from plain ones; then the prior decides, for nearly plain ones. Knows nothing of single
workers.

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

Form = Literal["alike", "moot"]
ModelUse = Literal["none", "calibrated", "recalibrated"]
"""What becomes of a model: it is not heard; its probabilities tell as they stand where items lean; or after a
temperature and offsets that the votes teach."""

JURY_OF_TWO, JURY, JURIES = 51, 10, 130
"""A component of moot items is a vote of a jury: of so many people, with two labels and more, or of as few as
keep the votes below `JURIES`."""
FLOOR = 0.01
"""No probability of a model counts as less, and no share of a moot item's answers is smaller."""
FIRST_RIGHT = 0.8
"""Share of right answers where fitting begins; without a second answer an item it cannot be learnt."""
PSEUDO_ANSWERS = 10.0
"""Answers to each truth at which wrong ones fall on the other labels alike, beside those seen."""
PSEUDO_TASKS = 1.0
"""Tasks that lean to each label beside those seen: what nobody found yet may be there."""
LEAST_CLEAR = 0.1
"""Where items are alike: how far the true label's share is at least from a tie (0) towards all (1)."""
FIRMNESS, FIRMNESS_SD = math.log(100.0), 1.0
"""The logarithm of the Dirichlets' concentration before any vote, and its standard deviation. Of 10, 30, 60
and 100 all did alike on real people; 100 was best on crowds made up of plain items (2026-11-23)."""
TEMPERATURE, TEMPERATURE_SD = 1.0, 0.5
"""The exponent of a model's probabilities before any vote, and its standard deviation."""
MODEL_COST = 2.0
"""Nats by which a model must foretell the votes better than the items' base rates do, which are free while a
calibrated model costs nothing to learn: without, one that says nothing was heard in a third of small
crowds."""
ROUNDS, TOLERANCE = 200, 1e-6
"""Rounds of a fit at most, and the gain in nats a task at which it ends."""
ENOUGH_TASKS = 20_000
"""With a model, parameters are learnt from so many tasks, drawn if there are more."""


@dataclass(frozen=True)
class ItemModel:
    """`shares`, shape (components, labels), are the answers of a large crowd; `verdicts`, same shape, the
    chance of each label to be the truth; `leaning`, shape (leanings, components), where the items of each
    leaning lie; `weights`, shape (components,), where all items lie.

    An item leans as `softmax(offsets + temperature * model's logs)` tells, shape (labels,), or as `rates` do
    where no model speaks. `concentration` of the Dirichlets and `evidence` in nats are for the reader.
    """

    form: Form
    shares: Floats
    verdicts: Floats
    leaning: Floats
    rates: Floats
    offsets: Floats
    temperature: float
    concentration: float = math.inf
    evidence: float = float("nan")

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return int(self.shares.shape[1])

    @property
    def weights(self) -> Floats:
        """The share of the items in each component."""
        return np.asarray(self.rates @ self.leaning, float)

    @property
    def pooled(self) -> Floats:
        """The answers of a large crowd to items of each truth, shape (truth, answer), rows sum to 1."""
        return normalise(self.verdicts.T @ (self.weights[:, None] * self.shares) + 1e-12)

    def component_logs(self, said: Floats | None, gold: NDArray[np.int64] | None, n_tasks: int) -> Floats:
        """The logarithm of each task's prior, shape (tasks, components), up to a constant a row: `said` as
        `centred_model_logs` has it, `gold`, shape (tasks,), the known truth or -1."""
        if said is None:
            logs = np.broadcast_to(np.log(self.weights + 1e-300), (n_tasks, len(self.shares)))
        else:
            logs = np.log(self.leans(said) @ self.leaning + 1e-300)
        if gold is not None:
            known, logs = gold >= 0, np.array(logs)
            logs[known] += np.log(self.verdicts.T[gold[known]] + 1e-9)
        return logs

    def leans(self, said: Floats) -> Floats:
        """Where each task leans before any answer, shape (tasks, labels)."""
        speaks = (said != 0).any(axis=1, keepdims=True)
        return np.where(speaks, softmax(self.offsets + self.temperature * said)[0], self.rates)


def centred_model_logs(probabilities: Floats) -> Floats:
    """The logarithms of a model's probabilities, shape (tasks, labels), about a mean of 0; 0 throughout where
    it is silent (NaN)."""
    silent = np.asarray(np.isnan(probabilities).any(axis=1))
    logs = np.log(np.clip(np.where(silent[:, None], 1.0, probabilities), FLOOR, None))
    logs -= logs.mean(axis=1, keepdims=True)
    logs[silent] = 0.0
    return np.asarray(logs, float)


def fit_items(
    votes: Floats,
    form: Form,
    use: ModelUse = "none",
    said: Floats | None = None,
    gold: NDArray[np.int64] | None = None,
) -> ItemModel:
    """The items under which `votes`, shape (tasks, labels), are likeliest; `said` and `gold` as
    `ItemModel.component_logs` takes them, a task of gold leaning to its truth."""
    size = votes.shape[1]
    votes, said, gold, counts = _sample(votes, None if use == "none" else said, gold)
    known = np.where(gold[:, None] >= 0, np.log(np.eye(size)[gold] + 1e-12), 0.0)
    items = _alike(votes, use, said, known, counts)
    if form == "moot" and size > 1:
        items = _moot(votes, use, said, known, counts, items)
    cost = {
        "none": 0.0,
        "calibrated": MODEL_COST,
        "recalibrated": MODEL_COST + math.log(max(1.0, counts.sum())) / 2,
    }
    return replace(items, evidence=items.evidence - cost[use])


def _sample(
    votes: Floats, said: Floats | None, gold: NDArray[np.int64] | None
) -> tuple[Floats, Floats | None, NDArray[np.int64], Floats]:
    """Tasks to learn from, with how many each stands for: equal ones once or, with a model, a draw."""
    gold = np.full(len(votes), -1) if gold is None else gold
    if said is None:
        first, place = distinct_rows(np.column_stack([votes, gold]))
        return votes[first], None, gold[first], np.bincount(place).astype(float)
    chosen = np.arange(len(votes))
    if len(votes) > ENOUGH_TASKS:
        chosen = np.sort(np.random.default_rng(0).choice(len(votes), ENOUGH_TASKS, replace=False))
    return votes[chosen], said[chosen], gold[chosen], np.full(len(chosen), len(votes) / len(chosen))


def distinct_rows(table: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first row of each kind in a table of whole numbers, kinds in the order of `np.unique`, and the kind
    of each row, shape (rows,): as one number a row, which is sorted twenty times as fast as rows are."""
    least = table.min(axis=0)
    sizes = (table.max(axis=0) - least).astype(np.int64) + 1
    if math.prod(sizes.tolist()) < 2**62:
        keys = np.ravel_multi_index(tuple((table - least).astype(np.int64).T), tuple(sizes))
        _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    else:
        _, first, place = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first, np.int64), np.asarray(place, np.int64).reshape(-1)


def _alike(votes: Floats, use: ModelUse, said: Floats | None, known: Floats, counts: Floats) -> ItemModel:
    """By expectation maximisation; `known`, shape (tasks, labels), are logarithms for gold."""
    size = votes.shape[1]
    rates = normalise(counts @ votes + 1.0)
    items = ItemModel(
        form="alike",
        shares=_one_coin(FIRST_RIGHT, size),
        verdicts=np.eye(size),
        leaning=np.eye(size),
        rates=rates,
        offsets=np.zeros(size) if use == "calibrated" else np.log(rates) - np.log(rates).mean(),
        temperature=0.0 if use == "none" else 1.0,
    )
    before = -math.inf
    for _ in range(ROUNDS):
        prior = np.log(items.rates) if said is None else np.log(items.leans(said) + 1e-300)
        member, sums = softmax(votes @ np.log(items.shares).T + prior + known)
        weighted = member * counts[:, None]
        rates = normalise(weighted.sum(axis=0) + PSEUDO_TASKS)
        items = replace(items, shares=_confusion(weighted.T @ votes), rates=rates)
        if use == "none":
            items = replace(items, offsets=np.log(rates) - np.log(rates).mean())
        elif use == "recalibrated" and said is not None:
            items = _recalibrated(items, said, member, counts)
        likelihood = float(counts @ sums)
        if likelihood - before < TOLERANCE * counts.sum():
            break
        before = likelihood
    return replace(items, evidence=likelihood)


def _one_coin(right: float, size: int) -> Floats:
    return (
        np.where(np.eye(size) > 0, right, (1.0 - right) / max(1, size - 1)) if size > 1 else np.ones((1, 1))
    )


def _confusion(given: Floats) -> Floats:
    """Answer shares of each truth, shape (truth, answer), from counts of the same shape, held to wrong
    answers that fall alike and to a true label that leads."""
    size = len(given)
    if size == 1:
        return np.ones((1, 1))
    right = (np.trace(given) + FIRST_RIGHT) / (given.sum() + 1.0)
    shares = normalise(given + PSEUDO_ANSWERS * _one_coin(right, size) + 1e-9)
    wrong = normalise(shares * (1 - np.eye(size)) + 1e-12 * (1 - np.eye(size)))
    tie = wrong.max(axis=1) / (1.0 + wrong.max(axis=1))
    own = np.clip(np.diag(shares), tie + LEAST_CLEAR * (1.0 - tie), 1.0 - FLOOR / 10)
    return np.asarray((1.0 - own)[:, None] * wrong + np.diag(own), float)


def _recalibrated(items: ItemModel, said: Floats, member: Floats, counts: Floats) -> ItemModel:
    """After one Newton step of the logistic regression of where items lean on what the model said."""
    size, precision = said.shape[1], TEMPERATURE_SD**-2
    chance = softmax(items.offsets + items.temperature * said)[0]
    speaks = counts * (said != 0).any(axis=1)
    error, weighted = (member - chance) * speaks[:, None], chance * speaks[:, None]
    apart = said - (chance * said).sum(axis=1, keepdims=True)
    slope = np.append(error.sum(axis=0), (error * said).sum() - precision * (items.temperature - TEMPERATURE))
    bend = np.empty((size + 1, size + 1))
    bend[:size, :size] = np.diag(weighted.sum(axis=0)) - weighted.T @ chance
    bend[:size, size] = bend[size, :size] = (weighted * apart).sum(axis=0)
    bend[size, size] = (weighted * apart * said).sum() + precision
    step = np.clip(np.linalg.solve(bend + 0.01 * max(1.0, speaks.sum()) * np.eye(size + 1), slope), -1.0, 1.0)
    offsets = items.offsets + step[:size]
    temperature = float(np.clip(items.temperature + step[size], 0.01, 10.0))
    return replace(items, offsets=offsets - offsets.mean(), temperature=temperature)


def _moot(
    votes: Floats, use: ModelUse, said: Floats | None, known: Floats, counts: Floats, alike: ItemModel
) -> ItemModel:
    """By the gradient of the likelihood, from where items that are alike ended."""
    from scipy.optimize import minimize

    size = votes.shape[1]
    first, place = distinct_rows(votes)
    rows = votes[first]
    cells, n_offsets = size * size, 0 if use == "calibrated" else size
    speaks = np.zeros((1, 1), bool) if said is None else np.asarray((said != 0).any(axis=1, keepdims=True))
    likelihood, prior = 0.0, _one_coin(FIRST_RIGHT, size)

    def unpacked(x: Floats) -> tuple[float, Floats, Floats, float]:
        centres = np.maximum(softmax(x[1 : 1 + cells].reshape(size, size))[0], 1e-6)
        offsets = x[1 + cells : 1 + cells + n_offsets] if n_offsets else np.zeros(size)
        return float(np.exp(x[0])), centres, offsets, float(x[-1]) if use == "recalibrated" else 1.0

    def loss(x: Floats) -> tuple[float, Floats]:
        nonlocal likelihood
        concentration, centres, offsets, temperature = unpacked(x)
        chance, by_alpha = _dirichlet_multinomial(rows[:, None], concentration * centres)
        if said is None:
            leans = softmax(offsets[None])[0]
        else:
            leans = np.where(speaks, softmax(offsets + temperature * said)[0], alike.rates)
        member, sums = softmax(chance[place] + np.log(np.maximum(leans, 1e-12)) + known)
        member *= counts[:, None]
        likelihood = float(counts @ sums)
        by_row = np.stack([np.bincount(place, weights=one, minlength=len(rows)) for one in member.T], axis=1)
        by_centre = concentration * (by_row[:, :, None] * by_alpha).sum(axis=0)
        by_lean = member - leans * member.sum(axis=1, keepdims=True)
        if said is not None:
            by_lean = by_lean * speaks
        slope = np.zeros(len(x))
        slope[0] = (by_centre * centres).sum() - (x[0] - FIRMNESS) / FIRMNESS_SD**2
        by_centre = by_centre + PSEUDO_ANSWERS * prior / centres
        slope[1 : 1 + cells] = (
            centres * (by_centre - (centres * by_centre).sum(axis=1, keepdims=True))
        ).ravel()
        penalty = (x[0] - FIRMNESS) ** 2 / 2 / FIRMNESS_SD**2 - PSEUDO_ANSWERS * float(
            (prior * np.log(centres)).sum()
        )
        if said is None:
            by_lean = np.vstack([by_lean, PSEUDO_TASKS * (1.0 - size * leans)])
            penalty -= PSEUDO_TASKS * float(np.log(leans).sum())
        if n_offsets:
            slope[1 + cells : 1 + cells + size] = by_lean.sum(axis=0) - 0.1 * offsets
            penalty += 0.05 * float((offsets**2).sum())
        if use == "recalibrated" and said is not None:
            slope[-1] = (by_lean * said).sum() - (temperature - TEMPERATURE) / TEMPERATURE_SD**2
            penalty += (temperature - TEMPERATURE) ** 2 / 2 / TEMPERATURE_SD**2
        return (penalty - likelihood) / counts.sum(), -slope / counts.sum()

    begin = [np.array([FIRMNESS]), np.log(alike.shares).ravel(), alike.offsets[:n_offsets]]
    start = np.concatenate([*begin, [alike.temperature] * (use == "recalibrated")])
    bounds = [(-2.0, 8.0)] + [(-12.0, 12.0)] * (len(start) - 1)
    if use == "recalibrated":
        bounds[-1] = (0.01, 10.0)
    best: Any = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": ROUNDS})
    concentration, centres, offsets, temperature = unpacked(np.asarray(best.x, float))
    loss(np.asarray(best.x, float))
    rates = softmax(offsets[None])[0][0]
    if said is not None and speaks.any():
        rates = normalise(counts @ (softmax(offsets + temperature * said)[0] * speaks))
    given = jury_votes(size)
    people = int(given[0].sum())
    return replace(
        alike,
        form="moot",
        shares=FLOOR + (1.0 - size * FLOOR) * given / people,
        verdicts=normalise((given == given.max(axis=1, keepdims=True)).astype(float)),
        leaning=jury_probabilities(given, concentration, centres),
        rates=rates,
        offsets=offsets,
        temperature=temperature if use != "none" else 0.0,
        concentration=concentration,
        evidence=likelihood,
    )


def _dirichlet_multinomial(votes: Floats, alpha: Floats) -> tuple[Floats, Floats]:
    """The logarithm of the chance of an order of `votes`, shape (..., labels), and its slope by `alpha`."""
    from scipy.special import digamma, gammaln

    n, whole = votes.sum(axis=-1), alpha.sum(axis=-1)
    chance = gammaln(whole) - gammaln(whole + n) + (gammaln(alpha + votes) - gammaln(alpha)).sum(axis=-1)
    slope = digamma(alpha + votes) - digamma(alpha) + (digamma(whole) - digamma(whole + n))[..., None]
    return np.asarray(chance, float), np.asarray(slope, float)


def jury_votes(n_labels: int) -> NDArray[np.int64]:
    """All votes that a jury can give, shape (votes, labels); of two labels it never ties."""
    fits: Callable[[int], bool] = lambda n: math.comb(n + n_labels - 1, n_labels - 1) <= JURIES  # noqa: E731
    most = JURY_OF_TWO if n_labels == 2 else JURY
    return possible_votes(max((n for n in range(1, most + 1) if fits(n)), default=1), n_labels)


def possible_votes(people: int, n_labels: int) -> NDArray[np.int64]:
    """All votes of so many people, shape (votes, labels)."""
    rows = combinations_with_replacement(range(n_labels), people)
    return np.array([np.bincount(one, minlength=n_labels) for one in rows], np.int64)


def jury_probabilities(given: NDArray[np.int64], concentration: float, centres: Floats) -> Floats:
    """The chance of each jury's vote in each leaning, shape (leanings, votes). A jury's shares vary more than
    what it is drawn from, so the Dirichlet it is drawn from is firmer: both together vary as they should."""
    people = int(given[0].sum())
    room = people - 1 - concentration
    firm = people * concentration / room if room > 0.05 * people else 1e4
    chance, _ = _dirichlet_multinomial(given[None].astype(float), firm * centres[:, None])
    factorials = np.cumsum(np.log(np.maximum(1, np.arange(given.max() + 1))))
    return softmax(chance - factorials[given].sum(axis=1))[0]
