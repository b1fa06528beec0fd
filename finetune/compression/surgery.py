"""Taking layers and heads out of a backbone: its shape and its weights change together, nothing is masked.

Works on ``config.json`` and named tensors, so that what is measured is what will be saved. Weights are named
as in the backbone, without a prefix.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dialint.detector.errors import ConfigError
from dialint.finetune.scanner.trained import Shape, Weights


def evenly_spaced(n_layers: int, n_kept: int) -> list[int]:
    """`n_kept` of `n_layers` layers, every so-many-th, the first and the last among them.

    Raises:
        ConfigError: there are not as many.
    """
    if not 1 <= n_kept <= n_layers:
        raise ConfigError("E_OPTION", f"--layers must be 1 to {n_layers}, the layers that there are")
    return [round(place * (n_layers - 1) / max(1, n_kept - 1)) for place in range(n_kept)]


def keep_layers(shape: Shape, weights: Weights, kept: Sequence[int]) -> tuple[Shape, Weights]:
    """The backbone with only the layers `kept`, numbered anew in that order.

    Raises:
        ConfigError: E_BASE, its layers are not one numbered stack.
    """
    from dialint.detector.engines.scan_model import HEADS_KEY

    n_layers = shape["num_hidden_layers"]
    numbered = re.compile(r"(?s)\A((?:.*\.)?layers?\.)(\d++)(\..*)")
    found = {name: match for name in weights if (match := numbered.fullmatch(name))}
    if {int(match[2]) for match in found.values()} != set(range(n_layers)):
        raise ConfigError("E_BASE", f"{shape['model_type']}: its layers are not one numbered stack")
    place = {layer: new for new, layer in enumerate(kept)}
    left: Weights = {}
    for name, weight in weights.items():
        match = found.get(name)
        if match is None:
            left[name] = weight
        elif int(match[2]) in place:
            left[f"{match[1]}{place[int(match[2])]}{match[3]}"] = weight
    by_layer = {
        key: [shape[key][layer] for layer in kept] for key in (HEADS_KEY, "layer_types") if shape.get(key)
    }
    return {**shape, "num_hidden_layers": len(kept), **by_layer}, left


def drop_heads(shape: Shape, weights: Weights, dropped: set[tuple[int, int]]) -> tuple[Shape, Weights]:
    """The backbone without the heads `dropped`, each a layer and a key head of it.

    Raises:
        ConfigError: E_HEADS, its attention is not built for that.
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
    left = dict(weights)
    counts = []
    for number, layer in enumerate(layers):
        kept = [head for head in range(layer.n_heads) if (number, head) not in dropped]
        counts.append(len(kept))
        left |= layer.kept(weights, kept)
    return {**shape, HEADS_KEY: counts}, left


def count_heads(shape: Shape) -> list[int]:
    """How many key heads each layer has.

    Raises:
        ConfigError: E_HEADS, heads cannot be taken out here.
    """
    from dialint.detector.engines.scan_model import HEADS_KEY

    counts: list[int] = drop_heads(shape, _no_weights(shape), set())[0][HEADS_KEY]
    return counts


def _no_weights(shape: Shape) -> Weights:
    """The backbone's tensors without content."""
    import torch

    from dialint.detector.engines.scan_model import backbone_from_config

    with torch.device("meta"):
        return dict(backbone_from_config(shape).state_dict())
