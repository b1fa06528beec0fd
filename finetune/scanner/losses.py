"""The losses of a scanner: turns, dialogue ends, evidence, and pairs of an error and its twin.

Every part is a mean over all of its kind in a step, however many rows the step's windows come in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

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
    """The counts of all windows of a step."""
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
    of: TargetCounts | None = None,
    low: bool = False,
) -> torch.Tensor:
    """The mean cross-entropy of a slot, summed over codes, plus the weighted mean of an evidence token, plus
    the weighted mean of what a pair says: the error above its twin. Where a step has several rows, `of` has
    its counts, and this is the row's part. `low`: the backbone computes in bf16."""
    import torch
    from torch.nn.functional import softplus

    from dialint.detector.engines.local import head_positions, pack_windows

    of = of or count_targets(row)
    windows = [target.window for target in row]
    device = model.turn_head.weight.device
    packed = pack_windows(windows).to(device)
    places = head_positions(windows, packed)
    sizes = packed.bounds.diff()
    table, lengths = model.backbone.get_input_embeddings(), sizes.repeat_interleave(sizes)[None]
    with (
        torch.autocast(device.type, torch.bfloat16, enabled=low),
        embedding_noise(config.neftune, table, lengths),
    ):
        states = model.hidden(packed)
    states = states.float()
    evidence = model.span_head(states[places.tokens])
    turns = model.turn_scores(states[places.slots], evidence, places.lengths)
    ends = model.dialogue_head(states[places.ends])
    ended = [target for target in row if target.window.dialogue_slot is not None]
    judged = [place for place, target in enumerate(ended) if target.dialogue is not None]
    loss = (
        _entropy(config, turns, [target.turns for target in row], of.turns)
        + _entropy(config, ends[judged], [t.dialogue[None] for t in ended if t.dialogue is not None], of.ends)
        + config.span_weight * _entropy(config, evidence, [target.spans for target in row], of.tokens)
    )
    errors, twins = _rivals(row, turns, ends)
    if config.pair_weight and errors:
        loss = loss + config.pair_weight * softplus(torch.stack(twins) - torch.stack(errors)).sum() / of.pairs
    return loss


def _entropy(config: ScanConfig, logits: torch.Tensor, wanted: list[Any], count: int) -> torch.Tensor:
    """Binary cross-entropy of shape (places, codes) with soft labels, summed over codes, over `count` places.

    With `focal` above 0 what is judged well already counts less. Source: Lin et al. 2017, equation 4.
    By confidence, a label of probability p weighs |2p - 1|: one that people were torn over teaches nothing.
    """
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits

    if not len(logits):
        return logits.new_zeros(())
    truth = torch.from_numpy(np.concatenate(wanted)).to(logits.device)
    weight = 1 + (config.error_weight - 1) * truth
    if config.focal:
        weight = weight * (torch.sigmoid(logits.detach()) - truth).abs() ** config.focal
    if config.weight_by_confidence:
        weight = weight * (2 * truth - 1).abs()
    return binary_cross_entropy_with_logits(logits, truth, weight, reduction="sum") / count


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


@contextmanager
def embedding_noise(alpha: float, table: torch.nn.Module, lengths: torch.Tensor) -> Iterator[None]:
    """Uniform noise on what the embeddings `table` gives, in each sequence at most alpha over the root of its
    numbers. `lengths`, of the shape of the ids, says how long each token's own sequence is: several may stand
    in one row, or padding beside them.

    Source: Jain et al. 2023, "NEFTune", algorithm 1.
    """
    import torch

    if not alpha:
        yield
        return

    def shaken(_module: Any, _inputs: Any, embedded: torch.Tensor) -> torch.Tensor:
        numbers = lengths.to(embedded.device)[..., None] * embedded.shape[-1]
        return embedded + ((2 * torch.rand_like(embedded) - 1) * alpha / numbers.sqrt()).to(embedded.dtype)

    hook = table.register_forward_hook(shaken)
    try:
        yield
    finally:
        hook.remove()
