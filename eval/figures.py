"""Ranking figures and calibration error in every round of a bootstrap, without copying a row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialint.detector.interface import Detector
from dialint.detector.statistics import Bools, Counts, Floats, grouped_sum, percentile_interval, ratio
from dialint.eval.results import (
    CodeResults,
    Results,
    TwinPairs,
    code_results,
    count_judged_turns,
    number_sources,
    source_of,
    twin_pairs,
)

CELLS = 1 << 22
"""Weights held at a time."""


def average_precision(truth: Bools, scores: Floats) -> float:
    """Computes the area under the precision-recall curve, ties as one step; NaN without a positive.

    Source: the step-wise sum that scikit-learn documents for ``average_precision_score``.
    """
    if not truth.any():
        return float("nan")
    precision, recall, _ = curve(truth, scores)
    return float(np.sum(np.diff(recall, prepend=0.0) * precision))


def curve(truth: Bools, scores: Floats) -> tuple[Floats, Floats, Floats]:
    """Returns precision and recall at each distinct score, from the highest down, and those scores."""
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(truth[order])
    last = np.flatnonzero(np.append(np.diff(ranked) != 0, True))
    return hits[last] / (last + 1.0), hits[last] / max(int(truth.sum()), 1), ranked[last]


def ranking_figures(
    truth: Bools,
    scores: Floats,
    groups: NDArray[np.int64],
    counts: Counts,
) -> dict[str, Floats]:
    """Computes figures of the ranking by `scores`, shape (n,), each of shape (1 + rounds,), NaN without a
    positive: `average_precision`; `precision_at_recall_50`, the best with half of the errors;
    `false_alarms_at_recall_50` for 100 clean rows; `recall_at_1_false_alarm` for 100 clean rows.
    """
    names = (
        "average_precision",
        "precision_at_recall_50",
        "false_alarms_at_recall_50",
        "recall_at_1_false_alarm",
    )
    if not truth.any():
        return {name: np.full(len(counts), np.nan) for name in names}
    order = np.argsort(-scores, kind="stable")
    hits, ranked, groups = truth[order], scores[order], groups[order]
    ends = np.flatnonzero(np.append(np.diff(ranked) != 0, True))
    with_hits = np.diff(np.cumsum(hits)[ends], prepend=0) > 0
    ends = ends[with_hits]  # the figures change only at scores of an error
    step = max(1, CELLS // len(hits))
    parts = [
        _ranking(*_cumulate(hits, groups, ends, counts[start : start + step]))
        for start in range(0, len(counts), step)
    ]
    return {name: np.concatenate([part[index] for part in parts]) for index, name in enumerate(names)}


def _cumulate(
    hits: Bools,
    groups: NDArray[np.int64],
    ends: NDArray[np.int64],
    counts: Counts,
) -> tuple[Floats, Floats, Floats]:
    """Counts errors and rows down to each of `ends`, shape (rounds, ends), and all clean rows, (rounds,)."""
    weights = counts[:, groups]
    starts = np.concatenate(([0], ends[:-1] + 1))
    flagged = np.cumsum(np.add.reduceat(weights, starts, axis=1), axis=1, dtype=float)
    if ends[-1] + 1 < len(hits):  # reduceat runs its last segment to the end of the row
        flagged[:, -1] -= weights[:, ends[-1] + 1 :].sum(axis=1)
    hits_down = np.cumsum(np.add.reduceat(weights * hits, starts, axis=1), axis=1, dtype=float)
    return hits_down, flagged, weights.sum(axis=1) - hits_down[:, -1]


def _ranking(hits_down: Floats, flagged: Floats, clean: Floats) -> tuple[Floats, ...]:
    errors = hits_down[:, -1:]
    recall = ratio(hits_down, np.broadcast_to(errors, hits_down.shape))
    precision = ratio(hits_down, flagged)
    none = np.isnan(recall[:, 0])
    precision, recall = np.nan_to_num(precision), np.nan_to_num(recall)
    area = np.sum(np.diff(recall, axis=1, prepend=0.0) * precision, axis=1)
    half = recall >= 0.5
    best = np.where(half, precision, 0.0).max(axis=1)
    at = half.argmax(axis=1)
    alarms = flagged - hits_down
    false = ratio(100.0 * alarms[np.arange(len(at)), at], clean)
    allowed = np.floor(clean * (1.0 / 100.0))
    recalled = np.where(alarms <= allowed[:, None], recall, 0.0).max(axis=1)
    recalled = np.where(clean > 0, recalled, np.nan)
    return tuple(np.where(none, np.nan, values) for values in (area, best, false, recalled))


def calibration_errors(
    truth: Bools | Floats, probabilities: Floats, groups: NDArray[np.int64], counts: Counts, bins: int = 15
) -> Floats:
    """Computes the expected calibration error in every round, over the sample's own bins of equal count.

    Source: Nguyen and O'Connor 2015, adaptive binning; the bins stay those of the sample.
    """
    order = np.argsort(probabilities, kind="stable")
    gap = np.zeros(len(counts))
    for rows in np.array_split(order, bins):
        if len(rows):
            gap += abs(grouped_sum(counts, truth[rows] - probabilities[rows], groups[rows]))
    return ratio(gap, grouped_sum(counts, np.ones(len(truth)), groups))


MACRO = (
    "average_precision",
    "f1",
    "recall",
    "precision_at_recall_50",
    "recall_at_1_false_alarm",
    "false_alarms_at_recall_50",
    "calibration_error",
)
"""Figures whose mean over the codes is reported."""
OF_ERRORS = ("average_precision", "recall", "f1", "precision_at_recall_50", "recall_at_1_false_alarm")
"""Figures of a code whose sample size is that of its errors."""


@dataclass(frozen=True)
class EvaluationFigures:
    """One detector on one set. `codes` maps code to figure to values, `whole` figures of all codes together
    to values, of shape (1 + rounds,), the sample first. `rows` and `pairs` are the data of each code's
    figures, `present` the codes with an error in the set."""

    codes: dict[str, dict[str, Floats]]
    whole: dict[str, Floats]
    rows: dict[str, CodeResults]
    pairs: dict[str, TwinPairs]
    covered: tuple[str, ...]
    present: tuple[str, ...]

    def macro(self, figure: str, codes: Iterable[str]) -> Floats:
        """Returns the mean of a figure over `codes`, shape (1 + rounds,), without NaN."""
        values = [self.codes[code][figure] for code in codes]
        return nan_mean(np.array(values)) if values else np.full(1, np.nan)


def count_sources(rows: Iterable[CodeResults], figure: str) -> int:
    """Counts the source dialogues of `precision_of_findings` or `recall_of_errors`."""
    is_precision = figure == "precision_of_findings"
    chosen = [row.dialogue[row.flagged if is_precision else row.truth] for row in rows]
    return len(np.unique(np.concatenate(chosen))) if chosen else 0


def nan_mean(values: Floats) -> Floats:
    """Returns the mean over the first axis without NaN; NaN where all are."""
    entries = ~np.isnan(values)
    return ratio(np.where(entries, values, 0.0).sum(axis=0), entries.sum(axis=0).astype(float))


def compute_figures(detector: Detector, results: Results, counts: Counts) -> EvaluationFigures:
    """Computes the figures of `results`, all scored; `counts` resample their sources (`number_sources`)."""
    entries = detector.taxonomy.codes
    labelled_codes = {label.code for example, _ in results for label in example.labels}
    codes = [code for code in entries if code in labelled_codes or code in detector.codes]
    scope = {code: entries[code].scope == "dialogue" for code in codes}
    rows = {code: code_results(results, code, whole_dialogue=scope[code]) for code in codes}
    pairs = {code: twin_pairs(results, code, whole_dialogue=scope[code]) for code in codes}
    hits, flagged, errors = count_findings(rows.values(), counts)
    return EvaluationFigures(
        codes={code: code_figures(rows[code], pairs[code], counts) for code in codes},
        whole={
            "precision_of_findings": ratio(hits, flagged),
            "recall_of_errors": ratio(hits, errors),
            **turn_figures(results, counts, frozenset(code for code in codes if scope[code])),
        },
        rows=rows,
        pairs=pairs,
        covered=tuple(code for code in codes if code in detector.codes),
        present=tuple(code for code in codes if rows[code].truth.any()),
    )


def code_figures(rows: CodeResults, pairs: TwinPairs, counts: Counts) -> dict[str, Floats]:
    """Computes the figures of one code."""
    errors = grouped_sum(counts, rows.truth, rows.dialogue)
    flagged = grouped_sum(counts, rows.flagged, rows.dialogue)
    hits = grouped_sum(counts, rows.flagged & rows.truth, rows.dialogue)
    ranked = ranking_figures(rows.truth, rows.probabilities, rows.dialogue, counts)
    spans = grouped_sum(counts, rows.overlap, rows.overlap_dialogue)
    wins = (pairs.errors > pairs.twins) + 0.5 * (pairs.errors == pairs.twins)
    return {
        **ranked,
        "calibration_error": calibration_errors(rows.truth, rows.probabilities, rows.dialogue, counts),
        "precision": ratio(hits, flagged),
        "recall": ratio(hits, errors),
        "false_accusations_per_100": ratio(
            100 * (flagged - hits), grouped_sum(counts, ~rows.truth, rows.dialogue)
        ),
        "f1": np.where(errors > 0, ratio(2 * hits, flagged + errors), np.nan),
        "span_f1": ratio(spans, grouped_sum(counts, np.ones(len(rows.overlap)), rows.overlap_dialogue)),
        "pair_auc": ratio(
            grouped_sum(counts, wins, pairs.dialogue), grouped_sum(counts, np.ones(len(wins)), pairs.dialogue)
        ),
    }


def count_findings(rows: Iterable[CodeResults], counts: Counts) -> tuple[Floats, Floats, Floats]:
    """Counts right findings, findings and errors of all codes together, each of shape (1 + rounds,)."""
    hits, flagged, errors = (np.zeros(len(counts)) for _ in range(3))
    for row in rows:
        hits += grouped_sum(counts, row.flagged & row.truth, row.dialogue)
        flagged += grouped_sum(counts, row.flagged, row.dialogue)
        errors += grouped_sum(counts, row.truth, row.dialogue)
    return hits, flagged, errors


def turn_figures(results: Results, counts: Counts, whole_dialogue: frozenset[str]) -> dict[str, Floats]:
    """Computes turns with a finding, and findings without a label, for 100 judged turns. A finding of a code
    of `whole_dialogue` is right at any turn of a dialogue with that error, as in `code_results`."""
    numbers = number_sources(results)
    groups = np.array([numbers[source_of(example)] for example, _ in results], np.int64)
    turns = np.array([count_judged_turns(verdict) for _, verdict in results], float)
    flagged = np.array([len({f.turn for f in verdict.findings}) for _, verdict in results], float)
    wrong = np.zeros(len(results))
    for index, (example, verdict) in enumerate(results):
        true = {
            (None if label.code in whole_dialogue else label.turn, label.code) for label in example.errors
        }
        ranked = [(None if f.code in whole_dialogue else f.turn, f.code) for f in verdict.findings]
        wrong[index] = sum(finding not in true for finding in ranked)
    judged_turns = grouped_sum(counts, turns, groups)
    return {
        "flagged_per_100_turns": ratio(100 * grouped_sum(counts, flagged, groups), judged_turns),
        "wrong_findings_per_100_turns": ratio(100 * grouped_sum(counts, wrong, groups), judged_turns),
    }


def summarize(evaluated: EvaluationFigures, results: Results) -> dict[str, Any]:
    """Returns the figures as a report holds them, each with its 95 % interval under the name ``..._95``."""
    scored = [verdict for _, verdict in results if verdict.status == "scored"]
    covered = [code for code in evaluated.present if code in evaluated.covered]
    judged_turns = sum(map(count_judged_turns, scored))
    n_sources = len(number_sources(results))
    per_turn = 100 * n_sources / max(1, judged_turns)  # as if a source had one such turn at most
    whole: dict[str, dict[str, Any]] = {}
    for name, values in evaluated.whole.items():
        if name.endswith("turns"):
            figure = with_interval(name, values, n_sources, (0.0, per_turn))
            whole[name] = figure | {name: figure[name] or 0.0}  # nothing judged is nothing flagged
        else:
            whole[name] = with_interval(name, values, count_sources(evaluated.rows.values(), name))
    macro: dict[str, Any] = {}
    for name in MACRO:
        for suffix, codes in (("", evaluated.present), ("_covered", covered)):
            macro |= with_interval(f"macro_{name}{suffix}", evaluated.macro(name, codes))
    return {
        "dialogues": len(results),
        "source_dialogues": n_sources,
        "failed": sum(verdict.status == "failed" for _, verdict in results),
        "not_judged": sum(verdict.status == "not_judged" for _, verdict in results),
        "dialogues_with_findings": count_sources(evaluated.rows.values(), "precision_of_findings"),
        "dialogues_with_errors": count_sources(evaluated.rows.values(), "recall_of_errors"),
        "judged_turns": judged_turns,
        "turns_not_judged": sum(
            len(verdict.probabilities or {})
            - (count_judged_turns(verdict) if verdict.status == "scored" else 0)
            for _, verdict in results
        ),
        **{key: value for row in whole.values() for key, value in row.items()},
        **macro,
        "codes": {code: _row(evaluated, code) for code in evaluated.codes},
    }


def _row(evaluated: EvaluationFigures, code: str) -> dict[str, Any]:
    rows = evaluated.rows[code]
    row: dict[str, Any] = {
        "n_errors": int(rows.truth.sum()),
        "n": len(rows.truth),
        "dialogues_with_errors": len(np.unique(rows.dialogue[rows.truth])),
        "flagged": int(rows.flagged.sum()),
        "covered": code in evaluated.covered,
        "n_pairs": len(evaluated.pairs[code].errors),
    }
    sources = {
        **dict.fromkeys(OF_ERRORS, rows.dialogue[rows.truth]),
        "precision": rows.dialogue[rows.flagged],
        "false_accusations_per_100": rows.dialogue[~rows.truth],
        "span_f1": rows.overlap_dialogue,
        "pair_auc": evaluated.pairs[code].dialogue,
    }
    for name, values in evaluated.codes[code].items():
        n_sources = len(np.unique(sources[name])) if name in sources else None
        limits = (0.0, 100.0) if name == "false_accusations_per_100" else (0.0, 1.0)
        row |= with_interval(name, values, n_sources, limits)
    return row


def with_interval(
    name: str, values: np.ndarray, n_groups: int | None = None, limits: tuple[float, float] = (0.0, 1.0)
) -> dict[str, Any]:
    """Returns a figure under its name, and its 95 % interval under the name ``..._95``; `n_groups` and
    `limits` as of `percentile_interval`."""
    value, *bounds = value_and_interval(values, n_groups, limits)
    return {name: value, f"{name}_95": bounds}


def value_and_interval(
    values: np.ndarray, n_groups: int | None = None, limits: tuple[float, float] = (0.0, 1.0)
) -> list[float | None]:
    """Returns a figure and the ends of its interval, from values of shape (1 + rounds,): four decimals, None
    for NaN."""
    figures = (values[0], *percentile_interval(values, n_groups, limits))
    return [None if np.isnan(value) else round(float(value), 4) for value in figures]
