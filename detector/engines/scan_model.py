"""The scanner's network: any Hugging Face backbone and one linear head over its hidden states.

The head reads verdict slots (turn codes), the dialogue slot (dialogue codes) and the agent's own tokens
(evidence); a turn's score may include its strongest token. Training and scoring share this module; it knows
nothing of dialogues.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModel, PretrainedConfig, PreTrainedModel

from dialint.detector.engines import packed
from dialint.detector.render import N_KINDS

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
    were saved in. Never runs remote code."""
    kind = config["model_type"]
    shape: PretrainedConfig = AutoConfig.for_model(
        kind, **{k: v for k, v in config.items() if k != "model_type"}
    )
    extra = {"add_pooling_layer": False} if kind in {"bert", "roberta", "xlm-roberta"} else {}
    model: PreTrainedModel = AutoModel.from_config(  # type: ignore[no-untyped-call]
        shape, attn_implementation=packed.NAME, dtype=torch.float32, trust_remote_code=False, **extra
    )
    return model
