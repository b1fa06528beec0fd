"""The losses of a scanner: of turns and of evidence, by labels or by the scores of a teacher.

Each is a mean over all of its kind in a step, however many rows the step's windows come in. A teacher's
scores are aligned with a student of other tokens and windows, turn by turn and character by character: both
read the same masked text, so turns have the same index and characters the same offset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dialint.detector.render import Rendered, Slot
from dialint.detector.scanner import Array, TurnScores
from dialint.finetune.scanner.data import Target
from dialint.finetune.train.loop import pack_rows

if TYPE_CHECKING:
    import torch

    from dialint.detector.engines.scan_model import ScanModel


def scan_loss(
    model: ScanModel,
    row: Sequence[Target],
    span_weight: float,
    counts: tuple[int, int] | None = None,
    bf16: bool = False,
) -> torch.Tensor:
    """The mean cross-entropy of a slot, summed over codes, plus the weighted mean of an evidence token. Where
    a step has several rows, `counts` are the step's slots and tokens, and this is the row's part. `bf16`: the
    backbone computes in bf16."""
    turns, tokens = compute_logits(model, row, bf16)
    n_turns, n_tokens = counts or (None, None)
    spans = cross_entropy(tokens, [target.spans for target in row], n_tokens)
    return cross_entropy(turns, [target.turns for target in row], n_turns) + span_weight * spans


def compute_logits(model: ScanModel, row: Sequence[Target], bf16: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Run the model on the windows of `row` in one packed forward pass; the heads compute in fp32. Logits of
    the slots of turns, shape (slots, codes), and of evidence tokens, shape (tokens, codes)."""
    import torch

    from dialint.detector.engines.local import head_positions, pack_windows

    windows = [target.window for target in row]
    device = model.slot_head.weight.device
    packed = pack_windows(windows).to(device)
    positions = head_positions(windows, packed)
    with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
        states = model.hidden_states(packed)
    states = states.float()
    return model.scores(states[positions.slots], states[positions.tokens], positions.lengths)


def cross_entropy(logits: torch.Tensor, targets: Sequence[Array], count: int | None = None) -> torch.Tensor:
    """Binary cross-entropy of shape (positions, codes) with soft targets, summed over codes, divided by
    `count`, by default the number of positions that have any target. A target of NaN is unknown and adds
    nothing."""
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits

    if not len(logits):
        return logits.new_zeros(())
    wanted = torch.from_numpy(np.concatenate(targets)).to(logits.device)
    is_known = ~wanted.isnan()
    divisor = is_known.any(dim=1).sum().clamp_min(1) if count is None else count
    logits, wanted = logits[is_known], wanted[is_known]
    return binary_cross_entropy_with_logits(logits, wanted, reduction="sum") / divisor


def soft_targets(windows: Sequence[Rendered], scores: Sequence[TurnScores], n_codes: int) -> list[Target]:
    """The windows of one dialogue with the teacher's probabilities. A turn that the student reads in several
    pieces has targets for its evidence only: the teacher's score of the turn belongs to no piece in
    particular."""
    by_turn = {turn.turn: turn for turn in scores}
    n_pieces = Counter(slot.turn for window in windows for slot in window.slots)
    no_scores = np.full((1, n_codes), -np.inf, np.float32)
    targets = []
    for window in windows:
        turns, spans = [no_scores[:0]], [no_scores[:0]]
        for slot in window.slots:
            turn = by_turn.get(slot.turn)
            is_whole = turn is not None and n_pieces[slot.turn] == 1
            turns.append(turn.scores[None] if turn is not None and is_whole else no_scores)
            spans.append(_align_evidence(slot, turn, n_codes))
        targets.append(Target(window, *(_probabilities(np.vstack(rows)) for rows in (turns, spans))))
    return targets


def _probabilities(logits: Array) -> Array:
    """NaN, unknown, where the teacher has no score."""
    soft = 1.0 / (1.0 + np.exp(-np.clip(logits, -60, 60)))
    return np.where(np.isneginf(logits), np.nan, soft).astype(np.float32)


def _align_evidence(slot: Slot, turn: TurnScores | None, n_codes: int) -> Array:
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


def mean_loss(
    model: ScanModel, targets: Sequence[Target], row_tokens: int, span_weight: float, bf16: bool
) -> float:
    """The loss on `targets` without training: the mean over rows of about `row_tokens`, weighted by their
    number of windows."""
    import torch

    model.eval()
    total = 0.0
    with torch.inference_mode():
        for indices in pack_rows(range(len(targets)), [len(target.window) for target in targets], row_tokens):
            row = [targets[index] for index in indices]
            total += len(row) * float(scan_loss(model, row, span_weight, bf16=bf16))
    return total / max(1, len(targets))
