"""Attention with fewer heads in some layers than in others: where a backbone's heads lie in its weights.

A pruned backbone's ``config.json`` says under `HEADS` how many key heads each layer has kept. Queries that
share a key head stay or go with it. Which heads are worth keeping is `dialint train prune`'s business.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

HEADS = "heads_by_layer"


class NoHeads(ValueError):
    """The backbone's attention is not built so that heads can be taken out."""


@dataclass(frozen=True)
class Attention:
    """One layer's projections by their names in the backbone: `rows` maps those of queries, keys and values
    to the rows that one head takes, `out` has as many columns to a head as the queries have rows.
    `n_heads` counts key heads."""

    rows: dict[str, int]
    out: str
    out_columns: int
    n_heads: int

    def kept(self, weights: dict[str, torch.Tensor], heads: list[int]) -> dict[str, torch.Tensor]:
        """This layer's weights, by their names in the backbone, with only these heads."""
        cut = {
            f"{name}.{part}": _blocks(weights[f"{name}.{part}"], heads, width, 0)
            for name, width in self.rows.items()
            for part in ("weight", "bias")
            if f"{name}.{part}" in weights
        }
        out = f"{self.out}.weight"
        return cut | {out: _blocks(weights[out], heads, self.out_columns, 1)}


def _blocks(weight: torch.Tensor, heads: list[int], width: int, dim: int) -> torch.Tensor:
    return torch.cat([weight.narrow(dim, head * width, width) for head in heads], dim).contiguous()


def attentions(backbone: nn.Module) -> list[Attention]:
    """Every layer's attention, in order.

    Raises:
        NoHeads: queries, keys and values are not three projections of known names.
    """
    found = []
    for name, module in backbone.named_modules():
        children = dict(module.named_children())
        if {"query", "key", "value"} <= children.keys():
            out = f"{name.rpartition('.')[0]}.output.dense"
            found.append(_attention(backbone, [f"{name}.{part}" for part in ("query", "key", "value")], out))
        elif {"q_proj", "k_proj", "v_proj", "o_proj"} <= children.keys():
            found.append(_attention(backbone, [f"{name}.{part}_proj" for part in "qkv"], f"{name}.o_proj"))
    n_layers = getattr(backbone.config, "num_hidden_layers", None)
    if not found or len(found) != n_layers:
        raise NoHeads("heads cannot be taken out of this architecture; layers can")
    return found


def _attention(backbone: nn.Module, projections: list[str], out: str) -> Attention:
    parts = dict(backbone.named_modules())
    owner = parts[projections[0].rpartition(".")[0]]
    width = getattr(owner, "head_dim", None) or getattr(owner, "attention_head_size", None)
    query, key, last = (parts.get(name) for name in (projections[0], projections[1], out))
    if not isinstance(query, nn.Linear) or not isinstance(key, nn.Linear) or not isinstance(last, nn.Linear):
        raise NoHeads("heads cannot be taken out of this architecture; layers can")
    if not isinstance(width, int) or key.out_features % width or query.out_features % key.out_features:
        raise NoHeads("heads cannot be taken out of this architecture; layers can")
    shared = query.out_features // key.out_features
    rows = dict(zip(projections, (width * shared, width, width), strict=True))
    return Attention(rows, out, width * shared, key.out_features // width)


def shrink(backbone: nn.Module, n_heads: list[int]) -> None:
    """Give each layer's attention as many key heads as `n_heads` says, in place.

    Raises:
        NoHeads: it cannot have them.
    """
    layers = attentions(backbone)
    if len(layers) != len(n_heads) or any(
        not 1 <= n <= layer.n_heads for n, layer in zip(n_heads, layers, strict=True)
    ):
        raise NoHeads(f"{HEADS} does not fit the layers")
    for layer, n in zip(layers, n_heads, strict=True):
        for name, width in layer.rows.items():
            _narrow(backbone.get_submodule(name), out_features=n * width)
        _narrow(backbone.get_submodule(layer.out), in_features=n * layer.out_columns)


def _narrow(module: nn.Module, out_features: int | None = None, in_features: int | None = None) -> None:
    assert isinstance(module, nn.Linear)  # `attentions` has looked
    module.out_features = out_features or module.out_features
    module.in_features = in_features or module.in_features
    module.weight = nn.Parameter(module.weight.detach()[: module.out_features, : module.in_features].clone())
    if module.bias is not None:
        module.bias = nn.Parameter(module.bias.detach()[: module.out_features].clone())
