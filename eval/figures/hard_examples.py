"""The most confident mistakes: false findings and missed errors.

A `Mistake` is a place (dialogue, turn, code, probability); only `Excerpt` holds text, masked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dialint.detector.masking import mask_dialogue
from dialint.detector.records import Example, Finding, Label, Verdict
from dialint.eval.results import WHOLE_DIALOGUE, CodeResults, Results, source_of

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
    """A mistake in words, for the page: role and text of the turn and the two before it, the last one
    being the turn itself; `start` and `end` bound the finding's or the label's evidence in it."""

    turns: tuple[tuple[str, str], ...]
    start: int
    end: int


def make_excerpt(mistake: Mistake, results: Results) -> Excerpt:
    """The mistake at `mistake.example` of the scored `results`, personal data as placeholders."""
    scored = [pair for pair in results if pair[1].status == "scored"]
    example, verdict = scored[mistake.example]
    masked, texts = mask_dialogue(example.dialogue)
    row_index = next(p for p, turn in enumerate(example.dialogue.turns) if turn.index == mistake.turn)
    before = [turn for turn in masked.turns[:row_index] if not turn.is_unseen][-2:]
    turns = [*before, masked.turns[row_index]]
    spans = [
        (mark.start or 0, mark.end or 0)
        for mark in _marks(example, verdict)
        if mark.code == mistake.code and mark.turn == mistake.turn
    ]
    start, end = texts[row_index].from_original(*spans[0]) if spans else (0, 0)
    return Excerpt(tuple((turn.role, turn.text) for turn in turns), start, end)
