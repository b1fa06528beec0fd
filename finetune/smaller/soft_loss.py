"""How far a scanner is from what it should say: cross-entropy with probabilities, where any are given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dialint.finetune.examples import Target

if TYPE_CHECKING:
    import torch

    from dialint.detector.engines.scan_model import ScanModel


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

    from dialint.detector.engines.local import head_places, row_of

    device = next(model.parameters()).device
    windows = [target.window for target in batch]
    row = row_of(windows)
    places = head_places(windows, row)
    with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
        states = model.hidden(row.to(device))
    states = states.float()
    evidence = model.span_head(states[places.tokens])
    turns = model.turn_scores(states[places.slots], evidence, places.lengths)
    ends = model.dialogue_head(states[places.ends])
    judged = [place for place, target in enumerate(_ended(batch)) if target.dialogue is not None]
    wanted = [target.dialogue[None] for target in _ended(batch) if target.dialogue is not None]
    return temperature**2 * (
        _entropy(turns, [target.turns for target in batch], temperature)
        + _entropy(ends[judged], wanted, temperature)
        + span_weight * _entropy(evidence, [target.spans for target in batch], temperature)
    )


def _ended(batch: Sequence[Target]) -> Iterator[Target]:
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
