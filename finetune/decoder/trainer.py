"""The decoder: its shape from one dial, rows of dialogues, the training step, held-out perplexity by source.

Dialogues are cut into pieces and packed into rows, whose pieces do not see each other (attention of
`dialint.detector.engines.packed`). Everything random follows from the seed and the step's number. Perplexity
counts every token, control tokens included, so it compares models of one tokenizer and style only. Bits per
byte divide the cost of all tokens by the bytes of the dialogues' text: they compare any models.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel, Qwen3Config, Qwen3ForCausalLM

from dialint.detector.engines import packed
from dialint.finetune.decoder.text import Piece
from dialint.finetune.decoder.tokenizer import BEGIN, CONTROL, END, PAD
from dialint.finetune.train.checkpoint import validate_loss
from dialint.finetune.train.loop import (
    Evaluation,
    StepOutput,
    TrainingLoop,
    build_optimizer,
    optimizer_step,
    plan_rows,
    warmup_cosine,
)

HEAD_DIM = 32
LOG_STEPS = 20
WARM_UP = 0.03
"""Share of steps in which the rate rises."""
PATIENCE = 5
"""Evaluations without improvement after which training stops."""
WEIGHT_DECAY = 0.1
"""Decay of matrices."""
FLOOR = 0.1
"""Learning rate of the last step, as a share of the peak."""


def decoder_config(depth: int, vocabulary: int, row_tokens: int) -> Qwen3Config:
    """The shape for `depth` layers: width 32 x depth, one head for each 32 of it, half as many for keys and
    values where that is even, feed-forward 3 x width, tied embeddings.

    Depth 6 has 2.65 M parameters beside the embeddings.
    """
    width = HEAD_DIM * depth
    return Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=depth,
        num_attention_heads=depth,
        num_key_value_heads=depth if depth % 2 else depth // 2,
        head_dim=HEAD_DIM,
        intermediate_size=3 * width,
        max_position_embeddings=max(2048, row_tokens),
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        tie_word_embeddings=True,
        bos_token_id=CONTROL.index(BEGIN),
        eos_token_id=CONTROL.index(END),
        pad_token_id=CONTROL.index(PAD),
    )


def init_decoder(shape: Qwen3Config, seed: int) -> PreTrainedModel:
    """A decoder of random weights, in fp32."""
    torch.manual_seed(seed)
    return Qwen3ForCausalLM(shape)


def token_losses(model: Any, pieces: Sequence[Piece], bf16: bool = False) -> torch.Tensor:
    """Cross-entropy in nats of each token's successor in the pieces end to end, shape (tokens,), 0 at the end
    of a piece; in fp32 on the CPU, whatever the model computes in."""
    row = packed.pack([piece.ids.tolist() for piece in pieces], 0)
    targets = torch.cat([row.ids[0, 1:], row.ids.new_tensor([-100])])
    targets[row.bounds[1:] - 1] = -100
    device = model.device
    with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
        logits = model(
            input_ids=row.ids.to(device),
            position_ids=row.positions.to(device),
            cu_seq_lens_q=row.bounds,  # stays on the CPU, where every layer reads it
            use_cache=False,
        ).logits
    return cross_entropy(logits[0].float(), targets.to(device), reduction="none").float().cpu()


@dataclass
class PretrainTrainer:
    """A decoder with the data, the optimizer and the rows of its training; `config` is a
    `PretrainConfig`."""

    config: Any
    model: Any
    bf16: bool
    train: Sequence[Piece]
    heldout: Sequence[Piece]

    def __post_init__(self) -> None:
        config, lengths = self.config, [len(piece.ids) for piece in self.train]
        self.rows = list(plan_rows(lengths, config.running.seed, config.epochs, config.row_tokens))
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
            patience=PATIENCE,
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
        rows = [[self.train[index] for index in row] for row in planned]
        n_targets = sum(len(piece.ids) - 1 for row in rows for piece in row)
        total = 0.0
        for row in rows:
            loss = token_losses(self.model, row, self.bf16).sum() / n_targets
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        share = warmup_cosine(step, self.n_steps, round(WARM_UP * self.n_steps), FLOOR)
        peaks = [config.peak_rate] * len(self.optimizer.param_groups)
        optimizer_step(self.optimizer, self.parameters.values(), total, peaks, share, step)
        return StepOutput(n_targets, total, {"rate": self.optimizer.param_groups[0]["lr"]})

    def evaluate(self, step: int) -> Evaluation:
        """Perplexity of the held-out pieces after `step` steps, in all and by source; less is better.

        Raises:
            ConfigError: E_DIVERGED, the held-out loss is NaN or infinite.
        """
        figures = evaluate_perplexity(self.model, self.heldout, self.config.row_tokens, self.bf16)
        total = figures["all"]
        validate_loss(step, total["loss"])
        message = f"perplexity {total['perplexity']}, {total['bits_per_byte']} bits a byte"
        print(f"step {step}: held-out {message}", file=sys.stderr, flush=True)
        return Evaluation({"heldout": figures}, -total["loss"])


def evaluate_perplexity(
    model: Any, pieces: Sequence[Piece], row_tokens: int, bf16: bool
) -> dict[str, dict[str, float]]:
    """Loss in nats a token, perplexity, bits per byte and number of tokens of ``all`` pieces and of each
    source; the model is in training mode afterwards."""
    costs: defaultdict[str, np.ndarray] = defaultdict(lambda: np.zeros(3))  # nats, tokens, bytes
    model.eval()
    with torch.no_grad():
        for indices in plan_rows([len(piece.ids) for piece in pieces], 0, 1, row_tokens):
            row = [pieces[index] for index in indices]
            losses = torch.split(token_losses(model, row, bf16).double(), [len(piece.ids) for piece in row])
            for piece, own in zip(row, losses, strict=True):
                cost = np.array([float(own.sum()), len(piece.ids) - 1, piece.n_bytes])
                for name in ("all", piece.source):
                    costs[name] += cost
    model.train()
    names = ["all", *sorted(costs.keys() - {"all"})]
    return {name: _figures(*costs[name].tolist()) for name in names}


def _figures(nats: float, tokens: float, n_bytes: float) -> dict[str, float]:
    per_token = nats / max(1.0, tokens)
    return {
        "loss": round(per_token, 6),
        "perplexity": round(math.exp(min(50.0, per_token)), 3),
        "bits_per_byte": round(nats / math.log(2) / max(1.0, n_bytes), 4),
        "tokens": int(tokens),
    }
