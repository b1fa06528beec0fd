"""What items are like: how large a share of the people gets one right, and where the others err.

An item belongs to a component: its true label and how clear it is. The truth is defined as the answer
that most people would give, so in every component the true label has the largest share: labels cannot
change places, and no component can come to mean something else, as both do in a free latent class model
when people agree as little as they do on dialogues. Knows nothing of single workers.

Source: levels of difficulty as in Whitehill et al. 2009 (GLAD), as a finite mixture whose weights are
estimated without a form (Kiefer and Wolfowitz 1956).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labeling.truth.answers import Floats
from labeling.truth.posterior import normalised, softmax

CLEARNESS = (0.1, 0.35, 0.65, 0.9, 0.99)
"""Levels from the point where the true label would tie (0) to where all give it (1)."""
FEW_CLEARNESS = (0.25, 0.8, 0.98)
FIRST_LEVEL = 0.5
"""Where a single level starts, and what one pseudo-answer says it is."""
MANY_LABELS = 8
"""More labels than this get the few levels."""
ROUNDS = 15
PSEUDO_ITEMS = 1.0
"""Items that every component is thought to have beside those seen."""


@dataclass(frozen=True)
class Items:
    """`shares`, shape (components, labels): the answers of a large crowd; `truth` and `weights`, shape
    (components,): each component's true label and its share of the items."""

    shares: Floats
    truth: NDArray[np.int64]
    weights: Floats

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return int(self.shares.shape[1])

    @property
    def indicator(self) -> Floats:
        """1 where a component's truth is that label, shape (components, labels)."""
        return np.asarray(np.eye(self.n_labels)[self.truth], float)

    @property
    def pooled(self) -> Floats:
        """The answers of a large crowd to items of each truth, shape (truth, answer), rows sum to 1."""
        return normalised(self.indicator.T @ (self.weights[:, None] * self.shares) + 1e-12)


def learned_items(votes: Floats, one_level: bool = False) -> tuple[Items, Floats]:
    """Items fitted to `votes`, shape (tasks, labels), with all workers alike; and the probability of each
    component for each task, shape (tasks, components).

    With `one_level`, all items of a truth are equally clear, and how clear is learnt: right where tasks
    have an answer and people err at random, as Dawid and Skene think; else the levels are given, and how
    many items each has is learnt: right where people differ because the items are moot.
    """
    n_labels = votes.shape[1]
    others = normalised(np.maximum(1.0 - np.eye(n_labels), 1e-12))
    levels = np.tile(_levels(n_labels, one_level), (n_labels, 1))
    items = _items(others, levels, np.full(levels.size, 1.0 / levels.size))
    patterns, place, counts = np.unique(votes, axis=0, return_inverse=True, return_counts=True)
    member = softmax(patterns @ np.log(items.shares).T + np.log(items.weights))[0]
    for _ in range(ROUNDS):
        weighted = member * counts[:, None]
        weights = normalised(weighted.sum(axis=0) + PSEUDO_ITEMS)
        given = (weighted @ items.indicator).T @ patterns  # (truth, answer)
        others = _others(given)
        if one_level:
            levels = _level(given, others)
        items = _items(others, levels, weights)
        member = softmax(patterns @ np.log(items.shares).T + np.log(items.weights))[0]
    return items, member[place.reshape(-1)]


def _levels(n_labels: int, one_level: bool) -> Floats:
    if one_level:
        return np.array([FIRST_LEVEL])
    return np.array(CLEARNESS if n_labels <= MANY_LABELS else FEW_CLEARNESS)


def _others(given: Floats) -> Floats:
    """Where wrong answers fall, shape (truth, answer), nothing on the diagonal."""
    wrong = given + 1.0
    np.fill_diagonal(wrong, 0.0)
    return normalised(wrong + 1e-12)


def _tie(others: Floats) -> Floats:
    """The share of right answers at which the commonest wrong one is as common, shape (truth, 1)."""
    worst = others.max(axis=1, keepdims=True)
    return np.asarray(worst / (1.0 + worst), float)


def _level(given: Floats, others: Floats) -> Floats:
    """The level of each truth at which the right share is what was given, shape (truth, 1)."""
    right = (np.diag(given) + FIRST_LEVEL) / (given.sum(axis=1) + 1.0)
    tie = _tie(others)
    level = (right[:, None] - tie) / (1.0 - tie)
    return np.asarray(np.clip(level, CLEARNESS[0], CLEARNESS[-1]), float)


def _items(others: Floats, levels: Floats, weights: Floats) -> Items:
    """A component for each truth and each of its `levels`, shape (truth, levels)."""
    tie = _tie(others)
    right = (tie + (1.0 - tie) * levels).reshape(-1)  # (components,)
    truth = np.repeat(np.arange(len(others)), levels.shape[1])
    shares = (1.0 - right)[:, None] * others[truth]
    shares[np.arange(len(truth)), truth] = right
    return Items(normalised(np.maximum(shares, 1e-9)), truth, weights)
