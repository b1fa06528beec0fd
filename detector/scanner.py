"""The scan: one forward pass gives a score for every judged turn and code, and the tokens that say so.

Scores are raw logits; `calibration` makes probabilities of them. Which machine runs the model is the
engine's business, what a dialogue looks like to it the renderer's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from detector.errors import DialogueFailed
from detector.records import Dialogue
from detector.render import Rendered, Renderer

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


@dataclass(frozen=True)
class WindowScores:
    """Logits of one window: `slots` of shape (slots, codes), `dialogue` of shape (codes,) where the
    window holds the dialogue's end, `spans` one array of shape (tokens, codes) for each slot."""

    slots: Array
    dialogue: Array | None
    spans: tuple[Array, ...]


class Engine(Protocol):
    """Runs the model on windows. A window's scores do not depend on the others by more than 1e-4."""

    @property
    def fingerprint(self) -> str:
        """Engine options that may change a score."""
        ...

    def scan(self, windows: Sequence[Rendered]) -> list[WindowScores]: ...


@dataclass(frozen=True)
class TurnScores:
    """Logits of one judged turn: `scores` of shape (codes,), -inf where a code is not asked here;
    `spans` of shape (tokens, codes) with `offsets` into the turn's text, one for each token."""

    turn: int
    scores: Array
    offsets: tuple[tuple[int, int], ...]
    spans: Array


@dataclass(frozen=True)
class Scanner:
    """Dialogues in, raw scores out. `dialogue_codes` marks the codes that are read at the dialogue's
    end; their score stands on the judged turn whose tokens say so most."""

    renderer: Renderer
    engine: Engine
    dialogue_codes: tuple[bool, ...]

    def scan(self, dialogues: Sequence[Dialogue]) -> list[tuple[TurnScores, ...] | DialogueFailed]:
        """The judged turns of each dialogue, in order, or why it could not be judged."""
        rendered: list[tuple[Rendered, ...] | DialogueFailed] = []
        for dialogue in dialogues:
            try:
                rendered.append(self.renderer.render(dialogue))
            except DialogueFailed as failure:
                rendered.append(failure)
        windows = [window for item in rendered if not isinstance(item, DialogueFailed) for window in item]
        scores = iter(self.engine.scan(windows))
        results: list[tuple[TurnScores, ...] | DialogueFailed] = []
        for item in rendered:
            if isinstance(item, DialogueFailed):
                results.append(item)
            else:
                results.append(self._merged(item, [next(scores) for _ in item]))
        return results

    def _merged(self, windows: Sequence[Rendered], scores: Sequence[WindowScores]) -> tuple[TurnScores, ...]:
        """Pieces of a turn joined, the highest score counting; dialogue codes placed on one turn."""
        asked = ~np.array(self.dialogue_codes)
        turns: dict[int, TurnScores] = {}
        for window, result in zip(windows, scores, strict=True):
            for place, slot in enumerate(window.slots):
                row = np.where(asked, result.slots[place], -np.inf).astype(np.float32)
                before = turns.get(slot.turn)
                turns[slot.turn] = TurnScores(
                    slot.turn,
                    row if before is None else np.maximum(before.scores, row),
                    slot.offsets if before is None else before.offsets + slot.offsets,
                    result.spans[place] if before is None else np.vstack((before.spans, result.spans[place])),
                )
        ordered = [turns[index] for index in sorted(turns)]
        at_end = next((result.dialogue for result in scores if result.dialogue is not None), None)
        if at_end is not None:
            for code in np.flatnonzero(~asked).tolist():
                best = max(ordered, key=lambda turn: (_peak(turn.spans, code), turn.turn))
                best.scores[code] = at_end[code]
        return tuple(ordered)


def _peak(spans: Array, code: int) -> float:
    return float(spans[:, code].max()) if len(spans) else -np.inf


def evidence(turn: TurnScores, code: int, text: str) -> tuple[int, int]:
    """The words of `text` that say so: around the strongest token, as far as neighbours agree.

    Returns:
        Offsets of whole words, end exclusive; the whole text, less outer blanks, if no token speaks up.
    """
    scores = turn.spans[:, code]
    whole = len(text) - len(text.lstrip()), len(text.rstrip())
    if not len(scores):
        return whole
    peak = int(scores.argmax())
    if scores[peak] < -2.2:  # a probability of one in ten: the tokens do not know where
        return whole
    limit = min(0.0, float(scores[peak]) - 2.0)
    first = last = peak
    while first > 0 and scores[first - 1] >= limit:
        first -= 1
    while last + 1 < len(scores) and scores[last + 1] >= limit:
        last += 1
    start, end = turn.offsets[first][0], turn.offsets[last][1]
    while start > 0 and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum() and text[end - 1].isalnum():
        end += 1
    return (start, end) if end > start else whole
