"""Collusion: pairs and groups of people who agree more often than independent people would.

Good people agree because they are right, hard items mislead honest people to the same wrong answer, and two
who always say no agree always. So the joint fit tells what is chance: given what all *others* answered, how
clear the item is, and what either person is like, with which probability would both have given the same
answer on their own? How often they did is compared with the sum of these probabilities. Agreement on wrong
answers (not the label that the others make likeliest) is counted apart: people who agree beyond chance on
right answers alone know the same things, and are not flagged.

A tail of a sum of unequal coins is bounded by that of equal ones, so a binomial tail errs on the side of the
innocent (Hoeffding 1956, theorem 4); a misfit that is common to all pairs is estimated from the pairs
themselves and removed (`_calibrate`). Which fit is right is unknown. If it takes all items to be equally
clear, those who are misled by the same hard ones look like a conspiracy; if it lets items differ, so do the
two best among careless people (found on a simulated crowd of seven, 2026-11-22). Only what neither fit
explains counts (`weaker_evidence`).

Two tests make groups out of pairs, and what either finds is joined. Pairs alone, at a controlled false
discovery rate: enough where two people meet on dozens of items. Whole groups, where they do not: a group of
ten has 45 pairs, and what each pair shows too weakly they show together. Groups are searched greedily, and a
group of k counts only if it would stand out though every set of k people had been tried: that makes any
search honest.

A group is not yet a conspiracy. Where instructions can be read in two ways, the minority looks wrong to the
majority, and wrong in the same way. So a group that, with all who answer like it, is more than a third of the
crowd is called a school: so many do not share one answer sheet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.raters.flags import benjamini_hochberg, binomial_tail
from dialint.labeling.raters.leave_one_out import LeaveOneOut

if TYPE_CHECKING:
    from scipy.sparse import csr_array


MEETINGS = 6_000_000
"""At most so many pairs of answers to the same item are compared; of more, a random sample."""
ROWS = 1 << 16
LEAST_TOGETHER = 2
"""Answers in common from which a pair is tested."""
CALIBRATION_P = 0.01
"""p-value above which a pair serves to calibrate."""


@dataclass(frozen=True)
class WorkerPairs:
    """Pairs of workers with common items, sorted: `first` and `second` (indices of workers, first the
    smaller), how many items they have in common (`met`), how often they agree (`together`), and would
    `by_chance`; the same of wrong answers; and the `p_value` of as many together. All of shape (pairs,). Two
    pieces of evidence count as one over `dispersion`, at least 1."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    met: Floats
    together: Floats
    by_chance: Floats
    wrong: Floats
    wrong_by_chance: Floats
    p_value: Floats
    dispersion: float


def compare_pairs(codes: Iterable[LeaveOneOut], seed: int = 0) -> WorkerPairs:
    """All pairs of workers with a common item of some code; codes share their workers."""
    keys, rows, n_workers = [np.zeros(0, np.int64)], [np.zeros((0, 4))], 1
    for others in codes:
        n_workers = max(1, len(others.answers.workers))
        for key, figure in _meetings(others, seed):
            keys.append(key)
            rows.append(figure)
    keys_met, index = np.unique(np.concatenate(keys), return_inverse=True)
    columns = np.concatenate(rows).T
    met = np.bincount(index, minlength=len(keys_met)).astype(float)
    together, expected, wrong, expected_wrong = (
        np.asarray(np.bincount(index, of, len(keys_met)), float) for of in columns
    )
    expected, dispersion = _calibrate(together, expected, met)
    expected_wrong, _ = _calibrate(wrong, expected_wrong, met)
    p_value = _pair_p_values(together, expected, met, dispersion)
    ends = keys_met // n_workers, keys_met % n_workers
    return WorkerPairs(*ends, met, together, expected, wrong, expected_wrong, p_value, dispersion)


def weaker_evidence(one: WorkerPairs, other: WorkerPairs) -> WorkerPairs:
    """Of two fits of the same answers, pair by pair, the one that explains the agreement better."""
    less = one.wrong - one.wrong_by_chance < other.wrong - other.wrong_by_chance
    return WorkerPairs(
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


def _meetings(others: LeaveOneOut, seed: int) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """Of each meeting the pair as one number, and a row: whether both said the same, the probability of
    it, whether both said the same wrong thing, the probability of that."""
    answers, chances = others.answers, np.exp(others.logs)
    n_workers = len(answers.workers)
    for one, other in _meeting_rows(answers, seed):
        members = others.component_posterior(one, other)  # (meetings, components)
        right = (members @ others.label_probabilities).argmax(axis=1)
        u, v = answers.worker[one], answers.worker[other]
        both = np.einsum("nlc,nlc->nc", chances[u], chances[v])
        both_right = chances[u, right] * chances[v, right]
        same = answers.label[one] == answers.label[other]
        wrong = same & (answers.label[one] != right)
        expected, probability_wrong = (
            (members * both).sum(axis=1),
            (members * (both - both_right)).sum(axis=1),
        )
        low, high = np.minimum(u, v).astype(np.int64), np.maximum(u, v)
        yield low * n_workers + high, np.column_stack([same, expected, wrong, probability_wrong])


def _meeting_rows(answers: Answers, seed: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
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


def _calibrate(together: Floats, by_chance: Floats, met: Floats) -> tuple[Floats, float]:
    """`by_chance` times what all pairs but the most suspicious agree more than they should (never less
    than it was); and how much more widely these pairs scatter than coins, at least 1."""
    factor, dispersion = 1.0, 1.0
    for _ in range(3):
        expected = np.minimum(by_chance * factor, met)
        unsuspicious = _pair_p_values(together, expected, met, dispersion) > CALIBRATION_P
        factor = max(
            1.0, float(together[unsuspicious].sum()) / max(float(by_chance[unsuspicious].sum()), 1e-9)
        )
        spread = float((expected * (1.0 - expected / met))[unsuspicious].sum())
        dispersion = max(1.0, float(((together - expected)[unsuspicious] ** 2).sum()) / max(spread, 1e-9))
    return np.minimum(by_chance * factor, met), dispersion


def _pair_p_values(together: Floats, by_chance: Floats, met: Floats, dispersion: float) -> Floats:
    sums = (values / dispersion for values in (together, by_chance, met))
    return np.where(together >= LEAST_TOGETHER, np.exp(log_binomial_tail(*sums)), 1.0)


def log_binomial_tail(together: Floats, by_chance: Floats, met: Floats) -> Floats:
    """The log probability of `together` or more out of `met` equal coins that give `by_chance`
    on average, for numbers that need not be whole; 0 where there is no more than chance."""
    logs = np.zeros(np.shape(met))
    tested = (met > 0) & (together > by_chance)
    k, n = together[tested], met[tested]
    share = np.clip(by_chance[tested] / n, 1e-12, 1.0 - 1e-12)
    tail = binomial_tail(k, n, share)
    missed = np.maximum(n - k, 0.0) * np.log((1.0 - share) / np.maximum(1.0 - k / n, 1e-300))
    bound = k * np.log(share * n / k) + missed  # Chernoff, for what is below the smallest float
    logs[tested] = np.where(tail > 1e-290, np.log(np.maximum(tail, 1e-300)), bound)
    return logs


SEEDS = 60
"""Pairs from which a group is grown in vain before the search ends."""


GATE = 0.05
"""p-value of a set's agreement on wrong answers alone, above which it is not accused."""
SCHOOL_SHARE = 1 / 3
"""Share of the crowd above which a group is a school."""
ALLY_SHARE = 1 / 3
"""A worker is an ally of a group who agrees with it beyond chance at least this share as often as its members
do. Of 20 people in 50 who read the tasks in their own way, groups of 4 to 20 are found, which with their kin
are 16 to 22; five with one sheet stay five (made-up crowds, 2026-11-22)."""


@dataclass(frozen=True)
class Group:
    """Workers (indices) with one sheet, or of one `school`: how often two of them `met`, said the same
    `together`, and would have `by_chance`; the same of wrong answers; and the `p_value`, corrected for
    how many pairs or sets of people there are."""

    workers: tuple[int, ...]
    met: int
    together: int
    by_chance: float
    wrong: int
    wrong_by_chance: float
    p_value: float
    school: bool = False


def find_groups(pairs: WorkerPairs, codes: Sequence[LeaveOneOut], rate: float = 0.01) -> list[Group]:
    """Groups that agree beyond chance, on wrong answers as well, most certain first; nobody is in two.
    `rate` bounds the share of false pairs among the pairs found, and the chance of finding any false set.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not len(pairs.first):
        return []
    n_workers = len(codes[0].answers.workers)
    search = _Search(pairs, codes, n_workers)
    edges = benjamini_hochberg(pairs.p_value, rate)
    first, second = [pairs.first[edges]], [pairs.second[edges]]
    for workers in search.find_sets(np.log(rate)):
        first.append(np.full(len(workers) - 1, workers[0]))
        second.append(np.array(workers[1:]))
    ends = np.concatenate(first), np.concatenate(second)
    graph = coo_array((np.ones(len(ends[0])), ends), (n_workers, n_workers))
    _, component = connected_components(graph, directed=False)
    find_sets = [
        np.flatnonzero(component == one).tolist() for one in np.flatnonzero(np.bincount(component) > 1)
    ]
    assigned = np.bincount(component)[component] > 1
    describe = (search.describe(workers, assigned) for workers in find_sets)
    return sorted((group for group in describe if group is not None), key=lambda group: group.p_value)


class _Search:
    """The pairs as symmetric sparse tables, and what a set of workers amounts to."""

    def __init__(self, pairs: WorkerPairs, codes: Sequence[LeaveOneOut], n_workers: int) -> None:
        from scipy.sparse import csr_array

        self.pairs, self.codes, self.n_workers = pairs, codes, n_workers
        ends = np.concatenate((pairs.first, pairs.second)), np.concatenate((pairs.second, pairs.first))
        self.tables: list[csr_array[Any]] = [
            csr_array((np.concatenate((values, values)), ends), (n_workers, n_workers))
            for values in (pairs.together, pairs.by_chance, pairs.met, pairs.wrong, pairs.wrong_by_chance)
        ]

    def find_sets(self, level: float) -> list[tuple[int, ...]]:
        """Sets of workers whose log p-value, corrected, is at most `level`; disjoint."""
        available = np.ones(self.n_workers, bool)
        sets: list[tuple[int, ...]] = []
        n_failed = 0
        for index in np.argsort(self.pairs.p_value, kind="stable"):
            if n_failed >= SEEDS or self.pairs.p_value[index] >= 0.5:
                break
            seed = int(self.pairs.first[index]), int(self.pairs.second[index])
            if not available[list(seed)].all():
                continue
            workers = self._grow(seed, available)
            if self.corrected(workers) <= level:
                sets.append(workers)
                available[list(workers)] = False
            else:
                n_failed += 1
        return sets

    def _grow(self, seed: tuple[int, int], available: NDArray[np.bool_]) -> tuple[int, ...]:
        """The set that grows from a pair by whoever adds most, as long as somebody adds anything."""
        workers = list(seed)
        within = np.array([table[[seed[0]], [seed[1]]][0] for table in self.tables[:3]], float)
        links = np.stack([table[workers].sum(axis=0) for table in self.tables[:3]])  # (3, workers)
        best = self._corrected(within[:, None], 2)[0]
        while len(workers) < self.n_workers:
            candidates = np.flatnonzero(
                available & (links[2] > 0) & ~np.isin(np.arange(self.n_workers), workers)
            )
            if not len(candidates):
                break
            values = self._corrected(within[:, None] + links[:, candidates], len(workers) + 1)
            index = int(values.argmin())
            if values[index] >= best:
                break
            best, newcomer = values[index], int(candidates[index])
            within = within + links[:, newcomer]
            links = links + np.stack([table[[newcomer]].toarray()[0] for table in self.tables[:3]])
            workers.append(newcomer)
        return tuple(sorted(workers))

    def corrected(self, workers: Sequence[int]) -> float:
        """The logarithm of a set's p-value, thinned and corrected."""
        sums = self.sums(workers)[:3, None] * self._thinning(workers)
        return float(self._corrected(sums, len(workers))[0])

    def sums(self, workers: Sequence[int]) -> Floats:
        """Together, by chance, met, wrong together and that by chance, of all pairs of a set, shape (5,)."""
        return np.array([table[list(workers)][:, list(workers)].sum() / 2 for table in self.tables])

    def _corrected(self, sums: Floats, size: int) -> Floats:
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

    def describe(self, workers: Sequence[int], assigned: NDArray[np.bool_]) -> Group | None:
        """A set, or the school around it, without those `assigned`, shape (workers,), by other sets;
        none if the set agrees no more than by chance on wrong answers."""
        _, _, met, wrong, wrong_by_chance = self.sums(workers)
        thinned = np.array([[wrong], [wrong_by_chance], [met]]) * self._thinning(workers)
        if log_binomial_tail(*thinned)[0] > np.log(GATE):
            return None
        within = np.isin(self.pairs.first, workers) & np.isin(self.pairs.second, workers)
        by_pair = float(self.pairs.p_value[within].min()) * len(self.pairs.first)
        p_value = min(1.0, by_pair, float(np.exp(min(0.0, self.corrected(workers)))))
        allies = self._allies(workers)
        school = bool(allies.sum() > SCHOOL_SHARE * np.count_nonzero(self.tables[2].sum(axis=0)))
        if school:
            workers = sorted({*workers, *np.flatnonzero(allies & ~assigned).tolist()})
        together, by_chance, met, wrong, wrong_by_chance = self.sums(workers)
        rows = int(met), int(together), by_chance, int(wrong), wrong_by_chance
        return Group(tuple(workers), *rows, p_value, school)

    def _allies(self, workers: Sequence[int]) -> NDArray[np.bool_]:
        """The workers who answer like a set, or like those who do, shape (workers,); the set alone if that
        leads to people who have little in common."""
        alone = np.isin(np.arange(self.n_workers), workers)
        allies, more = np.zeros_like(alone), alone
        while not (more == allies).all():
            allies, rate = more, self._beyond(np.flatnonzero(more).tolist())
            links = np.stack([table[np.flatnonzero(allies)].sum(axis=0) for table in self.tables[:3]])
            close = (links[2] > 0) & (
                links[0] - links[1] >= ALLY_SHARE * rate * links[2]
            )  # links: (3, workers)
            more = allies | close
        return allies if rate >= ALLY_SHARE * self._beyond(workers) else alone

    def _beyond(self, workers: Sequence[int]) -> float:
        """How much more often two of a set agree than by chance."""
        together, by_chance, met = self.sums(workers)[:3]
        return float((together - by_chance) / met)
