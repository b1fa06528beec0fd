"""What single workers are like, given what items are like.

Two steps from the pooled confusion to a worker's own. First a *kind*: how sharply a worker answers,
from not at all (`Blind`) over the average person to better than that; the
shares of the kinds are learnt from all. Then a table (truth x answer) of how much more often this worker
gives that answer to that truth than the kind would, shrunk towards 1 as if `strength` answers an average
worker gave to each truth stood behind it. The tables' mean over all answers is 1: the average worker
stays the average worker, so that truth cannot drift towards whoever is many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.truth.answers import Floats
from dialint.labeling.truth.joint.items import Items
from dialint.labeling.truth.posterior import normalised, softmax
from dialint.labeling.truth.sparse import CELLS, Pairs

Blind = Literal["anything", "as the crowd"]
"""How whoever knows nothing of an item answers: any label alike, or as people do on all items."""

SHARPNESS = np.array([0.0, 0.3, 0.6, 1.0, 1.5, 2.2])
"""Exponents of the pooled shares: 0 knows nothing of the item, 1 is the average person."""


@dataclass(frozen=True)
class Crowd:
    """`kinds`, shape (6,), the shares of the kinds; `centre`, shape (truth, answer), the logarithm of the
    tables' mean that is taken out; `strength` in answers, infinite for no tables."""

    items: Items
    kinds: Floats
    centre: Floats
    strength: float
    blind: Blind = "as the crowd"

    def kind_logs(self) -> Floats:
        """The logarithm of each kind's answer shares, shape (kinds, labels, components)."""
        shares = self.items.shares
        blind = self.items.weights @ shares if self.blind == "as the crowd" else np.ones(shares.shape[1])
        rows = [shares**x * blind ** max(0.0, 1.0 - x) for x in SHARPNESS]
        return np.ascontiguousarray(np.log(normalised(np.stack(rows))).transpose(0, 2, 1))

    def memberships(self, counts: Floats) -> Floats:
        """The probability of each kind, shape (workers, kinds), from expected `counts` of answers, shape
        (workers, labels, components)."""
        size = len(counts)
        logs = self.kind_logs().reshape(len(SHARPNESS), -1)
        return softmax(counts.reshape(size, -1) @ logs.T + np.log(self.kinds))[0]

    def raw_tables(self, counts: Floats, members: Floats) -> Floats:
        """Logarithm of the workers' own tables before centring, shape (workers, truth, answer)."""
        if np.isinf(self.strength):
            return np.zeros((len(counts), self.items.n_labels, self.items.n_labels))
        expected = np.exp(self._mixed(members)) * counts.sum(axis=1)[:, None]
        own, thought = (self._by_truth(values) for values in (counts, expected))
        weight = self.strength * self.items.pooled
        return np.asarray(np.log((own + weight) / (thought + weight)), float)

    def logs(self, members: Floats, raw: Floats) -> Floats:
        """The logarithm of each answer's chance, shape (workers, labels, components)."""
        own = (raw - self.centre).transpose(0, 2, 1)
        flat = np.ascontiguousarray(own).reshape(-1, self.items.n_labels) @ self.items.verdicts.T
        return _log_normalised(self._mixed(members) + flat.reshape(*own.shape[:2], -1))

    def _by_truth(self, values: Floats) -> Floats:
        """Sums over components, shape (workers, labels, components), by truth: (workers, truth, answer)."""
        flat = values.reshape(-1, values.shape[2]) @ self.items.verdicts
        return np.asarray(flat.reshape(*values.shape[:2], -1).transpose(0, 2, 1), float)

    def _mixed(self, members: Floats) -> Floats:
        """The kinds' logarithms averaged for each worker, shape (workers, labels, components), a distribution
        of labels in each component."""
        logs = self.kind_logs()
        return _log_normalised((members @ logs.reshape(len(logs), -1)).reshape(-1, *logs.shape[1:]))


def _log_normalised(logs: Floats) -> Floats:
    """`logs`, shape (workers, labels, components), less the logarithm of their sum over labels; they are near
    0 as chances are, so that no maximum need be taken out first."""
    return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)), float)


def newcomers(items: Items, strength: float, blind: Blind = "as the crowd") -> Crowd:
    """A crowd of which nothing is known but the items: most are near the average."""
    kinds = normalised(np.exp(-((SHARPNESS - 1.0) ** 2)))
    return Crowd(items, kinds, np.zeros((items.n_labels, items.n_labels)), strength, blind)


def refreshed(crowd: Crowd, pairs: Pairs, counts: Floats) -> tuple[Crowd, Floats]:
    """The crowd learnt anew from `counts`, shape (pairs, components); and the logarithm of the chance of
    each pair's answer, same shape, under the kinds and the centre from before."""
    table = np.empty_like(counts)
    shares, centre, weight = np.ones(len(crowd.kinds)), np.zeros_like(crowd.centre), 0.0
    for chosen, first, dense in blocks(pairs, counts):
        members = crowd.memberships(dense)
        raw = crowd.raw_tables(dense, members)
        at = (pairs.worker[chosen] - first, pairs.label[chosen])
        table[chosen] = crowd.logs(members, raw)[at]
        answers = dense.sum(axis=(1, 2))
        shares += members[answers > 0].sum(axis=0)
        centre += np.einsum("w,wkl->kl", answers, raw)
        weight += float(answers.sum())
    return replace(crowd, kinds=normalised(shares), centre=centre / max(weight, 1e-12)), table


def confusion(crowd: Crowd, pairs: Pairs, counts: Floats) -> Floats:
    """Every worker's chance of an answer given the truth, shape (workers, truth, answer)."""
    within = crowd.items.verdicts * crowd.items.weights[:, None]
    within = within / np.maximum(within.sum(axis=0), 1e-300)  # (components, truth)
    rows = []
    for _, _, dense in blocks(pairs, counts):
        members = crowd.memberships(dense)
        chance = np.exp(crowd.logs(members, crowd.raw_tables(dense, members)))
        rows.append(np.einsum("wlc,ck->wkl", chance, within))
    return np.concatenate(rows)


def blocks(pairs: Pairs, counts: Floats) -> Iterator[tuple[NDArray[np.int64] | slice, int, Floats]]:
    """Runs of workers: the slice of their pairs, the first worker, and the counts as a dense table of
    shape (workers, labels, components)."""
    step = max(1, CELLS // (pairs.n_labels * counts.shape[1]))
    for first in range(0, pairs.n_workers, step):
        last = min(first + step, pairs.n_workers)
        begin, end = np.searchsorted(pairs.worker, (first, last))
        chosen = slice(int(begin), int(end))
        dense = np.zeros((last - first, pairs.n_labels, counts.shape[1]))
        dense[pairs.worker[chosen] - first, pairs.label[chosen]] = counts[chosen]
        yield chosen, first, dense
