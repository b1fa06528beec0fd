"""Figures of codes that exclude one another: accuracy of the most probable one, divergence from the labels.

A judged turn of which labels hold a distribution over the codes is a row, with the detector's probabilities
brought to a sum of 1. Against the labels' distribution, which may be the shares of many people; a turn on
without labels is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dialint.detector.statistics import Counts, grouped_sum, ratio
from dialint.detector.taxonomy import Taxonomy
from dialint.eval.figures.per_code import value_and_interval, with_interval
from dialint.eval.metrics import Floats, divergence
from dialint.eval.results import Indices, Results, number_sources, source_of, unjudged_turns


@dataclass(frozen=True)
class ClassShares:
    """Rows of shape (turns, codes) that sum to 1: the labels' distribution and the detector's; `dialogue`
    numbers each row's source dialogue."""

    labelled: Floats
    predicted: Floats
    dialogue: Indices


def multiclass_figures(
    taxonomy: Taxonomy, results: Results, counts: Counts, other: Results | None = None
) -> dict[str, Any]:
    """Figures of each exclusive category of which the results hold labels, by the category's code; with a
    `other` on the same dialogues also its figures less these, paired, under the name ``..._difference``."""
    figures_of = {}
    for category in taxonomy.categories:
        codes = tuple(code.code for code in category.codes)
        rows = class_shares(results, codes) if category.exclusive else None
        if rows is not None and len(rows.labelled):
            figures_of[category.code] = summarize_classes(
                rows, codes, counts, None if other is None else class_shares(other, codes)
            )
    return figures_of


def class_shares(results: Results, codes: Sequence[str]) -> ClassShares:
    """The rows of all results; of a turn without a probability, every code is as likely."""
    numbers = number_sources(results)
    labelled: list[list[float]] = []
    predicted: list[list[float]] = []
    dialogue: list[int] = []
    for example, verdict in results:
        of_turn: dict[int, dict[str, float]] = {}
        for label in example.labels:
            of_turn.setdefault(label.turn, {})[label.code] = label.probability
        for turn, row in sorted((verdict.probabilities or {}).items()):
            is_unjudged = any(turn in unjudged_turns(verdict, code) for code in codes)
            if any(label_row := _in_order(of_turn.get(turn, {}), codes)) and not is_unjudged:
                labelled.append(label_row)
                predicted.append(_in_order(row, codes))
                dialogue.append(numbers[source_of(example)])
    shape = (-1, len(codes))
    return ClassShares(
        _normalise(np.array(labelled).reshape(shape)),
        _normalise(np.array(predicted).reshape(shape)),
        np.array(dialogue, np.int64),
    )


def _in_order(of: Mapping[str, float], codes: Sequence[str]) -> list[float]:
    return [of.get(code, 0.0) for code in codes]


def _normalise(values: Floats) -> Floats:
    whole = values.sum(axis=1, keepdims=True)
    return np.where(whole > 0, values / np.where(whole > 0, whole, 1.0), 1.0 / values.shape[1])


def summarize_classes(
    rows: ClassShares, codes: Sequence[str], counts: Counts, other: ClassShares | None = None
) -> dict[str, Any]:
    """`accuracy` of the most probable code, mean `divergence` (Jensen-Shannon, bits, 0 to 1), and the `f1`
    of each code as the most probable, each with its 95 % interval."""
    figures = class_figures(rows, codes, counts)
    figures_of: dict[str, Any] = {"turns": len(rows.labelled)}
    for name, values in figures.items():
        figures_of |= with_interval(name, values)
    if other is not None:
        for name, values in class_figures(other, codes, counts).items():
            figures_of[f"{name}_difference"] = value_and_interval(values - figures[name])
    return figures_of


def class_figures(rows: ClassShares, codes: Sequence[str], counts: Counts) -> dict[str, Floats]:
    """Every figure in every round, of shape (1 + rounds,). Where labels favour several codes alike, each of
    them is right, and is the truth where it was said."""
    best_code = rows.predicted.argmax(axis=1)
    best = rows.labelled >= rows.labelled.max(axis=1, keepdims=True) - 1e-9
    right = best[np.arange(len(best_code)), best_code]
    truth = np.where(right, best_code, best.argmax(axis=1))
    n = grouped_sum(counts, np.ones(len(best_code)), rows.dialogue)
    figures_of: dict[str, Floats] = {
        "accuracy": ratio(grouped_sum(counts, right, rows.dialogue), n),
        "divergence": ratio(grouped_sum(counts, divergence(rows.labelled, rows.predicted), rows.dialogue), n),
    }
    for column, code in enumerate(codes):
        hits, at, of = (
            grouped_sum(counts, chosen, rows.dialogue)
            for chosen in ((best_code == column) & right, best_code == column, truth == column)
        )
        figures_of[f"f1_{code}"] = ratio(2 * hits, at + of)
    return figures_of
