"""Estimates the memory of training on a GPU of a given size: ``--device cuda:24GB --dry-run``.

Weights, gradients and states are counted by shape. Activations are measured: one and two layers of the model
run forward on torch's ``meta`` device, which computes shapes and no numbers, and all that is kept for the
gradient is counted; more layers are more of the same. Says nothing of time, and runs nothing on a GPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialint.detector.errors import ConfigError
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.estimate import LARGE, STATE_BYTES, Memory
from dialint.finetune.train.options import Optimizer, RunOptions

if TYPE_CHECKING:
    import torch

RESERVED = 10**9
"""Bytes that CUDA's context and libraries take."""
FRAGMENTS = 0.05
"""Share of memory that the allocator cannot use."""
NF4_BYTES = 0.5 + 1 / 64 + 4 / (64 * 256)
"""Bytes of a 4-bit weight: itself, its block's scale in 8 bits, the scale of 256 scales in fp32. Source:
Dettmers et al. 2023, QLoRA, section 3."""
_GPU = re.compile(r"cuda:([0-9]{1,4}(?:\.[0-9]+)?)GB")


@dataclass(frozen=True)
class ForwardPass:
    """What one forward pass holds: `rows` windows of `window` tokens each, of which `scored` go through the
    language model's head; `sampled` windows are written at once where answers are sampled."""

    rows: int
    window: int
    scored: int
    sampled: int = 0


@dataclass(frozen=True)
class TrainingSetup:
    """How the base of `folder` would be trained: `kind` is peft's task type, None a bare backbone. `copies`
    of what learns are kept beside it (the reference of PPO), and `extra` bytes for other models."""

    folder: Path
    kind: str | None
    adapters: AdapterOptions
    optimizer: Optimizer
    bf16: bool
    checkpointing: bool
    work: ForwardPass
    copies: int = 0
    extra: int = 0


def parse_gpu_memory(device: str) -> int | None:
    """The memory of a device like ``cuda:24GB`` (10^9 bytes a GB), None for other devices."""
    match = _GPU.fullmatch(device)
    return round(float(match[1]) * 1e9) if match else None


def memory_table(way: TrainingSetup, gpu: int) -> str:
    """A table of the requested setup and of smaller ones, with which of them fit into `gpu` bytes."""
    usable = round((gpu - RESERVED) * (1 - FRAGMENTS))
    sizes = count_weights(way)
    lines = [
        f"{sizes.n_frozen + sizes.n_trained:,} weights, {sizes.n_trained:,} of them trained; a forward pass "
        f"of {way.work.rows} windows of up to {way.work.window:,} tokens",
        f"a GPU of {gpu / 1e9:g} GB has {usable / 1e9:.1f} GB to use",
        f"{'GB':48}weights  gradients  optimizer  activations   total",
    ]
    for name, other in _ways(way):
        needed = estimate_setup_memory(other)
        parts = (needed.weights, needed.gradients, needed.optimizer, needed.activations, needed.total)
        figures = "".join(
            f"{part / 1e9:{size}.2f}" for part, size in zip(parts, (7, 11, 11, 13, 8), strict=True)
        )
        verdict = "fits" if needed.total <= usable else "does not fit"
        rows = _rows_that_fit(other, usable)
        most = f"; up to {rows} windows at once" if rows else "; not even one window"
        lines.append(f"{name:48}{figures}  {verdict}{most}")
    return "\n".join(lines)


def _ways(way: TrainingSetup) -> Iterator[tuple[str, TrainingSetup]]:
    """The requested setup, then smaller ones."""
    yield "as asked", way
    less = way
    options: list[str] = []
    if not way.checkpointing:
        less = replace(less, checkpointing=True)
        options.append("--gradient-checkpointing")
        yield " ".join(options), less
    if way.adapters.adapter == "lora" and way.adapters.quantise == "none":
        less = replace(less, adapters=replace(less.adapters, quantise="nf4"), bf16=True)
        options.append("--quantise nf4")
        yield " ".join(options), less
    elif way.adapters.adapter == "none":
        if way.optimizer == "adamw":
            less = replace(less, optimizer="adamw-8bit")
            options.append("--optimizer adamw-8bit")
            yield " ".join(options), less
        lora = AdapterOptions(adapter="lora")
        yield "--adapter lora", replace(way, adapters=lora)
        yield "--quantise nf4", replace(way, adapters=replace(lora, quantise="nf4"), checkpointing=True)


def _rows_that_fit(way: TrainingSetup, usable: int) -> int:
    """How many windows one forward pass may hold."""
    needed = estimate_setup_memory(way)
    rest = usable - (needed.total - needed.activations)
    if rest < _cache_bytes(way):
        return 0
    scored = way.work.scored // way.work.rows
    one, two = (
        activation_bytes(replace(way, work=replace(way.work, rows=n, scored=n * scored))) for n in (1, 2)
    )
    return max(0, (rest - (2 * one - two)) // (two - one))


@dataclass(frozen=True)
class WeightCounts:
    """Weights by their number, and the bytes of those that are frozen."""

    n_trained: int
    n_frozen: int
    frozen_bytes: int


def count_weights(way: TrainingSetup) -> WeightCounts:
    """The weights of the model with its adapters, by shape."""
    return _weight_sizes(way.folder, way.kind, way.adapters, way.bf16)


@cache
def _weight_sizes(folder: Path, kind: str | None, adapters: AdapterOptions, bf16: bool) -> WeightCounts:
    whole = _on_meta(folder, kind, replace(adapters, adapter="none"), bf16, n_layers=None)
    weights = dict(whole.named_parameters())
    total = sum(weight.numel() for weight in weights.values())
    if adapters.adapter == "none":
        return WeightCounts(total, 0, 0)
    one, two = (_n_trained(_on_meta(folder, kind, adapters, bf16, n_layers=n)) for n in (1, 2))
    n_trained = one + (two - one) * (whole.config.get_text_config().num_hidden_layers - 1)
    frozen = sum(weight.numel() * weight.element_size() for weight in weights.values())
    if adapters.quantise == "nf4":
        packed = sum(
            weight.numel() for name, weight in weights.items() if weight.dim() == 2 and _is_packed(name)
        )
        frozen = round(NF4_BYTES * packed) + 2 * (total - packed)
    return WeightCounts(n_trained, total, frozen)


def _is_packed(name: str) -> bool:
    """Whether bitsandbytes packs a matrix: it leaves embeddings and heads (`bits.four_bits`)."""
    return not any(part in name for part in ("embed", "lm_head", "score"))


def _n_trained(model: Any) -> int:
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)


def estimate_setup_memory(way: TrainingSetup) -> Memory:
    """Bytes at the peak: under autocast each trained weight has a copy in bf16, gradients are in fp32."""
    sizes = count_weights(way)
    each = 4 + (2 if way.bf16 else 0) + 4 * way.copies
    return Memory(
        weights=sizes.frozen_bytes + each * sizes.n_trained + way.extra,
        gradients=4 * sizes.n_trained,
        optimizer=STATE_BYTES[way.optimizer] * sizes.n_trained,
        activations=max(activation_bytes(way), _cache_bytes(way)),
    )


def _cache_bytes(way: TrainingSetup) -> int:
    """Keys and values of the windows that are drawn at once."""
    shape = _config(way.folder).get_text_config()
    heads = getattr(shape, "num_key_value_heads", None) or shape.num_attention_heads
    width = getattr(shape, "head_dim", None) or shape.hidden_size // shape.num_attention_heads
    values = 2 * shape.num_hidden_layers * heads * width
    return int(way.work.sampled * way.work.window * values * (2 if way.bf16 else 4))


def activation_bytes(way: TrainingSetup) -> int:
    """Bytes kept for the gradient by one forward pass, and those of the logits' gradient.

    With checkpointing: the input of each layer, and one layer whole while it is computed again.
    """
    shape = _config(way.folder).get_text_config()
    adapters = replace(way.adapters, quantise="none")
    one, two = (_saved_bytes(way.folder, way.kind, adapters, way.bf16, way.work, n) for n in (1, 2))
    layer, rest = two - one, 2 * one - two
    inputs = way.work.rows * way.work.window * shape.hidden_size * (2 if way.bf16 else 4)
    n, logits = shape.num_hidden_layers, 4 * way.work.scored * shape.vocab_size
    layers = n * inputs + layer if way.checkpointing else n * layer
    return int(rest + layers + logits)


@cache
def _saved_bytes(
    folder: Path, kind: str | None, adapters: AdapterOptions, bf16: bool, work: ForwardPass, n_layers: int
) -> int:
    """Bytes of all tensors that a forward pass through `n_layers` layers on ``meta`` keeps for the gradient;
    weights are not counted. Adapters compute in bf16 there, as under autocast."""
    import torch
    from torch.nn.functional import cross_entropy

    model = _on_meta(folder, kind, adapters, bf16, n_layers=n_layers)
    model.to(torch.bfloat16 if bf16 else torch.float32)
    rows, window, scored = work.rows, work.window, work.scored
    own = {weight.untyped_storage()._cdata for weight in model.parameters()}
    saved: dict[int, torch.Tensor] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.untyped_storage()._cdata not in own:
            saved[tensor.untyped_storage()._cdata] = tensor  # alive, so that no other storage gets its number
        return tensor

    with torch.device("meta"), torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        ids = torch.zeros(1, rows * window, dtype=torch.long)
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "use_cache": False}
        if kind is None:  # an encoder has tables of positions and segments, shorter than a row of windows
            inputs["position_ids"] = torch.zeros_like(ids)
            if getattr(model.config, "type_vocab_size", 0):
                inputs["token_type_ids"] = torch.zeros_like(ids)
        bounds = torch.arange(0, rows * window + 1, window, device="cpu")
        if kind == "CAUSAL_LM":
            inputs["logits_to_keep"] = torch.zeros(scored, dtype=torch.long)
            logits = model(**inputs, cu_seq_lens_q=bounds).logits[0].float()
            cross_entropy(logits, torch.zeros(scored, dtype=torch.long), reduction="none").sum()
        else:
            model.base_model(**inputs, cu_seq_lens_q=bounds).last_hidden_state.float().sum()
    return sum(tensor.untyped_storage().nbytes() for tensor in saved.values())


def _on_meta(
    folder: Path, kind: str | None, adapters: AdapterOptions, bf16: bool, *, n_layers: int | None
) -> Any:
    """The model on ``meta`` in training mode, with its first `n_layers` layers or all."""
    import torch
    from transformers import AutoModel, AutoModelForCausalLM, AutoModelForSequenceClassification

    from dialint.detector.engines import packed
    from dialint.finetune.train.adapters import add_adapters

    config = _config(folder)
    if n_layers is not None:
        text = config.get_text_config()
        text.num_hidden_layers = n_layers
        if getattr(text, "layer_types", None):
            text.layer_types = list(text.layer_types)[:n_layers]
    if kind == "SEQ_CLS":
        config.num_labels = 1
    loaders: dict[str | None, Any] = {
        "CAUSAL_LM": AutoModelForCausalLM,
        "SEQ_CLS": AutoModelForSequenceClassification,
        None: AutoModel,
    }
    with torch.device("meta"):
        model = loaders[kind].from_config(config, dtype=torch.bfloat16 if bf16 else torch.float32)
        model.set_attn_implementation(packed.NAME)
        if adapters.adapter == "lora":
            model = add_adapters(model, replace(adapters, quantise="none"), kind)
    return model.train()


def _config(folder: Path) -> Any:
    """A base's configuration; needs no weights.

    Raises:
        ConfigError: E_BASE, none that transformers knows.
    """
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError("E_BASE", f"{folder}: no config.json that loads ({type(error).__name__})") from None


def setup_from_options(
    folder: Path,
    kind: str | None,
    adapters: AdapterOptions,
    running: RunOptions,
    work: ForwardPass,
    copies: int = 0,
    extra: int = 0,
) -> TrainingSetup:
    """The setup of a stage's options on a GPU."""
    bf16 = running.precision != "fp32"
    way = TrainingSetup(folder, kind, adapters, running.optimizer, bf16, False, work, copies, extra)
    sizes = count_weights(way)
    large = sizes.n_trained + sizes.n_frozen > LARGE
    requested = running.gradient_checkpointing
    return replace(way, checkpointing=large if requested is None else requested)
