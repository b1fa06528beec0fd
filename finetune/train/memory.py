"""Estimates the memory of a training by shapes, before anything is loaded: ``--dry-run``.

Weights, gradients and optimizer states are counted. Activations are measured: one and two layers of the model
run forward on torch's ``meta`` device, which computes shapes only, and the tensors saved for the backward
pass are counted and extrapolated to all layers. So it needs no GPU: ``--device cuda --dry-run``.
"""

from __future__ import annotations

import resource
import sys
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dialint.detector.errors import ConfigError
from dialint.finetune.train.adapters import AdapterOptions, add_adapters, unwrap
from dialint.finetune.train.options import Optimizer, RunOptions

if TYPE_CHECKING:
    import torch

STATE_BYTES: dict[Optimizer, int] = {"adamw": 8, "adamw-8bit": 2, "paged-adamw-8bit": 2}
"""Two moments of each trained parameter, in fp32 or in 8 bits."""
LARGE = 1_000_000_000
"""Weights above which activations are recomputed by default."""
NF4_BYTES = 0.5 + 1 / 64 + 4 / (64 * 256)
"""Bytes of a 4-bit weight: itself, its block's scale in 8 bits, the scale of 256 scales in fp32. Source:
Dettmers et al. 2023, QLoRA, section 3."""


@dataclass(frozen=True)
class TrainingSetup:
    """A way to train the base of `folder`; `kind` is peft's task type, None a bare backbone.

    A forward pass has `rows` windows of `window` tokens, of which `scored` go through the language model
    head. `sampled` windows are generated at once, with a reference copy of the trained weights. `extra` are
    bytes of other models; `layers` replaces the base's own number.
    """

    folder: Path
    kind: str | None
    adapters: AdapterOptions
    running: RunOptions
    rows: int
    window: int
    scored: int = 0
    sampled: int = 0
    extra: int = 0
    layers: int | None = None

    @property
    def bf16(self) -> bool:
        """Returns whether arithmetic is in bf16; with ``--precision auto`` on all devices but a CPU."""
        precision = self.running.precision
        return precision == "bf16" or (precision == "auto" and self.running.device != "cpu")


class WeightCounts(NamedTuple):
    """Numbers of weights, and the bytes of the frozen ones."""

    n_trained: int
    n_frozen: int
    frozen_bytes: int


def recomputes_activations(running: RunOptions, model: Any) -> bool:
    """Returns whether activations are recomputed in the backward pass
    (`RunOptions.gradient_checkpointing`)."""
    if running.gradient_checkpointing is not None:
        return running.gradient_checkpointing
    packed = [(weight, getattr(weight, "quant_state", None)) for weight in model.parameters()]
    counts = (w.numel() if state is None else state.shape.numel() for w, state in packed)
    return int(sum(counts)) > LARGE


def peak_memory() -> int:
    """Returns the peak bytes of this process: of the GPU if there is one, else resident memory."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def enable_gradient_checkpointing(model: Any) -> None:
    """Recomputes activations of `model` in the backward pass, in training mode, instead of storing them."""
    bare = unwrap(model)  # older versions of transformers have the second name only
    enable = getattr(bare, "activation_checkpointing_enable", bare.gradient_checkpointing_enable)
    enable({"use_reentrant": False})


def print_plan(setup: TrainingSetup) -> None:
    """Prints the number of parameters of a setup and the memory of its training."""
    counts, memory = count_weights(setup), estimate_memory(setup)
    parts = ", ".join(f"{name} {size / 1e9:.2f}" for name, size in memory.items())
    print(f"parameters: {counts.n_trained:,} trained, {counts.n_frozen:,} frozen")
    print(f"memory: about {sum(memory.values()) / 1e9:.2f} GB ({parts}) beside the program itself")


def estimate_memory(setup: TrainingSetup) -> dict[str, int]:
    """Estimates the peak bytes of each kind: under autocast each trained weight has a copy in bf16, gradients
    are in fp32."""
    counts = count_weights(setup)
    each = 4 + (2 if setup.bf16 else 0) + (4 if setup.sampled else 0)
    return {
        "weights": counts.frozen_bytes + each * counts.n_trained + setup.extra,
        "gradients": 4 * counts.n_trained,
        "optimizer": STATE_BYTES[setup.running.optimizer] * counts.n_trained,
        "activations": max(activation_bytes(setup), _cache_bytes(setup)),
    }


@cache
def count_weights(setup: TrainingSetup) -> WeightCounts:
    """Counts the weights of the model with its adapters, by shape."""
    weights = list(_on_meta(setup, setup.layers).named_parameters())
    n_trained = sum(weight.numel() for _, weight in weights if weight.requires_grad)
    frozen = [(name, weight) for name, weight in weights if not weight.requires_grad]
    n_frozen = sum(weight.numel() for _, weight in frozen)
    n_bytes = sum(weight.numel() * weight.element_size() for _, weight in frozen)
    if setup.adapters.quantise == "nf4":
        # bitsandbytes leaves embeddings and heads (`quantization.nf4_config`)
        packed = sum(
            weight.numel()
            for name, weight in frozen
            if weight.dim() == 2 and not any(part in name for part in ("embed", "lm_head", "score"))
        )
        n_bytes = round(NF4_BYTES * packed) + 2 * (n_frozen - packed)
    return WeightCounts(n_trained, n_frozen, n_bytes)


def _cache_bytes(setup: TrainingSetup) -> int:
    """Returns the bytes of keys and values of the windows that are sampled at once."""
    shape = _read_config(setup.folder).get_text_config()
    heads = getattr(shape, "num_key_value_heads", None) or shape.num_attention_heads
    width = getattr(shape, "head_dim", None) or shape.hidden_size // shape.num_attention_heads
    values = 2 * shape.num_hidden_layers * heads * width
    return int(setup.sampled * setup.window * values * (2 if setup.bf16 else 4))


def activation_bytes(setup: TrainingSetup) -> int:
    """Returns the bytes saved for the backward pass by one forward pass, and those of the logits' gradient.
    With checkpointing: the input of each layer, and all of one layer while it is recomputed."""
    shape = _read_config(setup.folder).get_text_config()
    one, two = (_saved_bytes(setup, n) for n in (1, 2))
    layer, rest = two - one, 2 * one - two
    n = shape.num_hidden_layers if setup.layers is None else setup.layers
    recomputes = setup.running.gradient_checkpointing
    if recomputes is None:
        counts = count_weights(setup)
        recomputes = counts.n_trained + counts.n_frozen > LARGE
    inputs = setup.rows * setup.window * shape.hidden_size * (2 if setup.bf16 else 4)
    layers = n * inputs + layer if recomputes else n * layer
    return int(rest + layers + 4 * setup.scored * shape.vocab_size)


def _saved_bytes(setup: TrainingSetup, n_layers: int) -> int:
    """Returns the bytes of all tensors, except weights, that a forward pass through `n_layers` layers on
    ``meta`` saves for the backward pass. Adapters compute in bf16 there, as under autocast."""
    import torch
    from torch.nn.functional import cross_entropy

    model = _on_meta(setup, n_layers)
    model.to(torch.bfloat16 if setup.bf16 else torch.float32)
    own = {weight.untyped_storage()._cdata for weight in model.parameters()}
    saved: dict[int, torch.Tensor] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.untyped_storage()._cdata not in own:
            saved[tensor.untyped_storage()._cdata] = tensor  # alive, so that no other storage gets its number
        return tensor

    with torch.device("meta"), torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        ids = torch.zeros(1, setup.rows * setup.window, dtype=torch.long)
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "use_cache": False}
        inputs["position_ids"] = ids  # an encoder's tables of positions and segments are shorter than a row
        if getattr(model.config, "type_vocab_size", 0):
            inputs["token_type_ids"] = ids
        bounds = torch.arange(0, ids.numel() + 1, setup.window, device="cpu")
        if setup.kind == "CAUSAL_LM":
            scored = torch.zeros(setup.scored, dtype=torch.long)
            logits = model(**inputs, logits_to_keep=scored, cu_seq_lens_q=bounds).logits[0].float()
            cross_entropy(logits, scored, reduction="none").sum()
        else:
            unwrap(model).base_model(**inputs, cu_seq_lens_q=bounds).last_hidden_state.float().sum()
    return sum(tensor.untyped_storage().nbytes() for tensor in saved.values())


def _on_meta(setup: TrainingSetup, n_layers: int | None) -> Any:
    """Makes the model on ``meta`` in training mode, with its first `n_layers` layers or all."""
    import torch
    from transformers import AutoModel, AutoModelForCausalLM, AutoModelForSequenceClassification

    from dialint.detector.engines import packed

    config = _read_config(setup.folder)
    if n_layers is not None:
        text = config.get_text_config()
        text.num_hidden_layers = n_layers
        if getattr(text, "layer_types", None):
            text.layer_types = list(text.layer_types)[:n_layers]
    if setup.kind == "SEQ_CLS":
        config.num_labels = 1
    loaders = {"CAUSAL_LM": AutoModelForCausalLM, "SEQ_CLS": AutoModelForSequenceClassification}
    auto: Any = loaders.get(setup.kind or "", AutoModel)
    with torch.device("meta"):
        model = auto.from_config(config, dtype=torch.bfloat16 if setup.bf16 else torch.float32)
        model.set_attn_implementation(packed.NAME)
        if setup.adapters.adapter == "lora":
            model = add_adapters(model, replace(setup.adapters, quantise="none"), setup.kind)
    return model.train()


def _read_config(folder: Path) -> Any:
    """Reads a base's configuration.

    Raises:
        ConfigError: E_BASE, transformers cannot load it.
    """
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError("E_BASE", f"{folder}: no config.json that loads ({type(error).__name__})") from None
