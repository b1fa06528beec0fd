"""What a scanner is taught by: turns, dialogue ends, evidence, and pairs of an error and its twin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.examples import Target

if TYPE_CHECKING:
    import torch

    from detector.engines.scan_model import ScanModel
    from finetune.scan import ScanConfig


def scan_loss(config: ScanConfig, model: ScanModel, batch: Sequence[Target]) -> torch.Tensor:
    """Mean cross-entropy of a slot, summed over codes, plus the weighted mean of an evidence token, plus
    the weighted mean of what a pair says: the error above its twin."""
    import torch
    from torch.nn.functional import softplus

    from detector.engines.local import head_places, row_of

    windows = [target.window for target in batch]
    row = row_of(windows)
    places = head_places(windows, row)
    with torch.autocast("cpu", torch.bfloat16):
        states = model.hidden(row)
    states = states.float()
    evidence = model.span_head(states[places.tokens])
    turns = model.turn_scores(states[places.slots], evidence, places.lengths)
    ends = model.dialogue_head(states[places.ends])
    ended = [target for target in batch if target.window.dialogue_slot is not None]
    judged = [place for place, target in enumerate(ended) if target.dialogue is not None]
    loss = (
        _entropy(config, turns, [target.turns for target in batch])
        + _entropy(config, ends[judged], [t.dialogue[None] for t in ended if t.dialogue is not None])
        + config.span_weight * _entropy(config, evidence, [target.spans for target in batch])
    )
    errors, twins = _rivals(batch, turns, ends)
    if config.pair_weight and errors:
        loss = loss + config.pair_weight * softplus(torch.stack(twins) - torch.stack(errors)).mean()
    return loss


def _entropy(config: ScanConfig, logits: torch.Tensor, wanted: list[Any]) -> torch.Tensor:
    """Binary cross-entropy of shape (places, codes) with soft labels, summed over codes, mean over places.

    With `focal` above 0 what is judged well already counts less. Source: Lin et al. 2017, equation 4.
    """
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits

    if not len(logits):
        return logits.new_zeros(())
    truth = torch.from_numpy(np.concatenate(wanted))
    weight = 1 + (config.error_weight - 1) * truth
    if config.focal:
        weight = weight * (torch.sigmoid(logits.detach()) - truth).abs() ** config.focal
    return binary_cross_entropy_with_logits(logits, truth, weight, reduction="sum") / len(logits)


def _rivals(
    batch: Sequence[Target], turns: torch.Tensor, ends: torch.Tensor
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The scores of errors and of their twins, pair by pair, where both are in this batch."""
    sides: dict[str, dict[bool, torch.Tensor]] = {}
    slot = end = 0
    for target in batch:
        if target.rival is not None:
            place, code = target.rival
            score = ends[end, code] if place < 0 else turns[slot + place, code]
            sides.setdefault(target.pair, {})[target.error] = score
        slot += len(target.window.slots)
        end += target.window.dialogue_slot is not None
    both = [side for side in sides.values() if len(side) == 2]
    return [side[True] for side in both], [side[False] for side in both]
