"""Weights in few bits: read into floating point for training, and quantized by bitsandbytes.

Training copies weights by name, so stored weights that mean nothing without their scales are dequantized
first, by transformers and bitsandbytes. Supported are FP8 in blocks (Hugging Face's ``fp8``), bitsandbytes'
int8 and 4 bits, and our own releases; all else is refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dialint.detector.environment import require_library
from dialint.detector.errors import ConfigError, native_errors
from dialint.detector.release import SCALE, Release

if TYPE_CHECKING:
    import torch


Stored = Literal["plain", "bitsandbytes", "fp8", "release"]
"""How a folder's weights are stored: in 16 bits or more, or in fewer."""
FEW_BITS = frozenset(("F8_E4M3", "F8_E5M2", "I8", "U8"))


def storage_format(folder: Path) -> Stored:
    """How the weights of a base are stored.

    Raises:
        ConfigError: E_BASE, in a way that cannot be undone here, or nothing that can be read.
    """
    if (folder / "release.json").exists():
        return "release"
    method = _quantization_config(folder).get("quant_method")
    if method in ("bitsandbytes", "fp8"):
        return method  # type: ignore[no-any-return]
    if method is not None:
        raise ConfigError(
            "E_BASE",
            f"{folder}: quantised by {str(method)[:40]}, which cannot be undone here; use it in 16 bits",
        )
    from safetensors import SafetensorError, safe_open

    try:
        for path in sorted(folder.glob("*.safetensors")):
            with safe_open(path, "pt") as file:
                for name in file.keys():  # noqa: SIM118  not a mapping
                    if (kind := file.get_slice(name).get_dtype()) in FEW_BITS:
                        raise ConfigError(
                            "E_BASE",
                            f"{folder}: {name[:120]} is stored as {kind}, and config.json does not say how; "
                            "use it in 16 bits",
                        )
    except (OSError, SafetensorError) as error:
        raise ConfigError("E_BASE", f"{folder}: no weights to read ({type(error).__name__})") from None
    return "plain"


def iter_weights(folder: Path) -> Iterator[tuple[str, torch.Tensor]]:
    """Name and tensor of each weight; those stored in fewer than 16 bits come as fp32.

    Raises:
        ConfigError: E_BASE, stored in a way that cannot be undone here, or nothing that can be read.
        ReleaseRefused: a release that is damaged.
    """
    stored = storage_format(folder)
    if stored == "release":
        from dialint.detector.engines.weight_formats import decode_weight

        release = Release(folder)
        for name in release.tensors:
            if not name.endswith(SCALE):
                yield name, decode_weight(release, name)
    elif stored == "plain":
        from safetensors import safe_open

        for path in sorted(folder.glob("*.safetensors")):
            with safe_open(path, "pt") as file:
                for name in file.keys():  # noqa: SIM118  not a mapping
                    yield name, file.get_tensor(name)
    else:
        with native_errors(lambda name: ConfigError("E_BASE", f"{folder}: no model that loads ({name})")):
            yield from _dequantize(folder).items()


def _dequantize(folder: Path) -> dict[str, torch.Tensor]:
    """All weights of a model that transformers loads with its own kernels, as fp32 by the names of its
    files."""
    import torch
    import transformers

    own = _quantization_config(folder)
    arguments: dict[str, Any] = {}
    if own["quant_method"] == "fp8":
        block = tuple(own.get("weight_block_size") or (128, 128))
        how = transformers.FineGrainedFP8Config(dequantize=True, weight_block_size=block)
        arguments["quantization_config"] = how
    else:
        require_library("bitsandbytes", f"{folder}, which is in few bits,")
        arguments["device_map"] = {"": "cpu"}
    shape = json.loads((folder / "config.json").read_bytes())
    name = next(iter(shape.get("architectures") or ()), "AutoModel")
    model = getattr(transformers, name, transformers.AutoModel).from_pretrained(
        folder,
        local_files_only=True,
        use_safetensors=True,
        trust_remote_code=False,
        dtype=torch.float32,
        **arguments,
    )
    if own["quant_method"] == "bitsandbytes":
        model = model.dequantize()
    return {
        name: weight.float()
        for name, weight in model.state_dict().items()
        if name not in model.all_tied_weights_keys
    }


def load_dequantized(loader: Any, folder: Path, **arguments: Any) -> tuple[Any, dict[str, Any]]:
    """Load a folder whose weights are stored in few bits by `loader`, a class of transformers: the model with
    weights in floating point, and transformers' loading info."""
    import torch
    from transformers import AutoConfig, GenerationConfig

    labels = {"num_labels": arguments.pop("num_labels")} if "num_labels" in arguments else {}
    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False, **labels)
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    with torch.device("meta"):
        kind = type(loader.from_config(config))
    model, info = kind.from_pretrained(
        None, config=config, state_dict=dict(iter_weights(folder)), output_loading_info=True, **arguments
    )
    if (folder / "generation_config.json").exists():
        model.generation_config = GenerationConfig.from_pretrained(folder, local_files_only=True)
    return model, info


def drop_quantization_config(shape: Mapping[str, Any]) -> dict[str, Any]:
    """A base's config.json without the format of its weights."""
    return {name: value for name, value in shape.items() if name != "quantization_config"}


def _quantization_config(folder: Path) -> dict[str, Any]:
    try:
        config = json.loads((folder / "config.json").read_bytes()).get("quantization_config") or {}
    except (OSError, ValueError, AttributeError, RecursionError):
        raise ConfigError("E_BASE", f"{folder}: no config.json that can be read") from None
    return config if isinstance(config, dict) else {}


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


def int8_config() -> Any:
    """Whole numbers of 8 bits with outliers apart. Source: Dettmers et al. 2022, LLM.int8()."""
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(load_in_8bit=True)  # type: ignore[no-untyped-call]


def keep_gradients(model: torch.nn.Module, *, served: bool = False) -> None:
    """Keep bitsandbytes from repacking 4-bit weights for a kernel that has no gradient.

    On CPUs with AVX512-BF16 any pass without gradients in evaluation mode repacks them, and training goes on
    without an error and without the gradients of all layers below (bitsandbytes 0.50.2). What is only
    `served` may be repacked, but for layers whose width is no multiple of its blocks: there it fails.
    """
    from bitsandbytes.nn import Linear4bit

    for module in model.modules():
        if isinstance(module, Linear4bit) and (not served or module.in_features % NF4_BLOCK):
            module.support_avx512bf16_for_cpu = False


def quantize_linear_layers(model: Any, device: str) -> Any:
    """Quantize a model's linear layers to 4 bits on `device`, as `load_base_model` loads them.

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
