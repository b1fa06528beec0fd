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


class PackingUnsupported(ValueError):
    """The model asks for an attention that is not computed here."""


@dataclass(frozen=True)
class PackedRow:
    """A row of tokens: ids and positions of shape (1, tokens), `bounds` of the windows in it, the length
    of the shared prefix at its start (0: none is shared), and, if the model is told, each token's history,
    shape (1, tokens)."""

    ids: torch.Tensor
    positions: torch.Tensor
    bounds: torch.Tensor
    prefix: int
    word_kinds: torch.Tensor | None = None

    def to(self, device: torch.device) -> PackedRow:
        """The same row on another device; bounds stay where they are read."""
        word_kinds = None if self.word_kinds is None else self.word_kinds.to(device)
        return PackedRow(self.ids.to(device), self.positions.to(device), self.bounds, self.prefix, word_kinds)


def pack(
    windows: Sequence[Sequence[int]], prefix: int, word_kinds: Sequence[Sequence[int]] = ()
) -> PackedRow:
    """Lay `windows` end to end; their first `prefix` tokens, the same in all, are kept once.

    `word_kinds` holds the tokens' history, window by window, or nothing where the model is not told.
    """
    ids: list[int] = list(windows[0][:prefix])
    positions = list(range(prefix))
    bounds = [prefix]
    for window in windows:
        ids.extend(window[prefix:])
        positions.extend(range(prefix, len(window)))
        bounds.append(len(ids))
    kinds_row = None
    if any(word_kinds):
        kinds_row = torch.tensor(
            [[*word_kinds[0][:prefix], *(kind for kinds in word_kinds for kind in kinds[prefix:])]]
        )
    return PackedRow(torch.tensor([ids]), torch.tensor([positions]), torch.tensor(bounds), prefix, kinds_row)


@dataclass(frozen=True)
class _AttentionOptions:
    """How a layer attends: `sees` the last so many tokens, None all; `cap` bounds scores; `fused` in one
    kernel, which knows neither."""

    causal: bool
    scaling: float | None
    cap: float | None
    sees: int | None
    fused: bool


def attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    scaling: float | None = None,
    softcap: float | None = None,
    sliding_window: int | None = None,
    cu_seq_lens_q: torch.Tensor,
    max_length_q: int = 0,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """Attention for transformers' interface; tensors of shape (1, heads, tokens, dim).

    `max_length_q` is the longest window that may come, if that is not in this row. Dropout on
    attention weights is not applied, in training neither.

    Raises:
        PackingUnsupported: the model has a bias or a sink, or is an encoder that attends less far than a
            window is long.
    """
    bounds: list[int] = cu_seq_lens_q.tolist()
    prefix = bounds[0]
    sizes = [prefix, *(end - start for start, end in pairwise(bounds))]
    causal = bool(getattr(module, "is_causal", False))
    longest = max(max_length_q, prefix + max(sizes[1:]))
    sees = None if sliding_window is None or sliding_window >= longest else sliding_window
    _validate_options(causal, sees, longest, options)
    if not prefix and softcap is None and _has_varlen(query):
        return _varlen(query, key, value, cu_seq_lens_q, max(sizes), scaling, causal, sees), None
    multiplied = _learns_in_16_bits(query) and not prefix
    options_ = _AttentionOptions(
        causal, scaling, softcap, sees, fused=not multiplied and softcap is None and sees is None
    )
    # split, not slices: a slice's gradient is a row of zeros as long as all windows together
    cut = zip(*(torch.split(tensor, sizes, dim=2) for tensor in (query, key, value)), strict=True)
    first_q, first_k, first_v = next(cut)
    parts = [_window(first_q, first_k, first_v, options_)] if prefix else []
    for q, k, v in cut:
        if prefix:
            k, v = torch.cat((first_k, k), dim=2), torch.cat((first_v, v), dim=2)
        parts.append(_window(q, k, v, options_))
    return torch.cat(parts, dim=2).transpose(1, 2).contiguous(), None


def _has_varlen(query: torch.Tensor) -> bool:
    """Whether one kernel computes all windows: FlashAttention, on CUDA in 16 bits, heads of up to 256."""
    return query.is_cuda and query.dtype in (torch.bfloat16, torch.float16) and query.shape[-1] <= 256


def _varlen(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    bounds: torch.Tensor,
    longest: int,
    scaling: float | None,
    causal: bool,
    sees: int | None,
) -> torch.Tensor:
    """All windows in one call, with its gradient; shape (1, tokens, heads, dim). torch counts a window of
    attention without the token itself."""
    from torch.nn.attention.varlen import varlen_attn

    q, k, v = (part[0].transpose(0, 1) for part in (query, key, value))
    starts = bounds.to(query.device, torch.int32)
    behind = -1 if sees is None else sees - 1
    attended: torch.Tensor = varlen_attn(
        q, k, v, starts, starts, longest, longest,
        scale=scaling, window_size=(behind, 0) if causal else (-1, -1), enable_gqa=q.shape[1] != k.shape[1],
    )  # type: ignore[assignment]  # fmt: skip
    return attended[None]


def _window(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, options_: _AttentionOptions
) -> torch.Tensor:
    """One window's attention; the queries are the last tokens of the keys."""
    if not options_.fused:
        return _multiply(query, key, value, options_)
    size, keys = query.shape[2], key.shape[2]
    mask = None
    if keys > size:
        mask = torch.ones(size, keys, dtype=torch.bool, device=query.device).tril(keys - size)
    return scaled_dot_product_attention(
        query, key, value, mask, is_causal=options_.causal and mask is None, scale=options_.scaling,
        enable_gqa=query.shape[1] != key.shape[1],
    )  # fmt: skip


def _learns_in_16_bits(query: torch.Tensor) -> bool:
    """Where plain matrix products beat the fused kernel: with a gradient, in bf16, on a CPU."""
    low = query.dtype != torch.float32 or torch.is_autocast_enabled("cpu")
    return low and query.requires_grad and query.device.type == "cpu"


def _multiply(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, options_: _AttentionOptions
) -> torch.Tensor:
    """Attention as two plain matrix products. With the gradient, in bf16 on a CPU, the fused kernel takes 1.4
    to 1.6 times as long on windows of 120 and 240 tokens; in fp32 .66 to .77 times, and .30 to .37 on windows
    of 1,024 (2026-11-23, heads of a small encoder and of the small decoder)."""
    size, keys = query.shape[2], key.shape[2]
    share = query.shape[1] // key.shape[1]
    q, k, v = query[0].contiguous(), *(part[0].repeat_interleave(share, 0) for part in (key, value))
    hidden = (
        q.new_full((size, keys), float("-inf")).triu(1 + keys - size) if options_.causal else q.new_zeros(1)
    )
    if options_.sees is not None:
        hidden = hidden + q.new_full((size, keys), float("-inf")).tril(keys - size - options_.sees)
    scale = q.shape[-1] ** -0.5 if options_.scaling is None else options_.scaling
    if options_.cap is None:
        scores = torch.baddbmm(hidden, q, k.transpose(1, 2), beta=float(options_.causal), alpha=scale)
    else:
        scores = hidden + options_.cap * torch.tanh(torch.bmm(q, k.transpose(1, 2)) * (scale / options_.cap))
    return torch.bmm(torch.softmax(scores, -1), v)[None]


def _validate_options(causal: bool, sees: int | None, longest: int, options: dict[str, Any]) -> None:
    """Of what models ask for, only `dropout` and bookkeeping may be left undone."""
    for name in ("s_aux", "position_bias"):
        if options.get(name) is not None:
            raise PackingUnsupported(f"packed attention has no {name}")
    if sees is not None and not causal:  # encoders count it in ways of their own
        raise PackingUnsupported(f"its sliding window of {sees} tokens is shorter than windows of {longest}")


def no_mask(*_: Any, **__: Any) -> None:
    """The bounds say who sees whom; transformers need not build a mask."""


AttentionInterface.register(NAME, attention)
AttentionMaskInterface.register(NAME, no_mask)
