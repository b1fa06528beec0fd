"""Whether packed attention computes what a backbone computes by itself; a model that differs is refused.

Backbones take attention in their own ways: a sliding window, a soft cap, positions that start late,
or not through transformers' interface at all. A few tiny windows of random tokens, packed against one
by one with the model's own attention, show it at load. Says nothing of how good the model is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import PreTrainedModel

from detector.engines import packed
from detector.engines.scan_model import ScanModel
from detector.errors import ReleaseRefused

TOLERANCE = 2e-4
"""Largest difference of a hidden state, as a share of the largest state. Sound models stay under 1e-5,
others were seen at 0.01 and more (2026-11-20)."""
LENGTHS = (7, 12, 4)
SHARED = 3
BROKEN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    StrictDataclassError,
    TypeError,
    ValueError,
)
"""What transformers and torch raise for a configuration that makes no sense."""


def refuse_unfaithful(model: ScanModel, context_tokens: int) -> None:
    """Run a few tiny windows packed and one by one, on the model's own device, and compare.

    `context_tokens` is the longest window it will ever see. The model comes back as it was.

    Raises:
        ReleaseRefused: the hidden states differ, or the model cannot run packed or that far.
    """
    kind = model.backbone.config.model_type
    table = _position_table(model)
    if table is not None and context_tokens > table:
        raise ReleaseRefused(
            "E_RELEASE", f"windows of {context_tokens} tokens, but {kind} has positions for {table}"
        )
    try:
        difference = _difference(model, context_tokens)
    except packed.NotPacked as error:
        raise ReleaseRefused("E_RELEASE", f"{kind}: {error}") from None
    except BROKEN as error:
        raise ReleaseRefused(
            "E_RELEASE", f"{kind} does not run with packed attention: {type(error).__name__}"
        ) from error
    if not difference <= TOLERANCE:
        raise ReleaseRefused(
            "E_RELEASE", f"{kind} computes other numbers with packed attention (off by {difference:.1e})"
        )


def _position_table(model: ScanModel) -> int | None:
    """Tokens that the backbone has positions for, or was made for; None where it names no number."""
    limit = getattr(model.backbone.config, "max_position_embeddings", None)
    return limit - model.first_position if isinstance(limit, int) and limit > 0 else None


@torch.no_grad()
def _difference(model: ScanModel, context_tokens: int) -> float:
    """The largest difference of a hidden state, over the largest state or 1."""
    windows = _windows(model.backbone)
    device = next(model.backbone.parameters()).device
    with _evaluating(model):
        row = packed.pack(windows, SHARED if model.causal else 0)
        row = dataclasses.replace(row, ids=row.ids.to(device), positions=row.positions.to(device))
        together = model.hidden(row, longest=context_tokens)
        with _own_attention(model.backbone):
            alone = [_alone(model.backbone, torch.tensor([ids], device=device)) for ids in windows]
    prefix = alone[0][: row.prefix]
    wanted = torch.cat([prefix, *(states[row.prefix :] for states in alone)])
    scale = max(1.0, float(wanted.abs().max()))
    return float((together - wanted).abs().max()) / scale


def _alone(backbone: PreTrainedModel, ids: torch.Tensor) -> torch.Tensor:
    extra = {"use_cache": False} if hasattr(backbone.config, "use_cache") else {}
    states: torch.Tensor = backbone(input_ids=ids, **extra).last_hidden_state[0]
    return states


def _windows(backbone: PreTrainedModel) -> list[list[int]]:
    """Random tokens, the first few the same in every window; never the one for padding."""
    n_tokens: int = backbone.get_input_embeddings().num_embeddings  # type: ignore[assignment]
    padding = backbone.config.pad_token_id
    usable = [token for token in range(n_tokens) if token != padding]
    chance = np.random.default_rng(0)
    shared = chance.choice(usable, SHARED).tolist()
    return [[*shared, *chance.choice(usable, length).tolist()] for length in LENGTHS]


@contextmanager
def _evaluating(model: ScanModel) -> Iterator[None]:
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


@contextmanager
def _own_attention(backbone: PreTrainedModel) -> Iterator[None]:
    backbone.set_attn_implementation("eager")
    try:
        yield
    finally:
        backbone.set_attn_implementation(packed.NAME)
