"""Breakdowns of the figures: paired differences between detectors, curves, and slices of a set.

Two detectors are compared under the same bootstrap counts, so a round's difference is that of the same
resampled set. A difference whose interval contains 0 is no difference. A slice is a mask over the judged
rows, by source corpus, length of the dialogue or position of the turn. Codes of dialogue scope have no
position and are left out of that slicing; a code counts for a slice's macro average precision with
`MIN_ERRORS` errors or more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dialint.detector.masking import mask_dialogue
from dialint.detector.records import Dialogue, Example, Finding, Label, Verdict
from dialint.detector.statistics import Counts, grouped_sum, ratio
from dialint.eval.figures import (
    MACRO,
    EvaluationFigures,
    count_findings,
    count_sources,
    curve,
    nan_mean,
    ranking_figures,
    value_and_interval,
)
from dialint.eval.results import (
    WHOLE_DIALOGUE,
    CodeResults,
    Results,
    source_of,
)

BY_CODE = ("average_precision", "f1", "pair_auc")
"""Figures compared code by code."""


def paired_difference(figures: EvaluationFigures, other: EvaluationFigures) -> dict[str, Any]:
    """`figures` less `other`: `macro` over all codes with an error in the set, `macro_covered` over those
    of them that `figures` covers, `codes` one by one; each figure as value and 95 % interval."""

    def macro(codes: Sequence[str]) -> dict[str, Any]:
        return {
            name: _difference_row(figures.macro(name, codes) - other.macro(name, codes)) for name in MACRO
        }

    return {
        "macro": macro(figures.present),
        "macro_covered": macro([code for code in figures.present if code in figures.covered]),
        "whole": {
            name: _difference_row(values - other.whole[name]) for name, values in figures.whole.items()
        },
        "codes": {
            code: {
                name: _difference_row(figures.codes[code][name] - other.codes[code][name]) for name in BY_CODE
            }
            for code in figures.present
        },
    }


def _difference_row(values: np.ndarray) -> dict[str, float | None]:
    return dict(zip(("difference", "low", "high"), value_and_interval(values), strict=True))


MAX_POINTS = 120
BINS = 10


def compute_curves(rows: CodeResults) -> dict[str, Any]:
    """`precision_recall`: points (recall, precision), surest first, at most `MAX_POINTS`;
    `at_threshold`: that point for what was flagged, or None;
    `reliability`: for each bin of equal width with a row in it: mean probability, frequency, rows."""
    precision, recall, _ = curve(rows.truth, rows.probabilities)
    new = np.diff(recall, prepend=0.0) > 0
    points = np.column_stack((recall[new], precision[new]))
    if len(points) > MAX_POINTS:
        points = points[np.unique(np.linspace(0, len(points) - 1, MAX_POINTS).astype(int))]
    flagged, hits = int(rows.flagged.sum()), int((rows.flagged & rows.truth).sum())
    at = [hits / max(int(rows.truth.sum()), 1), hits / flagged] if flagged else None
    return {
        "precision_recall": _round(points.tolist()),
        "at_threshold": None if at is None else _round([at])[0],
        "reliability": _round(_reliability(rows)),
    }


def _reliability(rows: CodeResults) -> list[list[float]]:
    bins = np.minimum((rows.probabilities * BINS).astype(int), BINS - 1)
    return [
        [
            float(rows.probabilities[bins == b].mean()),
            float(rows.truth[bins == b].mean()),
            int((bins == b).sum()),
        ]
        for b in np.unique(bins).tolist()
    ]


def _round(points: list[list[float]]) -> list[list[float]]:
    return [[round(value, 4) for value in point] for point in points]


MIN_ERRORS = 5
LENGTHS = {"1 to 3": 3, "4 to 6": 6, "7 to 10": 10, "11 or more": np.inf}
"""Agent turns of a dialogue, at most, of each part."""
THIRDS = ("first third", "middle third", "last third")
IN_ORDER = (*LENGTHS, *THIRDS)


def compute_slices(
    results: Results, rows: Mapping[str, CodeResults], counts: Counts
) -> dict[str, dict[str, Any]]:
    """Slicing to part to figures: errors, judged rows, macro average precision, precision and recall of
    all findings, findings and wrong findings for 100 judged turns, each with its 95 % interval."""
    sources = [str(e.dialogue.metadata.get("source", e.dialogue.id.partition(":")[0])) for e, _ in results]
    turns = [sorted(verdict.probabilities or {}) for _, verdict in results]
    lengths = [next(part for part, most in LENGTHS.items() if len(own) <= most) for own in turns]
    thirds = {
        (index, turn): THIRDS[3 * rank // len(own)]
        for index, own in enumerate(turns)
        for rank, turn in enumerate(own)
    }
    kinds: dict[str, Callable[[int, int], str]] = {
        "source corpus": lambda example, _: sources[example],
        "agent turns in the dialogue": lambda example, _: lengths[example],
        "place of the turn": lambda example, turn: thirds.get((example, turn), ""),
    }
    return {kind: _parts(rows, part_of, counts) for kind, part_of in kinds.items()}


def _parts(
    rows: Mapping[str, CodeResults], part_of: Callable[[int, int], str], counts: Counts
) -> dict[str, dict[str, Any]]:
    names = {
        code: np.array([part_of(int(e), int(t)) for e, t in zip(row.example, row.turn, strict=True)], object)
        for code, row in rows.items()
    }
    parts = sorted(
        {str(name) for column in names.values() for name in column if name},
        key=lambda part: (IN_ORDER.index(part) if part in IN_ORDER else 0, part),
    )
    return {
        part: _figures({code: _select_rows(row, names[code] == part) for code, row in rows.items()}, counts)
        for part in parts
    }


def _select_rows(row: CodeResults, mask: np.ndarray) -> CodeResults:
    names = ("truth", "probabilities", "flagged", "dialogue", "example", "turn")
    return replace(row, **{name: getattr(row, name)[mask] for name in names})


def _figures(rows: Mapping[str, CodeResults], counts: Counts) -> dict[str, Any]:
    hits, flagged, errors = count_findings(rows.values(), counts)
    units: dict[tuple[int, int], int] = {}
    for row in rows.values():
        units.update(zip(zip(row.example, row.turn, strict=True), row.dialogue, strict=True))
    areas = [
        ranking_figures(row.truth, row.probabilities, row.dialogue, counts)["average_precision"]
        for row in rows.values()
        if row.truth.sum() >= MIN_ERRORS
    ]
    groups = np.array([group for (_, turn), group in units.items() if turn != WHOLE_DIALOGUE], np.int64)
    turns = grouped_sum(counts, np.ones(len(groups)), groups)
    figures = {
        "macro_average_precision": nan_mean(np.array(areas)) if areas else np.full(len(counts), np.nan),
        "precision_of_findings": ratio(hits, flagged),
        "recall_of_errors": ratio(hits, errors),
        "findings_per_100_turns": ratio(100 * flagged, turns),
        "wrong_findings_per_100_turns": ratio(100 * (flagged - hits), turns),
    }
    shares = ("precision_of_findings", "recall_of_errors")
    n_sources = {name: count_sources(rows.values(), name) for name in shares}
    return {
        "turns": int(turns[0]),
        "errors": int(errors[0]),
        "codes_averaged": len(areas),
        **{name: value_and_interval(values, n_sources.get(name)) for name, values in figures.items()},
    }


Kind = Literal["accused wrongly", "not seen"]
PER_CODE = 3


@dataclass(frozen=True)
class Mistake:
    """One mistake at a turn of `results[example]`."""

    kind: Kind
    code: str
    example: int
    turn: int
    probability: float


def hardest(results: Results, rows: Mapping[str, CodeResults], limit: int = 20) -> list[Mistake]:
    """At most `limit` of each kind, surest first, at most `PER_CODE` of a code, no turn text twice."""
    wrong: list[Mistake] = []
    missed: list[Mistake] = []
    for code, row in rows.items():
        accused, unseen = row.flagged & ~row.truth, row.truth & ~row.flagged
        wrong += [
            _mistake("accused wrongly", code, row, p, results) for p in np.flatnonzero(accused).tolist()
        ]
        missed += [_mistake("not seen", code, row, p, results) for p in np.flatnonzero(unseen).tolist()]
    wrong.sort(key=lambda m: (-m.probability, m.code, m.example, m.turn))
    missed.sort(key=lambda m: (m.probability, m.code, m.example, m.turn))
    return [*_distinct(wrong, results, limit), *_distinct(missed, results, limit)]


def _mistake(kind: Kind, code: str, row: CodeResults, row_index: int, results: Results) -> Mistake:
    """A row's mistake; that of a whole dialogue stands at its finding, its label, or its last turn."""
    example, verdict = results[int(row.example[row_index])]
    turn = int(row.turn[row_index])
    if turn == WHOLE_DIALOGUE:
        marks = [mark.turn for mark in _marks(example, verdict) if mark.code == code]
        turn = marks[0] if marks else example.dialogue.turns[-1].index
    return Mistake(kind, code, int(row.example[row_index]), turn, float(row.probabilities[row_index]))


def _marks(example: Example, verdict: Verdict) -> list[Finding | Label]:
    return [*verdict.findings, *example.errors]


def _distinct(mistakes: list[Mistake], results: Results, limit: int) -> list[Mistake]:
    selected: list[Mistake] = []
    seen: set[tuple[str, str, str]] = set()
    of_code: Counter[str] = Counter()
    for mistake in mistakes:
        example = results[mistake.example][0]
        text = next(turn.text for turn in example.dialogue.turns if turn.index == mistake.turn)
        key = (mistake.code, source_of(example), text)
        if key in seen or of_code[mistake.code] >= PER_CODE:
            continue
        seen.add(key)
        of_code[mistake.code] += 1
        selected.append(mistake)
        if len(selected) == limit:
            break
    return selected


def to_dict(mistake: Mistake, results: Results) -> dict[str, Any]:
    """A mistake as a report holds it."""
    return {
        "kind": mistake.kind,
        "code": mistake.code,
        "dialogue": results[mistake.example][0].dialogue.id,
        "turn": mistake.turn,
        "probability": round(mistake.probability, 4),
    }


@dataclass(frozen=True)
class Excerpt:
    """A mistake in words, for the page: role and text of the turn and some before it, the last one
    being the turn itself; `start` and `end` bound the finding's or the label's evidence in it."""

    turns: tuple[tuple[str, str], ...]
    start: int
    end: int


def make_excerpt(mistake: Mistake, results: Results) -> Excerpt:
    """The mistake at `mistake.example` of the scored `results`, personal data as placeholders."""
    scored = [pair for pair in results if pair[1].status == "scored"]
    example, verdict = scored[mistake.example]
    spans = [
        (mark.start or 0, mark.end or 0)
        for mark in _marks(example, verdict)
        if mark.code == mistake.code and mark.turn == mistake.turn
    ]
    return excerpt_at(example.dialogue, mistake.turn, spans[0] if spans else None, 2)


def excerpt_at(dialogue: Dialogue, turn: int, span: tuple[int, int] | None, n_before: int) -> Excerpt:
    """A turn, masked, with the turns before it that the customer saw; `span` bounds the evidence in the
    turn's own text.

    Raises:
        StopIteration: the dialogue has no such turn.
    """
    masked, texts = mask_dialogue(dialogue)
    position = next(p for p, each in enumerate(masked.turns) if each.index == turn)
    before = [each for each in masked.turns[:position] if not each.is_unseen][-n_before:]
    start, end = (0, 0) if span is None else texts[position].from_original(*span)
    return Excerpt(tuple((each.role, each.text) for each in (*before, masked.turns[position])), start, end)
