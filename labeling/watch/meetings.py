"""Who answers from whose sheet: pairs of people who agree more often than two minds would.

Good people agree because they are right, hard items mislead honest people to the same wrong answer, and two
who always say no agree always. So what is chance is asked of the joint fit: given what all *others*
answered, how clear the item is, and what either person is like, with which probability would both have
said the same on their own? How often they did is held against the sum of these probabilities.
Agreement on wrong answers (not what the others make of the item) is counted apart: who agrees beyond
chance on right answers alone knows the same things, and is not accused (`groups`).

A tail of a sum of unequal coins is bounded by that of equal ones, so a binomial tail errs on the side of
the innocent (Hoeffding 1956, theorem 4); what the fit misjudges of all pairs alike is taken out by the
pairs themselves (`_calibrated`).

That the fit is right nobody knows. If it takes all items to be equally clear, those who are misled by the
same hard ones look like a conspiracy; if it lets items differ, so do the two best among careless people
(found on a made-up crowd of seven, 2026-11-22). Only what no fit explains is held against anybody
(`unexplained`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.watch.evidence import upper_tail
from dialint.labeling.watch.others import Others

MEETINGS = 6_000_000
"""Times that two people answer the same item which are looked at, at most; of more, a random part."""
ROWS = 1 << 16
LEAST_TOGETHER = 2
"""Answers in common from which a pair is tested."""
PLAIN = 0.01
"""p-value above which a pair serves to calibrate."""


@dataclass(frozen=True)
class Pairs:
    """Pairs of workers who met, sorted: `first` and `second` (indices of workers, first the smaller), how
    often they `met`, answered `together`, and would have `by_chance`; the same of wrong answers; and the
    `p_value` of as many together. All of shape (pairs,). Two pieces of evidence count as one over
    `dispersion`, at least 1."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    met: Floats
    together: Floats
    by_chance: Floats
    wrong: Floats
    wrong_by_chance: Floats
    p_value: Floats
    dispersion: float


def pairs(codes: Iterable[Others], seed: int = 0) -> Pairs:
    """All pairs of workers who met on some item of some code; codes share their workers."""
    keys, figures, n_workers = [np.zeros(0, np.int64)], [np.zeros((0, 4))], 1
    for others in codes:
        n_workers = max(1, len(others.answers.workers))
        for key, figure in _meetings(others, seed):
            keys.append(key)
            figures.append(figure)
    found, place = np.unique(np.concatenate(keys), return_inverse=True)
    columns = np.concatenate(figures).T
    met = np.bincount(place, minlength=len(found)).astype(float)
    together, chance, wrong, wrong_chance = (
        np.asarray(np.bincount(place, of, len(found)), float) for of in columns
    )
    chance, dispersion = _calibrated(together, chance, met)
    wrong_chance, _ = _calibrated(wrong, wrong_chance, met)
    p_value = _thinned_tail(together, chance, met, dispersion)
    ends = found // n_workers, found % n_workers
    return Pairs(*ends, met, together, chance, wrong, wrong_chance, p_value, dispersion)


def unexplained(one: Pairs, other: Pairs) -> Pairs:
    """Of two tables of the same meetings, pair by pair, what explains the agreement better."""
    less = one.wrong - one.wrong_by_chance < other.wrong - other.wrong_by_chance
    return Pairs(
        one.first,
        one.second,
        one.met,
        one.together,
        np.maximum(one.by_chance, other.by_chance),
        np.where(less, one.wrong, other.wrong),
        np.where(less, one.wrong_by_chance, other.wrong_by_chance),
        np.maximum(one.p_value, other.p_value),
        max(one.dispersion, other.dispersion),
    )


def _meetings(others: Others, seed: int) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """Of each meeting the pair as one number, and a row: whether both said the same, the probability of
    it, whether both said the same wrong thing, the probability of that."""
    answers, chances = others.answers, np.exp(others.logs)
    n_workers = len(answers.workers)
    for one, other in _met(answers, seed):
        members = others.without(one, other)  # (meetings, components)
        right = (members @ others.verdicts).argmax(axis=1)
        u, v = answers.worker[one], answers.worker[other]
        both = np.einsum("nlc,nlc->nc", chances[u], chances[v])
        both_right = chances[u, right] * chances[v, right]
        same = answers.label[one] == answers.label[other]
        wrong = same & (answers.label[one] != right)
        chance, chance_wrong = (members * both).sum(axis=1), (members * (both - both_right)).sum(axis=1)
        low, high = np.minimum(u, v).astype(np.int64), np.maximum(u, v)
        yield low * n_workers + high, np.column_stack([same, chance, wrong, chance_wrong])


def _met(answers: Answers, seed: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Meetings as places of two answers to the same task, at most `ROWS` at a time."""
    order, counts = np.argsort(answers.task, kind="stable"), answers.n_labelers
    total = float((counts * (counts - 1.0) / 2).sum())
    random, share = np.random.default_rng(seed), min(1.0, MEETINGS / max(total, 1.0))
    size = counts[answers.task[order]]
    rank = np.arange(len(order)) - (np.cumsum(counts) - counts)[answers.task[order]]
    for step in range(1, int(counts.max(initial=0))):
        firsts = np.flatnonzero(rank + step < size)
        if share < 1.0:
            firsts = firsts[random.random(len(firsts)) < share]
        for begin in range(0, len(firsts), ROWS):
            part = firsts[begin : begin + ROWS]
            yield order[part], order[part + step]


def _calibrated(together: Floats, by_chance: Floats, met: Floats) -> tuple[Floats, float]:
    """`by_chance` times what all pairs but the most suspicious agree more than they should (never less
    than it was); and how much more widely these pairs scatter than coins, at least 1."""
    factor, dispersion = 1.0, 1.0
    for _ in range(3):
        chance = np.minimum(by_chance * factor, met)
        plain = _thinned_tail(together, chance, met, dispersion) > PLAIN
        factor = max(1.0, float(together[plain].sum()) / max(float(by_chance[plain].sum()), 1e-9))
        spread = float((chance * (1.0 - chance / met))[plain].sum())
        dispersion = max(1.0, float(((together - chance)[plain] ** 2).sum()) / max(spread, 1e-9))
    return np.minimum(by_chance * factor, met), dispersion


def _thinned_tail(together: Floats, by_chance: Floats, met: Floats, dispersion: float) -> Floats:
    sums = (values / dispersion for values in (together, by_chance, met))
    return np.where(together >= LEAST_TOGETHER, np.exp(log_tail(*sums)), 1.0)


def log_tail(together: Floats, by_chance: Floats, met: Floats) -> Floats:
    """The logarithm of the chance of `together` or more out of `met` equal coins that give `by_chance`
    on average, for numbers that need not be whole; 0 where there is no more than chance."""
    found = np.zeros(np.shape(met))
    tested = (met > 0) & (together > by_chance)
    k, n = together[tested], met[tested]
    share = np.clip(by_chance[tested] / n, 1e-12, 1.0 - 1e-12)
    chance = upper_tail(k, n, share)
    missed = np.maximum(n - k, 0.0) * np.log((1.0 - share) / np.maximum(1.0 - k / n, 1e-300))
    bound = k * np.log(share * n / k) + missed  # Chernoff, for what is below the smallest float
    found[tested] = np.where(chance > 1e-290, np.log(np.maximum(chance, 1e-300)), bound)
    return found
