"""Agreement among people: on labels, with all others together (the human ceiling), and on marked spans.

On labels: Krippendorff's alpha (nominal), Fleiss' kappa, specific agreement. A task with
fewer than two answers is left out. Where only one label occurs, expected agreement is 1 and a kappa or alpha
is not defined: NaN, not 1.

The human ceiling is how often one person gives the answer of the others taken together. By this measure a
model that agrees with people as often as they agree with each other is indistinguishable from a person; it
need not be as good as all of them together.

On spans: soft F1 between people, which compares positions and does not read the text.

Each function turns its input into rows, one for each task, whose sums give the figure; the bootstrap
resamples rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations

import numpy as np

from dialint.detector.statistics import ROUNDS, Estimate, bootstrap_estimate, ratio
from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.dialogue_answers import Span

SHARE = (0.0, 1.0)


def krippendorff_alpha(votes: Floats, rounds: int = ROUNDS) -> Estimate:
    """Alpha with any number of answers a task: 1 all agree, 0 as expected by chance. `votes` has shape
    (tasks, labels), which are the same or not.

    Equal to the package krippendorff 0.9, which has no intervals. Source: Krippendorff, Computing
    Krippendorff's Alpha-Reliability (2011), section C: each pair of a task counts 1 / (answers - 1).
    """
    paired = _pairable(votes)
    rows = np.column_stack([paired.sum(axis=1) - _agreeing(paired), paired])
    return bootstrap_estimate(rows, _alpha, rounds, limits=_limits(_alpha, rows, paired.sum()))


def _alpha(sums: Floats) -> Floats:
    label_counts = sums[:, 1:]
    n = label_counts.sum(axis=1)
    expected = n * n - (label_counts**2).sum(axis=1)
    return np.asarray(1.0 - (n - 1) * ratio(sums[:, 0], expected), float)


def fleiss_kappa(votes: Floats, rounds: int = ROUNDS) -> Estimate:
    """Kappa of many people, each task weighing the same.

    Source: Fleiss 1971. There every task has the same number of answers; where they differ, a task's
    agreement is that of its own pairs and label shares are of all answers.
    """
    paired = _pairable(votes)
    n_answers = paired.sum(axis=1)
    inside = ratio(_agreeing(paired), n_answers)
    rows = np.column_stack([np.nan_to_num(inside), n_answers > 0, paired])
    return bootstrap_estimate(rows, _kappa, rounds, limits=_limits(_kappa, rows))


def _limits(statistic: Callable[[Floats], Floats], rows: Floats, worst: float = 0.0) -> tuple[float, float]:
    """The least value of a chance-corrected figure with the labels of `rows`, whose first column is their
    agreement, or their disagreement if `worst` is that of all, and the greatest."""
    sums = rows.sum(axis=0, keepdims=True)
    sums[:, 0] = worst
    return float(statistic(sums)[0]), 1.0


def _kappa(sums: Floats) -> Floats:
    observed = ratio(sums[:, 0], sums[:, 1])
    shares = sums[:, 2:] / np.maximum(sums[:, 2:].sum(axis=1, keepdims=True), 1e-12)
    expected = (shares**2).sum(axis=1)
    return ratio(observed - expected, 1.0 - expected)


def specific_agreement(votes: Floats, label: int, rounds: int = ROUNDS) -> Estimate:
    """The probability that another person gives `label`, given that one did.

    For two people this is 2a / (2a + b + c), the F1 of one against the other. It stays meaningful for
    rare errors, where kappa and plain agreement do not. Source: Fleiss 1975; Hripcsak and Rothschild
    2005. A pair of answers counts 1 however many answers its task has.
    """
    n_label, n_answers = votes[:, label], votes.sum(axis=1)
    rows = np.column_stack([n_label * (n_label - 1), n_label * (n_answers - 1)])
    return bootstrap_estimate(rows, lambda sums: ratio(sums[:, 0], sums[:, 1]), rounds, limits=SHARE)


def _pairable(votes: Floats) -> Floats:
    """`votes` with the tasks of fewer than two answers emptied."""
    return np.where(votes.sum(axis=1, keepdims=True) >= 2, votes, 0.0)


def _agreeing(paired: Floats) -> Floats:
    """Agreeing ordered pairs of each task over its answers less one, shape (tasks,)."""
    pairs = (paired * (paired - 1)).sum(axis=1)
    return np.nan_to_num(ratio(pairs, paired.sum(axis=1) - 1))


def leave_one_out_agreement(answers: Answers) -> Floats:
    """For each answer, shape (answers,), 1 if it is the plurality of the task's other answers; a share
    if several labels lead, one over how many; NaN without others."""
    others = answers.votes()[answers.task]
    row = np.arange(len(answers))
    others[row, answers.label] -= 1.0
    top = others.max(axis=1)
    leads = others == top[:, None]
    agreed = leads[row, answers.label] / leads.sum(axis=1)
    return np.where(top > 0, agreed, np.nan)


def human_ceiling(answers: Answers, rounds: int = ROUNDS) -> Estimate:
    """Leave-one-out agreement over all answers, with its interval by task."""
    agreed = leave_one_out_agreement(answers)
    defined = ~np.isnan(agreed)
    task, n_tasks = answers.task[defined], len(answers.tasks)
    sums = np.bincount(task, weights=agreed[defined], minlength=n_tasks)
    rows = np.column_stack([sums, np.bincount(task, minlength=n_tasks)]).astype(float)
    return bootstrap_estimate(rows, lambda sums: ratio(sums[:, 0], sums[:, 1]), rounds, limits=SHARE)


def soft_span_f1(questions: Sequence[Mapping[str, Sequence[Span]]], rounds: int = ROUNDS) -> Estimate:
    """F1 over all ordered pairs of the readers of a question; a span counts by the largest share of it that a
    span of the other reader covers. `questions` have the spans of each reader, none if nothing was marked.

    Source: Johansson and Moschitti 2010, intersection-based precision and recall. Each reader is both
    reference and response, so that precision, recall and F1 are the same. NaN where nobody marked anything.
    """
    rows = np.array([_sum_covered(spans) for spans in questions], float).reshape(-1, 2)
    return bootstrap_estimate(rows, lambda sums: ratio(sums[:, 0], sums[:, 1]), rounds, limits=SHARE)


def _sum_covered(by_reader: Mapping[str, Sequence[Span]]) -> tuple[float, float]:
    """The sum of covered shares over ordered pairs of readers, and the number of spans compared."""
    covered, n_compared = 0.0, 0
    for reader, other in permutations(by_reader, 2):
        for turn, start, end in by_reader[reader]:
            shares = (
                max(0, min(end, stop) - max(start, begin)) / (end - start)
                for at, begin, stop in by_reader[other]
                if at == turn
            )
            covered += max(shares, default=0.0)
            n_compared += 1
    return covered, float(n_compared)
