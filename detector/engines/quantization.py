"""Weights in few bits: read into floating point for training, and quantized by bitsandbytes.

Training copies weights by name, so stored weights that mean nothing without their scales are multiplied by
them first. Supported are FP8 and int8 with scales (Hugging Face's ``fp8`` and ``fbgemm_fp8``,
compressed-tensors), bitsandbytes' int8 and 4 bits, and our own releases; all else is refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dialint.detector.errors import ConfigError
from dialint.detector.extras import require_library
from dialint.detector.release import SCALE, Release

if TYPE_CHECKING:
    import torch


Stored = Literal["plain", "bitsandbytes", "scaled", "release"]
"""How a folder's weights are stored: in 16 bits or more, or in fewer."""
METHODS: dict[str, Stored] = {
    "bitsandbytes": "bitsandbytes",
    "compressed-tensors": "scaled",
    "fbgemm_fp8": "scaled",
    "fp8": "scaled",
}
"""``quant_method`` of config.json that can be undone."""
FEW_BITS = frozenset(("F8_E4M3", "F8_E5M2", "I8", "U8"))
SCALES = ("_scale_inv", "_scale")
BLOCK = 128
"""Rows and columns that share a scale of ``fp8`` where config.json does not say."""
BESIDE = (
    *SCALES, "_zero_point", "_shape", SCALE, SCALE + SCALE, ".absmax", ".quant_map", ".nested_absmax",
    ".nested_quant_map", ".quant_state.bitsandbytes__nf4", ".quant_state.bitsandbytes__fp4",
)  # fmt: skip
"""Endings of tensors that belong to a weight and are needed to dequantize it."""
BESIDE_LAYER = ("SCB", "weight_format", "input_scale", "input_zero_point")
"""The same for a layer."""


def storage_format(folder: Path) -> Stored:
    """How the weights of a base are stored.

    Raises:
        ConfigError: E_BASE, in a way that cannot be undone here, or nothing that can be read.
    """
    if (folder / "release.json").exists():
        return "release"
    method = _quantization_config(folder).get("quant_method")
    if method is not None and method not in METHODS:
        raise ConfigError(
            "E_BASE",
            f"{folder}: quantised by {str(method)[:40]}, which cannot be undone here; use it in 16 bits",
        )
    with _Files(folder) as files:
        few = sorted(name for name in files.kinds if files.is_weight(name) and files.kinds[name] in FEW_BITS)
        for name in few:
            files.validate_scale(name)
        if not few:
            return "plain"
        return METHODS.get(str(method), "bitsandbytes" if files.has_bitsandbytes(few[0]) else "scaled")


def iter_weights(folder: Path) -> Iterator[tuple[str, torch.Tensor]]:
    """Name and tensor of each weight, one after another; those stored in fewer than 16 bits come as fp32.

    Raises:
        ConfigError: E_BASE, stored in a way that cannot be undone here, or nothing that can be read.
        ReleaseRefused: a release that is damaged.
    """
    if storage_format(folder) == "release":
        from dialint.detector.engines.weight_formats import decode_weight

        release = Release(folder)
        for name in release.tensors:
            if not name.endswith(SCALE):
                yield name, decode_weight(release, name)
        return
    with _Files(folder) as files:
        for name, kind in files.kinds.items():
            if files.is_weight(name):
                yield name, files.dequantize(name) if kind in FEW_BITS else files.tensor(name)


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


class _Files:
    """The safetensors of a folder, open: `kinds` has the type of each tensor as the files name it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._stack = folder, ExitStack()
        self._at: dict[str, Any] = {}
        self.kinds: dict[str, str] = {}

    def __enter__(self) -> _Files:
        from safetensors import SafetensorError, safe_open

        try:
            for path in sorted(self.folder.glob("*.safetensors")):
                file = self._stack.enter_context(safe_open(path, "pt"))
                for name in file.keys():  # noqa: SIM118  not a mapping
                    self._at[name], self.kinds[name] = file, file.get_slice(name).get_dtype()
        except (OSError, SafetensorError) as error:
            self._stack.close()
            raise ConfigError(
                "E_BASE", f"{self.folder}: no weights to read ({type(error).__name__})"
            ) from None
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def tensor(self, name: str) -> torch.Tensor:
        """A tensor as it is stored."""
        tensor: torch.Tensor = self._at[name].get_tensor(name)
        return tensor

    def is_weight(self, name: str) -> bool:
        """Whether it is a weight, not a scale or another tensor that belongs to a weight."""
        for ending in BESIDE:
            if name.endswith(ending) and name.removesuffix(ending) in self._at:
                return False
        module, _, last = name.rpartition(".")
        return last not in BESIDE_LAYER or f"{module}.weight" not in self._at

    def has_bitsandbytes(self, name: str) -> bool:
        """Whether bitsandbytes stored a weight."""
        return _beside(name, "SCB") in self._at or f"{name}.absmax" in self._at

    def scale(self, name: str) -> str | None:
        """The tensor that a weight is multiplied by."""
        return next((name + ending for ending in SCALES if name + ending in self._at), None)

    def validate_scale(self, name: str) -> None:
        """
        Raises:
            ConfigError: E_BASE, a weight of few bits has no scales of a known format.
        """
        if self.scale(name) is None and not self.has_bitsandbytes(name):
            raise ConfigError(
                "E_BASE",
                f"{self.folder}: {name[:120]} is stored as {self.kinds[name]} without scales that are known "
                "here; name the base in 16 bits",
            )

    def dequantize(self, name: str) -> torch.Tensor:
        """A weight of few bits as fp32."""
        self.validate_scale(name)
        if f"{name}.absmax" in self._at:
            return self._dequantize_4bit(name)
        weight = self.tensor(name).float()
        if _beside(name, "SCB") in self._at:
            # Source: Dettmers et al. 2022, LLM.int8(), section 3.1: the greatest of each row stands for 127
            return weight * (self.tensor(_beside(name, "SCB")).float() / 127)[:, None]
        zero = f"{name}_zero_point"
        if zero in self._at:
            weight = weight - self._broadcast_scale(self.tensor(zero).float(), weight.shape, name)
        return weight * self._broadcast_scale(self.tensor(self.scale(name) or "").float(), weight.shape, name)

    def _broadcast_scale(self, scale: torch.Tensor, shape: torch.Size, name: str) -> torch.Tensor:
        """A scale of the whole, of each row or of each block, such that it multiplies a weight of `shape`.

        Raises:
            ConfigError: E_BASE, it fits neither.
        """
        if scale.numel() == 1:
            return scale.reshape(())
        if len(shape) == 2:
            rows, columns = _quantization_config(self.folder).get("weight_block_size") or (BLOCK, BLOCK)
            if scale.shape in ((shape[0],), (shape[0], 1)):
                return scale.reshape(-1, 1)
            if tuple(scale.shape) == (-(-shape[0] // rows), -(-shape[1] // columns)):
                wide = scale.repeat_interleave(rows, 0)[: shape[0]]
                return wide.repeat_interleave(columns, 1)[:, : shape[1]]
        raise ConfigError(
            "E_BASE",
            f"{self.folder}: scales of shape {tuple(scale.shape)} for {name[:120]} of {tuple(shape)}",
        )

    def _dequantize_4bit(self, name: str) -> torch.Tensor:
        require_library("bitsandbytes", f"{self.folder}, which is in 4 bits,")
        functional: Any = import_module("bitsandbytes.functional")
        parts = {ending[1:]: self.tensor(name + ending) for ending in BESIDE if name + ending in self._at}
        state = functional.QuantState.from_dict(parts, device="cpu")
        weight: torch.Tensor = functional.dequantize_4bit(self.tensor(name), state)
        return weight.float()


def _beside(name: str, last: str) -> str:
    """The tensor named `last` in the same layer."""
    return f"{name.rpartition('.')[0]}.{last}"


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
