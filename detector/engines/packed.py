"""Attention over many windows laid end to end in one row, each seeing itself alone.

No padding token is ever computed, and a window's numbers do not depend on its neighbours: each
window's attention is a call of its own, and everything else in a transformer works token by token.
If all windows begin with the same `prefix`, it stands once at the start of the row and decoders let
every window look back at it. Registers itself with transformers as attention ``packed``.

Backbones implement attention differently: with a sliding window, a soft cap, an offset of positions, or
without transformers' interface. `equivalence_error` runs a few tiny windows of random tokens packed and one
by one with the model's own attention, and compares; a model that differs is not used so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from huggingface_hub.errors import StrictDataclassError
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel

NAME = "packed"


class PackingUnsupported(ValueError):
    """The model needs an attention that is not supported here."""


@dataclass(frozen=True)
class PackedRow:
    """A row of tokens: ids and positions of shape (1, tokens), `bounds` of the windows in it, the length of
    the shared prefix at its start (0: none is shared), and, if the model uses it, each token's history, shape
    (1, tokens)."""

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
    """Lays `windows` end to end; their first `prefix` tokens, the same in all, are stored once.

    `word_kinds` is the tokens' history, window by window, or empty if the model does not use it.
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
    """Attention of a layer: `sees` the last so many tokens, None all; `cap` bounds scores; `fused` in one
    kernel, which supports neither."""

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
    """Returns whether FlashAttention computes all windows: on CUDA, in 16 bits, heads of up to 256."""
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
    """Returns whether plain matrix products beat the fused kernel: with a gradient, in bf16, on a CPU."""
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
    """Refuses options other than `dropout` and bookkeeping, which may be ignored."""
    for name in ("s_aux", "position_bias"):
        if options.get(name) is not None:
            raise PackingUnsupported(f"packed attention has no {name}")
    if sees is not None and not causal:  # encoders count it in ways of their own
        raise PackingUnsupported(f"its sliding window of {sees} tokens is shorter than windows of {longest}")


def no_mask(*_: Any, **__: Any) -> None:
    """Builds no mask: the bounds of windows replace it."""


AttentionInterface.register(NAME, attention)
AttentionMaskInterface.register(NAME, no_mask)


TOLERANCE = 2e-4
"""Largest difference of a hidden state, as a share of the largest state. Sound models stay under 1e-5,
others were seen at 0.01 and more (2026-11-20)."""
ROUGH_TOLERANCE = 0.1
"""The same for weights in bf16, int8 or NF4, which round: sound ones were seen at 0.024, windows that see
each other at 0.7 and more (2026-11-22)."""
LENGTHS = (7, 12, 4)
SHARED = 3
CONFIG_ERRORS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, StrictDataclassError,
    TypeError, ValueError,
)  # fmt: skip
"""Exceptions of transformers and torch for an invalid configuration."""


def equivalence_error(
    backbone: PreTrainedModel, longest: int, shared: int = SHARED, first_position: int = 0
) -> str | None:
    """Compares packed attention with the backbone's own, in windows of up to `longest` tokens of which the
    first `shared` stand once. Returns a message if they differ, else None. The backbone comes back as it
    was."""
    kind = backbone.config.model_type
    limit = getattr(backbone.config, "max_position_embeddings", None)
    if isinstance(limit, int) and 0 < limit < longest + first_position:
        return f"rows of {longest} tokens, but {kind} has positions for {limit - first_position}"
    try:
        difference = _difference(backbone, longest, shared, first_position)
    except PackingUnsupported as error:
        return f"{kind}: {error}"
    except CONFIG_ERRORS as error:
        return f"{kind} does not run with packed attention: {type(error).__name__}"
    exact = all(p.dtype == torch.float32 for p in backbone.parameters())
    if not difference <= (TOLERANCE if exact else ROUGH_TOLERANCE):
        return f"{kind} computes other numbers with packed attention (off by {difference:.1e})"
    return None


@torch.no_grad()
def _difference(backbone: PreTrainedModel, longest: int, shared: int, first_position: int) -> float:
    """The largest difference of a hidden state, over the largest state or 1."""
    windows = _windows(backbone)
    device = next(backbone.parameters()).device
    row = pack(windows, shared).to(device)
    with _attending(backbone, NAME):
        together = backbone(
            input_ids=row.ids,
            position_ids=row.positions + first_position,
            cu_seq_lens_q=row.bounds,
            max_length_q=longest,
            use_cache=False,
        ).last_hidden_state[0]
    extra = {"use_cache": False} if hasattr(backbone.config, "use_cache") else {}
    with _attending(backbone, "eager"):
        alone = [
            backbone(input_ids=torch.tensor([ids], device=device), **extra).last_hidden_state[0]
            for ids in windows
        ]
    prefix = alone[0][: row.prefix]
    wanted = torch.cat([prefix, *(states[row.prefix :] for states in alone)])
    scale = max(1.0, float(wanted.abs().max()))
    return float((together - wanted).abs().max()) / scale


def _windows(backbone: PreTrainedModel) -> list[list[int]]:
    """Random tokens, the first few the same in every window; never the one for padding."""
    n_tokens: int = backbone.get_input_embeddings().num_embeddings  # type: ignore[assignment]
    padding = backbone.config.pad_token_id
    usable = [token for token in range(n_tokens) if token != padding]
    rng = np.random.default_rng(0)
    shared = rng.choice(usable, SHARED).tolist()
    return [[*shared, *rng.choice(usable, length).tolist()] for length in LENGTHS]


@contextmanager
def _attending(backbone: PreTrainedModel, attention: str) -> Iterator[None]:
    """Sets evaluation mode and another attention; restores both."""
    training, before = backbone.training, backbone.config._attn_implementation
    backbone.eval()  # type: ignore[no-untyped-call]
    backbone.set_attn_implementation(attention)
    try:
        yield
    finally:
        backbone.set_attn_implementation(before)
        backbone.train(training)
