"""The scanner's network: any Hugging Face backbone and one linear head over its hidden states.

The head reads verdict slots (turn codes), the dialogue slot (dialogue codes) and the agent's own
tokens (evidence). Training and scoring share this module; it does not know dialogues.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModel, PretrainedConfig, PreTrainedModel

from detector.engines import packed


class ScanModel(nn.Module):
    """`backbone` gives hidden states; three linear heads of shape (codes, hidden) read them."""

    def __init__(self, backbone: PreTrainedModel, n_codes: int) -> None:
        super().__init__()
        self.backbone = backbone
        hidden = backbone.config.hidden_size
        self.turn_head = nn.Linear(hidden, n_codes)
        self.dialogue_head = nn.Linear(hidden, n_codes)
        self.span_head = nn.Linear(hidden, n_codes)
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

    def hidden(self, row: packed.Packed, longest: int = 0) -> torch.Tensor:
        """Hidden states of a packed row, shape (tokens, hidden), in the backbone's type. `longest` is
        the longest window that may ever come, if that is not in this row.

        Raises:
            packed.NotPacked: the backbone wants an attention that cannot be computed packed.
        """
        output = self.backbone(
            input_ids=row.ids,
            position_ids=row.positions + self._first_position,
            cu_seq_lens_q=row.bounds,
            max_length_q=longest,
            use_cache=False,
        )
        states: torch.Tensor = output.last_hidden_state[0]
        return states


def backbone_from_config(config: dict[str, Any]) -> PreTrainedModel:
    """An uninitialised backbone of the given shape, with packed attention. Never runs remote code."""
    kind = config["model_type"]
    shape: PretrainedConfig = AutoConfig.for_model(
        kind, **{k: v for k, v in config.items() if k != "model_type"}
    )
    extra = {"add_pooling_layer": False} if kind in {"bert", "roberta", "xlm-roberta"} else {}
    model: PreTrainedModel = AutoModel.from_config(  # type: ignore[no-untyped-call]
        shape, attn_implementation=packed.NAME, trust_remote_code=False, **extra
    )
    return model
