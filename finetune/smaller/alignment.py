"""What a teacher says, told to a student of other tokens and windows: turn by turn, character by character.

Teacher and student read the same masked text, so turns have the same index and characters the same offset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from dialint.detector.render import Rendered, Slot
from dialint.detector.scanner import Array, TurnScores
from dialint.finetune.examples import Target

UNSAID = np.float32(np.nan)
"""Stands in a target where the teacher says nothing."""


def soft_targets(
    windows: Sequence[Rendered],
    said: Sequence[TurnScores],
    dialogue_codes: np.ndarray,
    temperature: float,
    *,
    ended: bool = True,
) -> list[Target]:
    """The windows of one dialogue with the teacher's probabilities at that temperature.

    `dialogue_codes` of shape (codes,) marks what is read at the dialogue's end, which a dialogue that has not
    `ended` has none of. A turn that the student reads in several pieces is taught by its evidence only: the
    teacher does not say which piece it means.
    """
    by_turn = {turn.turn: turn for turn in said}
    pieces = Counter(slot.turn for window in windows for slot in window.slots)
    nothing = np.full(len(dialogue_codes), UNSAID, np.float32)
    end = nothing
    if said and ended:
        most = np.stack([turn.scores for turn in said]).max(axis=0)
        end = np.where(dialogue_codes, _softened(most, temperature), UNSAID)
    targets = []
    for window in windows:
        turns, spans = [], []
        for slot in window.slots:
            turn = by_turn.get(slot.turn)
            whole = turn is not None and pieces[slot.turn] == 1
            scores = _softened(turn.scores, temperature) if turn is not None and whole else nothing
            turns.append(np.where(dialogue_codes, UNSAID, scores))
            spans.append(_softened(_evidence(slot, turn, len(nothing)), temperature))
        dialogue = end.astype(np.float32) if window.dialogue_slot is not None else None
        targets.append(Target(window, _stacked(turns, nothing), _stacked(spans, nothing), dialogue))
    return targets


def _stacked(rows: list[np.ndarray], like: np.ndarray) -> Array:
    return np.vstack(rows).astype(np.float32) if rows else np.zeros((0, len(like)), np.float32)


def _softened(logits: np.ndarray, temperature: float) -> np.ndarray:
    """Probabilities at that temperature; -inf, where nothing was said, becomes `UNSAID`."""
    soft = 1.0 / (1.0 + np.exp(-np.clip(logits / temperature, -60, 60)))
    return np.where(np.isneginf(logits), UNSAID, soft)


def _evidence(slot: Slot, turn: TurnScores | None, n_codes: int) -> np.ndarray:
    """Logits of shape (the student's tokens, codes): of the teacher's tokens that share a character with the
    student's the strongest; -inf where there is none."""
    unsaid = np.full((len(slot.offsets), n_codes), -np.inf, np.float32)
    if turn is None or not turn.offsets or not slot.offsets:
        return unsaid
    theirs, mine = np.array(turn.offsets), np.array(slot.offsets)
    first = np.searchsorted(theirs[:, 1], mine[:, 0], "right")
    behind = np.searchsorted(theirs[:, 0], mine[:, 1], "left")
    padded = np.vstack([turn.spans, unsaid[:1]])
    strongest = np.maximum.reduceat(padded, np.stack([first, behind], 1).ravel(), axis=0)[::2]
    return np.where((behind > first)[:, None], strongest, unsaid)
