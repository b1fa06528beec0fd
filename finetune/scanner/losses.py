"""The losses of a scanner: turns, dialogue ends, evidence, and pairs of an error and its twin.

Every part is a mean over all of its kind in a step, however many rows the step's windows come in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dialint.detector.scanner import Array
from dialint.finetune.scanner.data import Target

if TYPE_CHECKING:
    import torch

    from dialint.detector.engines.scan_model import ScanModel
    from dialint.finetune.scanner.options import ScanConfig


@dataclass(frozen=True)
class TargetCounts:
    """What the means of a step are taken over."""

    turns: int
    ends: int
    tokens: int
    pairs: int


def count_targets(step: Sequence[Target]) -> TargetCounts:
    """Count the targets in all windows of a step."""
    sides = {(target.pair, target.error) for target in step if target.rival is not None}
    return TargetCounts(
        turns=sum(len(target.turns) for target in step),
        ends=sum(target.dialogue is not None for target in step),
        tokens=sum(len(target.spans) for target in step),
        pairs=sum(error and (pair, False) in sides for pair, error in sides),
    )


def scan_loss(
    config: ScanConfig,
    model: ScanModel,
    row: Sequence[Target],
    counts: TargetCounts | None = None,
    bf16: bool = False,
) -> torch.Tensor:
    """The mean cross-entropy of a slot, summed over codes, plus the weighted mean of an evidence token, plus
    the weighted mean ranking loss of a pair: the error above its twin. Where a step has several rows,
    `counts` are those of the step, and this is the row's part. `bf16`: the backbone computes in bf16."""
    import torch
    from torch.nn.functional import softplus

    counts = counts or count_targets(row)
    logits = compute_logits(model, row, bf16)
    indices, ends = end_targets(row)
    loss = (
        cross_entropy(logits.turns, [target.turns for target in row], counts.turns)
        + cross_entropy(logits.ends[indices], ends, counts.ends)
        + config.span_weight * cross_entropy(logits.tokens, [target.spans for target in row], counts.tokens)
    )
    errors, twins = _pair_scores(row, logits)
    if config.pair_weight and errors:
        margins = torch.stack(twins) - torch.stack(errors)
        loss = loss + config.pair_weight * softplus(margins).sum() / counts.pairs
    return loss


@dataclass(frozen=True)
class HeadLogits:
    """Logits of all windows of a row, each of shape (positions, codes): of the slots of turns, of dialogue
    ends, and of evidence tokens."""

    turns: torch.Tensor
    ends: torch.Tensor
    tokens: torch.Tensor


def compute_logits(model: ScanModel, row: Sequence[Target], bf16: bool) -> HeadLogits:
    """Run the model on the windows of `row` in one packed forward pass; the heads compute in fp32."""
    import torch

    from dialint.detector.engines.local import head_positions, pack_windows

    windows = [target.window for target in row]
    device = model.turn_head.weight.device
    packed = pack_windows(windows).to(device)
    positions = head_positions(windows, packed)
    with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
        states = model.hidden_states(packed)
    states = states.float()
    tokens = model.span_head(states[positions.tokens])
    turns = model.turn_scores(states[positions.slots], tokens, positions.lengths)
    return HeadLogits(turns, model.dialogue_head(states[positions.ends]), tokens)


def end_targets(row: Sequence[Target]) -> tuple[list[int], list[Array]]:
    """The dialogue ends of a row that have a target: their indices among all ends, and the targets, each of
    shape (1, codes)."""
    ended = [target for target in row if target.window.dialogue_slot is not None]
    labelled = [
        (index, target.dialogue[None]) for index, target in enumerate(ended) if target.dialogue is not None
    ]
    return [index for index, _ in labelled], [target for _, target in labelled]


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


def _pair_scores(row: Sequence[Target], logits: HeadLogits) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The scores of errors and of their twins, pair by pair, where both are in this row."""
    sides: dict[str, dict[bool, torch.Tensor]] = {}
    slot = end = 0
    for target in row:
        if target.rival is not None:
            index, code = target.rival
            score = logits.ends[end, code] if index < 0 else logits.turns[slot + index, code]
            sides.setdefault(target.pair, {})[target.error] = score
        slot += len(target.window.slots)
        end += target.window.dialogue_slot is not None
    both = [side for side in sides.values() if len(side) == 2]
    return [side[True] for side in both], [side[False] for side in both]
