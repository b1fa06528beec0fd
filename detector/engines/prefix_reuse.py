"""One forward pass for each of many prompts, in which the tokens that a prompt shares with the one before it
are not computed again: their keys and values stay in transformers' cache, the rest is cropped.

Prompts go in the order of their tokens, so that each one's longest common beginning with any earlier one is
that with its neighbour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer


def can_crop(model: Any) -> bool:
    """Whether all layers of a causal language model keep the keys and values of every token: no sliding
    windows, no recurrent states."""
    layers = DynamicCache(config=model.config).layers
    return all(type(layer) is DynamicLayer for layer in layers)


def last_logits(
    model: Any, rows: Sequence[Sequence[int]], device: torch.device
) -> tuple[list[torch.Tensor], list[int]]:
    """Logits behind the last token of each row, each of shape (tokens of the vocabulary), and how many tokens
    of each row were computed. Needs `can_crop`; the caller chooses evaluation and gradients."""
    cache = DynamicCache(config=model.config)
    logits: dict[int, torch.Tensor] = {}
    computed = [0] * len(rows)
    before: Sequence[int] = ()
    for index in sorted(range(len(rows)), key=lambda index: list(rows[index])):
        row = rows[index]
        most = min(len(before), len(row) - 1)  # the last token is always computed, for its logits
        shared = next((n for n in range(most) if before[n] != row[n]), most)
        if len(before) > shared:
            cache.crop(shared - len(before))
        output = model(
            input_ids=torch.tensor([list(row[shared:])], device=device),
            position_ids=torch.arange(shared, len(row), device=device)[None],
            past_key_values=cache,
            logits_to_keep=1,
            use_cache=True,
        )
        logits[index] = output.logits[0, -1].float()
        computed[index] = len(row) - shared
        before = row
    return [logits[index] for index in range(len(rows))], computed
