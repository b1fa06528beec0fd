"""Groups of people with one sheet, or of one school, out of the pairs that agree on wrong answers.

Two tests, and whatever either finds is joined. Pairs alone, at a controlled false discovery rate: enough
where two people meet on dozens of items. Whole groups, where they do not: a group of ten has 45 pairs, and
what each pair shows too weakly they show together. Groups are looked for greedily, and a group of k
counts only if it would stand out though every set of k people had been tried: that makes any search
honest.

A group is not yet a conspiracy. Where instructions can be read in two ways, the fewer look wrong to the
many, and wrong in the same way. So a group that, with all who are of its mind, is more than a third of
the crowd is called a school: so many do not share a sheet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.aggregation.answers import Floats
from dialint.labeling.watch.evidence import discoveries
from dialint.labeling.watch.meetings import Pairs, log_tail
from dialint.labeling.watch.others import Others

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SEEDS = 60
"""Pairs from which a group is grown in vain before the search ends."""


GATE = 0.05
"""p-value of a set's agreement on wrong answers alone, above which it is not accused."""
SCHOOL = 1 / 3
"""Share of the crowd above which a group is a school."""
KIN = 1 / 3
"""Of a group's mind is who agrees with it beyond chance at least this share as often as its members do.
Of 20 people in 50 who read the tasks in their own way, groups of 4 to 20 are found, which with their kin
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


def groups(found: Pairs, codes: Sequence[Others], rate: float = 0.01) -> list[Group]:
    """Groups that agree beyond chance, on wrong answers as well, most certain first; nobody is in two.
    `rate` bounds the share of false pairs among the pairs found, and the chance of finding any false set.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not len(found.first):
        return []
    n_workers = len(codes[0].answers.workers)
    search = _Search(found, codes, n_workers)
    edges = discoveries(found.p_value, rate)
    first, second = [found.first[edges]], [found.second[edges]]
    for workers in search.sets(np.log(rate)):
        first.append(np.full(len(workers) - 1, workers[0]))
        second.append(np.array(workers[1:]))
    ends = np.concatenate(first), np.concatenate(second)
    graph = coo_array((np.ones(len(ends[0])), ends), (n_workers, n_workers))
    _, component = connected_components(graph, directed=False)
    sets = [np.flatnonzero(component == one).tolist() for one in np.flatnonzero(np.bincount(component) > 1)]
    taken = np.bincount(component)[component] > 1
    described = (search.described(workers, taken) for workers in sets)
    return sorted((group for group in described if group is not None), key=lambda group: group.p_value)


class _Search:
    """The pairs as symmetric sparse tables, and what a set of workers amounts to."""

    def __init__(self, found: Pairs, codes: Sequence[Others], n_workers: int) -> None:
        from scipy.sparse import csr_array

        self.pairs, self.codes, self.n_workers = found, codes, n_workers
        ends = np.concatenate((found.first, found.second)), np.concatenate((found.second, found.first))
        self.tables: list[csr_array[Any]] = [
            csr_array((np.concatenate((values, values)), ends), (n_workers, n_workers))
            for values in (found.together, found.by_chance, found.met, found.wrong, found.wrong_by_chance)
        ]

    def sets(self, level: float) -> list[tuple[int, ...]]:
        """Sets of workers whose log p-value, corrected, is at most `level`; disjoint."""
        left = np.ones(self.n_workers, bool)
        found: list[tuple[int, ...]] = []
        failed = 0
        for place in np.argsort(self.pairs.p_value, kind="stable"):
            if failed >= SEEDS or self.pairs.p_value[place] >= 0.5:
                break
            seed = int(self.pairs.first[place]), int(self.pairs.second[place])
            if not left[list(seed)].all():
                continue
            workers = self._grown(seed, left)
            if self.corrected(workers) <= level:
                found.append(workers)
                left[list(workers)] = False
            else:
                failed += 1
        return found

    def _grown(self, seed: tuple[int, int], left: NDArray[np.bool_]) -> tuple[int, ...]:
        """The set that grows from a pair by whoever adds most, as long as somebody adds anything."""
        workers = list(seed)
        inside = np.array([table[[seed[0]], [seed[1]]][0] for table in self.tables[:3]], float)
        links = np.stack([table[workers].sum(axis=0) for table in self.tables[:3]])  # (3, workers)
        best = self._corrected(inside[:, None], 2)[0]
        while len(workers) < self.n_workers:
            asked = np.flatnonzero(left & (links[2] > 0) & ~np.isin(np.arange(self.n_workers), workers))
            if not len(asked):
                break
            values = self._corrected(inside[:, None] + links[:, asked], len(workers) + 1)
            place = int(values.argmin())
            if values[place] >= best:
                break
            best, newcomer = values[place], int(asked[place])
            inside = inside + links[:, newcomer]
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
        tails = log_tail(*(sums / self.pairs.dispersion))
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

    def described(self, workers: Sequence[int], taken: NDArray[np.bool_]) -> Group | None:
        """A set, or the school that it is the heart of, less those `taken`, shape (workers,), by other sets;
        none if the set agrees no more than by chance on wrong answers."""
        _, _, met, wrong, wrong_by_chance = self.sums(workers)
        thinned = np.array([[wrong], [wrong_by_chance], [met]]) * self._thinning(workers)
        if log_tail(*thinned)[0] > np.log(GATE):
            return None
        inside = np.isin(self.pairs.first, workers) & np.isin(self.pairs.second, workers)
        by_pair = float(self.pairs.p_value[inside].min()) * len(self.pairs.first)
        p_value = min(1.0, by_pair, float(np.exp(min(0.0, self.corrected(workers)))))
        kin = self._kin(workers)
        school = bool(kin.sum() > SCHOOL * np.count_nonzero(self.tables[2].sum(axis=0)))
        if school:
            workers = sorted({*workers, *np.flatnonzero(kin & ~taken).tolist()})
        together, by_chance, met, wrong, wrong_by_chance = self.sums(workers)
        figures = int(met), int(together), by_chance, int(wrong), wrong_by_chance
        return Group(tuple(workers), *figures, p_value, school)

    def _kin(self, workers: Sequence[int]) -> NDArray[np.bool_]:
        """Who is of a set's mind, or of the mind of those who are, shape (workers,); the set alone if that
        leads to people who have little in common."""
        alone = np.isin(np.arange(self.n_workers), workers)
        kin, more = np.zeros_like(alone), alone
        while not (more == kin).all():
            kin, rate = more, self._beyond(np.flatnonzero(more).tolist())
            links = np.stack([table[np.flatnonzero(kin)].sum(axis=0) for table in self.tables[:3]])
            close = (links[2] > 0) & (links[0] - links[1] >= KIN * rate * links[2])  # links: (3, workers)
            more = kin | close
        return kin if rate >= KIN * self._beyond(workers) else alone

    def _beyond(self, workers: Sequence[int]) -> float:
        """How much more often two of a set agree than by chance."""
        together, by_chance, met = self.sums(workers)[:3]
        return float((together - by_chance) / met)
