"""The scanner's network: the layers of any Hugging Face backbone and one linear head over its hidden states.

A turn's score reads two vectors: the state of its slot, and the mean over its own tokens. With one token in
place of the mean the same head says how much that token speaks for the error: the evidence. Training and
scoring share this module; it knows nothing of dialogues.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModel, PretrainedConfig, PreTrainedModel

from dialint.detector.engines import packed
from dialint.detector.errors import ReleaseRefused
from dialint.detector.render import N_KINDS


class ScanModel(nn.Module):
    """A backbone, and linear heads for slots and tokens, each of shape (codes, hidden), over its hidden
    states. With `history` a learned vector for each token's history is added to its embedding."""

    def __init__(self, backbone: PreTrainedModel, n_codes: int, history: bool = False) -> None:
        super().__init__()
        self.backbone = backbone
        hidden = backbone.config.hidden_size
        self.slot_head = nn.Linear(hidden, n_codes)
        self.token_head = nn.Linear(hidden, n_codes, bias=False)
        self.history = nn.Embedding(N_KINDS, hidden) if history else None
        self._first_position = self.first_position

    @property
    def first_position(self) -> int:
        """The backbone's first position: behind that of padding in RoBERTa's family."""
        for name, module in self.backbone.named_modules():
            if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
                return 0 if module.padding_idx is None else module.padding_idx + 1
        return 0

    def hidden_states(self, row: packed.PackedRow) -> torch.Tensor:
        """Hidden states of a packed row, shape (tokens, hidden), in the backbone's type.

        Raises:
            packed.PackingUnsupported: the backbone wants an attention that cannot be computed packed.
        """
        output = self.backbone(
            **self.inputs(row.ids, row.word_kinds),
            position_ids=row.positions + self._first_position,
            cu_seq_lens_q=row.bounds,
            use_cache=False,
        )
        states: torch.Tensor = output.last_hidden_state[0]
        return states

    def scores(
        self, slots: torch.Tensor, tokens: torch.Tensor, lengths: list[int]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits of turns, shape (slots, codes), and of their tokens, shape (tokens, codes), from the hidden
        states of the slots, shape (slots, hidden), and of the tokens, of which `lengths` belong to each slot:
        what the turn's would be if all its tokens were like that one."""
        at_slot, counts = self.slot_head(slots), torch.tensor(lengths, dtype=torch.long, device=slots.device)
        of_tokens = self.token_head(tokens)
        means = mean_by_slot(of_tokens, counts)
        return at_slot + means, of_tokens + at_slot.repeat_interleave(counts, dim=0)

    def inputs(self, ids: torch.Tensor, word_kinds: torch.Tensor | None) -> dict[str, torch.Tensor]:
        """Arguments of the backbone for token ids and their history, of the same shape."""
        if self.history is None or word_kinds is None:
            return {"input_ids": ids}
        embedded = self.backbone.get_input_embeddings()(ids)
        return {"inputs_embeds": embedded + self.history(word_kinds).to(embedded.dtype)}


def mean_by_slot(tokens: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """The mean over the tokens of each slot, shape (slots, any); 0 where a slot has none."""
    sums = tokens.new_zeros(len(counts), tokens.shape[1])
    slots = torch.arange(len(counts), device=counts.device).repeat_interleave(counts)
    return sums.index_add_(0, slots, tokens) / counts.clamp_min(1)[:, None]


def backbone_from_config(config: dict[str, Any]) -> PreTrainedModel:
    """Builds an uninitialised backbone in fp32, with packed attention, whatever type its weights were saved
    in. Never runs remote code."""
    kind = config["model_type"]
    shape: PretrainedConfig = AutoConfig.for_model(
        kind, **{k: v for k, v in config.items() if k != "model_type"}
    )
    extra = {"add_pooling_layer": False} if kind in {"bert", "roberta", "xlm-roberta"} else {}
    model: PreTrainedModel = AutoModel.from_config(  # type: ignore[no-untyped-call]
        shape, attn_implementation=packed.NAME, dtype=torch.float32, trust_remote_code=False, **extra
    )
    return model


def check_equivalence(model: ScanModel, context_tokens: int) -> None:
    """Refuses a model that computes other hidden states packed than by itself. `context_tokens` is the
    longest window it will ever see. The model comes back as it was.

    Raises:
        ReleaseRefused: the hidden states differ, or the model cannot run packed or that far.
    """
    why = packed.equivalence_error(model.backbone, context_tokens, 0, model.first_position)
    if why is not None:
        raise ReleaseRefused("E_RELEASE", why)
