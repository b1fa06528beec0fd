"""Runs a Hugging Face trainer to its end from its last complete checkpoint, or estimates what it would take.

Also as one of several processes, started by ``accelerate launch`` or ``torchrun``.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from transformers import PrinterCallback
from transformers.utils.logging import disable_progress_bar

from dialint.finetune.train import checkpoint
from dialint.finetune.train.callbacks import TrainingCallback
from dialint.finetune.train.estimate import (
    Workload,
    estimate_cost,
    estimate_memory,
    measure_partial_step_time,
    measure_step_time,
    model_sizes,
    print_memory,
    print_time,
    recomputes_activations,
)
from dialint.finetune.train.options import RunOptions


@dataclass(frozen=True)
class TrainResult:
    """The model with its best or last weights, and figures of the run. `weights` are the model's if it is
    sharded among processes."""

    model: Any
    figures: dict[str, Any]
    weights: dict[str, Any] | None = None


def run_trainer(trainer: Any, out: Path, job: str, running: RunOptions) -> TrainResult:
    """Train from the newest complete checkpoint of this job, if there is one.

    Raises:
        OutputRefused: the checkpoint is of another job, or damaged.
        SystemExit: 0, after SIGTERM, with a checkpoint from which the same command resumes; or after the
            estimate of a dry run.
    """
    if running.dry_run:
        print_trainer_estimate(trainer, running)
        if out.is_dir() and not any(out.iterdir()):
            out.rmdir()  # the trainer made it
        sys.exit(0)
    processes = PartialState()
    with processes.main_process_first():  # it removes incomplete checkpoints
        newest = checkpoint.find_latest(out, job)
    resume, log_bytes = (str(newest[0]), newest[1]) if newest else (None, 0)
    _cast_adapters(trainer)
    callback = TrainingCallback(out, job, running, log_bytes)
    trainer.add_callback(callback)
    trainer.remove_callback(PrinterCallback)
    disable_progress_bar()  # type: ignore[no-untyped-call]
    started = time.monotonic()
    try:
        trainer.train(resume_from_checkpoint=resume)
    finally:
        callback.close()
    state = trainer.state
    processes.wait_for_everyone()  # before the first one removes what others may still read
    if callback.stopped and state.global_step < state.max_steps:
        if processes.is_main_process:
            stopped = f"stopped at step {state.global_step} of {state.max_steps}"
            print(f"{stopped}; saved, the same command resumes", file=sys.stderr)
        sys.exit(0)
    seconds = time.monotonic() - started
    figures = {
        "processes": processes.num_processes,
        "steps": state.global_step,
        "tokens": int(state.num_input_tokens_seen or 0),
        "seconds": round(seconds, 1),
        "cost": estimate_cost(running, trainer.args.device.type).to_dict(seconds),
        "best_step": state.best_global_step,
        "best": state.best_metric,
        "last": {name: value for entry in state.log_history for name, value in entry.items()
                 if name.startswith("eval_")},
    }  # fmt: skip
    sharded = trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled
    weights = trainer.accelerator.get_state_dict(trainer.model_wrapped) if sharded else None
    return TrainResult(trainer.model, figures, weights)


def _cast_adapters(trainer: Any) -> None:
    """Adapters of a 4-bit base in fp32 again: trl rounds them to bf16, in which small steps vanish, and from
    a checkpoint they come back in fp32. FSDP wants them as they are: of one type with the base."""
    if trainer.is_fsdp_enabled:
        return
    for weight in trainer.model.parameters():
        if weight.requires_grad and weight.dtype == torch.bfloat16:
            weight.data = weight.data.float()


def print_trainer_estimate(trainer: Any, running: RunOptions) -> None:
    """Print the estimate, memory before the first step; no weight changes."""
    model, arguments = trainer.model, trainer.args
    first = zip(trainer.get_train_dataloader(), range(8), strict=False)
    lengths = [_batch_tokens(trainer, batch) for batch, _ in first]
    shape = model.config.get_text_config()
    work = Workload(
        tokens=max(lengths),
        window=max(1, max(lengths) // max(1, arguments.per_device_train_batch_size)),
        hidden=shape.hidden_size,
        layers=shape.num_hidden_layers,
        heads=shape.num_attention_heads,
        value_bytes=2 if arguments.bf16 else 4,
        checkpointing=recomputes_activations(running, model),
    )
    sizes = model_sizes(model)
    print_memory(sizes, estimate_memory(sizes, running.optimizer, work))
    batches = iter(trainer.get_train_dataloader())
    per_step = max(1, arguments.gradient_accumulation_steps)
    model.train()
    trainer.current_gradient_accumulation_steps = per_step  # as its own loop sets it

    def step(_: int) -> int:
        nonlocal batches
        tokens = 0
        for _ in range(per_step):
            batch = next(batches, None)
            if batch is None:
                batches = iter(trainer.get_train_dataloader())
                batch = next(batches)
            tokens += _batch_tokens(trainer, batch)
            trainer.training_step(model, batch, None)
        model.zero_grad()
        return tokens

    def groups(n: int) -> None:
        trainer.training_step(model, rows[: n * trainer.num_generations], None)
        model.zero_grad()

    rows = next(batches)
    if isinstance(rows, list):  # prompts without completions yet, a group of them for each question
        step_time = measure_partial_step_time(groups, len(rows) // trainer.num_generations, lengths[0])
    else:
        step_time = measure_step_time(step)
    device = "cuda" if next(model.parameters()).is_cuda else "cpu"
    print_time(_trainer_steps(trainer, per_step), step_time, estimate_cost(running, device))


def _trainer_steps(trainer: Any, per_step: int) -> int:
    if trainer.args.max_steps > 0:
        return int(trainer.args.max_steps)
    return math.ceil(float(trainer.args.num_train_epochs) * len(trainer.get_train_dataloader()) / per_step)


def _batch_tokens(trainer: Any, batch: Any) -> int:
    """Tokens of a batch; for prompts without completions with the longest completion each."""
    if isinstance(batch, dict):
        return max(1, sum(int(part.numel()) for name, part in batch.items() if name.endswith("input_ids")))
    written = trainer.processing_class.apply_chat_template([row["prompt"] for row in batch], tokenize=False)
    prompts = trainer.processing_class(written, add_special_tokens=False)["input_ids"]
    return sum(len(ids) + int(trainer.args.max_completion_length) for ids in prompts)
