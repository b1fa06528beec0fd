"""Builds the student of a distillation: from a backbone, a scanner, or some layers of its teacher."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dialint.detector.engines.base_models import weights_sha256
from dialint.detector.engines.quantization import drop_quantization_config, iter_weights
from dialint.detector.errors import ConfigError
from dialint.finetune.compression.surgery import evenly_spaced, keep_layers
from dialint.finetune.scanner.backbone import prepare_tokenizer
from dialint.finetune.scanner.trained import (
    BACKBONE,
    Shape,
    TrainedScanner,
    Weights,
    is_scanner,
    read_scanner,
    replace_backbone,
    select_dialogue_codes,
)

if TYPE_CHECKING:
    from dialint.detector.engines.scan_model import ScanModel

DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob", "attention_dropout")
"""Packed attention has no dropout, so nothing else has."""
PRIOR_LOGIT = -4.0
"""Errors are rare: the bias of a new head starts from this prior."""


def build_student(
    base: Path | None,
    teacher: TrainedScanner | None,
    codes: tuple[str, ...],
    context_tokens: int,
    layers: int | None,
) -> TrainedScanner:
    """Build the student for `codes`, with `layers` of its layers, None for all. Without a base it starts from
    layers of `teacher`.

    Raises:
        ConfigError: nothing to start from, a base that does not load, or a scanner of other codes.
    """
    if base is not None and not is_scanner(base):
        student = _load_backbone(base, codes, context_tokens)
    elif base is not None:
        student = read_scanner(base)
    elif teacher is not None and layers is not None:
        student = teacher
    else:
        raise ConfigError("E_OPTION", "name what the student starts from: --base, or --layers of its teacher")
    if student.codes != codes:
        raise ConfigError("E_CODE", f"{base}: a scanner of other codes than its teacher's")
    return student if layers is None else select_layers(student, layers)


def select_layers(scanner: TrainedScanner, n_layers: int) -> TrainedScanner:
    """The scanner with `n_layers` of its layers, evenly spaced."""
    layers = evenly_spaced(scanner.shape["num_hidden_layers"], n_layers)
    shape, weights = keep_layers(scanner.shape, scanner.backbone(), layers)
    return replace(scanner, shape=shape, model=replace_backbone(scanner.model, shape, weights))


def reinitialize(scanner: TrainedScanner, seed: int) -> TrainedScanner:
    """The same scanner with random weights; nothing of its base model's weights is left, nor their hash."""
    import torch

    from dialint.detector.engines.scan_model import ScanModel, backbone_from_config

    torch.manual_seed(seed)
    model = ScanModel(backbone_from_config(scanner.shape), len(scanner.codes), scanner.render.history, True)
    _init_heads(model)
    return replace(scanner, model=model, base_sha256="")


def _load_backbone(base: Path, codes: tuple[str, ...], context_tokens: int) -> TrainedScanner:
    """A Hugging Face backbone with new heads."""
    import torch

    from dialint.detector.engines.scan_model import ScanModel, backbone_from_config

    shape, weights, tokenizer = _read_base(base)
    marked, render = prepare_tokenizer(tokenizer, shape.get("bos_token_id"), context_tokens, history=True)
    if marked != tokenizer:
        raise ConfigError(
            "E_BASE", f"{base}: its tokenizer lacks our control tokens; train sft scan adds them"
        )
    torch.manual_seed(0)
    model = ScanModel(backbone_from_config(shape), len(codes), render.history, evidence=True)
    wanted = model.backbone.state_dict()
    inside = f"{model.backbone.base_model_prefix}."  # where a language model keeps its backbone
    by_name = {name.removeprefix(BACKBONE).removeprefix(inside): weight for name, weight in weights.items()}
    if any(name not in by_name or by_name[name].shape != wanted[name].shape for name in wanted):
        raise ConfigError("E_BASE", f"{base}: weights are missing or do not fit config.json")
    model.backbone.load_state_dict({name: by_name[name] for name in wanted})
    _init_heads(model)
    sha256 = weights_sha256(base)
    return TrainedScanner(
        model, codes, select_dialogue_codes(codes), render, shape, tokenizer, sha256, None, sha256
    )


def _read_base(base: Path) -> tuple[Shape, Weights, str]:
    from safetensors import SafetensorError

    try:
        shape = drop_quantization_config(json.loads((base / "config.json").read_text()))
        weights, tokenizer = dict(iter_weights(base)), (base / "tokenizer.json").read_text()
    except (OSError, ValueError, SafetensorError) as error:
        raise ConfigError("E_BASE", f"{base}: no model that loads ({type(error).__name__})") from None
    return {**shape, **{name: 0.0 for name in DROPOUTS if name in shape}}, weights, tokenizer


def _init_heads(model: ScanModel) -> None:
    """Set the biases of new heads to the prior; a turn's score gets it from its highest token. The history's
    weights start at 0."""
    import torch

    if model.history is not None:
        torch.nn.init.zeros_(model.history.weight)
    for head in (model.turn_head, model.dialogue_head, model.span_head):
        torch.nn.init.constant_(head.bias, PRIOR_LOGIT)
    torch.nn.init.zeros_(model.turn_head.bias)
