"""Agreement on labels: Krippendorff's alpha at three levels, Fleiss' and Cohen's kappa, specific agreement.

Each function turns votes, shape (tasks, labels), into rows whose sums make the figure, and passes them
to `bootstrap_estimate`. A task with fewer than two answers says nothing. Where only one label was ever given,
chance agreement is 1 and a kappa or alpha is not defined: NaN, not 1.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from dialint.detector.statistics import ROUNDS, Estimate, bootstrap_estimate, ratio
from dialint.labeling.aggregation.answers import Answers, Floats

Level = Literal["nominal", "ordinal", "interval"]
"""What labels may be compared by: whether they are the same, which is higher, or how far apart they are."""


def krippendorff_alpha(votes: Floats, rounds: int = ROUNDS, seed: int = 0) -> Estimate:
    """Alpha for nominal labels with any number of answers a task: 1 all agree, 0 as by chance.

    Source: Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section C; a task's pairs
    of answers count 1 / (answers - 1) each.
    """
    paired = _pairable(votes)
    return bootstrap_estimate(np.column_stack([_agreeing(paired), paired]), _alpha, rounds, seed)


def _alpha(sums: Floats) -> Floats:
    agreeing, given = sums[:, 0], sums[:, 1:]
    n = given.sum(axis=1)
    by_chance = (given * (given - 1)).sum(axis=1)
    return np.asarray(1.0 - (n - 1) * ratio(n - agreeing, n * (n - 1) - by_chance), float)


def ranked_alpha(
    votes: Floats, values: Floats, level: Level, rounds: int = ROUNDS, seed: int = 0
) -> Estimate:
    """Alpha for labels on a scale, by which near answers disagree less than far ones: `votes`, shape
    (tasks, labels), with each label's place on it, `values`, shape (labels,), of which "ordinal" takes the
    order alone. With "nominal" it is `krippendorff_alpha`.

    Source: Krippendorff 2011, sections C and D: coincidences, and the difference functions of a level.
    """
    order = np.argsort(values, kind="stable")
    paired, scale = _pairable(votes)[:, order], np.asarray(values, float)[order]
    size = len(scale)
    pairs = paired[:, :, None] * (paired[:, None, :] - np.eye(size))
    coincidences = pairs / np.maximum(paired.sum(axis=1) - 1.0, 1.0)[:, None, None]

    def alpha(sums: Floats) -> Floats:
        table = sums.reshape(-1, size, size)
        given = table.sum(axis=2)
        n = given.sum(axis=1)
        if level == "ordinal":
            middle = np.cumsum(given, axis=1) - given / 2  # the mean rank of each label
            apart = (middle[:, :, None] - middle[:, None, :]) ** 2
        elif level == "interval":
            apart = np.broadcast_to((scale[:, None] - scale) ** 2, table.shape)
        else:
            apart = np.broadcast_to(1.0 - np.eye(size), table.shape)
        observed = (table * apart).sum(axis=(1, 2))
        by_chance = (given[:, :, None] * given[:, None, :] * apart).sum(axis=(1, 2))
        return np.asarray(1.0 - (n - 1) * ratio(observed, by_chance), float)

    return bootstrap_estimate(coincidences.reshape(len(votes), -1), alpha, rounds, seed)


def fleiss_kappa(votes: Floats, rounds: int = ROUNDS, seed: int = 0) -> Estimate:
    """Kappa of many people, each task weighing the same.

    Source: Fleiss 1971. There every task has the same number of answers; where they differ, a task's
    agreement is that of its own pairs and label shares are of all answers.
    """
    paired = _pairable(votes)
    given = paired.sum(axis=1)
    inside = ratio(_agreeing(paired), given)
    rows = np.column_stack([np.nan_to_num(inside), given > 0, paired])
    return bootstrap_estimate(rows, _kappa, rounds, seed)


def _kappa(sums: Floats) -> Floats:
    observed = ratio(sums[:, 0], sums[:, 1])
    shares = sums[:, 2:] / np.maximum(sums[:, 2:].sum(axis=1, keepdims=True), 1e-12)
    chance = (shares**2).sum(axis=1)
    return ratio(observed - chance, 1.0 - chance)


def specific_agreement(votes: Floats, label: int, rounds: int = ROUNDS, seed: int = 0) -> Estimate:
    """The chance that another person gives `label`, given that one did.

    For two people this is 2a / (2a + b + c), the F1 of one against the other. It stays meaningful for
    rare errors, where kappa and plain agreement do not. Source: Fleiss 1975; Hripcsak and Rothschild
    2005. A pair of answers counts 1 however many answers its task has.
    """
    mine, given = votes[:, label], votes.sum(axis=1)
    rows = np.column_stack([mine * (mine - 1), mine * (given - 1)])
    return bootstrap_estimate(rows, lambda sums: ratio(sums[:, 0], sums[:, 1]), rounds, seed)


def cohen_kappa(answers: Answers, one: int, other: int, rounds: int = ROUNDS, seed: int = 0) -> Estimate:
    """Kappa of two workers, given as indices, over the tasks both answered. Source: Cohen 1960."""
    size = len(answers.labels)
    labels = np.full((2, len(answers.tasks)), -1)
    for place, worker in enumerate((one, other)):
        mine = answers.worker == worker
        labels[place, answers.task[mine]] = answers.label[mine]
    both = labels[:, (labels >= 0).all(axis=0)]
    cells = np.zeros((both.shape[1], size * size))
    cells[np.arange(both.shape[1]), both[0] * size + both[1]] = 1.0
    return bootstrap_estimate(cells, lambda sums: _cohen(sums.reshape(len(sums), size, size)), rounds, seed)


def _cohen(tables: Floats) -> Floats:
    n = tables.sum(axis=(1, 2))
    observed = ratio(np.trace(tables, axis1=1, axis2=2), n)
    chance = ratio((tables.sum(axis=1) * tables.sum(axis=2)).sum(axis=1), n * n)
    return ratio(observed - chance, 1.0 - chance)


def _pairable(votes: Floats) -> Floats:
    """`votes` with the tasks of fewer than two answers emptied."""
    return np.where(votes.sum(axis=1, keepdims=True) >= 2, votes, 0.0)


def _agreeing(paired: Floats) -> Floats:
    """Agreeing ordered pairs of each task over its answers less one, shape (tasks,)."""
    pairs = (paired * (paired - 1)).sum(axis=1)
    return np.nan_to_num(ratio(pairs, paired.sum(axis=1) - 1))
