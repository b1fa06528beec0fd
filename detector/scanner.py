"""The scan: one forward pass scores every judged turn and code, and the tokens that serve as evidence.

Scores are raw logits; `calibration` converts them to probabilities. The engine decides on which device the
model runs, the renderer how a dialogue becomes tokens.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from dialint.detector.errors import DialogueFailed
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn
from dialint.detector.render import Rendered, Renderer, Slot, calls_text, normalized_words

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]

_WORD = re.compile(r"\w+(?:['’]\w+)*")

SLICE_TOKENS = 1 << 18
"""Tokens whose raw scores are in memory together: with 40 codes about 40 MB, and as much for offsets."""
SUSPECT = -2.2
"""Logit from which a similar later turn is scored again: a probability of one in ten."""
SIMILAR = 0.6
"""Least share of a turn's words that a similar turn contains."""
COMPARED = 50
"""Number of suspect turns that a later turn is compared with."""


@dataclass(frozen=True)
class WindowScores:
    """Logits of one window: `slots` of shape (slots, codes), `spans` one array of shape (tokens, codes) for
    each slot."""

    slots: Array
    spans: tuple[Array, ...]


class Engine(Protocol):
    """Runs the model on windows. A window's scores do not depend on the others by more than 1e-4. Calls
    `on_row` before each row; `n_tokens` went into the model so far."""

    on_row: Callable[[], None]
    n_tokens: int

    @property
    def fingerprint(self) -> str:
        """Engine options that may change a score."""

    def scan(self, windows: Sequence[Rendered]) -> list[WindowScores]: ...


@dataclass(frozen=True)
class TurnScores:
    """Logits of one judged turn: `scores` of shape (codes,), -inf for codes that are not scored on this turn;
    `spans` of shape (tokens, codes) with `offsets` into the turn's text, one for each token."""

    turn: int
    scores: Array
    offsets: tuple[tuple[int, int], ...]
    spans: Array


@dataclass(frozen=True)
class _Views:
    """The windows of one dialogue: `once` is the dialogue without repeated turns of the judged side; `whole`
    is the full dialogue from the first of the `copies` on, or empty without copies. `copies` maps the index
    of a repeated turn to that of its first occurrence."""

    dialogue: Dialogue
    once: tuple[Rendered, ...]
    whole: tuple[Rendered, ...]
    copies: dict[int, int]

    @property
    def windows(self) -> tuple[Rendered, ...]:
        return self.once + self.whole


@dataclass(frozen=True)
class Scanner:
    """Computes raw scores of dialogues. `dialogue_codes` marks the codes that a dialogue has once: the turn
    with the highest score keeps its own, the last of equals.

    `context_free` marks the codes that depend on the words of a turn alone: repeated words are the same error
    again. A model with repeated-word features takes repetitions for innocent, so

    - a turn is scored for these codes without its repetitions, and a copy gets the score of the first;
    - all codes of a turn before the first copy are scored without the copies, as a later repetition changes
      nothing about it;
    - a turn similar to an earlier suspect one is scored for these codes again without the history of its own
      side, and the higher score counts.
    """

    renderer: Renderer
    engine: Engine
    dialogue_codes: tuple[bool, ...]
    context_free: tuple[bool, ...] = ()

    def scan(self, dialogues: Sequence[Dialogue]) -> list[tuple[TurnScores, ...] | DialogueFailed]:
        """The judged turns of each dialogue, in order, or the reason why it could not be judged."""
        return list(self.stream(dialogues))

    def stream(self, dialogues: Iterable[Dialogue]) -> Iterator[tuple[TurnScores, ...] | DialogueFailed]:
        """Like `scan`, as an iterator: the raw scores of about `SLICE_TOKENS` tokens, or of one longer
        dialogue, are in memory together."""
        waiting: list[_Views | DialogueFailed] = []
        tokens = 0
        for dialogue in dialogues:
            item = self._views(dialogue)
            size = 0 if isinstance(item, DialogueFailed) else sum(map(len, item.windows))
            if tokens and tokens + size > SLICE_TOKENS:
                yield from self._scan_views(waiting)
                waiting, tokens = [], 0
            waiting.append(item)
            tokens += size
        yield from self._scan_views(waiting)

    def _views(self, dialogue: Dialogue) -> _Views | DialogueFailed:
        copies = _copies(dialogue, self.renderer.config.calls) if any(self.context_free) else {}
        try:
            if not copies:
                return _Views(dialogue, self.renderer.render(dialogue), (), {})
            turns = tuple(turn for turn in dialogue.turns if turn.index not in copies)
            once = dialogue.model_copy(update={"turns": turns})
            whole = (
                window
                for window in self.renderer.render(dialogue)
                if any(slot.turn >= min(copies) for slot in window.slots)
            )
            return _Views(once, self.renderer.render(once), tuple(whole), copies)
        except DialogueFailed as failure:
            return failure

    def _scan_views(
        self, views: list[_Views | DialogueFailed]
    ) -> Iterator[tuple[TurnScores, ...] | DialogueFailed]:
        """The results of one slice; its windows are released as soon as they are scored."""
        windows = [
            window for item in views if not isinstance(item, DialogueFailed) for window in item.windows
        ]
        scores = self.engine.scan(windows)[::-1]
        del windows
        views.reverse()
        while views:
            item = views.pop()
            if isinstance(item, DialogueFailed):
                yield item
                continue
            turns = _merge_scores(item.once, [scores.pop() for _ in item.once])
            self._rescore_similar(item.dialogue, turns)
            if item.copies:
                whole = _merge_scores(item.whole, [scores.pop() for _ in item.whole])
                self._add_copies(turns, whole, item.copies)
            yield self._once_a_dialogue([turns[index] for index in sorted(turns)])

    def _rescore_similar(self, dialogue: Dialogue, turns: dict[int, TurnScores]) -> None:
        """Raise the scores of context-free codes on turns that are similar to an earlier suspect turn."""
        if not (self.renderer.config.history and any(self.context_free)):
            return
        free = np.array(self.context_free)
        suspects = {index for index, turn in turns.items() if turn.scores[free].max() >= SUSPECT}
        again = find_similar_later([turn for turn in dialogue.turns if turn.index in turns], suspects)
        if not again:
            return
        windows = [
            window
            for window in self.renderer.render(dialogue, own_history=False)
            if any(slot.turn in again for slot in window.slots)
        ]
        fresh = _merge_scores(windows, self.engine.scan(windows))
        for index in again:
            higher = free & (fresh[index].scores > turns[index].scores)
            turns[index] = _maximum(turns[index], fresh[index], higher)

    def _add_copies(
        self, turns: dict[int, TurnScores], whole: dict[int, TurnScores], copies: dict[int, int]
    ) -> None:
        """Add the copies to `turns`; from the first copy on, codes that need context get the scores of the
        whole dialogue."""
        free = np.array(self.context_free)
        for index, turn in whole.items():
            if index >= min(copies):
                turns[index] = _maximum(turn, turns[copies.get(index, index)], free)

    def _once_a_dialogue(self, turns: list[TurnScores]) -> tuple[TurnScores, ...]:
        """Take the score of each dialogue code from all turns but one."""
        for code in np.flatnonzero(self.dialogue_codes).tolist():
            best = max(turns, key=lambda turn: (turn.scores[code], turn.turn))
            for turn in turns:
                if turn is not best:
                    turn.scores[code] = -np.inf
        return tuple(turns)


def _copies(dialogue: Dialogue, with_calls: bool) -> dict[int, int]:
    """The indices of judged turns with the text of an earlier one, and `with_calls` with its calls, mapped to
    the index of the first."""
    first: dict[tuple[str, str], int] = {}
    positions = [
        (turn.index, first.setdefault((turn.text, calls_text(turn) if with_calls else ""), turn.index))
        for turn in dialogue.turns
        if turn.role in JUDGED_ROLES and turn.text.strip()
    ]
    return {index: same for index, same in positions if index != same}


def find_similar_later(turns: Sequence[Turn], suspects: set[int]) -> set[int]:
    """The indices of the `turns` that share at least `SIMILAR` of their words with one of the last `COMPARED`
    suspect turns before them."""
    results = set()
    earlier: deque[frozenset[str]] = deque(maxlen=COMPARED)
    for turn in turns if suspects else ():
        words = normalized_words(turn.text) if earlier or turn.index in suspects else frozenset()
        if words and any(len(words & other) >= SIMILAR * len(words) for other in earlier):
            results.add(turn.index)
        if turn.index in suspects:
            earlier.append(words)
    return results


def _merge_scores(windows: Sequence[Rendered], scores: Sequence[WindowScores]) -> dict[int, TurnScores]:
    pieces: dict[int, list[tuple[Slot, Array, Array]]] = {}
    for window, result in zip(windows, scores, strict=True):
        for slot, row, spans in zip(window.slots, result.slots, result.spans, strict=True):
            pieces.setdefault(slot.turn, []).append((slot, row, spans))
    return {index: _join_pieces(pieces[index]) for index in sorted(pieces)}


def _maximum(turn: TurnScores, other: TurnScores, codes: np.ndarray) -> TurnScores:
    """`turn` with the scores of `other` for some codes (a mask); both are of the same text."""
    return replace(
        turn,
        scores=np.where(codes, other.scores, turn.scores),
        spans=np.where(codes, other.spans, turn.spans),
    )


def _join_pieces(pieces: Sequence[tuple[Slot, Array, Array]]) -> TurnScores:
    """Combine the pieces of a turn, each a slot with its scores and those of its tokens: the highest
    counts."""
    return TurnScores(
        pieces[0][0].turn,
        np.stack([row for _, row, _ in pieces]).max(axis=0).astype(np.float32),
        tuple(offset for slot, _, _ in pieces for offset in slot.offsets),
        np.concatenate([spans for _, _, spans in pieces]) if len(pieces) > 1 else pieces[0][2],
    )


def evidence_span(turn: TurnScores, code: int, text: str) -> tuple[int, int]:
    """Return the evidence in `text`: the words around the strongest token, as far as neighbours agree.

    Returns:
        Offsets of whole words, end exclusive; the whole text, less outer blanks, if no token's score
        is high enough.
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
