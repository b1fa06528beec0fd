"""Removes layers and heads from a backbone: its shape and its weights change together, nothing is masked.

Works on ``config.json`` and named tensors, so that the evaluated model is the one that is saved. Weights are
named as in the backbone, without a prefix.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dialint.detector.errors import ConfigError
from dialint.finetune.scanner.trained import Shape, Weights


def evenly_spaced(n_layers: int, n_selected: int) -> list[int]:
    """The indices of `n_selected` of `n_layers` layers, evenly spaced, the first and the last among them.

    Raises:
        ConfigError: E_OPTION, `n_selected` is not 1 to `n_layers`.
    """
    if not 1 <= n_selected <= n_layers:
        raise ConfigError("E_OPTION", f"--layers must be 1 to {n_layers}, the layers that there are")
    return [round(number * (n_layers - 1) / max(1, n_selected - 1)) for number in range(n_selected)]


def keep_layers(shape: Shape, weights: Weights, layers: Sequence[int]) -> tuple[Shape, Weights]:
    """The backbone with only these `layers`, renumbered in that order.

    Raises:
        ConfigError: E_BASE, its layers are not one numbered stack.
    """
    from dialint.detector.engines.scan_model import HEADS_KEY

    n_layers = shape["num_hidden_layers"]
    numbered = re.compile(r"(?s)\A((?:.*\.)?layers?\.)(\d++)(\..*)")
    matches = {name: match for name in weights if (match := numbered.fullmatch(name))}
    if {int(match[2]) for match in matches.values()} != set(range(n_layers)):
        raise ConfigError("E_BASE", f"{shape['model_type']}: its layers are not one numbered stack")
    new_index = {layer: index for index, layer in enumerate(layers)}
    remaining: Weights = {}
    for name, weight in weights.items():
        match = matches.get(name)
        if match is None:
            remaining[name] = weight
        elif int(match[2]) in new_index:
            remaining[f"{match[1]}{new_index[int(match[2])]}{match[3]}"] = weight
    by_layer = {
        key: [shape[key][layer] for layer in layers] for key in (HEADS_KEY, "layer_types") if shape.get(key)
    }
    return {**shape, "num_hidden_layers": len(layers), **by_layer}, remaining


def drop_heads(shape: Shape, weights: Weights, dropped: set[tuple[int, int]]) -> tuple[Shape, Weights]:
    """The backbone without the heads `dropped`, each a layer and a key head of it.

    Raises:
        ConfigError: E_HEADS, this architecture does not allow it.
    """
    import torch

    from dialint.detector.engines.scan_model import (
        HEADS_KEY,
        UnsupportedHeads,
        attention_layers,
        backbone_from_config,
    )

    try:
        with torch.device("meta"):
            layers = attention_layers(backbone_from_config(shape))
    except UnsupportedHeads as error:
        raise ConfigError("E_HEADS", f"{shape['model_type']}: {error}") from None
    remaining = dict(weights)
    counts = []
    for number, layer in enumerate(layers):
        heads = [head for head in range(layer.n_heads) if (number, head) not in dropped]
        counts.append(len(heads))
        remaining |= layer.select(weights, heads)
    return {**shape, HEADS_KEY: counts}, remaining


def count_heads(shape: Shape) -> list[int]:
    """The number of key heads of each layer.

    Raises:
        ConfigError: E_HEADS, this architecture does not allow removing heads.
    """
    import torch

    from dialint.detector.engines.scan_model import HEADS_KEY, backbone_from_config

    with torch.device("meta"):
        weights = dict(backbone_from_config(shape).state_dict())
    counts: list[int] = drop_heads(shape, weights, set())[0][HEADS_KEY]
    return counts
