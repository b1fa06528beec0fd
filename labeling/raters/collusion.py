"""Collusion: pairs and groups of people who agree more often than independent people would.

Good people agree because they are right, hard items mislead honest people to the same wrong answer, and two
who always say no agree always. So the joint fit defines what is expected of independent people: given the
answers of all *others*, how clear the item is, and what each of the two is like, with which probability do
both give the same answer? The number of agreements of a pair is compared with the sum of these probabilities.
Agreement on wrong answers (not the label that the others make likeliest) is counted apart: people who agree
more than expected on right answers only know the same things, and are not flagged.

The tail of a sum of unequal Bernoulli variables is bounded by that of equal ones, so a binomial tail errs on
the side of the innocent (Hoeffding 1956, theorem 4); a misfit that is common to all pairs is estimated from
the pairs themselves and removed (`_calibrate`). Which form of the fit is right is unknown. If all items are
assumed to be equally clear, people misled by the same hard ones look like colluders; if items may differ, so
do the two best among careless people (a simulated crowd of seven, 2026-11-22). Only agreement that neither
form explains counts (`combine_fits`).

Two tests make groups out of pairs, and the results of both are joined. Pairs alone, at a controlled false
discovery rate: enough where two people share dozens of items. Whole groups, where they do not: a group of
ten has 45 pairs, whose weak evidence adds up. Groups are searched greedily; a group of k is accepted only if
it is significant after a Bonferroni correction for all sets of k people, which holds for any search.

A group is not yet collusion. Where instructions can be read in two ways, the minority looks wrong to the
majority, and wrong in the same way. So a group that, with all who answer like it, is more than a third of the
crowd is called a school: so many people do not share one answer sheet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dialint.detector.statistics import adjust_p_values
from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.raters.competence import LeaveOneOut
from dialint.labeling.raters.estimates import binomial_tail

if TYPE_CHECKING:
    from scipy.sparse import csr_array


MAX_ANSWER_PAIRS = 6_000_000
"""Pairs of answers to the same item that are compared at most; of more, a random sample."""
PAIRS_PER_BLOCK = 1 << 16
MIN_SAME = 2
"""Answers in common from which a pair is tested."""
CALIBRATION_P = 0.01
"""p-value above which a pair serves to calibrate."""


@dataclass(frozen=True)
class WorkerPairs:
    """Pairs of workers with items in common, sorted; all arrays have shape (pairs,).

    `first` and `second` are indices of workers, the smaller first. Of the `n_shared` items that both
    answered, they gave the same answer to `n_same`, where `expected_same` is expected of independent people,
    and the same wrong answer to `n_same_wrong`, where `expected_same_wrong` is expected. `p_value` is that of
    `n_same`. Counts are divided by `dispersion`, at least 1, before they are tested.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    n_shared: Floats
    n_same: Floats
    expected_same: Floats
    n_same_wrong: Floats
    expected_same_wrong: Floats
    p_value: Floats
    dispersion: float


def compare_pairs(codes: Iterable[LeaveOneOut], seed: int = 0) -> WorkerPairs:
    """Compare all pairs of workers with a common item of some code; codes share their workers."""
    keys, rows, n_workers = [np.zeros(0, np.int64)], [np.zeros((0, 4))], 1
    for others in codes:
        n_workers = max(1, len(others.answers.workers))
        for key, row in _compare_answers(others, seed):
            keys.append(key)
            rows.append(row)
    pair_keys, index = np.unique(np.concatenate(keys), return_inverse=True)
    columns = np.concatenate(rows).T
    n_shared = np.bincount(index, minlength=len(pair_keys)).astype(float)
    n_same, expected, wrong, expected_wrong = (
        np.asarray(np.bincount(index, of, len(pair_keys)), float) for of in columns
    )
    expected, dispersion = _calibrate(n_same, expected, n_shared)
    expected_wrong, _ = _calibrate(wrong, expected_wrong, n_shared)
    p_value = _pair_p_values(n_same, expected, n_shared, dispersion)
    ends = pair_keys // n_workers, pair_keys % n_workers
    return WorkerPairs(*ends, n_shared, n_same, expected, wrong, expected_wrong, p_value, dispersion)


def combine_fits(one: WorkerPairs, other: WorkerPairs) -> WorkerPairs:
    """Of two fits to the same answers take, pair by pair, the one that explains the agreement better."""
    less = one.n_same_wrong - one.expected_same_wrong < other.n_same_wrong - other.expected_same_wrong
    return WorkerPairs(
        one.first,
        one.second,
        one.n_shared,
        one.n_same,
        np.maximum(one.expected_same, other.expected_same),
        np.where(less, one.n_same_wrong, other.n_same_wrong),
        np.where(less, one.expected_same_wrong, other.expected_same_wrong),
        np.maximum(one.p_value, other.p_value),
        max(one.dispersion, other.dispersion),
    )


def _compare_answers(others: LeaveOneOut, seed: int) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """For each two answers to the same task: the pair of workers as one number, and a row of whether both
    answers are the same, the probability of that, whether both are the same and wrong, and its
    probability."""
    answers, probabilities = others.answers, np.exp(others.logs)
    n_workers = len(answers.workers)
    for one, other in _pair_answers(answers, seed):
        posterior = others.component_posterior(one, other)  # (pairs of answers, components)
        right = (posterior @ others.label_probabilities).argmax(axis=1)
        u, v = answers.worker[one], answers.worker[other]
        both = np.einsum("nlc,nlc->nc", probabilities[u], probabilities[v])
        both_right = probabilities[u, right] * probabilities[v, right]
        same = answers.label[one] == answers.label[other]
        wrong = same & (answers.label[one] != right)
        expected = (posterior * both).sum(axis=1)
        expected_wrong = (posterior * (both - both_right)).sum(axis=1)
        low, high = np.minimum(u, v).astype(np.int64), np.maximum(u, v)
        yield low * n_workers + high, np.column_stack([same, expected, wrong, expected_wrong])


def _pair_answers(answers: Answers, seed: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Indices of two answers to the same task, at most `PAIRS_PER_BLOCK` at a time."""
    order, counts = np.argsort(answers.task, kind="stable"), answers.n_labelers
    total = float((counts * (counts - 1.0) / 2).sum())
    random, share = np.random.default_rng(seed), min(1.0, MAX_ANSWER_PAIRS / max(total, 1.0))
    size = counts[answers.task[order]]
    rank = np.arange(len(order)) - (np.cumsum(counts) - counts)[answers.task[order]]
    for step in range(1, int(counts.max(initial=0))):
        firsts = np.flatnonzero(rank + step < size)
        if share < 1.0:
            firsts = firsts[random.random(len(firsts)) < share]
        for begin in range(0, len(firsts), PAIRS_PER_BLOCK):
            part = firsts[begin : begin + PAIRS_PER_BLOCK]
            yield order[part], order[part + step]


def _calibrate(n_same: Floats, expected_same: Floats, n_shared: Floats) -> tuple[Floats, float]:
    """`expected_same` scaled by how much more than expected all pairs but the most suspicious agree (never
    less than before); and the dispersion of these pairs relative to a binomial, at least 1."""
    factor, dispersion = 1.0, 1.0
    for _ in range(3):
        expected = np.minimum(expected_same * factor, n_shared)
        unsuspicious = _pair_p_values(n_same, expected, n_shared, dispersion) > CALIBRATION_P
        factor = max(
            1.0, float(n_same[unsuspicious].sum()) / max(float(expected_same[unsuspicious].sum()), 1e-9)
        )
        spread = float((expected * (1.0 - expected / n_shared))[unsuspicious].sum())
        dispersion = max(1.0, float(((n_same - expected)[unsuspicious] ** 2).sum()) / max(spread, 1e-9))
    return np.minimum(expected_same * factor, n_shared), dispersion


def _pair_p_values(n_same: Floats, expected_same: Floats, n_shared: Floats, dispersion: float) -> Floats:
    sums = (values / dispersion for values in (n_same, expected_same, n_shared))
    return np.where(n_same >= MIN_SAME, np.exp(log_binomial_tail(*sums)), 1.0)


def log_binomial_tail(n_same: Floats, expected_same: Floats, n_shared: Floats) -> Floats:
    """The log probability of `n_same` or more successes of a binomial with `n_shared` trials and the mean
    `expected_same`, for numbers that need not be whole; 0 where `n_same` is no more than expected."""
    logs = np.zeros(np.shape(n_shared))
    tested = (n_shared > 0) & (n_same > expected_same)
    k, n = n_same[tested], n_shared[tested]
    share = np.clip(expected_same[tested] / n, 1e-12, 1.0 - 1e-12)
    tail = binomial_tail(k, n, share)
    missed = np.maximum(n - k, 0.0) * np.log((1.0 - share) / np.maximum(1.0 - k / n, 1e-300))
    bound = k * np.log(share * n / k) + missed  # Chernoff, for what is below the smallest float
    logs[tested] = np.where(tail > 1e-290, np.log(np.maximum(tail, 1e-300)), bound)
    return logs


MAX_FAILED_SEEDS = 60
"""Pairs from which no significant group grows, before the search ends."""

MAX_WRONG_P = 0.05
"""p-value of a set's agreement on wrong answers alone, above which it is not accused."""
SCHOOL_SHARE = 1 / 3
"""Share of the crowd above which a group is a school."""
ALLY_SHARE = 1 / 3
"""A worker is an ally of a group whose excess agreement with it is at least this share of that among its
members. Of 20 people in 50 who read the tasks in their own way, groups of 4 to 20 are found, which with their
kin are 16 to 22; five with one sheet stay five (made-up crowds, 2026-11-22)."""


@dataclass(frozen=True)
class ColludingGroup:
    """Workers (indices) with one answer sheet, or of one `school`; counts are summed over their pairs, and
    mean the same as in `WorkerPairs`. `p_value` is corrected for how many pairs or sets of people there
    are."""

    workers: tuple[int, ...]
    n_shared: int
    n_same: int
    expected_same: float
    n_same_wrong: int
    expected_same_wrong: float
    p_value: float
    school: bool = False


def find_groups(pairs: WorkerPairs, codes: Sequence[LeaveOneOut], rate: float = 0.01) -> list[ColludingGroup]:
    """Find disjoint groups that agree more than expected, on wrong answers as well, most certain first.
    `rate` bounds the share of false pairs among the selected pairs, and the probability of any false set."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not len(pairs.first):
        return []
    n_workers = len(codes[0].answers.workers)
    search = _Search(pairs, codes, n_workers)
    edges = adjust_p_values(pairs.p_value) <= rate
    first, second = [pairs.first[edges]], [pairs.second[edges]]
    for workers in search.find_sets(np.log(rate)):
        first.append(np.full(len(workers) - 1, workers[0]))
        second.append(np.array(workers[1:]))
    ends = np.concatenate(first), np.concatenate(second)
    graph = coo_array((np.ones(len(ends[0])), ends), (n_workers, n_workers))
    _, component = connected_components(graph, directed=False)
    joined_sets = [
        np.flatnonzero(component == one).tolist() for one in np.flatnonzero(np.bincount(component) > 1)
    ]
    assigned = np.bincount(component)[component] > 1
    groups = (search.describe(workers, assigned) for workers in joined_sets)
    return sorted((group for group in groups if group is not None), key=lambda group: group.p_value)


class _Search:
    """The pairs as symmetric sparse tables, and the evidence against sets of workers."""

    def __init__(self, pairs: WorkerPairs, codes: Sequence[LeaveOneOut], n_workers: int) -> None:
        from scipy.sparse import csr_array

        self.pairs, self.codes, self.n_workers = pairs, codes, n_workers
        ends = np.concatenate((pairs.first, pairs.second)), np.concatenate((pairs.second, pairs.first))
        self.tables: list[csr_array[Any]] = [
            csr_array((np.concatenate((values, values)), ends), (n_workers, n_workers))
            for values in (
                pairs.n_same,
                pairs.expected_same,
                pairs.n_shared,
                pairs.n_same_wrong,
                pairs.expected_same_wrong,
            )
        ]

    def find_sets(self, level: float) -> list[tuple[int, ...]]:
        """Sets of workers whose log p-value, corrected, is at most `level`; disjoint."""
        available = np.ones(self.n_workers, bool)
        sets: list[tuple[int, ...]] = []
        n_failed = 0
        for index in np.argsort(self.pairs.p_value, kind="stable"):
            if n_failed >= MAX_FAILED_SEEDS or self.pairs.p_value[index] >= 0.5:
                break
            seed = int(self.pairs.first[index]), int(self.pairs.second[index])
            if not available[list(seed)].all():
                continue
            workers = self._grow(seed, available)
            if self.log_p_value(workers) <= level:
                sets.append(workers)
                available[list(workers)] = False
            else:
                n_failed += 1
        return sets

    def _grow(self, seed: tuple[int, int], available: NDArray[np.bool_]) -> tuple[int, ...]:
        """Grow a set from a pair, each time by the worker who lowers the p-value most, while one does."""
        workers = list(seed)
        within = np.array([table[[seed[0]], [seed[1]]][0] for table in self.tables[:3]], float)
        links = np.stack([table[workers].sum(axis=0) for table in self.tables[:3]])  # (3, workers)
        best = self._correct(within[:, None], 2)[0]
        while len(workers) < self.n_workers:
            candidates = np.flatnonzero(
                available & (links[2] > 0) & ~np.isin(np.arange(self.n_workers), workers)
            )
            if not len(candidates):
                break
            values = self._correct(within[:, None] + links[:, candidates], len(workers) + 1)
            index = int(values.argmin())
            if values[index] >= best:
                break
            best, newcomer = values[index], int(candidates[index])
            within = within + links[:, newcomer]
            links = links + np.stack([table[[newcomer]].toarray()[0] for table in self.tables[:3]])
            workers.append(newcomer)
        return tuple(sorted(workers))

    def log_p_value(self, workers: Sequence[int]) -> float:
        """The logarithm of a set's p-value, thinned and corrected."""
        sums = self.sums(workers)[:3, None] * self._thinning(workers)
        return float(self._correct(sums, len(workers))[0])

    def sums(self, workers: Sequence[int]) -> Floats:
        """`n_same`, `expected_same`, `n_shared`, `n_same_wrong` and `expected_same_wrong`, summed over the
        pairs of a set, shape (5,)."""
        return np.array([table[list(workers)][:, list(workers)].sum() / 2 for table in self.tables])

    def _correct(self, sums: Floats, size: int) -> Floats:
        """For sets of `size`: the log p-value times the number of such sets, and the sizes' shares 1/2,
        1/4, ... of the level."""
        from scipy.special import gammaln

        n = self.n_workers
        ways = gammaln(n + 1) - gammaln(size + 1) - gammaln(n - size + 1)
        tails = log_binomial_tail(*(sums / self.pairs.dispersion))
        return np.asarray(tails + float(ways) + (size - 1) * np.log(2.0), float)

    def _thinning(self, workers: Sequence[int]) -> float:
        """Of m members at one item, m (m - 1) / 2 pairs are no more than m - 1 pieces of evidence."""
        links, pieces = 0.0, 0.0
        for others in self.codes:
            answers = others.answers
            members = np.bincount(answers.task[np.isin(answers.worker, workers)])
            links += float((members * (members - 1) / 2).sum())
            pieces += float(np.maximum(members - 1, 0).sum())
        return pieces / max(links, 1.0)

    def describe(self, workers: Sequence[int], assigned: NDArray[np.bool_]) -> ColludingGroup | None:
        """A set, or the school around it, without those `assigned`, shape (workers,), by other sets;
        none if the set agrees no more than expected on wrong answers."""
        _, _, n_shared, n_wrong, expected_wrong = self.sums(workers)
        thinned = np.array([[n_wrong], [expected_wrong], [n_shared]]) * self._thinning(workers)
        if log_binomial_tail(*thinned)[0] > np.log(MAX_WRONG_P):
            return None
        within = np.isin(self.pairs.first, workers) & np.isin(self.pairs.second, workers)
        by_pair = float(self.pairs.p_value[within].min()) * len(self.pairs.first)
        p_value = min(1.0, by_pair, float(np.exp(min(0.0, self.log_p_value(workers)))))
        allies = self._allies(workers)
        school = bool(allies.sum() > SCHOOL_SHARE * np.count_nonzero(self.tables[2].sum(axis=0)))
        if school:
            workers = sorted({*workers, *np.flatnonzero(allies & ~assigned).tolist()})
        n_same, expected, n_shared, n_wrong, expected_wrong = self.sums(workers)
        counts = int(n_shared), int(n_same), expected, int(n_wrong), expected_wrong
        return ColludingGroup(tuple(workers), *counts, p_value, school)

    def _allies(self, workers: Sequence[int]) -> NDArray[np.bool_]:
        """The workers who answer like a set, or like those who do, shape (workers,); the set alone if that
        leads to people who have little in common."""
        alone = np.isin(np.arange(self.n_workers), workers)
        allies, more = np.zeros_like(alone), alone
        while not (more == allies).all():
            allies, rate = more, self._excess_rate(np.flatnonzero(more).tolist())
            links = np.stack([table[np.flatnonzero(allies)].sum(axis=0) for table in self.tables[:3]])
            close = (links[2] > 0) & (
                links[0] - links[1] >= ALLY_SHARE * rate * links[2]
            )  # links: (3, workers)
            more = allies | close
        return allies if rate >= ALLY_SHARE * self._excess_rate(workers) else alone

    def _excess_rate(self, workers: Sequence[int]) -> float:
        """By how much the share of same answers of a set is above the expected share."""
        n_same, expected_same, n_shared = self.sums(workers)[:3]
        return float((n_same - expected_same) / n_shared)
