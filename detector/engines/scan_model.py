"""The scanner's network: any Hugging Face backbone and one linear head over its hidden states.

The head reads verdict slots (turn codes), the dialogue slot (dialogue codes) and the agent's own tokens
(evidence); a turn's score may include its strongest token. Training and scoring share this module; it knows
nothing of dialogues.

A pruned backbone has fewer attention heads in some layers than in others: its ``config.json`` says under
`HEADS_KEY` how many key heads each layer has kept. Queries that share a key head are kept or removed with it.
Which heads are worth keeping is decided by `dialint train prune`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModel, PretrainedConfig, PreTrainedModel

from dialint.detector.engines import packed
from dialint.detector.render import N_KINDS

HEADS_KEY = "heads_by_layer"


class UnsupportedHeads(ValueError):
    """The backbone's attention is not built so that heads can be taken out."""


@dataclass(frozen=True)
class AttentionLayer:
    """One layer's projections by their names in the backbone: `rows` maps those of queries, keys and values
    to the rows that one head takes, `out` has as many columns to a head as the queries have rows.
    `n_heads` counts key heads."""

    rows: dict[str, int]
    out: str
    out_columns: int
    n_heads: int

    def select(self, weights: dict[str, torch.Tensor], heads: list[int]) -> dict[str, torch.Tensor]:
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


def attention_layers(backbone: nn.Module) -> list[AttentionLayer]:
    """Every layer's attention, in order.

    Raises:
        UnsupportedHeads: queries, keys and values are not three projections of known names.
    """
    results = []
    for name, module in backbone.named_modules():
        children = dict(module.named_children())
        if {"query", "key", "value"} <= children.keys():
            out = f"{name.rpartition('.')[0]}.output.dense"
            results.append(
                _attention(backbone, [f"{name}.{part}" for part in ("query", "key", "value")], out)
            )
        elif {"q_proj", "k_proj", "v_proj", "o_proj"} <= children.keys():
            results.append(_attention(backbone, [f"{name}.{part}_proj" for part in "qkv"], f"{name}.o_proj"))
    n_layers = getattr(backbone.config, "num_hidden_layers", None)
    if not results or len(results) != n_layers:
        raise UnsupportedHeads("heads cannot be taken out of this architecture; layers can")
    return results


def _attention(backbone: nn.Module, projections: list[str], out: str) -> AttentionLayer:
    parts = dict(backbone.named_modules())
    owner = parts[projections[0].rpartition(".")[0]]
    width = getattr(owner, "head_dim", None) or getattr(owner, "attention_head_size", None)
    query, key, last = (parts.get(name) for name in (projections[0], projections[1], out))
    if not isinstance(query, nn.Linear) or not isinstance(key, nn.Linear) or not isinstance(last, nn.Linear):
        raise UnsupportedHeads("heads cannot be taken out of this architecture; layers can")
    if not isinstance(width, int) or key.out_features % width or query.out_features % key.out_features:
        raise UnsupportedHeads("heads cannot be taken out of this architecture; layers can")
    shared = query.out_features // key.out_features
    rows = dict(zip(projections, (width * shared, width, width), strict=True))
    return AttentionLayer(rows, out, width * shared, key.out_features // width)


def prune_heads(backbone: nn.Module, n_heads: list[int]) -> None:
    """Give each layer's attention as many key heads as `n_heads` says, in place.

    Raises:
        UnsupportedHeads: the architecture does not support it.
    """
    layers = attention_layers(backbone)
    if len(layers) != len(n_heads) or any(
        not 1 <= n <= layer.n_heads for n, layer in zip(n_heads, layers, strict=True)
    ):
        raise UnsupportedHeads(f"{HEADS_KEY} does not fit the layers")
    for layer, n in zip(layers, n_heads, strict=True):
        for name, width in layer.rows.items():
            _narrow(backbone.get_submodule(name), out_features=n * width)
        _narrow(backbone.get_submodule(layer.out), in_features=n * layer.out_columns)


def _narrow(module: nn.Module, out_features: int | None = None, in_features: int | None = None) -> None:
    assert isinstance(module, nn.Linear)  # `attention_layers` has looked
    module.out_features = out_features or module.out_features
    module.in_features = in_features or module.in_features
    module.weight = nn.Parameter(module.weight.detach()[: module.out_features, : module.in_features].clone())
    if module.bias is not None:
        module.bias = nn.Parameter(module.bias.detach()[: module.out_features].clone())


HEADS = ("turn_head", "dialogue_head", "span_head")
"""The heads in the order in which an export for a server stacks them."""
EVIDENCE_WEIGHT = "evidence_weight"
"""Tensor of a release whose turns' scores take in their evidence; older ones have none."""


class ScanModel(nn.Module):
    """`backbone` gives hidden states; three linear heads of shape (codes, hidden) read them. With
    `history` a learnt vector for each token's history is added to its embedding, with `evidence` a turn's
    score is its slot's plus a learnt weight, shape (codes,), times that of its strongest token."""

    def __init__(
        self, backbone: PreTrainedModel, n_codes: int, history: bool = False, evidence: bool = False
    ) -> None:
        super().__init__()
        self.backbone = backbone
        hidden = backbone.config.hidden_size
        self.turn_head = nn.Linear(hidden, n_codes)
        self.dialogue_head = nn.Linear(hidden, n_codes)
        self.span_head = nn.Linear(hidden, n_codes)
        self.history = nn.Embedding(N_KINDS, hidden) if history else None
        self.evidence_weight = nn.Parameter(torch.ones(n_codes)) if evidence else None
        self._first_position = self.first_position

    @property
    def causal(self) -> bool:
        """Whether a token sees only what stands before it, so that a prefix can be shared."""
        return any(getattr(module, "is_causal", False) for module in self.backbone.modules())

    @property
    def first_position(self) -> int:
        """Where the backbone starts to count: after the padding's position in RoBERTa's family."""
        for name, module in self.backbone.named_modules():
            if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
                return 0 if module.padding_idx is None else module.padding_idx + 1
        return 0

    def hidden_states(self, row: packed.PackedRow, longest: int = 0) -> torch.Tensor:
        """Hidden states of a packed row, shape (tokens, hidden), in the backbone's type. `longest` is
        the longest window that may ever come, if that is not in this row.

        Raises:
            packed.PackingUnsupported: the backbone wants an attention that cannot be computed packed.
        """
        output = self.backbone(
            **self.inputs(row.ids, row.word_kinds),
            position_ids=row.positions + self._first_position,
            cu_seq_lens_q=row.bounds,
            max_length_q=longest,
            use_cache=False,
        )
        states: torch.Tensor = output.last_hidden_state[0]
        return states

    def turn_scores(self, slots: torch.Tensor, tokens: torch.Tensor, lengths: list[int]) -> torch.Tensor:
        """Logits of turns, shape (slots, codes): of the slots' hidden states `slots`, shape (slots, hidden),
        and the evidence logits `tokens`, shape (tokens, codes), of which `lengths` belong to each slot.
        Where a slot has none, the evidence head's bias stands for it."""
        scores: torch.Tensor = self.turn_head(slots)
        if self.evidence_weight is None or not lengths:
            return scores
        counts = torch.tensor(lengths, device=tokens.device)
        strongest = torch.segment_reduce(tokens, "max", lengths=counts, axis=0)
        strongest = torch.where(counts[:, None] > 0, strongest, self.span_head.bias)
        return scores + self.evidence_weight * strongest

    def inputs(self, ids: torch.Tensor, word_kinds: torch.Tensor | None) -> dict[str, torch.Tensor]:
        """What the backbone is called with, for token ids and their history of one shape."""
        if self.history is None or word_kinds is None:
            return {"input_ids": ids}
        embedded = self.backbone.get_input_embeddings()(ids)
        return {"inputs_embeds": embedded + self.history(word_kinds).to(embedded.dtype)}


def backbone_from_config(config: dict[str, Any]) -> PreTrainedModel:
    """An uninitialised backbone of the given shape in fp32, with packed attention, whatever type its weights
    were saved in, and heads where some were pruned. Never runs remote code."""
    kind = config["model_type"]
    shape: PretrainedConfig = AutoConfig.for_model(
        kind, **{k: v for k, v in config.items() if k not in ("model_type", HEADS_KEY)}
    )
    extra = {"add_pooling_layer": False} if kind in {"bert", "roberta", "xlm-roberta"} else {}
    model: PreTrainedModel = AutoModel.from_config(  # type: ignore[no-untyped-call]
        shape, attn_implementation=packed.NAME, dtype=torch.float32, trust_remote_code=False, **extra
    )
    if HEADS_KEY in config:
        prune_heads(model, config[HEADS_KEY])
    return model
