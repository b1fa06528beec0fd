"""The scan: one forward pass gives a score for every judged turn and code, and the tokens that say so.

Scores are raw logits; `calibration` makes probabilities of them. Which machine runs the model is the
engine's business, what a dialogue looks like to it the renderer's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from detector.errors import DialogueFailed
from detector.records import Dialogue
from detector.render import Rendered, Renderer, Slot

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]

_WORD = re.compile(r"\w+(?:['’]\w+)*")

SLICE_TOKENS = 1 << 18
"""Tokens whose raw scores are held at a time: with 40 codes about 40 MB, and as much for offsets."""


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
        return list(self.stream(dialogues))

    def stream(self, dialogues: Iterable[Dialogue]) -> Iterator[tuple[TurnScores, ...] | DialogueFailed]:
        """The same one by one: raw scores of about `SLICE_TOKENS` tokens are held at a time, and those of
        one dialogue at least."""
        waiting: list[tuple[Rendered, ...] | DialogueFailed] = []
        tokens = 0
        for dialogue in dialogues:
            item = self._rendered(dialogue)
            size = 0 if isinstance(item, DialogueFailed) else sum(map(len, item))
            if tokens and tokens + size > SLICE_TOKENS:
                yield from self._scanned(waiting)
                waiting, tokens = [], 0
            waiting.append(item)
            tokens += size
        yield from self._scanned(waiting)

    def _rendered(self, dialogue: Dialogue) -> tuple[Rendered, ...] | DialogueFailed:
        try:
            return self.renderer.render(dialogue)
        except DialogueFailed as failure:
            return failure

    def _scanned(
        self, rendered: list[tuple[Rendered, ...] | DialogueFailed]
    ) -> Iterator[tuple[TurnScores, ...] | DialogueFailed]:
        """Results of one slice; what was read is let go at once."""
        windows = [window for item in rendered if not isinstance(item, DialogueFailed) for window in item]
        scores = self.engine.scan(windows)[::-1]
        del windows
        rendered.reverse()
        while rendered:
            item = rendered.pop()
            if isinstance(item, DialogueFailed):
                yield item
            else:
                yield self._merged(item, [scores.pop() for _ in item])

    def _merged(self, windows: Sequence[Rendered], scores: Sequence[WindowScores]) -> tuple[TurnScores, ...]:
        """Pieces of a turn joined, the highest score counting; dialogue codes placed on one turn."""
        asked = ~np.array(self.dialogue_codes)
        pieces: dict[int, list[tuple[Slot, Array, Array]]] = {}
        for window, result in zip(windows, scores, strict=True):
            for slot, row, spans in zip(window.slots, result.slots, result.spans, strict=True):
                pieces.setdefault(slot.turn, []).append((slot, row, spans))
        ordered = [_joined(pieces[index], asked) for index in sorted(pieces)]
        at_end = next((result.dialogue for result in scores if result.dialogue is not None), None)
        if at_end is not None:
            for code in np.flatnonzero(~asked).tolist():
                best = max(ordered, key=lambda turn: (_peak(turn.spans, code), turn.turn))
                best.scores[code] = at_end[code]
        return tuple(ordered)


def _joined(pieces: Sequence[tuple[Slot, Array, Array]], asked: np.ndarray) -> TurnScores:
    """One turn of its pieces, each a slot with its scores and those of its tokens."""
    rows = np.stack([row for _, row, _ in pieces]).max(axis=0)
    return TurnScores(
        pieces[0][0].turn,
        np.where(asked, rows, -np.inf).astype(np.float32),
        tuple(offset for slot, _, _ in pieces for offset in slot.offsets),
        np.concatenate([spans for _, _, spans in pieces]) if len(pieces) > 1 else pieces[0][2],
    )


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
    start, end = _whole_words(text, turn.offsets[first][0], turn.offsets[last][1])
    return (start, end) if end > start else whole


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """The span widened to whole words, less the blanks and stops before and the blanks after it."""
    while start < end and (text[start].isspace() or text[start] in ".,;:!?)"):
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    for word in _WORD.finditer(text):
        if word.start() < start < word.end():
            start = word.start()
        if word.start() < end < word.end():
            end = word.end()
    return start, end
