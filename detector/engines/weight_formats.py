"""How a release stores its weights, and how they come back in fp32: bf16, int8 rows or NF4 blocks.

Both directions stand here, so that packing and serving cannot disagree. Everything is plain safetensors;
4-bit weights need no library to be served. Heads, and whatever is no part of the backbone, stay fp32.
"""

from __future__ import annotations

from typing import Literal

import torch

from dialint.detector.errors import ReleaseRefused
from dialint.detector.release import SCALE, Release

WeightFormat = Literal["bf16", "int8", "nf4"]
BLOCK = 64
"""Weights that share a scale in NF4."""
GROUP = 256
"""Scales of NF4 that are themselves stored as bytes on one line from least to greatest."""
LEVELS = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
    -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
    0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
)  # fmt: skip
"""4-bit normal floats: quantiles of a normal distribution, scaled to [-1, 1], with an exact zero.
Source: Dettmers et al. 2023, QLoRA, appendix E."""

_TYPES = {
    "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I8": torch.int8, "U8": torch.uint8,
}  # fmt: skip


def encode_weight(name: str, weight: torch.Tensor, form: WeightFormat) -> dict[str, torch.Tensor]:
    """The tensors that stand for `weight` in a release.

    Token embeddings are int8 in every form, other embeddings where matrices are less than 16 bits. Vectors
    (norms, biases), and matrices of odd width in NF4, are bf16.
    """
    if "word_embeddings" in name or "embed_tokens" in name:
        return _int8(name, weight)
    if not name.startswith("backbone."):
        return {name: weight}
    if weight.dim() == 2 and (form == "int8" or (form == "nf4" and "embed" in name)):
        return _int8(name, weight)
    if weight.dim() == 2 and form == "nf4" and weight.shape[1] % 2 == 0:
        return _nf4(name, weight)
    return {name: weight.to(torch.bfloat16)}


def _int8(name: str, weight: torch.Tensor) -> dict[str, torch.Tensor]:
    """Whole numbers from -127 to 127, and a scale for each row."""
    scale = weight.abs().amax(dim=1).clamp_min(1e-8) / 127
    return {name: (weight / scale[:, None]).round().to(torch.int8), name + SCALE: scale}


def _nf4(name: str, weight: torch.Tensor) -> dict[str, torch.Tensor]:
    """Two levels a byte, shape (rows, columns / 2), the first in the upper half; a byte for each block's
    scale; and for each group of scales its least and its step, fp32 of shape (groups, 2).

    Source: Dettmers et al. 2023, QLoRA, section 3. There scales are 8-bit floats around their mean; here
    they are 8-bit integers between a group's least and greatest, which needs no second table.
    """
    blocks = _split_blocks(weight.flatten(), BLOCK)
    peaks = blocks.abs().amax(dim=1)
    groups = _split_blocks(peaks, GROUP, fill=float(peaks[-1]))
    least = groups.amin(dim=1)
    step = (groups.amax(dim=1) - least) / 255
    bytes_ = ((groups - least[:, None]) / step.clamp_min(1e-30)[:, None]).round().clamp(0, 255)
    table = torch.tensor(LEVELS)
    relative = blocks / peaks.clamp_min(1e-30)[:, None]
    levels = torch.bucketize(relative, (table[1:] + table[:-1]) / 2).flatten()[: weight.numel()]
    pairs = levels.to(torch.uint8).reshape(weight.shape[0], -1, 2)
    return {
        name: pairs[..., 0] << 4 | pairs[..., 1],
        name + SCALE: bytes_.flatten()[: len(peaks)].to(torch.uint8),
        name + SCALE + SCALE: torch.stack([least, step], dim=1),
    }


def _split_blocks(values: torch.Tensor, size: int, fill: float = 0.0) -> torch.Tensor:
    """Values of shape (n,) as (pieces, size), the last piece filled up."""
    return torch.nn.functional.pad(values, (0, -len(values) % size), value=fill).reshape(-1, size)


def decode_weight(release: Release, name: str) -> torch.Tensor:
    """One weight in fp32.

    Raises:
        ReleaseRefused: an unknown type, or scales that are missing or do not fit.
    """
    weight = _read_tensor(release, name)
    if weight.dtype == torch.int8:
        return _from_int8(release, name, weight.float())
    if weight.dtype == torch.uint8:
        return _from_nf4(release, name, weight)
    return weight.float()


def _from_int8(release: Release, name: str, weight: torch.Tensor) -> torch.Tensor:
    scale = _read_tensor(release, name + SCALE).float()
    if weight.dim() != 2 or scale.shape != weight.shape[:1]:
        raise ReleaseRefused("E_RELEASE", f"{release.folder}: {name} has not one scale a row")
    return weight.mul_(scale[:, None])


def _from_nf4(release: Release, name: str, weight: torch.Tensor) -> torch.Tensor:
    scales, lines = _read_tensor(release, name + SCALE), _read_tensor(release, name + SCALE + SCALE)
    n_blocks = -(-2 * weight.numel() // BLOCK)
    shapes = [(n_blocks,), (-(-n_blocks // GROUP), 2)]
    if weight.dim() != 2 or [tuple(scales.shape), tuple(lines.shape)] != shapes:
        raise ReleaseRefused("E_RELEASE", f"{release.folder}: {name} has not one scale a block of {BLOCK}")
    of_block = torch.arange(n_blocks) // GROUP
    peaks = lines[of_block, 0].float() + lines[of_block, 1].float() * scales.float()
    levels = torch.stack([weight >> 4, weight & 15], dim=2).flatten().long()
    values = torch.tensor(LEVELS)[levels] * peaks.repeat_interleave(BLOCK)[: len(levels)]
    return values.reshape(weight.shape[0], -1)


def _read_tensor(release: Release, name: str) -> torch.Tensor:
    """A stored tensor as it is."""
    if name not in release.tensors:
        raise ReleaseRefused("E_RELEASE", f"{release.folder}: {name.removesuffix(SCALE)} has no scale")
    kind, shape, data = release.tensors[name]
    if kind not in _TYPES:
        raise ReleaseRefused("E_RELEASE", f"{release.folder}: {name} has the type {kind}")
    return torch.frombuffer(bytearray(data), dtype=_TYPES[kind]).reshape(shape)
