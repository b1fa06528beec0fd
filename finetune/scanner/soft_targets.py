"""Soft targets of distillation and their loss.

Aligns a teacher's scores with a student of other tokens and windows, turn by turn and character by character:
both read the same masked text, so turns have the same index and characters the same offset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dialint.detector.render import Rendered, Slot
from dialint.detector.scanner import Array, TurnScores
from dialint.finetune.scanner.data import Target, pack_rows
from dialint.finetune.scanner.losses import compute_logits, cross_entropy

if TYPE_CHECKING:
    import torch

    from dialint.detector.engines.scan_model import ScanModel


UNKNOWN = np.float32(np.nan)
"""The target where the teacher has no score."""


def soft_targets(
    windows: Sequence[Rendered], scores: Sequence[TurnScores], n_codes: int, temperature: float
) -> list[Target]:
    """The windows of one dialogue with the teacher's probabilities at that temperature. A turn that the
    student reads in several pieces has targets for its evidence only: the teacher's score of the turn belongs
    to no piece in particular."""
    by_turn = {turn.turn: turn for turn in scores}
    n_pieces = Counter(slot.turn for window in windows for slot in window.slots)
    unknown = np.full(n_codes, UNKNOWN, np.float32)
    targets = []
    for window in windows:
        turns, spans = [], []
        for slot in window.slots:
            turn = by_turn.get(slot.turn)
            is_whole = turn is not None and n_pieces[slot.turn] == 1
            turns.append(_soften(turn.scores, temperature) if turn is not None and is_whole else unknown)
            spans.append(_soften(_align_evidence(slot, turn, n_codes), temperature))
        targets.append(Target(window, _stack(turns, unknown), _stack(spans, unknown)))
    return targets


def _stack(rows: list[np.ndarray], like: np.ndarray) -> Array:
    return np.vstack(rows).astype(np.float32) if rows else np.zeros((0, len(like)), np.float32)


def _soften(logits: np.ndarray, temperature: float) -> np.ndarray:
    """Probabilities at that temperature; -inf, no score, becomes `UNKNOWN`."""
    soft = 1.0 / (1.0 + np.exp(-np.clip(logits / temperature, -60, 60)))
    return np.where(np.isneginf(logits), UNKNOWN, soft)


def _align_evidence(slot: Slot, turn: TurnScores | None, n_codes: int) -> np.ndarray:
    """Logits of shape (the student's tokens, codes): the highest of the teacher's tokens that share a
    character with the student's; -inf where there is none."""
    no_scores = np.full((len(slot.offsets), n_codes), -np.inf, np.float32)
    if turn is None or not turn.offsets or not slot.offsets:
        return no_scores
    teacher_offsets, student_offsets = np.array(turn.offsets), np.array(slot.offsets)
    first = np.searchsorted(teacher_offsets[:, 1], student_offsets[:, 0], "right")
    behind = np.searchsorted(teacher_offsets[:, 0], student_offsets[:, 1], "left")
    padded = np.vstack([turn.spans, no_scores[:1]])
    highest = np.maximum.reduceat(padded, np.stack([first, behind], 1).ravel(), axis=0)[::2]
    return np.where((behind > first)[:, None], highest, no_scores)


def soft_loss(
    model: ScanModel, row: Sequence[Target], precision: str, temperature: float, span_weight: float
) -> torch.Tensor:
    """Mean cross-entropy of a slot, summed over codes, plus the weighted mean of an evidence token.
    Targets are probabilities at `temperature`, NaN where the teacher has no score.

    Source: Hinton, Vinyals and Dean 2015, section 2: logits are divided by the temperature and the loss is
    multiplied by its square, so that gradients keep their size. There it is a softmax over classes, here a
    sigmoid for each code.
    """
    turns, tokens = compute_logits(model, row, precision == "bf16")
    return temperature**2 * (
        cross_entropy(turns / temperature, [target.turns for target in row])
        + span_weight * cross_entropy(tokens / temperature, [target.spans for target in row])
    )


def mean_loss(
    model: ScanModel, targets: Sequence[Target], precision: str, row_tokens: int, temperature: float = 1.0,
    span_weight: float = 0.5,
) -> float:  # fmt: skip
    """The loss on `targets` without training: the mean over rows of about `row_tokens`, weighted by their
    number of windows."""
    import torch

    model.eval()
    total = 0.0
    sizes = [len(target.window) for target in targets]
    with torch.inference_mode():
        for indices in pack_rows(range(len(targets)), sizes, row_tokens):
            row = [targets[index] for index in indices]
            total += len(row) * float(soft_loss(model, row, precision, temperature, span_weight))
    return total / max(1, len(targets))
