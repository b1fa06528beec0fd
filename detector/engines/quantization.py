"""Quantized weights: detects them in bases, quantizes by bitsandbytes for training and serving, and encodes a
release's weights: bf16 or int8 rows, as plain safetensors; heads, and whatever is no part of the backbone, in
fp32.

Training copies weights by name, which needs a base in 16 bits or more, or a release. A base that is stored in
fewer can be served, and with bitsandbytes' 4 bits be trained by an adapter; all else is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dialint.detector.artifacts import read_object
from dialint.detector.environment import require_library
from dialint.detector.errors import ConfigError, ReleaseRefused, native_errors
from dialint.detector.release import SCALE, Release

if TYPE_CHECKING:
    import torch

FEW_BITS = frozenset(("F8_E4M3", "F8_E5M2", "I8", "U8"))


def quantization_method(folder: Path) -> Literal["bitsandbytes", "fp8"] | None:
    """The method by which a base's weights are stored in fewer than 16 bits, None if they are not.

    Raises:
        ConfigError: E_BASE, in a way that is not supported, or nothing that can be read.
    """
    config = read_object(folder / "config.json")
    if config is None or not isinstance(config.get("quantization_config") or {}, dict):
        raise ConfigError("E_BASE", f"{folder}: no config.json that can be read")
    method = (config.get("quantization_config") or {}).get("quant_method")
    if method is None:
        for name, part in iter_headers(folder):
            if (kind := part.get_dtype()) in FEW_BITS:
                raise ConfigError(
                    "E_BASE",
                    f"{folder}: {name[:120]} is stored as {kind}, and config.json does not say how; "
                    "use it in 16 bits",
                )
    elif method not in ("bitsandbytes", "fp8"):
        raise ConfigError(
            "E_BASE", f"{folder}: quantised by {str(method)[:40]}, which is not supported; use it in 16 bits"
        )
    return method


def iter_headers(folder: Path) -> Iterator[tuple[str, Any]]:
    """Name and header of each weight of a base.

    Raises:
        ConfigError: E_BASE, a file that is no safetensors.
    """
    from safetensors import safe_open

    with native_errors(lambda name: ConfigError("E_BASE", f"{folder}: no weights that load ({name})")):
        for path in sorted(folder.glob("*.safetensors")):
            with safe_open(path, framework="np") as file:
                for name in file.keys():  # noqa: SIM118  not a mapping
                    yield name, file.get_slice(name)


def require_full_precision(folder: Path) -> None:
    """
    Raises:
        ConfigError: E_BASE, the base's weights are stored in fewer than 16 bits.
    """
    if (method := quantization_method(folder)) is not None:
        raise ConfigError("E_BASE", f"{folder}: stored in few bits ({method}); use it in 16 bits for this")


def iter_weights(folder: Path) -> Iterator[tuple[str, torch.Tensor]]:
    """Name and tensor of each weight of a base or a release.

    Raises:
        ConfigError: E_BASE, stored in few bits, or nothing that can be read.
        ReleaseRefused: a release that is damaged.
    """
    if (folder / "release.json").exists():
        yield from release_weights(Release(folder)).items()
        return
    from safetensors import safe_open

    require_full_precision(folder)
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, "pt") as file:
            for name in file.keys():  # noqa: SIM118  not a mapping
                yield name, file.get_tensor(name)


NF4_BLOCK = 64
"""Weights that share a scale."""


def nf4_config(kind: str) -> Any:
    """4-bit normal floats with double quantisation and bf16 arithmetic.

    Source: Dettmers et al. 2023, QLoRA.
    """
    import torch
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(  # type: ignore[no-untyped-call]
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
        llm_int8_skip_modules=["score", "lm_head"] if kind == "SEQ_CLS" else ["lm_head"],
    )


def keep_gradients(model: torch.nn.Module, *, served: bool = False) -> None:
    """Keeps bitsandbytes from repacking 4-bit weights for a kernel that has no gradient.

    On CPUs with AVX512-BF16 any pass without gradients in evaluation mode repacks them, and training goes on
    without an error and without the gradients of all layers below (bitsandbytes 0.50.2). What is only
    `served` may be repacked, but for layers whose width is no multiple of its blocks: there it fails.
    """
    from bitsandbytes.nn import Linear4bit

    for module in model.modules():
        if isinstance(module, Linear4bit) and (not served or module.in_features % NF4_BLOCK):
            module.support_avx512bf16_for_cpu = False


def quantize_linear_layers(model: Any, device: str) -> Any:
    """Quantizes a model's linear layers to 4 bits on `device`, as `load_base_model` loads them.

    Raises:
        ConfigError: E_EXTRA, bitsandbytes is not installed.
    """
    import torch

    require_library("bitsandbytes", "--quantise nf4")
    nn: Any = import_module("bitsandbytes.nn")
    for parent in list(model.modules()):
        for name, layer in list(parent.named_children()):
            if type(layer) is not torch.nn.Linear:
                continue
            with torch.device("meta"):
                small = nn.Linear4bit(layer.in_features, layer.out_features, compute_dtype=torch.bfloat16)
            small.weight = nn.Params4bit(layer.weight.data, quant_type="nf4", module=small).to(device)
            small.bias = layer.bias
            setattr(parent, name, small)
    model.is_loaded_in_4bit = True  # peft reads it
    keep_gradients(model)
    return model.to(device)


def read_weight(release: Release, name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """One weight in fp32.

    Raises:
        ReleaseRefused: an unknown type, or scales that are missing or do not fit.
    """
    kind, shape, data = release.tensors[name]
    if kind == "I8":
        scale = release.tensors.get(name + SCALE)
        if scale is None:
            raise ReleaseRefused("E_RELEASE", f"{release.folder}: {name} has no scale")
        if len(shape) != 2 or scale[:2] != ("F32", shape[:1]):
            raise ReleaseRefused("E_RELEASE", f"{release.folder}: {name} has not one scale a row")
        rows = np.frombuffer(data, np.int8).astype(np.float32).reshape(shape)
        return rows * np.frombuffer(scale[2], np.float32)[:, None]
    if kind == "BF16":
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)
    if kind not in ("F16", "F32"):
        raise ReleaseRefused("E_RELEASE", f"{release.folder}: {name} has the type {kind}")
    return np.frombuffer(data, {"F16": "f2", "F32": "f4"}[kind]).astype(np.float32).reshape(shape)


def release_weights(release: Release) -> dict[str, torch.Tensor]:
    """Every weight of a release in fp32, by its name.

    Raises:
        ReleaseRefused: an unknown type, or scales that are missing or do not fit.
    """
    import torch

    names = (name for name in release.tensors if not name.endswith(SCALE))
    return {name: torch.from_numpy(read_weight(release, name)) for name in names}


WeightFormat = Literal["bf16", "int8"]


def encode_weight(name: str, weight: torch.Tensor, form: WeightFormat) -> dict[str, torch.Tensor]:
    """The tensors that stand for `weight` in a release.

    Token embeddings are int8 rows in either form; vectors (norms, biases) are bf16.
    """
    import torch

    is_matrix = weight.dim() == 2 and name.startswith("backbone.")
    if "word_embeddings" in name or "embed_tokens" in name or (is_matrix and form == "int8"):
        scale = weight.abs().amax(dim=1).clamp_min(1e-8) / 127
        return {name: (weight / scale[:, None]).round().to(torch.int8), name + SCALE: scale}
    return {name: weight.to(torch.bfloat16) if name.startswith("backbone.") else weight}
