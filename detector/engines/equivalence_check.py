"""Checks that packed attention computes the same as a backbone's own attention; a model that differs is
refused.

Backbones implement attention differently: with a sliding window, a soft cap, an offset of positions, or
without transformers' interface. At load, a few tiny windows of random tokens are run packed and one by one
with the model's own attention, and compared. The quality of the model is not checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import PreTrainedModel

from dialint.detector.engines import packed
from dialint.detector.engines.scan_model import ScanModel
from dialint.detector.errors import ReleaseRefused

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
"""What transformers and torch raise for a configuration that makes no sense."""


def check_equivalence(model: ScanModel, context_tokens: int) -> None:
    """Run a few tiny windows packed and one by one, on the model's own device, and compare.

    `context_tokens` is the longest window it will ever see. The model comes back as it was.

    Raises:
        ReleaseRefused: the hidden states differ, or the model cannot run packed or that far.
    """
    kind = model.backbone.config.model_type
    limit = getattr(model.backbone.config, "max_position_embeddings", None)
    if isinstance(limit, int) and 0 < limit < context_tokens + model.first_position:
        table = limit - model.first_position
        raise ReleaseRefused(
            "E_RELEASE", f"windows of {context_tokens} tokens, but {kind} has positions for {table}"
        )
    why = equivalence_error(model.backbone, context_tokens, 0, model.first_position)
    if why is not None:
        raise ReleaseRefused("E_RELEASE", why)


def equivalence_error(
    backbone: PreTrainedModel, longest: int, shared: int = SHARED, first_position: int = 0
) -> str | None:
    """Why packed attention does not compute what `backbone` computes by itself, in windows of up to `longest`
    tokens of which the first `shared` stand once; None where it does. The backbone comes back as it was."""
    kind = backbone.config.model_type
    try:
        difference = _difference(backbone, longest, shared, first_position)
    except packed.PackingUnsupported as error:
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
    row = packed.pack(windows, shared).to(device)
    with _attending(backbone, packed.NAME):
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
    """In evaluation mode with another attention; the backbone comes back as it was."""
    training, before = backbone.training, backbone.config._attn_implementation
    backbone.eval()  # type: ignore[no-untyped-call]
    backbone.set_attn_implementation(attention)
    try:
        yield
    finally:
        backbone.set_attn_implementation(before)
        backbone.train(training)
