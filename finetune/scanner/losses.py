"""The losses of a scanner: of turns and of evidence.

Each is a mean over all of its kind in a step, however many rows the step's windows come in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dialint.detector.scanner import Array
from dialint.finetune.scanner.data import Target

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
