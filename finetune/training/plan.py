"""What a trainer of the Hugging Face family would take: some of its steps are run, and forgotten."""

from __future__ import annotations

import math
from typing import Any

from dialint.finetune.training.cost import cost_of
from dialint.finetune.training.estimate import (
    Work,
    measured,
    measured_partly,
    memory,
    recomputes,
    show_memory,
    show_time,
    sizes_of,
)
from dialint.finetune.training.options import Running


def show_plan(trainer: Any, running: Running) -> None:
    """Print the estimate, memory before the first step; the model learns nothing of it."""
    model, arguments = trainer.model, trainer.args
    first = zip(trainer.get_train_dataloader(), range(8), strict=False)
    lengths = [_tokens(trainer, batch) for batch, _ in first]
    shape = model.config.get_text_config()
    work = Work(
        tokens=max(lengths),
        window=max(1, max(lengths) // max(1, arguments.per_device_train_batch_size)),
        hidden=shape.hidden_size,
        layers=shape.num_hidden_layers,
        heads=shape.num_attention_heads,
        value_bytes=2 if arguments.bf16 else 4,
        checkpointing=recomputes(running, model),
    )
    sizes = sizes_of(model)
    show_memory(sizes, memory(sizes, running.optimizer, work))
    batches = iter(trainer.get_train_dataloader())
    per_step = max(1, arguments.gradient_accumulation_steps)
    model.train()
    trainer.current_gradient_accumulation_steps = per_step  # what its own loop would say

    def step(_: int) -> int:
        nonlocal batches
        tokens = 0
        for _ in range(per_step):
            batch = next(batches, None)
            if batch is None:
                batches = iter(trainer.get_train_dataloader())
                batch = next(batches)
            tokens += _tokens(trainer, batch)
            trainer.training_step(model, batch, None)
        model.zero_grad()
        return tokens

    def groups(n: int) -> None:
        trainer.training_step(model, rows[: n * trainer.num_generations], None)
        model.zero_grad()

    rows = next(batches)
    if isinstance(rows, list):  # questions that are still to be answered, each by a group
        pace = measured_partly(groups, len(rows) // trainer.num_generations, lengths[0])
    else:
        pace = measured(step)
    device = "cuda" if next(model.parameters()).is_cuda else "cpu"
    show_time(_steps(trainer, per_step), pace, cost_of(running, device))


def _steps(trainer: Any, per_step: int) -> int:
    if trainer.args.max_steps > 0:
        return int(trainer.args.max_steps)
    return math.ceil(float(trainer.args.num_train_epochs) * len(trainer.get_train_dataloader()) / per_step)


def _tokens(trainer: Any, batch: Any) -> int:
    """Tokens of a batch; of prompts that are still to be answered with the longest answer each."""
    if isinstance(batch, dict):
        return max(1, sum(int(part.numel()) for name, part in batch.items() if name.endswith("input_ids")))
    written = trainer.processing_class.apply_chat_template([row["prompt"] for row in batch], tokenize=False)
    prompts = trainer.processing_class(written, add_special_tokens=False)["input_ids"]
    return sum(len(ids) + int(trainer.args.max_completion_length) for ids in prompts)
