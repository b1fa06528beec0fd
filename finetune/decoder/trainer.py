"""Trains and evaluates a decoder: packed rows, the loss of every token, held-out perplexity by source.

Everything random follows from the seed and the step's number. Perplexity counts every token, control tokens
included, so it compares models of one tokenizer and style only. Bits per byte divide the cost of all tokens
by the bytes of the dialogues' text: they compare any models.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from dialint.finetune.decoder.model import build_row, plan_rows, token_losses
from dialint.finetune.decoder.options import PretrainConfig
from dialint.finetune.decoder.text import Piece
from dialint.finetune.train.finite import validate_loss
from dialint.finetune.train.loop import (
    Evaluation,
    StepOutput,
    TrainingLoop,
    build_optimizer,
    optimizer_step,
    warmup_cosine,
)

LOG_STEPS = 20
WEIGHT_DECAY = 0.1
"""Decay of matrices."""
FLOOR = 0.1
"""Learning rate of the last step, as a share of the peak."""


@dataclass
class PretrainTrainer:
    """A decoder with the data, the optimizer and the rows of its training."""

    config: PretrainConfig
    model: Any
    bf16: bool
    train: Sequence[Piece]
    heldout: Sequence[Piece]

    def __post_init__(self) -> None:
        config, lengths = self.config, [len(piece.ids) for piece in self.train]
        self.rows = plan_rows(lengths, config.running.seed, config.epochs, config.row_tokens)
        self.n_steps = math.ceil(len(self.rows) / config.rows)
        self.parameters = dict(self.model.named_parameters())
        matrices = [p for p in self.parameters.values() if p.dim() >= 2]  # embeddings among them
        others = [p for p in self.parameters.values() if p.dim() < 2]  # norms and biases do not decay
        self.optimizer = build_optimizer(
            config.running.optimizer,
            [group for group in (matrices, others) if group],
            self.model.device.type,
            WEIGHT_DECAY,
            betas=(0.9, 0.95),
        )
        for group in self.optimizer.param_groups[1:]:
            group["weight_decay"] = 0.0

    def build_loop(self, job: str) -> TrainingLoop:
        """The run in the folder of the config, with early stopping by held-out perplexity."""
        return TrainingLoop(
            out=self.config.out,
            job=job,
            n_steps=self.n_steps,
            train_step=self.train_step,
            parameters=self.parameters,
            optimizer=self.optimizer,
            evaluate=self.evaluate,
            eval_steps=self.config.eval_steps,
            eval_last_step=True,
            patience=self.config.patience,
            log_steps=LOG_STEPS,
            running=self.config.running,
        )

    def train_step(self, step: int) -> StepOutput:
        """The optimizer's step number `step`. The loss is the mean over all target tokens of the step.

        Raises:
            ConfigError: E_DIVERGED, the loss or the gradient is NaN or infinite.
        """
        config = self.config
        torch.manual_seed(config.running.seed * 1_000_003 + step)  # dropout of base models
        planned = self.rows[step * config.rows : (step + 1) * config.rows]
        rows = [build_row([self.train[index] for index in row]) for row in planned]
        n_targets = sum(row.n_targets for row in rows)
        total = 0.0
        for row in rows:
            loss = token_losses(self.model, row, self.bf16).sum() / n_targets
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        share = warmup_cosine(step, self.n_steps, round(config.warm_up * self.n_steps), FLOOR)
        peaks = [config.peak_rate] * len(self.optimizer.param_groups)
        optimizer_step(self.optimizer, self.parameters.values(), total, peaks, share, step)
        return StepOutput(n_targets, total, {"rate": self.optimizer.param_groups[0]["lr"]})

    def evaluate(self, step: int) -> Evaluation:
        """Perplexity of the held-out pieces after `step` steps, in all and by source; less is better.

        Raises:
            ConfigError: E_DIVERGED, the held-out loss is NaN or infinite.
        """
        costs = evaluate_perplexity(self.model, self.heldout, self.config.row_tokens, self.bf16)
        total = sum_costs(costs)
        validate_loss(step, total.per_token)
        figures = total.to_dict()
        by_source = {source: cost.to_dict() for source, cost in sorted(costs.items())}
        message = f"perplexity {figures['perplexity']}, {figures['bits_per_byte']} bits a byte"
        print(f"step {step}: held-out {message}", file=sys.stderr, flush=True)
        return Evaluation({"heldout": {"all": figures, **by_source}}, -total.per_token)


@dataclass(frozen=True)
class TokenCost:
    """Nats spent on `tokens` tokens of `n_bytes` bytes of text."""

    nats: float
    tokens: int
    n_bytes: int

    @property
    def per_token(self) -> float:
        """Mean nats of a token."""
        return self.nats / max(1, self.tokens)

    def to_dict(self) -> dict[str, float]:
        """The figures of logs, manifests and model cards."""
        return {
            "loss": round(self.per_token, 4),
            "perplexity": round(math.exp(min(50.0, self.per_token)), 3),
            "bits_per_byte": round(self.nats / math.log(2) / max(1, self.n_bytes), 4),
            "tokens": self.tokens,
        }


def evaluate_perplexity(
    model: Any, pieces: Sequence[Piece], row_tokens: int, bf16: bool
) -> dict[str, TokenCost]:
    """Each source's cost on `pieces`; the model is in training mode afterwards."""
    by_source: dict[str, dict[str, TokenCost]] = {}
    model.eval()
    with torch.no_grad():
        for indices in plan_rows([len(piece.ids) for piece in pieces], 0, 1, row_tokens):
            row = build_row([pieces[index] for index in indices])
            losses = token_losses(model, row, bf16).double()
            for index, own in zip(indices, losses.tensor_split(row.bounds[1:-1]), strict=True):
                piece = pieces[index]
                cost = TokenCost(float(own.sum()), len(piece.ids) - 1, piece.n_bytes)
                by_source.setdefault(piece.source, {})[str(index)] = cost
    model.train()
    return {source: sum_costs(costs) for source, costs in by_source.items()}


def sum_costs(costs: Mapping[str, TokenCost]) -> TokenCost:
    """The cost of all together."""
    parts = costs.values()
    return TokenCost(sum(p.nats for p in parts), sum(p.tokens for p in parts), sum(p.n_bytes for p in parts))
