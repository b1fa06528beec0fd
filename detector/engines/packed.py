"""Attention over many windows laid end to end in one row, each seeing itself alone.

No padding token is ever computed, and a window's numbers do not depend on its neighbours: each
window's attention is a call of its own, and everything else in a transformer works token by token.
If all windows begin with the same `prefix`, it stands once at the start of the row and decoders let
every window look back at it. Registers itself with transformers as attention ``packed``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface

NAME = "packed"


class NotPacked(ValueError):
    """The model asks for an attention that is not computed here."""


@dataclass(frozen=True)
class Packed:
    """A row of tokens: ids and positions of shape (1, tokens), `bounds` of the windows in it, and the
    length of the shared prefix at its start (0: none is shared)."""

    ids: torch.Tensor
    positions: torch.Tensor
    bounds: torch.Tensor
    prefix: int


def pack(windows: Sequence[Sequence[int]], prefix: int) -> Packed:
    """Lay `windows` end to end; their first `prefix` tokens, the same in all, are kept once."""
    ids: list[int] = list(windows[0][:prefix])
    positions = list(range(prefix))
    bounds = [prefix]
    for window in windows:
        ids.extend(window[prefix:])
        positions.extend(range(prefix, len(window)))
        bounds.append(len(ids))
    return Packed(torch.tensor([ids]), torch.tensor([positions]), torch.tensor(bounds), prefix)


def attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    scaling: float | None = None,
    cu_seq_lens_q: torch.Tensor,
    max_length_q: int = 0,
    **asked: Any,
) -> tuple[torch.Tensor, None]:
    """Attention for transformers' interface; tensors of shape (1, heads, tokens, dim).

    `max_length_q` is the longest window that may come, if that is not in this row. Dropout on
    attention weights is not applied, in training neither.

    Raises:
        NotPacked: the model caps scores, has a bias or a sink, or looks no further than a window is long.
    """
    _refuse_others(cu_seq_lens_q, max_length_q, asked)
    causal = bool(getattr(module, "is_causal", False))
    grouped = query.shape[1] != key.shape[1]
    bounds: list[int] = cu_seq_lens_q.tolist()
    prefix = bounds[0]
    parts = []
    if prefix:
        q, k, v = (tensor[:, :, :prefix] for tensor in (query, key, value))
        parts.append(
            scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scaling, enable_gqa=grouped)
        )
    for start, end in pairwise(bounds):
        q, k, v = (tensor[:, :, start:end] for tensor in (query, key, value))
        mask = None
        if prefix:
            k = torch.cat((key[:, :, :prefix], k), dim=2)
            v = torch.cat((value[:, :, :prefix], v), dim=2)
            mask = torch.ones(end - start, prefix + end - start, dtype=torch.bool, device=q.device).tril(
                prefix
            )
        parts.append(
            scaled_dot_product_attention(
                q, k, v, mask, is_causal=causal and mask is None, scale=scaling, enable_gqa=grouped
            )
        )
    return torch.cat(parts, dim=2).transpose(1, 2).contiguous(), None


def _refuse_others(bounds: torch.Tensor, longest: int, asked: dict[str, Any]) -> None:
    """Of what models ask for, only `dropout` and bookkeeping may be left undone."""
    for name in ("softcap", "s_aux", "position_bias"):
        if asked.get(name) is not None:
            raise NotPacked(f"packed attention has no {name}")
    sees = asked.get("sliding_window")
    if sees is not None:
        longest = max(longest, int(bounds[0] + bounds.diff().max()))
        if sees < longest:
            raise NotPacked(f"its sliding window of {sees} tokens is shorter than windows of {longest}")


def no_mask(*_: Any, **__: Any) -> None:
    """The bounds say who sees whom; transformers need not build a mask."""


AttentionInterface.register(NAME, attention)
AttentionMaskInterface.register(NAME, no_mask)
