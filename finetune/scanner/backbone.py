"""Builds a scanner's network from a base model for training, and merges adapters after it.

The base is any Hugging Face encoder or decoder in a folder. If its tokenizer has no control tokens for roles
and slots, ours are added, with new rows in its embeddings. Independent of examples and steps.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialint.detector.engines.base_models import BACKBONE, FETCHED, fetched_backbone, weights_sha256
from dialint.detector.engines.quantization import (
    iter_weights,
    quantize_linear_layers,
)
from dialint.detector.errors import ConfigError
from dialint.detector.records import Role
from dialint.detector.render import RenderConfig, load_tokenizer
from dialint.finetune.decoder.tokenizer import IM_END, IM_START, add_control_tokens, decoder_render
from dialint.finetune.train.adapters import add_adapters
from dialint.finetune.train.lineage import TRAINING
from dialint.finetune.train.loop import load_weights
from dialint.finetune.train.memory import enable_gradient_checkpointing, recomputes_activations

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

    from dialint.detector.engines.scan_model import ScanModel
    from dialint.finetune.scanner.options import ScanConfig

ENCODER_TOKENS, DECODER_TOKENS = 500, 1400
"""Default context of an encoder and of a decoder, in tokens."""


@dataclass(frozen=True)
class BaseModel:
    """A base model: its folder, its shape (config.json, with dropout off), the hash of its weights, its
    tokenizer, the rendering of dialogues for it, and the ids of its new control tokens."""

    folder: Path
    shape: dict[str, Any]
    sha256: str
    tokenizer: str
    render: RenderConfig
    new_ids: tuple[int, ...]


def load_base(config: ScanConfig) -> BaseModel:
    """Reads the base model of `config`, except its weights.

    Raises:
        ConfigError: E_BASE, no readable config.json or tokenizer.json.
    """
    try:
        shape: dict[str, Any] = json.loads((config.base / "config.json").read_text())
        base_tokenizer = (config.base / "tokenizer.json").read_text()
    except (OSError, ValueError) as error:
        raise ConfigError(
            "E_BASE", f"{config.base}: no config or tokenizer that can be read ({error})"
        ) from None
    shape |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    if config.layers is not None:
        shape = first_layers(shape, config.layers)
    history = config.history
    if history is None:  # if the base is trained too, or is a scanner with embeddings of repeated words
        history = config.epochs > 0 or bool(scanner_manifest(config.base).get("render", {}).get("history"))
    tokenizer, render = prepare_tokenizer(
        base_tokenizer, shape.get("bos_token_id"), config.context_tokens, history
    )
    base_vocabulary = load_tokenizer(base_tokenizer).get_vocab()
    ids = load_tokenizer(tokenizer).get_vocab()
    new_ids = sorted({ids[token] for token in render.control if token not in base_vocabulary})
    sha256 = weights_sha256(config.base)
    return BaseModel(config.base, shape, sha256, tokenizer, render, tuple(new_ids))


def scanner_manifest(folder: Path) -> dict[str, Any]:
    """Reads the manifest of a release or of a trained scanner; empty for any other base."""
    for name in ("release.json", TRAINING):
        with suppress(OSError, ValueError):
            content = json.loads((folder / name).read_bytes())
            if isinstance(content, dict) and isinstance(content.get("render"), dict):
                return content
    return {}


def first_layers(shape: dict[str, Any], layers: int) -> dict[str, Any]:
    """Returns the shape with its first `layers` layers only.

    Raises:
        ConfigError: E_OPTION, it has fewer.
    """
    if layers > shape["num_hidden_layers"]:
        n_layers = shape["num_hidden_layers"]
        raise ConfigError("E_OPTION", f"--layers must be 1 to {n_layers}, the layers that there are")
    kinds = {"layer_types": shape["layer_types"][:layers]} if shape.get("layer_types") else {}
    return {**shape, "num_hidden_layers": layers, **kinds}


def prepare_tokenizer(
    tokenizer_json: str, begin: object, context_tokens: int | None, history: bool
) -> tuple[str, RenderConfig]:
    """Returns a base's tokenizer, and the rendering of dialogues for it: with the control tokens of our own
    tokenizer if it has them, with a BERT-like encoder's unused tokens, with those of ChatML, else with our
    control tokens as new ones. A window then begins with the token of id `begin`, if there is one: many
    decoders need the token at the start of all their training texts."""
    tokenizer = load_tokenizer(tokenizer_json)
    vocabulary = tokenizer.get_vocab()
    of_decoder = context_tokens or DECODER_TOKENS
    of_encoder = context_tokens or ENCODER_TOKENS
    for render in (decoder_render(of_decoder), _encoder_render(of_encoder), _chat_render(of_decoder)):
        if all(token in vocabulary for token in render.control):
            return tokenizer_json, render.model_copy(update={"history": history})
    first = tokenizer.id_to_token(begin) if isinstance(begin, int) else None
    own = decoder_render(of_decoder).model_copy(update={"history": history, "begin": first or ""})
    return add_control_tokens(tokenizer_json, own.control), own


def _encoder_render(context_tokens: int) -> RenderConfig:
    return RenderConfig(
        context_tokens=context_tokens,
        roles={"customer": "[unused1]", "agent": "[unused2]", "bot": "[unused2]", "tool": "[unused4]"},
        begin="[CLS]",
        slot="[SEP]",
    )


def _chat_render(context_tokens: int) -> RenderConfig:
    """Returns the rendering as ChatML: the agent is the assistant, tools are included."""
    names: dict[Role, str] = {
        "customer": "user\n", "agent": "assistant\n", "bot": "assistant\n", "tool": "tool\n",
    }  # fmt: skip
    return RenderConfig(
        context_tokens=context_tokens,
        roles=dict.fromkeys(names, IM_START),
        names=names,
        begin="",
        slot=IM_END,
        closes_all=True,
        calls=True,
    )


def build_network(config: ScanConfig, base: BaseModel, n_codes: int, device: str) -> ScanModel:
    """Builds the network to train on `device`: all weights, or adapters beside a frozen base, which may be in
    4 bits. Packed attention is checked in fp32, before weights are rounded.

    Raises:
        ConfigError: E_BASE, the weights are not those of config.json.
        ReleaseRefused: the base's attention cannot be computed packed.
    """
    import torch

    from dialint.detector.engines.scan_model import check_equivalence

    model = init_model(config, base, n_codes)
    check_equivalence(model, base.render.context_tokens)
    recompute = recomputes_activations(config.running, model)  # before 4-bit weights are packed
    if config.adapters.quantise == "nf4":
        model.backbone = quantize_linear_layers(model.backbone, device)
    elif _is_rounded(config, device):
        model.backbone.to(torch.bfloat16)  # type: ignore[arg-type]
    _adapt(config, base, model)
    if recompute:
        enable_gradient_checkpointing(model.backbone)
    return model.to(device)


def _is_rounded(config: ScanConfig, device: str) -> bool:
    """Returns whether the frozen weights differ from the file's: in 4 bits, or in bf16 like the
    arithmetic."""
    import torch

    from dialint.detector.engines.local import resolve_precision

    if config.adapters.adapter == "none":
        return False
    bf16 = resolve_precision(config.running.precision, torch.device(device)) == "bf16"
    return config.adapters.quantise == "nf4" or bf16


def trainable_parameters(model: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    """Returns the trainable weights by name."""
    return {name: weight for name, weight in model.named_parameters() if weight.requires_grad}


def merge_adapters(config: ScanConfig, base: BaseModel, model: ScanModel, n_codes: int) -> ScanModel:
    """Merges the network's adapters into the base's weights, all fp32; if the base was rounded, on the CPU
    into the exact weights of the file."""
    if config.adapters.adapter == "none":
        return model
    if _is_rounded(config, str(model.slot_head.weight.device)):
        weights = {name: weight.detach().cpu() for name, weight in trainable_parameters(model).items()}
        model = init_model(config, base, n_codes)
        _adapt(config, base, model)
        load_weights(trainable_parameters(model), weights)
    model.backbone = model.backbone.merge_and_unload()  # type: ignore[operator]
    return model


def _adapt(config: ScanConfig, base: BaseModel, model: ScanModel) -> None:
    if config.adapters.adapter == "lora":
        model.backbone = add_adapters(model.backbone, config.adapters, None, base.new_ids)  # type: ignore[assignment]


def init_model(config: ScanConfig, base: BaseModel, n_codes: int) -> ScanModel:
    """Loads the base in fp32 with new heads."""
    import torch
    from transformers.initialization import no_init_weights

    from dialint.detector.engines.scan_model import ScanModel, backbone_from_config

    torch.manual_seed(config.running.seed)
    with no_init_weights():
        backbone = backbone_from_config(base.shape)
    _load_weights(backbone, base.folder)
    _add_embeddings(backbone, base, config.running.seed)
    torch.manual_seed(config.running.seed)
    model = ScanModel(backbone, n_codes, base.render.history)
    if model.history is not None:
        torch.nn.init.zeros_(model.history.weight)  # starts as the base without history
    for head in (model.slot_head, model.token_head):
        torch.nn.init.zeros_(head.weight)
    torch.nn.init.constant_(model.slot_head.bias, -4.0)  # errors are rare: the prior
    return model


def _load_weights(backbone: PreTrainedModel, folder: Path) -> None:
    """Loads the folder's weights tensor by tensor, so that a large base is in memory once.

    Raises:
        ConfigError: E_BASE, they do not fit config.json, or are stored in few bits.
    """
    from safetensors import SafetensorError

    wanted = backbone.state_dict()
    inside = f"{backbone.base_model_prefix}."  # where a language model keeps its backbone
    try:
        for name, weight in iter_weights(folder):
            key = name.removeprefix("backbone.").removeprefix(inside)  # of a scanner, a language model
            if key in wanted:
                wanted.pop(key).copy_(weight)
    except (OSError, SafetensorError, RuntimeError) as error:
        raise ConfigError("E_BASE", f"{folder}: weights that do not fit ({type(error).__name__})") from None
    if wanted and len(wanted) == len(backbone.state_dict()):  # a scanner of heads alone
        content = scanner_manifest(folder)
        base, sha256 = content.get("base") or {}, content.get("base_sha256")
        if base.get("name") in FETCHED:
            names = {f"{BACKBONE}{key}" for key in wanted}
            weights = fetched_backbone(base["name"], str(sha256 or base.get("sha256")), names)
            for name, weight in weights.items():
                wanted.pop(name.removeprefix(BACKBONE)).copy_(weight)
    if wanted:
        raise ConfigError("E_BASE", f"{folder}: has no weights {min(wanted)}; another model's config?")


def _add_embeddings(backbone: PreTrainedModel, base: BaseModel, seed: int) -> None:
    """Adds embeddings of tokens that the base lacks, and initializes those of new control tokens by samples
    with the mean and variance of the base's own."""
    import torch

    table: Any = backbone.get_input_embeddings()
    variance, mean = torch.var_mean(table.weight.detach(), dim=0)
    n_tokens = max(load_tokenizer(base.tokenizer).get_vocab().values()) + 1
    if n_tokens > table.num_embeddings:
        backbone.resize_token_embeddings(n_tokens, mean_resizing=False)
        table = backbone.get_input_embeddings()
    new_ids = list(base.new_ids)
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn((len(new_ids), table.embedding_dim), generator=generator)
    with torch.no_grad():
        table.weight[new_ids] = mean + variance.sqrt() * noise
