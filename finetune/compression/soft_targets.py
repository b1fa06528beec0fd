"""Soft targets of distillation and their loss.

Aligns a teacher's scores with a student of other tokens and windows, turn by turn and character by character:
both read the same masked text, so turns have the same index and characters the same offset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dialint.detector.render import Rendered, Slot
from dialint.detector.scanner import Array, TurnScores
from dialint.finetune.scanner.data import Target

if TYPE_CHECKING:
    import torch

    from dialint.detector.engines.scan_model import ScanModel


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


def soft_loss(
    model: ScanModel, batch: Sequence[Target], precision: str, temperature: float, span_weight: float
) -> torch.Tensor:
    """Mean cross-entropy of a slot, summed over codes, and of a dialogue's end, plus the weighted mean of an
    evidence token. Targets are probabilities at `temperature`, NaN where nothing was said.

    Source: Hinton, Vinyals and Dean 2015, section 2: logits are divided by the temperature and the loss is
    multiplied by its square, so that gradients keep their size. There it is a softmax over classes, here a
    sigmoid for each code.
    """
    import torch

    from dialint.detector.engines.local import head_positions, pack_windows

    device = next(model.parameters()).device
    windows = [target.window for target in batch]
    row = pack_windows(windows)
    places = head_positions(windows, row)
    with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
        states = model.hidden(row.to(device))
    states = states.float()
    evidence = model.span_head(states[places.tokens])
    turns = model.turn_scores(states[places.slots], evidence, places.lengths)
    ends = model.dialogue_head(states[places.ends])
    judged = [place for place, target in enumerate(_ended_windows(batch)) if target.dialogue is not None]
    wanted = [target.dialogue[None] for target in _ended_windows(batch) if target.dialogue is not None]
    return temperature**2 * (
        _entropy(turns, [target.turns for target in batch], temperature)
        + _entropy(ends[judged], wanted, temperature)
        + span_weight * _entropy(evidence, [target.spans for target in batch], temperature)
    )


def _ended_windows(batch: Sequence[Target]) -> Iterator[Target]:
    return (target for target in batch if target.window.dialogue_slot is not None)


def _entropy(logits: torch.Tensor, wanted: list[Any], temperature: float) -> torch.Tensor:
    """Cross-entropy of shape (places, codes), summed over codes, mean over places with anything said."""
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits

    if not len(logits):
        return logits.new_zeros(())
    truth = torch.from_numpy(np.concatenate(wanted)).to(logits.device)
    said = ~truth.isnan()
    n_places = said.any(dim=1).sum().clamp_min(1)
    total = binary_cross_entropy_with_logits(logits[said] / temperature, truth[said], reduction="sum")
    return total / n_places


def mean_loss(
    model: ScanModel, targets: Sequence[Target], precision: str, row_tokens: int, temperature: float = 1.0,
    span_weight: float = 0.5,
) -> float:  # fmt: skip
    """The loss on `targets` without learning: the mean over rows of about `row_tokens`, by their windows."""
    import torch

    model.eval()
    total = 0.0
    with torch.inference_mode():
        for row in rows(targets, row_tokens):
            total += len(row) * float(soft_loss(model, row, precision, temperature, span_weight))
    return total / max(1, len(targets))


def rows(targets: Sequence[Target], row_tokens: int) -> Iterator[list[Target]]:
    """The targets in order, as many together as fit into `row_tokens`; one at least."""
    row: list[Target] = []
    room = row_tokens
    for target in targets:
        if row and len(target.window) > room:
            yield row
            row, room = [], row_tokens
        row.append(target)
        room -= len(target.window)
    if row:
        yield row
