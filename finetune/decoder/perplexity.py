"""Perplexity of a decoder on held-out dialogues, by source.

Perplexity counts every token, marks included, so it compares models of one tokenizer and style only.
Bits per byte put the cost of all tokens on the bytes of the dialogues' text: they compare any models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dialint.finetune.decoder.packing import build_batch, plan_rows
from dialint.finetune.decoder.writing import Piece

if TYPE_CHECKING:
    import torch

    from dialint.finetune.decoder.model import TrainOptions


@dataclass
class TokenCost:
    """Nats spent on `tokens` tokens of `n_bytes` bytes of text."""

    nats: float = 0.0
    tokens: int = 0
    n_bytes: int = 0

    def add(self, other: TokenCost) -> None:
        """Take another's too."""
        self.nats += other.nats
        self.tokens += other.tokens
        self.n_bytes += other.n_bytes

    @property
    def per_token(self) -> float:
        """Mean nats of a token."""
        return self.nats / max(1, self.tokens)

    def to_dict(self) -> dict[str, float]:
        """As they stand in logs, manifests and cards."""
        return {
            "loss": round(self.per_token, 4),
            "perplexity": round(math.exp(min(50.0, self.per_token)), 3),
            "bits_per_byte": round(self.nats / math.log(2) / max(1, self.n_bytes), 4),
            "tokens": self.tokens,
        }


def evaluate_perplexity(model: Any, pieces: Sequence[Piece], options: TrainOptions) -> dict[str, TokenCost]:
    """Each source's cost on `pieces`; the model comes back in training mode."""
    import torch

    costs: dict[str, TokenCost] = {}
    rows = plan_rows([len(piece.ids) for piece in pieces], 0, 1, options.row_tokens)
    model.eval()
    with torch.no_grad():
        for start in range(0, len(rows), options.rows):
            some = rows[start : start + options.rows]
            batch = build_batch(pieces, some, options.rows, options.row_tokens)
            losses = options.losses(model, batch)
            for row, places in enumerate(some):
                for segment, place in enumerate(places, 1):
                    _count(costs, pieces[place], losses[row][batch.segments[row] == segment])
    model.train()
    return costs


def _count(costs: dict[str, TokenCost], piece: Piece, losses: torch.Tensor) -> None:
    nats = float(losses.double().sum())
    costs.setdefault(piece.source, TokenCost()).add(TokenCost(nats, len(piece.ids) - 1, piece.n_bytes))


def sum_costs(costs: dict[str, TokenCost]) -> TokenCost:
    """All sources as one."""
    total = TokenCost()
    for cost in costs.values():
        total.add(cost)
    return total
