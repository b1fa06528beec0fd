"""Errors that a judge lists, matched with labels, and the figures that follow."""

from __future__ import annotations

from collections.abc import Sequence

from dialint.detector.judge.reading import ReadError, Reading
from dialint.eval.labelled import LabelledQuestion, Truth
from dialint.eval.results import span_f1

ACCUSES_FROM = 0.5
"""Probability from which a listed error is an accusation."""
BETA = 0.5
"""Of F beta: a false accusation weighs more than an error that is missed."""


def match(errors: Sequence[ReadError], truths: Sequence[Truth]) -> list[tuple[int, int]]:
    """The indices of errors and of the labels that they name, each at most once, best overlap first.

    An error matches a label of its turn and code if its quote stands in the turn and overlaps the label's
    evidence, where that is known.
    """
    rows_of: dict[tuple[int, str], list[int]] = {}
    for row, truth in enumerate(truths):
        rows_of.setdefault((truth.turn, truth.code), []).append(row)
    overlaps = []
    for index, error in enumerate(errors):
        if error.start is None or error.end is None:
            continue
        for row in rows_of.get((error.turn, error.code), ()):
            span = truths[row].span
            overlap = 0.0 if span is None else span_f1((error.start, error.end), span)
            if span is None or overlap > 0:
                overlaps.append((-overlap, index, row))
    pairs: dict[int, int] = {}
    matched: set[int] = set()
    for _, index, row in sorted(overlaps):
        if index not in pairs and row not in matched:
            pairs[index] = row
            matched.add(row)
    return sorted(pairs.items())


def accusations(reading: Reading) -> list[ReadError]:
    """The errors of a reading that would be findings: of probability `ACCUSES_FROM` or more, with a quote
    that stands in the turn."""
    return [
        error for error in reading.errors if error.probability >= ACCUSES_FROM and error.start is not None
    ]


def f_beta(n_right: float, n_accused: float, n_true: float) -> float:
    """F beta of so many right accusations; 1 where there is neither an accusation nor an error."""
    total = n_accused + BETA**2 * n_true
    return (1 + BETA**2) * n_right / total if total else 1.0


def reading_figures(
    readings: Sequence[Reading | str], questions: Sequence[LabelledQuestion]
) -> dict[str, float]:
    """Figures of the answers to questions, as `parse_reading` returns them, against labels over one half.

    ``f05``, ``precision`` and ``recall`` of accusations by turn, code and quote, and ``readable``, the share
    of answers that could be read; one that could not accuses nobody. ``precision`` is left out without an
    accusation, ``recall`` without a label.
    """
    n_right = n_accused = n_true = n_readable = 0
    for reading, item in zip(readings, questions, strict=True):
        truths = [truth for truth in item.truths if truth.is_error]
        n_true += len(truths)
        if isinstance(reading, str):
            continue
        listed = accusations(reading)
        n_readable += 1
        n_accused += len(listed)
        n_right += len(match(listed, truths))
    figures = {"f05": f_beta(n_right, n_accused, n_true), "readable": n_readable / max(1, len(questions))}
    if n_accused:
        figures["precision"] = n_right / n_accused
    if n_true:
        figures["recall"] = n_right / n_true
    return figures
