"""Every figure of one detector on one set, with the value of every bootstrap round beside it.

Takes arrays and verdicts, gives arrays; `dialint.eval.run` makes a report of them,
`dialint.eval.exam.comparison` sets two detectors against each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from dialint.detector.interface import Detector
from dialint.detector.statistics import Counts, grouped_sum, ratio
from dialint.eval.exam.resampling import calibration, ranking
from dialint.eval.metrics import Floats
from dialint.eval.truth import Judged, Pairs, Results, hard_pairs, judged, n_judged, source_of, sources_of

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


@dataclass(frozen=True)
class Examined:
    """One detector on one set. `codes` maps code to figure to its values, `whole` figures of all codes
    together to theirs; values have shape (1 + rounds,), the sample first. `rows` are what the figures
    of each code were made of; `present` the codes with an error in the set."""

    codes: dict[str, dict[str, Floats]]
    whole: dict[str, Floats]
    rows: dict[str, Judged]
    pairs: dict[str, Pairs]
    covered: tuple[str, ...]
    present: tuple[str, ...]

    def macro(self, figure: str, codes: Iterable[str]) -> Floats:
        """Mean of a figure over `codes`, shape (1 + rounds,); codes without it in a round are left out."""
        values = [self.codes[code][figure] for code in codes]
        return mean(np.array(values)) if values else np.full(1, np.nan)


def mean(values: Floats) -> Floats:
    """Mean over the first axis of what is a number; NaN where nothing is."""
    known = ~np.isnan(values)
    return ratio(np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0).astype(float))


def examine(detector: Detector, results: Results, counts: Counts) -> Examined:
    """The figures of `results`, all scored, under the draws of `counts` over `sources_of` them."""
    known = detector.taxonomy.codes
    named = {label.code for example, _ in results for label in example.labels}
    codes = [code for code in known if code in named or code in detector.codes]
    scope = {code: known[code].scope == "dialogue" for code in codes}
    rows = {code: judged(results, code, whole_dialogue=scope[code]) for code in codes}
    pairs = {code: hard_pairs(results, code, whole_dialogue=scope[code]) for code in codes}
    return Examined(
        codes={code: of_code(rows[code], pairs[code], counts) for code in codes},
        whole={
            **of_findings(rows, counts),
            **of_turns(results, counts, frozenset(code for code in codes if scope[code])),
        },
        rows=rows,
        pairs=pairs,
        covered=tuple(code for code in codes if code in detector.codes),
        present=tuple(code for code in codes if rows[code].truth.any()),
    )


def of_code(rows: Judged, pairs: Pairs, counts: Counts) -> dict[str, Floats]:
    """The figures of one code."""
    errors = grouped_sum(counts, rows.truth, rows.dialogue)
    flagged = grouped_sum(counts, rows.flagged, rows.dialogue)
    hits = grouped_sum(counts, rows.flagged & rows.truth, rows.dialogue)
    found = ranking(rows.truth, rows.probabilities, rows.dialogue, counts)
    spans = grouped_sum(counts, rows.overlap, rows.overlap_dialogue)
    wins = (pairs.errors > pairs.twins) + 0.5 * (pairs.errors == pairs.twins)
    return {
        **found,
        "calibration_error": calibration(rows.truth, rows.probabilities, rows.dialogue, counts),
        "precision": ratio(hits, flagged),
        "recall": ratio(hits, errors),
        "f1": np.where(errors > 0, ratio(2 * hits, flagged + errors), np.nan),
        "span_f1": ratio(spans, grouped_sum(counts, np.ones(len(rows.overlap)), rows.overlap_dialogue)),
        "pair_auc": ratio(
            grouped_sum(counts, wins, pairs.dialogue), grouped_sum(counts, np.ones(len(wins)), pairs.dialogue)
        ),
    }


def of_findings(rows: Mapping[str, Judged], counts: Counts) -> dict[str, Floats]:
    """Precision and recall of all findings together, whatever their code."""
    hits, flagged, errors = (np.zeros(len(counts)) for _ in range(3))
    for row in rows.values():
        hits += grouped_sum(counts, row.flagged & row.truth, row.dialogue)
        flagged += grouped_sum(counts, row.flagged, row.dialogue)
        errors += grouped_sum(counts, row.truth, row.dialogue)
    return {"precision_of_findings": ratio(hits, flagged), "recall_of_errors": ratio(hits, errors)}


def of_turns(results: Results, counts: Counts, whole_dialogue: frozenset[str]) -> dict[str, Floats]:
    """Turns with a finding, and findings without a label, for 100 judged turns. A finding of a code of
    `whole_dialogue` is right wherever in a dialogue with that error it stands, as in `judged`."""
    numbers = sources_of(results)
    groups = np.array([numbers[source_of(example)] for example, _ in results], np.int64)
    turns = np.array([n_judged(verdict) for _, verdict in results], float)
    flagged = np.array([len({f.turn for f in verdict.findings}) for _, verdict in results], float)
    wrong = np.zeros(len(results))
    for place, (example, verdict) in enumerate(results):
        true = {
            (None if label.code in whole_dialogue else label.turn, label.code) for label in example.errors
        }
        found = [(None if f.code in whole_dialogue else f.turn, f.code) for f in verdict.findings]
        wrong[place] = sum(finding not in true for finding in found)
    judged_turns = grouped_sum(counts, turns, groups)
    return {
        "flagged_per_100_turns": ratio(100 * grouped_sum(counts, flagged, groups), judged_turns),
        "wrong_findings_per_100_turns": ratio(100 * grouped_sum(counts, wrong, groups), judged_turns),
    }
