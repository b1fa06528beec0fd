"""Builds a scanner's network from a base model for training, and merges adapters after it.

Any Hugging Face encoder or decoder in a folder. A base whose tokenizer has no marks for roles and slots
gets ours, with new rows in its embeddings. Knows nothing of examples or steps.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialint.detector.engines.base_models import weights_sha256
from dialint.detector.engines.quantization import (
    drop_quantization_config,
    iter_weights,
    quantize_linear_layers,
)
from dialint.detector.errors import ConfigError
from dialint.detector.render import RenderConfig, load_tokenizer
from dialint.finetune.decoder.tokenizer import add_control_tokens, decoder_render
from dialint.finetune.train.adapters import add_adapters
from dialint.finetune.train.estimate import recomputes_activations

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

    from dialint.detector.engines.scan_model import ScanModel
    from dialint.finetune.scanner.options import ScanConfig


@dataclass(frozen=True)
class BaseModel:
    """What a network is made of: the base's folder, its shape as config.json says it, less dropout, the hash
    of its weights ("" where none are used), its tokenizer, how dialogues are written for it, and the ids of
    marks that it was never taught."""

    folder: Path
    shape: dict[str, Any]
    sha256: str
    tokenizer: str
    render: RenderConfig
    new: tuple[int, ...]


def load_base(config: ScanConfig) -> BaseModel:
    """What `config` builds on.

    Raises:
        ConfigError: E_BASE, no readable config.json or weights.
    """
    try:
        shape: dict[str, Any] = json.loads((config.base / "config.json").read_text())
        given = (config.base / "tokenizer.json").read_text()
    except (OSError, ValueError) as error:
        raise ConfigError(
            "E_BASE", f"{config.base}: no config or tokenizer that can be read ({error})"
        ) from None
    shape = drop_quantization_config(shape) | {
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    }
    tokenizer, render = prepare_tokenizer(
        given, shape.get("bos_token_id"), config.context_tokens, config.history
    )
    known = load_tokenizer(given).get_vocab()
    ids = load_tokenizer(tokenizer).get_vocab()
    new = sorted({ids[mark] for mark in render.control if mark not in known})
    sha256 = "" if config.from_scratch else weights_sha256(config.base)
    return BaseModel(config.base, shape, sha256, tokenizer, render, tuple(new))


def prepare_tokenizer(
    tokenizer_json: str, begin: object, context_tokens: int, history: bool
) -> tuple[str, RenderConfig]:
    """A base's tokenizer, and how dialogues are written for it: with the marks of our own tokenizer if it has
    them, with a BERT-like encoder's unused tokens, else with our marks as new tokens. A window then begins
    with the token of id `begin`, if there is one: many decoders need what all their texts began with."""
    tokenizer = load_tokenizer(tokenizer_json)
    known = tokenizer.get_vocab()
    for render in (decoder_render(context_tokens), _encoder_render(context_tokens)):
        if all(mark in known for mark in render.control):
            return tokenizer_json, render.model_copy(update={"history": history})
    first = tokenizer.id_to_token(begin) if isinstance(begin, int) else None
    own = decoder_render(context_tokens).model_copy(update={"history": history, "begin": first or ""})
    return add_control_tokens(tokenizer_json), own


def _encoder_render(context_tokens: int) -> RenderConfig:
    return RenderConfig(
        context_tokens=context_tokens,
        roles={"customer": "[unused1]", "agent": "[unused2]", "bot": "[unused2]"},
        begin="[CLS]",
        slot="[SEP]",
        dialogue_slot="[unused3]",
    )


def build_network(config: ScanConfig, ground: BaseModel, n_codes: int, device: str) -> ScanModel:
    """The network ready to learn on `device`: all of it, or adapters beside a frozen base, which may be in
    4 bits. Packed attention is checked in fp32, before anything is rounded.

    Raises:
        ConfigError: E_BASE, the weights are not those of config.json.
        ReleaseRefused: the base's attention cannot be computed packed.
    """
    import torch

    from dialint.detector.engines.equivalence_check import check_equivalence
    from dialint.finetune.train.estimate import enable_gradient_checkpointing

    model = _whole(config, ground, n_codes)
    check_equivalence(model, config.context_tokens)
    recompute = recomputes_activations(config.running, model)  # before 4-bit weights are packed
    if config.adapters.quantise == "nf4":
        model.backbone = quantize_linear_layers(model.backbone, device)
    elif _rounded(config, device):
        model.backbone.to(torch.bfloat16)  # type: ignore[arg-type]
    _adapt(config, ground, model)
    if recompute:
        enable_gradient_checkpointing(model.backbone)
    return model.to(device)


def _rounded(config: ScanConfig, device: str) -> bool:
    """Whether the frozen weights differ from the file's: in 4 bits, or in bf16 as the arithmetic is."""
    import torch

    from dialint.detector.engines.local import resolve_precision

    if config.adapters.adapter == "none":
        return False
    bf16 = resolve_precision(config.running.precision, torch.device(device)) == "bf16"
    return config.adapters.quantise == "nf4" or bf16


def trainable_parameters(model: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    """The weights that are trained, by name."""
    return {name: weight for name, weight in model.named_parameters() if weight.requires_grad}


def load_trainable(model: torch.nn.Module, weights: dict[str, torch.Tensor]) -> None:
    """Put `weights` where `trainable_parameters` found them."""
    import torch

    with torch.no_grad():
        for name, weight in trainable_parameters(model).items():
            weight.copy_(weights[name])


def merge_adapters(config: ScanConfig, ground: BaseModel, model: ScanModel, n_codes: int) -> ScanModel:
    """The network with its adapters in the base's weights, all fp32; on the CPU if the base was rounded, for
    what was learnt beside rounded weights is put into those of the file."""
    if config.adapters.adapter == "none":
        return model
    if _rounded(config, str(model.turn_head.weight.device)):
        weights = {name: weight.detach().cpu() for name, weight in trainable_parameters(model).items()}
        model = _whole(config, ground, n_codes)
        _adapt(config, ground, model)
        load_trainable(model, weights)
    model.backbone = model.backbone.merge_and_unload()  # type: ignore[operator]
    return model


def _adapt(config: ScanConfig, ground: BaseModel, model: ScanModel) -> None:
    if config.adapters.adapter == "lora":
        model.backbone = add_adapters(model.backbone, config.adapters, None, ground.new)  # type: ignore[assignment]


def _whole(config: ScanConfig, ground: BaseModel, n_codes: int) -> ScanModel:
    """The base in fp32 with new heads."""
    import torch
    from transformers.initialization import no_init_weights

    from dialint.detector.engines.scan_model import ScanModel, backbone_from_config

    torch.manual_seed(config.running.seed)
    with nullcontext() if config.from_scratch else no_init_weights():
        backbone = backbone_from_config(ground.shape)
    if not config.from_scratch:
        _load(backbone, ground.folder)
    _grow(backbone, ground.new, config.running.seed)
    torch.manual_seed(config.running.seed)
    model = ScanModel(backbone, n_codes, config.history, config.evidence)
    if model.history is not None:
        torch.nn.init.zeros_(model.history.weight)  # a base that was never told starts as it is
    for head in (model.turn_head, model.dialogue_head, model.span_head):
        torch.nn.init.constant_(head.bias, -4.0)  # errors are rare: start from that prior
    if config.evidence:
        torch.nn.init.zeros_(model.turn_head.bias)  # the strongest token brings it
    return model


def _load(backbone: PreTrainedModel, folder: Path) -> None:
    """The folder's weights, tensor by tensor, so that a large base lies in memory once.

    Raises:
        ConfigError: E_BASE, they are not those of config.json, or stored in a way that cannot be undone.
    """
    from safetensors import SafetensorError

    wanted = backbone.state_dict()
    inside = f"{backbone.base_model_prefix}."  # where a language model keeps its backbone
    try:
        for name, weight in iter_weights(folder):
            own = name.removeprefix("backbone.").removeprefix(inside)  # of a scanner, a model
            if own in wanted:
                wanted.pop(own).copy_(weight)
    except (OSError, SafetensorError, RuntimeError) as error:
        raise ConfigError("E_BASE", f"{folder}: weights that do not fit ({type(error).__name__})") from None
    if wanted:
        raise ConfigError("E_BASE", f"{folder}: has no weights {min(wanted)}; another model's config?")


def _grow(backbone: PreTrainedModel, new: tuple[int, ...], seed: int) -> None:
    """Rows of the embeddings for tokens that the base was never taught, each drawn like one of its own."""
    import torch

    if not new:
        return
    table: Any = backbone.get_input_embeddings()
    spread, mean = torch.var_mean(table.weight.detach(), dim=0)
    if max(new) >= table.num_embeddings:
        backbone.resize_token_embeddings(max(new) + 1, mean_resizing=False)
        table = backbone.get_input_embeddings()
    chance = torch.Generator().manual_seed(seed)
    drawn = torch.randn((len(new), table.embedding_dim), generator=chance)
    with torch.no_grad():
        table.weight[list(new)] = mean + spread.sqrt() * drawn
