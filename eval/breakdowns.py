"""Breakdowns of the figures: paired differences between detectors, curves, and slices of a set.

Two detectors are compared under the same bootstrap counts, so a round's difference is that of the same
resampled set. A difference whose interval contains 0 is no difference. A slice is a mask over the judged
rows, by source corpus, length of the dialogue, position of the turn, language, channel, or how the agent
writes. Codes of dialogue scope have no position and are left out of that slicing, codes of language where the
slice is how the agent writes; a code counts for a slice's macro average precision with `MIN_ERRORS` errors or
more.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dialint.detector.languages import detect_languages
from dialint.detector.masking import mask_dialogue
from dialint.detector.records import Dialogue, Example, Finding, Label, Verdict
from dialint.detector.statistics import Counts, Floats, e_values_of_loss, grouped_sum, ratio
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
    """Returns `figures` less `other`: `macro` over all codes with an error in the set, `macro_covered` over
    those that `figures` covers, `codes` one by one; each figure as value and 95 % interval.
    `errors_not_judged` is the number of labelled errors that only `other` judges."""

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
        "errors_not_judged": sum(
            max(0, int(other.rows[code].truth.sum()) - int(row.truth.sum()))
            for code, row in figures.rows.items()
            if code in other.rows
        ),
    }


def _difference_row(values: np.ndarray) -> dict[str, float | None]:
    return dict(zip(("difference", "low", "high"), value_and_interval(values), strict=True))


def compare_in_sequence(mine: Results, theirs: Results, whole_dialogue: Collection[str]) -> dict[str, Any]:
    """Tests sequentially whether `mine` makes more mistakes (missed errors, wrong findings) than `theirs` on
    the same examples, source dialogue by source dialogue in an order independent of the outcomes. `e_value`
    is the highest of `e_values_of_loss`: a detector that is no worse reaches ``1 / alpha`` at most alpha of
    the time. Codes of `whole_dialogue` are right at any turn. Errors of an unjudged dialogue are missed."""

    def marks(items: Iterable[Label | Finding], unlabelled: Collection[str]) -> set[tuple[int, str]]:
        return {
            (WHOLE_DIALOGUE if each.code in whole_dialogue else each.turn, each.code)
            for each in items
            if each.code not in unlabelled
        }

    mistakes: dict[str, list[int]] = {}
    for side, results in enumerate((mine, theirs)):
        for example, verdict in results:
            errors, findings = (marks(own, example.unlabelled) for own in (example.errors, verdict.findings))
            n_mistakes = len(errors ^ findings)
            mistakes.setdefault(source_of(example), [0, 0])[side] += n_mistakes
    order = sorted(mistakes, key=lambda source: hashlib.sha256(source.encode()).digest())
    losses = [(mistakes[each][1] - mistakes[each][0]) / max(1, *mistakes[each]) for each in order]
    e_values = e_values_of_loss(np.array(losses, float))
    return {
        "dialogues": len(losses),
        "mistakes": [sum(each[side] for each in mistakes.values()) for side in (0, 1)],
        "e_value": round(float(e_values.max(initial=1.0)), 4),
    }


MAX_POINTS = 120
BINS = 10
MIN_IN_BIN = 50
"""Least number of rows of a bin whose calibration is reported."""


def calibration_gaps(rows: Iterable[CodeResults], counts: Counts) -> list[list[float | None]]:
    """Returns for each bin of probability with `MIN_IN_BIN` rows of all codes: mean probability, number of
    rows, and the frequency of errors less the mean probability with its 95 % interval."""
    held = [row for row in rows if len(row.truth)]
    if not held:
        return []
    truth, stated, groups = (
        np.concatenate([getattr(row, name) for row in held])
        for name in ("truth", "probabilities", "dialogue")
    )
    bins = np.minimum((stated * BINS).astype(int), BINS - 1)
    gaps: list[list[float | None]] = []
    for b in np.unique(bins):
        own = bins == b
        if own.sum() >= MIN_IN_BIN:
            total = grouped_sum(counts, np.ones(int(own.sum())), groups[own])
            gap = ratio(grouped_sum(counts, truth[own] - stated[own], groups[own]), total)
            gaps.append([round(float(stated[own].mean()), 4), int(own.sum()), *value_and_interval(gap)])
    return gaps


def compute_curves(rows: CodeResults) -> dict[str, Any]:
    """Returns `precision_recall`: points (recall, precision), most probable first, at most `MAX_POINTS`;
    `at_threshold`: that point for the flagged rows, or None;
    `reliability`: for each bin of equal width with a row in it: mean probability, frequency, rows."""
    precision, recall, _ = curve(rows.truth, rows.probabilities)
    new = np.diff(recall, prepend=0.0) > 0
    points = np.column_stack((recall[new], precision[new]))
    if len(points) > MAX_POINTS:
        points = points[np.unique(np.linspace(0, len(points) - 1, MAX_POINTS).astype(int))]
    flagged, hits = int(rows.flagged.sum()), int((rows.flagged & rows.truth).sum())
    at = [hits / max(int(rows.truth.sum()), 1), hits / flagged] if flagged else None
    bins = np.minimum((rows.probabilities * BINS).astype(int), BINS - 1)
    masks = [bins == b for b in np.unique(bins)]
    reliability = [
        [float(rows.probabilities[own].mean()), float(rows.truth[own].mean()), int(own.sum())]
        for own in masks
    ]
    return {
        "precision_recall": _round(points.tolist()),
        "at_threshold": None if at is None else _round([at])[0],
        "reliability": _round(reliability),
    }


def _round(points: list[list[float]]) -> list[list[float]]:
    return [[round(value, 4) for value in point] for point in points]


MIN_ERRORS = 5
LENGTHS = {"1 to 3": 3, "4 to 6": 6, "7 to 10": 10, "11 or more": np.inf}
"""The most agent turns of a dialogue in each part."""
THIRDS = ("first third", "middle third", "last third")
IN_ORDER = (*LENGTHS, *THIRDS)
WRITING = "agent's writing"
GROUPS = ("language", "channel", WRITING, "agent turns in the dialogue")
"""Slicings that the gate of fairness compares."""
VARIETY = "agent_variety"
"""Field of the log that says how its agent writes, such as a dialect or non-native."""
LANGUAGE_CODES = "L"
"""Category of the codes of the agent's writing."""
MIN_SOURCES = 10
"""Least number of source dialogues of a part, and of the rest, for a difference between them."""


def compute_slices(
    results: Results, rows: Mapping[str, CodeResults], counts: Counts
) -> dict[str, dict[str, Any]]:
    """Returns figures by slicing and part: errors, judged rows, macro average precision, precision and recall
    of all findings, findings and wrong findings for 100 judged turns, each with its 95 % interval; `gaps` are
    the differences of wrong findings and recall from those of the other parts. The agent's writing is the
    log's `VARIETY`, or else whether the dialogue has a labelled error of language."""
    sources = [str(e.dialogue.metadata.get("source", e.dialogue.id.partition(":")[0])) for e, _ in results]
    turns = [sorted(verdict.probabilities or {}) for _, verdict in results]
    lengths = [next(part for part, most in LENGTHS.items() if len(own) <= most) for own in turns]
    thirds = {
        (index, turn): THIRDS[3 * rank // len(own)]
        for index, own in enumerate(turns)
        for rank, turn in enumerate(own)
    }
    languages = [detect_languages(example.dialogue)[0] for example, _ in results]
    writing = [_writing(example) for example, _ in results]
    kinds: dict[str, Callable[[int, int], str]] = {
        "source corpus": lambda example, _: sources[example],
        "agent turns in the dialogue": lambda example, _: lengths[example],
        "place of the turn": lambda example, turn: thirds.get((example, turn), ""),
        "language": lambda example, _: languages[example],
        "channel": lambda example, _: results[example][0].dialogue.channel or "",
        WRITING: lambda example, _: writing[example],
    }
    other_codes = {code: row for code, row in rows.items() if not code.startswith(LANGUAGE_CODES)}
    return {
        kind: _parts(other_codes if kind == WRITING else rows, part_of, counts)
        for kind, part_of in kinds.items()
    }


def _writing(example: Example) -> str:
    has_errors = any(label.code.startswith(LANGUAGE_CODES) for label in example.errors)
    return str(
        example.dialogue.metadata.get(VARIETY)
        or ("with errors of language" if has_errors else "without errors of language")
    )


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
    columns: Mapping[str, dict[str, CodeResults]] = {
        part: {code: _select_rows(row, names[code] == part) for code, row in rows.items()} for part in parts
    }
    others: Mapping[str, dict[str, CodeResults]] = {
        part: {
            code: _select_rows(row, (names[code] != part) & (names[code] != "")) for code, row in rows.items()
        }
        for part in parts
    }
    return {part: _figures(columns[part], others[part], counts) for part in parts}


def _select_rows(row: CodeResults, mask: np.ndarray) -> CodeResults:
    names = ("truth", "probabilities", "flagged", "dialogue", "example", "turn")
    return replace(row, **{name: getattr(row, name)[mask] for name in names})


def _figures(
    rows: Mapping[str, CodeResults], others: Mapping[str, CodeResults], counts: Counts
) -> dict[str, Any]:
    figures, turns, errors = _rates(rows, counts)
    areas = [
        ranking_figures(row.truth, row.probabilities, row.dialogue, counts)["average_precision"]
        for row in rows.values()
        if row.truth.sum() >= MIN_ERRORS
    ]
    average = nan_mean(np.array(areas)) if areas else np.full(len(counts), np.nan)
    n_sources = {
        name: count_sources(rows.values(), name) for name in ("precision_of_findings", "recall_of_errors")
    }
    theirs, gaps = _rates(others, counts)[0], {}
    for name in ("wrong_findings_per_100_turns", "recall_of_errors"):
        sides = [
            [row.dialogue[row.truth] if name == "recall_of_errors" else row.dialogue for row in side.values()]
            for side in (rows, others)
        ]
        if min(len(set().union(*(column.tolist() for column in side))) for side in sides) >= MIN_SOURCES:
            gaps[name] = value_and_interval(figures[name] - theirs[name])
    return {
        "turns": turns,
        "errors": errors,
        "codes_averaged": len(areas),
        "macro_average_precision": value_and_interval(average),
        **{name: value_and_interval(values, n_sources.get(name)) for name, values in figures.items()},
        "gaps": gaps,
    }


def _rates(rows: Mapping[str, CodeResults], counts: Counts) -> tuple[dict[str, Floats], int, int]:
    """Returns the rates of all codes together, and the numbers of turns and errors."""
    hits, flagged, errors = count_findings(rows.values(), counts)
    units: dict[tuple[int, int], int] = {}
    for row in rows.values():
        units.update(zip(zip(row.example, row.turn, strict=True), row.dialogue, strict=True))
    groups = np.array([group for (_, turn), group in units.items() if turn != WHOLE_DIALOGUE], np.int64)
    turns = grouped_sum(counts, np.ones(len(groups)), groups)
    figures: dict[str, Floats] = {
        "precision_of_findings": ratio(hits, flagged),
        "recall_of_errors": ratio(hits, errors),
        "findings_per_100_turns": ratio(100 * flagged, turns),
        "wrong_findings_per_100_turns": ratio(100 * (flagged - hits), turns),
    }
    return figures, int(turns[0]), int(errors[0])


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


def worst_mistakes(results: Results, rows: Mapping[str, CodeResults], limit: int = 20) -> list[Mistake]:
    """Returns at most `limit` mistakes of each kind, the most confident first, at most `PER_CODE` of a code
    and none twice with the same text."""
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
    """Makes the mistake of a row; that of a whole dialogue is at its finding, its label, or its last turn."""
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
    """Returns a mistake as a report holds it."""
    return {
        "kind": mistake.kind,
        "code": mistake.code,
        "dialogue": results[mistake.example][0].dialogue.id,
        "turn": mistake.turn,
        "probability": round(mistake.probability, 4),
    }


@dataclass(frozen=True)
class Excerpt:
    """The text of a mistake, for the page: role and text of some turns, the last one that of the mistake;
    `start` and `end` bound the finding's or the label's evidence in it."""

    turns: tuple[tuple[str, str], ...]
    start: int
    end: int


def make_excerpt(mistake: Mistake, results: Results) -> Excerpt:
    """Returns the text of a mistake of the scored `results`, personal data as placeholders."""
    scored = [pair for pair in results if pair[1].status == "scored"]
    example, verdict = scored[mistake.example]
    spans = [
        (mark.start or 0, mark.end or 0)
        for mark in _marks(example, verdict)
        if mark.code == mistake.code and mark.turn == mistake.turn
    ]
    return excerpt_at(example.dialogue, mistake.turn, spans[0] if spans else None, 2)


def excerpt_at(dialogue: Dialogue, turn: int, span: tuple[int, int] | None, n_before: int) -> Excerpt:
    """Returns a turn, masked, with the turns before it that the customer saw; `span` bounds the evidence in
    the turn's own text.

    Raises:
        StopIteration: the dialogue has no such turn.
    """
    masked, texts = mask_dialogue(dialogue)
    position = next(p for p, each in enumerate(masked.turns) if each.index == turn)
    before = [each for each in masked.turns[:position] if not each.is_unseen][-n_before:]
    start, end = (0, 0) if span is None else texts[position].from_original(*span)
    return Excerpt(tuple((each.role, each.text) for each in (*before, masked.turns[position])), start, end)
