"""The same figures on parts of a set: by source corpus, by length of the dialogue, by place of the turn.

A part is a mask over the rows that were judged anyway. Codes of dialogue scope have no place in a
dialogue and are left out of that slicing; a code counts for a part's macro average precision with
`MIN_ERRORS` errors there or more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dialint.detector.statistics import Counts, grouped_sum, ratio
from dialint.eval.exam.figures import mean
from dialint.eval.exam.resampling import ranking
from dialint.eval.exam.summary import shown
from dialint.eval.truth import WHOLE, Judged, Results

MIN_ERRORS = 5
LENGTHS = ((1, 3), (4, 6), (7, 10), (11, None))
"""Agent turns of a dialogue, first and last of each part."""
THIRDS = ("first third", "middle third", "last third")


def slices(results: Results, rows: Mapping[str, Judged], counts: Counts) -> dict[str, dict[str, Any]]:
    """Slicing to part to figures: errors, judged rows, macro average precision, precision and recall of
    all findings, findings and wrong findings for 100 judged turns, each with its 95 % interval."""
    sources = [str(e.dialogue.metadata.get("source", e.dialogue.id.partition(":")[0])) for e, _ in results]
    lengths = [_length(len(verdict.probabilities or {})) for _, verdict in results]
    thirds = {
        (place, turn): THIRDS[3 * rank // len(verdict.probabilities or {})]
        for place, (_, verdict) in enumerate(results)
        for rank, turn in enumerate(sorted(verdict.probabilities or {}))
    }
    kinds: dict[str, Callable[[int, int], str]] = {
        "source corpus": lambda example, _: sources[example],
        "agent turns in the dialogue": lambda example, _: lengths[example],
        "place of the turn": lambda example, turn: thirds.get((example, turn), ""),
    }
    return {kind: _parts(rows, part_of, counts) for kind, part_of in kinds.items()}


def _length(n_turns: int) -> str:
    for first, last in LENGTHS:
        if last is None or n_turns <= last:
            return f"{first} or more" if last is None else f"{first} to {last}"
    raise AssertionError("the last part has no end")


def _parts(
    rows: Mapping[str, Judged], part_of: Callable[[int, int], str], counts: Counts
) -> dict[str, dict[str, Any]]:
    names = {
        code: np.array([part_of(int(e), int(t)) for e, t in zip(row.example, row.turn, strict=True)], object)
        for code, row in rows.items()
    }
    parts = sorted({str(name) for column in names.values() for name in column if name}, key=_order)
    return {
        part: _figures({code: _masked(row, names[code] == part) for code, row in rows.items()}, counts)
        for part in parts
    }


def _order(part: str) -> tuple[int, str]:
    """Numbers by size, thirds in their order, names by the alphabet."""
    first = part.split(" ", maxsplit=1)[0]
    return (int(first), "") if first.isdigit() else (THIRDS.index(part) if part in THIRDS else 0, part)


def _masked(row: Judged, mask: np.ndarray) -> Judged:
    kept = {
        name: getattr(row, name)[mask]
        for name in ("truth", "probabilities", "flagged", "dialogue", "example", "turn")
    }
    return Judged(**kept, overlap=np.zeros(0), overlap_dialogue=np.zeros(0, np.int64))


def _figures(rows: Mapping[str, Judged], counts: Counts) -> dict[str, Any]:
    hits, flagged, errors = (np.zeros(len(counts)) for _ in range(3))
    areas = []
    units: dict[tuple[int, int], int] = {}
    for row in rows.values():
        hits += grouped_sum(counts, row.flagged & row.truth, row.dialogue)
        flagged += grouped_sum(counts, row.flagged, row.dialogue)
        errors += grouped_sum(counts, row.truth, row.dialogue)
        units.update(zip(zip(row.example, row.turn, strict=True), row.dialogue, strict=True))
        if row.truth.sum() >= MIN_ERRORS:
            areas.append(ranking(row.truth, row.probabilities, row.dialogue, counts)["average_precision"])
    groups = np.array([group for (_, turn), group in units.items() if turn != WHOLE], np.int64)
    turns = grouped_sum(counts, np.ones(len(groups)), groups)
    figures = {
        "macro_average_precision": mean(np.array(areas)) if areas else np.full(len(counts), np.nan),
        "precision_of_findings": ratio(hits, flagged),
        "recall_of_errors": ratio(hits, errors),
        "findings_per_100_turns": ratio(100 * flagged, turns),
        "wrong_findings_per_100_turns": ratio(100 * (flagged - hits), turns),
    }
    return {
        "turns": int(turns[0]),
        "errors": int(errors[0]),
        "codes_averaged": len(areas),
        **{name: shown(values) for name, values in figures.items()},
    }
