"""Agreement among people: on labels, with all others together (the human ceiling), and on marked spans; and
the test whether a model may replace one of them.

On labels: Krippendorff's alpha (nominal), Fleiss' kappa, specific agreement. A task with
fewer than two answers is left out. Where only one label occurs, expected agreement is 1 and a kappa or alpha
is not defined: NaN, not 1.

The human ceiling is the share of one person's answers that are the plurality of the others'. By this measure
a model that agrees with people as often as they agree with each other is indistinguishable from a person; it
need not be as good as all of them together.

On spans: soft F1 between people, which compares positions and does not read the text.

Each function turns its input into rows, one for each task, whose sums give the figure; the bootstrap
resamples rows or, where `dialogues` has the dialogue of each task, dialogues, as turns of one dialogue depend
on each other.

The alternative annotator test asks whether a model represents the other people at least as well as each
person does who is left out in turn, up to a margin `epsilon` that the model's lower cost is worth. Source:
Calderon, Reichart and Dror 2025, arXiv 2501.10970. Departures: the t-test of a person has a variance by
dialogue and as many degrees of freedom; of answers no and yes, tasks where everybody and the model says no
are left out, as with rare errors these alone would let a model pass that finds nothing; false discoveries are
controlled over all codes together, as the authors advise for several domains; and a model whose agreement on
some label is surely below that among people by more than `epsilon` of it is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

import numpy as np

from dialint.detector.statistics import ROUNDS, Bools, Estimate, bootstrap_estimate, ratio
from dialint.labeling.aggregation.answers import Answers, Floats, Indices
from dialint.labeling.aggregation.dialogue_answers import Span

SHARE = (0.0, 1.0)
MIN_TASKS, MIN_DIALOGUES, MIN_LABELERS = 30, 10, 3
"""Least tasks and dialogues of a person who is compared with a model, and least such people of a code."""
NO_YES = (("no", "yes"), ("false", "true"), ("0", "1"))
LEVEL = 0.05
"""False discovery rate of the comparisons with a model."""


def krippendorff_alpha(votes: Floats, rounds: int = ROUNDS, dialogues: Indices | None = None) -> Estimate:
    """Alpha with any number of answers a task: 1 all agree, 0 as expected by chance. `votes` has shape
    (tasks, labels), which are the same or not.

    Equal to the package krippendorff 0.9, which has no intervals. Source: Krippendorff, Computing
    Krippendorff's Alpha-Reliability (2011), section C: each pair of a task counts 1 / (answers - 1).
    """
    paired = _pairable(votes)
    rows = np.column_stack([paired.sum(axis=1) - _agreeing(paired), paired])
    rows = _sum_rows(rows, dialogues)
    return bootstrap_estimate(rows, _alpha, rounds, limits=_limits(_alpha, rows, paired.sum()))


def _alpha(sums: Floats) -> Floats:
    label_counts = sums[:, 1:]
    n = label_counts.sum(axis=1)
    expected = n * n - (label_counts**2).sum(axis=1)
    return np.asarray(1.0 - (n - 1) * ratio(sums[:, 0], expected), float)


def fleiss_kappa(votes: Floats, rounds: int = ROUNDS, dialogues: Indices | None = None) -> Estimate:
    """Kappa of many people, each task weighing the same.

    Source: Fleiss 1971. There every task has the same number of answers; where they differ, a task's
    agreement is that of its own pairs and label shares are of all answers.
    """
    paired = _pairable(votes)
    n_answers = paired.sum(axis=1)
    inside = ratio(_agreeing(paired), n_answers)
    rows = _sum_rows(np.column_stack([np.nan_to_num(inside), n_answers > 0, paired]), dialogues)
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


def specific_agreement(
    votes: Floats, label: int, rounds: int = ROUNDS, dialogues: Indices | None = None
) -> Estimate:
    """The probability that another person gives `label`, given that one did.

    For two people this is 2a / (2a + b + c), the F1 of one against the other. It stays meaningful for
    rare errors, where kappa and plain agreement do not. Source: Fleiss 1975; Hripcsak and Rothschild
    2005. A pair of answers counts 1 however many answers its task has.
    """
    rows = _sum_rows(_pairs_with(votes, label), dialogues)
    return bootstrap_estimate(rows, _share, rounds, limits=SHARE)


def _pairs_with(votes: Floats, label: int) -> Floats:
    """Ordered pairs of answers to each task that both give the label, and whose first does."""
    n_label, n_answers = votes[:, label], votes.sum(axis=1)
    return np.column_stack([n_label * (n_label - 1), n_label * (n_answers - 1)])


def _share(sums: Floats) -> Floats:
    return ratio(sums[:, 0], sums[:, 1])


def _sum_rows(rows: Floats, groups: Indices | None) -> Floats:
    """The sums of rows of each group, or the rows as they are."""
    if groups is None:
        return rows
    sums = np.zeros((groups.max(initial=-1) + 1, rows.shape[1]))
    np.add.at(sums, groups, rows)
    return sums


def _pairable(votes: Floats) -> Floats:
    """`votes` with the tasks of fewer than two answers emptied."""
    return np.where(votes.sum(axis=1, keepdims=True) >= 2, votes, 0.0)


def _agreeing(paired: Floats) -> Floats:
    """Agreeing ordered pairs of each task over its answers less one, shape (tasks,)."""
    pairs = (paired * (paired - 1)).sum(axis=1)
    return np.nan_to_num(ratio(pairs, paired.sum(axis=1) - 1))


def _others(answers: Answers) -> Floats:
    """The votes of all others on the task of each answer, shape (answers, labels)."""
    others = answers.votes()[answers.task]
    others[np.arange(len(answers)), answers.label] -= 1.0
    return others


def leave_one_out_agreement(answers: Answers, labels: Indices | None = None) -> Floats:
    """For each answer, shape (answers,), 1 if it is the plurality of the task's other answers; 1 / n if n
    labels lead; NaN without others. With `labels`, shape (answers,), these are compared with the same others
    in place of the answer."""
    others = _others(answers)
    top = others.max(axis=1)
    leads = others == top[:, None]
    agreed = leads[np.arange(len(answers)), answers.label if labels is None else labels] / leads.sum(axis=1)
    return np.where(top > 0, agreed, np.nan)


def human_ceiling(answers: Answers, rounds: int = ROUNDS) -> Estimate:
    """Leave-one-out agreement over all answers, with its interval by dialogue."""
    agreed = leave_one_out_agreement(answers)
    rows = np.column_stack([np.nan_to_num(agreed), ~np.isnan(agreed)])
    return bootstrap_estimate(_sum_rows(rows, answers.dialogues[answers.task]), _share, rounds, limits=SHARE)


@dataclass(frozen=True)
class LabelerTest:
    """Comparison of a model with one person on `tasks` of `dialogues`: `advantage` is the share of tasks on
    which it agrees with the others at least as well as the person does, `p_value` that of a person who is
    better by epsilon or more; NaN where the tasks or dialogues are too few."""

    tasks: int
    dialogues: int
    advantage: float
    p_value: float


@dataclass(frozen=True)
class Alternative:
    """A model in the place of each person in turn. `people` and `model` are the shares of their answers that
    are the plurality of the same others, `difference` that of the two; `agreement` is the model's with one
    person on each label, `refused` the labels on which it is surely too low; `labelers` has the tests."""

    people: Estimate
    model: Estimate
    difference: Estimate
    agreement: Mapping[str, Estimate]
    refused: tuple[str, ...]
    labelers: Mapping[str, LabelerTest]


def compare_with_model(
    answers: Answers, model: Floats, epsilon: float, rounds: int = ROUNDS
) -> Alternative | None:
    """Compare a model with the people of a table. Its answer is the most probable label of `model`, shape
    (tasks, labels), of which rows of NaN are none; returns None if no row has any."""
    has_model: Bools = np.asarray(~np.isnan(model).any(axis=1))
    if not has_model.any():
        return None
    model_labels = np.where(has_model, np.nan_to_num(model).argmax(axis=1), -1).astype(np.int32)
    answers, dialogues = answers.where(has_model[answers.task]), answers.dialogues
    own, instead = (leave_one_out_agreement(answers, labels) for labels in (None, model_labels[answers.task]))
    agreed = np.nan_to_num(np.column_stack([own, instead, ~np.isnan(own)]))
    rows = _sum_rows(agreed, dialogues[answers.task])
    people = bootstrap_estimate(rows[:, [0, 2]], _share, rounds, limits=SHARE)
    instead_of = bootstrap_estimate(rows[:, [1, 2]], _share, rounds, limits=SHARE)
    rows[:, 1] -= rows[:, 0]
    difference = bootstrap_estimate(rows[:, [1, 2]], _share, rounds, limits=(-1.0, 1.0))

    def below(sums: Floats) -> Floats:
        return np.asarray(_share(sums) - (1 - epsilon) * _share(sums[:, 2:]), float)

    votes, agreement, refused = answers.votes(), dict[str, Estimate](), tuple[str, ...]()
    for label, name in enumerate(answers.labels):
        is_label, n_label = model_labels == label, votes[:, label]
        with_model = np.column_stack([2 * is_label * n_label, is_label * votes.sum(axis=1) + n_label])
        rows = _sum_rows(np.hstack([with_model, _pairs_with(votes, label)]), dialogues)
        agreement[name] = bootstrap_estimate(rows[:, :2], _share, rounds, limits=SHARE)
        if bootstrap_estimate(rows, below, rounds, limits=(-1.0, 1.0)).high < 0:
            refused += (name,)
    tests = _test_labelers(answers, model_labels, epsilon)
    return Alternative(people, instead_of, difference, agreement, refused, tests)


def _test_labelers(answers: Answers, model_labels: Indices, epsilon: float) -> dict[str, LabelerTest]:
    """The test of each person who has tasks that others answered; `model_labels` has shape (tasks,)."""
    others, row = _others(answers), np.arange(len(answers))
    n_others = others.sum(axis=1)
    compared = n_others > 0
    if tuple(map(str.casefold, answers.labels)) in NO_YES:
        compared &= (others[:, 1] > 0) | (answers.label == 1) | (model_labels[answers.task] == 1)
    # the signs of differences, without rounding: numbers of the others who agree
    worse = np.sign(others[row, answers.label] - others[row, model_labels[answers.task]])[compared]
    worker, dialogue = answers.worker[compared], answers.dialogues[answers.task][compared]
    tests = {}
    for index in np.unique(worker):
        mine = worker == index
        signs, (names, group) = worse[mine], np.unique(dialogue[mine], return_inverse=True)
        n, n_groups, mean = len(signs), len(names), float(signs.mean())
        p_value = np.nan
        if n >= MIN_TASKS and n_groups >= MIN_DIALOGUES:
            from scipy.stats import t

            squares = (np.bincount(group, signs - mean) ** 2).sum()
            error = math.sqrt(squares * n_groups / (n_groups - 1)) / n
            t_value = (mean - epsilon) / error if error else math.inf * (1 if mean >= epsilon else -1)
            p_value = float(t.cdf(t_value, n_groups - 1))
        tests[answers.workers[index]] = LabelerTest(n, n_groups, float((signs <= 0).mean()), p_value)
    return tests


@dataclass(frozen=True)
class ReplacementDecision:
    """Outcome of the test that a model may replace a labeler: it `won` against so many of the people who were
    `tested`, with a mean `advantage`, NaN without any."""

    may_stand_in: Literal["yes", "no", "not enough data"]
    won: int
    tested: int
    advantage: float


def decide_alternatives(alternatives: Mapping[str, Alternative]) -> dict[str, ReplacementDecision]:
    """The decision on each code, at a false discovery rate of `LEVEL` over the people of all codes."""
    from scipy.stats import false_discovery_control

    tests = [
        (code, test)
        for code, each in alternatives.items()
        for test in each.labelers.values()
        if not math.isnan(test.p_value)
    ]
    adjusted = false_discovery_control([test.p_value for _, test in tests], method="by") if tests else ()
    wins = {
        code: [bool(p <= LEVEL) for (of, _), p in zip(tests, adjusted, strict=True) if of == code]
        for code in alternatives
    }
    decisions = {}
    for code, won in wins.items():
        advantages = [test.advantage for of, test in tests if of == code]
        passed = not alternatives[code].refused and 2 * sum(won) >= len(won)
        decisions[code] = ReplacementDecision(
            "not enough data" if len(won) < MIN_LABELERS else "yes" if passed else "no",
            sum(won),
            len(won),
            float(np.mean(advantages)) if advantages else math.nan,
        )
    return decisions


def soft_span_f1(questions: Sequence[Mapping[str, Sequence[Span]]], rounds: int = ROUNDS) -> Estimate:
    """F1 over all ordered pairs of the readers of a question; a span counts by the largest share of it that a
    span of the other reader covers. `questions` have the spans of each reader, none if nothing was marked.

    Source: Johansson and Moschitti 2010, intersection-based precision and recall. Each reader is both
    reference and response, so that precision, recall and F1 are the same. NaN where nobody marked anything.
    """
    rows = np.array([_sum_covered(spans) for spans in questions], float).reshape(-1, 2)
    return bootstrap_estimate(rows, _share, rounds, limits=SHARE)


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
