"""Pre-trains and evaluates a decoder: packed rows, the loss of every token, held-out perplexity by source.

Everything random follows from the seed and the step's number. Perplexity counts every token, control tokens
included, so it compares models of one tokenizer and style only. Bits per byte divide the cost of all tokens
by the bytes of the dialogues' text: they compare any models.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dialint.finetune.decoder.model import TrainOptions
from dialint.finetune.decoder.packing import build_batch, plan_rows
from dialint.finetune.decoder.writing import Piece
from dialint.finetune.train.finite import validate_loss
from dialint.finetune.train.loop import Evaluation, StepOutput, TrainingLoop, optimizer_step
from dialint.finetune.train.optimizer import warmup_cosine

LOG_STEPS = 20
FLOOR = 0.1
"""Learning rate of the last step, as a share of the peak."""


@dataclass
class PretrainTrainer:
    """A decoder with the data, the optimizer and the rows of its training. `forward` is the model, or what
    torch.compile made of it."""

    options: TrainOptions
    model: Any
    forward: Any
    train: Sequence[Piece]
    heldout: Sequence[Piece]

    def __post_init__(self) -> None:
        options, lengths = self.options, [len(piece.ids) for piece in self.train]
        self.rows = plan_rows(lengths, options.seed, options.epochs, options.row_tokens)
        self.n_steps = math.ceil(len(self.rows) / (options.rows * options.accumulate))
        self.parameters = dict(self.model.named_parameters())
        matrices = [p for p in self.parameters.values() if p.dim() >= 2]  # embeddings among them
        others = [p for p in self.parameters.values() if p.dim() < 2]  # norms and biases do not decay
        groups = [{"params": matrices, "weight_decay": options.weight_decay}]
        if others:
            groups.append({"params": others, "weight_decay": 0.0})
        self.optimizer = torch.optim.AdamW(groups, lr=options.learning_rate, betas=(0.9, 0.95), fused=True)

    def build_loop(self, out: Path) -> TrainingLoop:
        """The run in the folder `out`, with early stopping by held-out perplexity."""
        options = self.options
        return TrainingLoop(
            out=out,
            job=options.job,
            n_steps=self.n_steps,
            train_step=self.train_step,
            parameters=self.parameters,
            optimizer=self.optimizer,
            evaluate=self.evaluate,
            eval_steps=options.eval_steps,
            eval_last_step=True,
            patience=options.patience,
            log_steps=LOG_STEPS,
            checkpoint_minutes=options.checkpoint_minutes,
        )

    def train_step(self, step: int) -> StepOutput:
        """The optimizer's step number `step`. The loss is the mean over all target tokens of the step,
        however many batches they come in.

        Raises:
            ConfigError: E_DIVERGED, the loss or the gradient is NaN or infinite.
        """
        options = self.options
        torch.manual_seed(options.seed * 1_000_003 + step)  # dropout of base models
        per_step = options.rows * options.accumulate
        rows = self.rows[step * per_step : (step + 1) * per_step]
        batches = [
            build_batch(self.train, rows[start : start + options.rows], options.rows, options.row_tokens)
            for start in range(0, len(rows), options.rows)
        ]
        n_targets = sum(batch.n_wanted for batch in batches)
        total = 0.0
        for batch in batches:
            loss = options.losses(self.forward, batch).sum() / n_targets
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        share = warmup_cosine(step, self.n_steps, round(options.warm_up * self.n_steps), FLOOR)
        peaks = [options.learning_rate] * len(self.optimizer.param_groups)
        optimizer_step(self.optimizer, self.parameters.values(), total, peaks, share, step)
        return StepOutput(n_targets, total, {"rate": self.optimizer.param_groups[0]["lr"]})

    def evaluate(self, step: int) -> Evaluation:
        """Perplexity of the held-out pieces after `step` steps, in all and by source; less is better.

        Raises:
            ConfigError: E_DIVERGED, the held-out loss is NaN or infinite.
        """
        costs = evaluate_perplexity(self.forward, self.heldout, self.options)
        total = sum_costs(costs)
        validate_loss(step, total.per_token)
        figures = total.to_dict()
        by_source = {source: cost.to_dict() for source, cost in sorted(costs.items())}
        message = f"perplexity {figures['perplexity']}, {figures['bits_per_byte']} bits a byte"
        print(f"step {step}: held-out {message}", file=sys.stderr, flush=True)
        return Evaluation({"heldout": {"all": figures, **by_source}}, -total.per_token)


@dataclass
class TokenCost:
    """Nats spent on `tokens` tokens of `n_bytes` bytes of text."""

    nats: float = 0.0
    tokens: int = 0
    n_bytes: int = 0

    def add(self, other: TokenCost) -> None:
        """Add the cost of other tokens."""
        self.nats += other.nats
        self.tokens += other.tokens
        self.n_bytes += other.n_bytes

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


def evaluate_perplexity(model: Any, pieces: Sequence[Piece], options: TrainOptions) -> dict[str, TokenCost]:
    """Each source's cost on `pieces`; the model is in training mode afterwards."""
    costs: dict[str, TokenCost] = {}
    rows = plan_rows([len(piece.ids) for piece in pieces], 0, 1, options.row_tokens)
    model.eval()
    with torch.no_grad():
        for start in range(0, len(rows), options.rows):
            batch_rows = rows[start : start + options.rows]
            batch = build_batch(pieces, batch_rows, options.rows, options.row_tokens)
            losses = options.losses(model, batch)
            for row, indices in enumerate(batch_rows):
                for segment, index in enumerate(indices, 1):
                    piece = pieces[index]
                    nats = float(losses[row][batch.segments[row] == segment].double().sum())
                    cost = costs.setdefault(piece.source, TokenCost())
                    cost.add(TokenCost(nats, len(piece.ids) - 1, piece.n_bytes))
    model.train()
    return costs


def sum_costs(costs: dict[str, TokenCost]) -> TokenCost:
    """The cost of all sources together."""
    total = TokenCost()
    for cost in costs.values():
        total.add(cost)
    return total
