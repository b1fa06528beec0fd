"""The decoder: its shape by depth, rows of dialogues, their training, held-out perplexity by source.

Dialogues are cut into pieces and packed into rows, whose pieces do not see each other (attention of
`dialint.detector.engines.packed`); transformers' trainer trains on them. Perplexity counts every token,
control tokens included, so it compares models of one tokenizer and style only. Bits per byte divide the cost
of all tokens by the bytes of the dialogues' text: they compare any models.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from transformers import (
    EarlyStoppingCallback,
    PreTrainedModel,
    Qwen3Config,
    Qwen3ForCausalLM,
    Trainer,
    TrainingArguments,
)

from dialint.detector.engines import packed
from dialint.finetune.decoder.text import Piece
from dialint.finetune.decoder.tokenizer import BEGIN, CONTROL, END, PAD
from dialint.finetune.train.hf_trainer import build_trainer_config, run_trainer
from dialint.finetune.train.loop import pack_rows, plan_rows

HEAD_DIM = 32
WARM_UP = 0.03
"""Share of steps in which the rate rises."""
PATIENCE = 5
"""Evaluations without improvement after which training stops; the best weights are kept."""
WEIGHT_DECAY = 0.1
"""Decay of matrices."""
FLOOR = 0.1
"""Learning rate of the last step, as a share of the peak."""


def decoder_config(depth: int, vocabulary: int, row_tokens: int) -> Qwen3Config:
    """Returns the shape for `depth` layers: width 32 x depth, one head for each 32 of it, half as many for
    keys and values if that is even, feed-forward 3 x width, tied embeddings.

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
    """Makes a decoder with random weights, in fp32."""
    torch.manual_seed(seed)
    return Qwen3ForCausalLM(shape)


def collate(rows: Sequence[Sequence[Piece]]) -> dict[str, torch.Tensor]:
    """Returns the inputs of one row, shape (1, tokens); no token predicts the first one of a piece."""
    (pieces,) = rows
    row = packed.pack([piece.ids.tolist() for piece in pieces], 0)
    labels = row.ids.clone()
    labels[0, row.bounds[:-1]] = -100
    ids = {"input_ids": row.ids, "position_ids": row.positions, "labels": labels}
    return {**ids, "cu_seq_lens_q": row.bounds}


def train(
    config: Any, model: Any, pieces: Sequence[Piece], heldout: Sequence[Piece], job: str
) -> dict[str, Any]:
    """Trains `model` in place, from the last checkpoint of `job` if there is one, and returns figures of the
    run. `config` is a `PretrainConfig`. Early stopping is by the loss on `heldout`.

    Raises:
        ConfigError: E_DIVERGED, a loss that is not finite.
        SystemExit: 0, after SIGTERM, when a checkpoint is saved and the same command resumes.
    """
    rows, heldout_rows = (
        [
            [part[index] for index in row]
            for row in plan_rows([len(each.ids) for each in part], config.running.seed, 1, config.row_tokens)
        ]
        for part in (pieces, heldout)
    )
    n_steps = max(1, math.ceil(config.epochs * math.ceil(len(rows) / config.rows)))
    eval_steps = min(config.eval_steps, n_steps)
    arguments = build_trainer_config(
        TrainingArguments,
        config.running,
        config.out,
        model,
        per_device_train_batch_size=1,
        per_device_eval_batch_size=1,
        gradient_accumulation_steps=config.rows,
        num_train_epochs=config.epochs,
        learning_rate=config.peak_rate,
        adam_beta2=0.95,
        weight_decay=WEIGHT_DECAY,
        lr_scheduler_type="cosine_with_min_lr",
        lr_scheduler_kwargs={"min_lr_rate": FLOOR},
        warmup_steps=WARM_UP,  # as a share of all
        include_num_input_tokens_seen="all",
        prediction_loss_only=True,
        eval_strategy="steps",
        eval_steps=eval_steps,
        save_strategy="steps",
        save_steps=eval_steps,
        load_best_model_at_end=True,
        metric_for_best_model="loss",
        greater_is_better=False,
    )
    model._keys_to_ignore_on_save = list(model.all_tied_weights_keys) or None  # or the trainer warns of them
    model.register_forward_pre_hook(_read_bounds, with_kwargs=True)
    trainer = Trainer(model, arguments, collate, rows, heldout_rows)
    trainer.add_callback(EarlyStoppingCallback(early_stopping_patience=PATIENCE))
    return run_trainer(trainer, config.out, job, config.running)[1]


def _read_bounds(model: Any, args: tuple[Any, ...], inputs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Copies the bounds of pieces, which every layer reads, from the GPU once."""
    return args, {**inputs, "cu_seq_lens_q": inputs["cu_seq_lens_q"].cpu()}


def token_losses(model: Any, pieces: Sequence[Piece], bf16: bool = False) -> torch.Tensor:
    """Computes the cross-entropy in nats of each token's successor in the concatenated pieces, shape
    (tokens,), 0 at the end of a piece; in fp32 on the CPU."""
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


def evaluate_perplexity(
    model: Any, pieces: Sequence[Piece], row_tokens: int, bf16: bool
) -> dict[str, dict[str, float]]:
    """Computes loss in nats a token, perplexity, bits per byte and number of tokens of ``all`` pieces and of
    each source; the model is in training mode afterwards."""
    costs: defaultdict[str, np.ndarray] = defaultdict(lambda: np.zeros(3))  # nats, tokens, bytes
    model.eval()
    with torch.no_grad():
        for indices in pack_rows(range(len(pieces)), [len(piece.ids) for piece in pieces], row_tokens):
            row = [pieces[index] for index in indices]
            losses = torch.split(token_losses(model, row, bf16).double(), [len(piece.ids) for piece in row])
            for piece, own in zip(row, losses, strict=True):
                cost = np.array([float(own.sum()), len(piece.ids) - 1, piece.n_bytes])
                for name in ("all", piece.source):
                    costs[name] += cost
    model.train()
    figures = {}
    for name in ("all", *sorted(costs.keys() - {"all"})):
        nats, tokens, n_bytes = costs[name].tolist()
        figures[name] = {
            "loss": round(nats / tokens, 6),
            "perplexity": round(math.exp(min(50.0, nats / tokens)), 3),
            "bits_per_byte": round(nats / math.log(2) / max(1.0, n_bytes), 4),
            "tokens": int(tokens),
        }
    return figures
