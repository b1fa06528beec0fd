"""What items are like: how large a share of the people gets one right, and where the others err.

An item belongs to a component: its true label, how clear it is, and which label people take it for when
they err. The truth is defined as the answer that most people would give, so in every component the true
label has the largest share: labels cannot change places, and no component can come to mean something
else, as both do in a free latent class model when people agree as little as they do on dialogues. Where
items differ in clearness, the truth of a moot one is what the plurality of a jury would be, so that two
labels with nearly equal shares are nearly equally true. Knows nothing of single workers.

Source: levels of difficulty as in Whitehill et al. 2009 (GLAD), as a finite mixture whose weights are
estimated without a form (Kiefer and Wolfowitz 1956).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from labeling.truth.answers import Floats
from labeling.truth.posterior import normalised, softmax

Form = Literal["alike", "levels", "rivals"]
"""How items differ: all of a truth equally clear; at given levels; or at levels, and in which wrong label
is taken for the true one."""

CLEARNESS = (0.1, 0.35, 0.65, 0.9, 0.99)
"""Levels from the point where the true label would tie (0) to where all give it (1)."""
FEW_CLEARNESS = (0.25, 0.8, 0.98)
FIRST_LEVEL = 0.5
"""Where a single level starts, and what one pseudo-answer says it is."""
MANY_LABELS = 8
"""More labels than this get the few levels and no rivals."""
RIVAL_SHARE = 0.9
"""Of the wrong answers to an item that go to its rival."""
JURY, TRIALS = 25, 4000
"""People of the jury that decides what a moot item is, and how often one is drawn to learn its chances."""
ROUNDS = 15
PSEUDO_ITEMS = 1.0
"""Items that every component is thought to have beside those seen."""


@dataclass(frozen=True)
class Items:
    """`shares`, shape (components, labels): the answers of a large crowd; `truth` and `weights`, shape
    (components,): each component's true label and its share of the items; `form`, how they differ."""

    shares: Floats
    truth: NDArray[np.int64]
    weights: Floats
    form: Form

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return int(self.shares.shape[1])

    @property
    def indicator(self) -> Floats:
        """1 where a component's truth is that label, shape (components, labels)."""
        return np.asarray(np.eye(self.n_labels)[self.truth], float)

    @cached_property
    def verdicts(self) -> Floats:
        """The chance of each label to be an item's truth, shape (components, labels), rows sum to 1: the
        component's own where items are alike, else that of being the plurality of a jury."""
        if self.form == "alike":
            return self.indicator
        random = np.random.default_rng(0)
        drawn = random.multinomial(JURY, self.shares, size=(TRIALS, len(self.shares)))
        leads = drawn == drawn.max(axis=2, keepdims=True)
        return np.asarray(normalised(leads.astype(float)).mean(axis=0), float)

    @property
    def pooled(self) -> Floats:
        """The answers of a large crowd to items of each truth, shape (truth, answer), rows sum to 1."""
        return normalised(self.indicator.T @ (self.weights[:, None] * self.shares) + 1e-12)


def learned_items(votes: Floats, form: Form) -> tuple[Items, Floats]:
    """Items fitted to `votes`, shape (tasks, labels), with all workers alike; and the probability of each
    component for each task, shape (tasks, components).

    Where items are alike, how clear they are is learnt: right where tasks have an answer and people err
    at random, as Dawid and Skene think; else the levels are given, and how many items each has is learnt:
    right where people differ because the items are moot. With two labels there is one rival only.
    """
    n_labels = votes.shape[1]
    form = "levels" if form == "rivals" and not 2 < n_labels <= MANY_LABELS else form
    others = normalised(np.maximum(1.0 - np.eye(n_labels), 1e-12))
    levels = np.tile(_levels(n_labels, form), (n_labels, 1))
    items = _items(others, levels, None, form)
    patterns, place, counts = np.unique(votes, axis=0, return_inverse=True, return_counts=True)
    member = softmax(patterns @ np.log(items.shares).T + np.log(items.weights))[0]
    for _ in range(ROUNDS):
        weighted = member * counts[:, None]
        weights = normalised(weighted.sum(axis=0) + PSEUDO_ITEMS)
        given = (weighted @ items.indicator).T @ patterns  # (truth, answer)
        others = _others(given)
        if form == "alike":
            levels = _level(given, others)
        items = _items(others, levels, weights, form)
        member = softmax(patterns @ np.log(items.shares).T + np.log(items.weights))[0]
    return items, member[place.reshape(-1)]


def _levels(n_labels: int, form: Form) -> Floats:
    if form == "alike":
        return np.array([FIRST_LEVEL])
    return np.array(CLEARNESS if n_labels <= MANY_LABELS else FEW_CLEARNESS)


def _others(given: Floats) -> Floats:
    """Where wrong answers fall, shape (truth, answer), nothing on the diagonal."""
    wrong = given + 1.0
    np.fill_diagonal(wrong, 0.0)
    return normalised(wrong + 1e-12)


def _tie(others: Floats) -> Floats:
    """The share of right answers at which the commonest wrong one is as common, shape (..., 1)."""
    worst = others.max(axis=-1, keepdims=True)
    return np.asarray(worst / (1.0 + worst), float)


def _level(given: Floats, others: Floats) -> Floats:
    """The level of each truth at which the right share is what was given, shape (truth, 1)."""
    right = (np.diag(given) + FIRST_LEVEL) / (given.sum(axis=1) + 1.0)
    tie = _tie(others)
    level = (right[:, None] - tie) / (1.0 - tie)
    return np.asarray(np.clip(level, CLEARNESS[0], CLEARNESS[-1]), float)


def _items(others: Floats, levels: Floats, weights: Floats | None, form: Form) -> Items:
    """A component for each truth, each of its `levels`, shape (truth, levels), and each way to err; all
    weigh alike if `weights` is none."""
    ways = _ways(others, form)  # (truth, ways, answer)
    tie = _tie(ways)[:, None]  # (truth, 1, ways, 1)
    right = tie + (1.0 - tie) * levels[:, :, None, None]  # (truth, levels, ways, 1)
    own = np.eye(len(others))[:, None, None, :]
    shares = ((1.0 - right) * ways[:, None] + right * own).reshape(-1, len(others))
    truth = np.repeat(np.arange(len(others)), levels.shape[1] * ways.shape[1])
    if weights is None:
        weights = np.full(len(truth), 1.0 / len(truth))
    return Items(normalised(np.maximum(shares, 1e-9)), truth, weights, form)


def _ways(others: Floats, form: Form) -> Floats:
    """Where wrong answers to an item fall, shape (truth, ways, answer): as they do on the whole or, with
    rivals, mostly on one label."""
    if form != "rivals":
        return others[:, None]
    size = len(others)
    rivals = np.array([[label for label in range(size) if label != truth] for truth in range(size)])
    mostly = RIVAL_SHARE * np.eye(size)[rivals] + (1.0 - RIVAL_SHARE) * others[:, None]
    return np.concatenate((others[:, None], mostly), axis=1)
