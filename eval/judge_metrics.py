"""Figures of a judge: what it listed in whole dialogues against the labels of people.

An error is right if a label over one half has its turn and code; a posterior label counts by that, and softly
where probabilities are measured. Rounds of the bootstrap draw source dialogues, all rows of one together, so
that the figures of two judges on the same dialogues are paired.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from dialint.detector.judge.prompt import split_families
from dialint.detector.statistics import Floats, bootstrap_counts, grouped_sum, ratio
from dialint.detector.taxonomy import Taxonomy
from dialint.eval.figures import calibration_errors, ranking_figures, value_and_interval, with_interval
from dialint.eval.judge_measure import Comparison
from dialint.eval.matching import ACCUSES_FROM, BETA

OF_ERRORS = ("recall", "f_half", "f1", "average_precision")
OF_ACCUSATIONS = ("precision", "right_turns", "quote_overlap")
OF_LISTED = ("brier", "calibration_error")
FALSE = "false_accusations_per_100_turns"


def judge_figures(
    result: Comparison, codes: Collection[str] | None = None, rounds: int = 1000, seed: int = 0
) -> dict[str, Floats]:
    """Figure to its values, shape (1 + rounds,): the sample's, then each round's; NaN where there is nothing
    to measure. Of all codes, or of `codes`.

    An accusation is an error listed at `ACCUSES_FROM` or more. `precision`, `recall`, `f_half`, `f1` of
    accusations; `right_turns`, the share of them whose turn has any labelled error;
    `false_accusations_per_100_turns` of the support side; `quote_overlap`, mean F1 of characters over right
    ones with labelled evidence. Of all listed errors: `average_precision` by their probability, where a
    label that is not listed is never found; `brier` and `calibration_error` against the labels'
    probability.
    """
    numbers = {source: number for number, source in enumerate(sorted(result.turns))}
    counts = bootstrap_counts(len(numbers), rounds, seed)
    turns = grouped_sum(
        counts,
        np.array([result.turns[source] for source in numbers], float),
        np.arange(len(numbers), dtype=np.int64),
    )
    rows = [row for row in result.rows if codes is None or row.code in codes]
    with_error = {(row.dialogue, row.turn) for row in result.rows if row.is_error}
    groups = np.array([numbers[row.source] for row in rows], np.int64)
    truth = np.array([row.truth for row in rows], float)
    stated = np.array([row.probability for row in rows], float)  # NaN for None
    overlap = np.array([row.overlap for row in rows], float)
    on_turn = np.array([(row.dialogue, row.turn) in with_error for row in rows], bool)
    errors, listed, accused = truth > 0.5, ~np.isnan(stated), stated >= ACCUSES_FROM
    right = accused & errors

    def total(values: Any) -> Floats:
        return grouped_sum(counts, values, groups)

    n_errors, n_accused, hits = total(errors), total(accused), total(right)
    quoted = right & ~np.isnan(overlap)
    ranked = ranking_figures(errors[listed], stated[listed], groups[listed], counts)["average_precision"]
    found = np.nan_to_num(ranked) * total(listed & errors)
    return {
        "precision": ratio(hits, n_accused),
        "recall": ratio(hits, n_errors),
        "f_half": _f_beta(hits, n_accused, n_errors, BETA),
        "f1": _f_beta(hits, n_accused, n_errors, 1.0),
        "right_turns": ratio(total(accused & on_turn), n_accused),
        FALSE: ratio(100 * (n_accused - hits), turns),
        "average_precision": ratio(found, n_errors),
        "brier": ratio(total(np.where(listed, (np.nan_to_num(stated) - truth) ** 2, 0.0)), total(listed)),
        "calibration_error": calibration_errors(truth[listed], stated[listed], groups[listed], counts),
        "quote_overlap": ratio(total(np.where(quoted, np.nan_to_num(overlap), 0.0)), total(quoted)),
    }


def summarize_judge(
    result: Comparison, taxonomy: Taxonomy, rounds: int = 1000, seed: int = 0
) -> dict[str, Any]:
    """The figures for a report, each with its 95 % interval under the name ``..._95``, with the numbers that
    they rest on: of all codes, by family of codes and by the codes' usual severity."""
    codes = {row.code for row in result.rows}
    families = split_families(taxonomy, {code: taxonomy.codes[code] for code in codes})
    by_severity: dict[str, set[str]] = {}
    for code in sorted(codes):
        by_severity.setdefault(taxonomy.codes[code].severity, set()).add(code)
    return {
        **_summarize(result, None, rounds, seed),
        "readable": 1 - result.n_unread / max(1, result.n_dialogues),
        "failures": result.failures,
        "second_looks": result.n_second_looks,
        "by_family": {
            "".join(dict.fromkeys(code[0] for code in family)): _summarize(result, family, rounds, seed)
            for family in families
        },
        "by_severity": {
            severity: _summarize(result, own, rounds, seed) for severity, own in sorted(by_severity.items())
        },
    }


def _summarize(result: Comparison, codes: Collection[str] | None, rounds: int, seed: int) -> dict[str, Any]:
    rows = [row for row in result.rows if codes is None or row.code in codes]
    errors = [row for row in rows if row.is_error]
    listed = [row for row in rows if row.probability is not None]
    accused = [row for row in listed if (row.probability or 0.0) >= ACCUSES_FROM]
    n_turns, every = sum(result.turns.values()), len(result.turns)
    report: dict[str, Any] = {
        "errors": len(errors),
        "listed": len(listed),
        "accusations": len(accused),
        "dialogues": result.n_dialogues,
        "source_dialogues": every,
        "dialogues_with_findings": len({row.source for row in accused}),
        "dialogues_with_errors": len({row.source for row in errors}),
        "turns": n_turns,
    }
    n_sources = {FALSE: every}
    for names, own in ((OF_ERRORS, errors), (OF_ACCUSATIONS, accused), (OF_LISTED, listed)):
        n_sources |= dict.fromkeys(names, len({row.source for row in own}))
    for name, values in judge_figures(result, codes, rounds, seed).items():
        limit = 100 * every / max(1, n_turns) if name == FALSE else 1.0
        report |= with_interval(name, values, n_sources[name], (0.0, limit))
    return report


def judge_difference(
    mine: Comparison, theirs: Comparison, rounds: int = 1000, seed: int = 0
) -> dict[str, dict[str, float | None]]:
    """`mine` less `theirs`, paired: the same dialogues, and in every round the same sample of them.

    Raises:
        ValueError: they are of different dialogues.
    """
    if mine.turns != theirs.turns:
        raise ValueError("the two judges did not read the same dialogues")
    first, other = (judge_figures(result, None, rounds, seed) for result in (mine, theirs))
    parts = ("difference", "low", "high")
    return {
        name: dict(zip(parts, value_and_interval(first[name] - other[name]), strict=True)) for name in first
    }


def _f_beta(hits: Floats, accused: Floats, errors: Floats, beta: float) -> Floats:
    """F beta in every round; NaN without an error, 0 without an accusation."""
    values = ratio((1 + beta**2) * hits, accused + beta**2 * errors)
    return np.where(errors > 0, values, np.nan)
