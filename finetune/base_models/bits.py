"""Models with fewer bits a weight, by bitsandbytes: to learn on, to serve."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dialint.detector.extras import need_library

if TYPE_CHECKING:
    import torch

NF4_BLOCK = 64
"""Weights that share a scale."""


def four_bits(kind: str) -> Any:
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


def eight_bits() -> Any:
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


def quantised(model: Any, device: str) -> Any:
    """A model in memory with its linear layers in 4 bits on `device`, as `bare` loads them; all else stays.

    Raises:
        ConfigError: E_EXTRA, bitsandbytes is not there.
    """
    import torch

    need_library("bitsandbytes", "--quantise nf4")
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
    model.is_loaded_in_4bit = True  # how peft knows
    keep_gradients(model)
    return model.to(device)
