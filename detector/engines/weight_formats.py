"""How a release stores its weights, and how they come back in fp32: bf16 or int8 rows, as plain safetensors.

Both directions stand here, so that packing and serving cannot disagree. Heads, and whatever is no part of the
backbone, stay fp32.
"""

from __future__ import annotations

from typing import Literal

import torch

from dialint.detector.errors import ReleaseRefused
from dialint.detector.release import SCALE, Release

WeightFormat = Literal["bf16", "int8"]
_TYPES = {
    "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I8": torch.int8,
}  # fmt: skip


def encode_weight(name: str, weight: torch.Tensor, form: WeightFormat) -> dict[str, torch.Tensor]:
    """The tensors that stand for `weight` in a release.

    Token embeddings are int8 rows in either form; vectors (norms, biases) are bf16.
    """
    is_matrix = weight.dim() == 2 and name.startswith("backbone.")
    if "word_embeddings" in name or "embed_tokens" in name or (is_matrix and form == "int8"):
        scale = weight.abs().amax(dim=1).clamp_min(1e-8) / 127
        return {name: (weight / scale[:, None]).round().to(torch.int8), name + SCALE: scale}
    return {name: weight.to(torch.bfloat16) if name.startswith("backbone.") else weight}


def decode_weight(release: Release, name: str) -> torch.Tensor:
    """One weight in fp32.

    Raises:
        ReleaseRefused: an unknown type, or scales that are missing or do not fit.
    """
    weight = _read_tensor(release, name)
    if weight.dtype != torch.int8:
        return weight.float()
    scale = _read_tensor(release, name + SCALE).float()
    if weight.dim() != 2 or scale.shape != weight.shape[:1]:
        raise ReleaseRefused("E_RELEASE", f"{release.folder}: {name} has not one scale a row")
    return weight.float().mul_(scale[:, None])


def _read_tensor(release: Release, name: str) -> torch.Tensor:
    """A stored tensor as it is."""
    if name not in release.tensors:
        raise ReleaseRefused("E_RELEASE", f"{release.folder}: {name.removesuffix(SCALE)} has no scale")
    kind, shape, data = release.tensors[name]
    if kind not in _TYPES:
        raise ReleaseRefused("E_RELEASE", f"{release.folder}: {name} has the type {kind}")
    return torch.frombuffer(bytearray(data), dtype=_TYPES[kind]).reshape(shape)
