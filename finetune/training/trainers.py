"""Runs a trainer of the Hugging Face family to its end, from its last complete checkpoint.

Also as one of several processes, started by ``accelerate launch`` or ``torchrun``.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from transformers import PrinterCallback
from transformers.utils.logging import disable_progress_bar

from dialint.finetune.training import checkpoints
from dialint.finetune.training.cost import cost_of
from dialint.finetune.training.options import Running
from dialint.finetune.training.plan import show_plan
from dialint.finetune.training.watching import Watching


@dataclass(frozen=True)
class Trained:
    """What came of it: the model with its best or last weights, and figures of the run. `weights` are the
    model's where no process holds all of it."""

    model: Any
    figures: dict[str, Any]
    weights: dict[str, Any] | None = None


def carry_on(trainer: Any, out: Path, job: str, running: Running) -> Trained:
    """Train from the newest complete checkpoint of this job, if there is one.

    Raises:
        OutputRefused: the checkpoint is of another job, or damaged.
        SystemExit: 0, after SIGTERM: what was learnt is saved, and the same command goes on; or after what it
            would take was said, where no more is wanted.
    """
    if running.dry_run:
        show_plan(trainer, running)
        if out.is_dir() and not any(out.iterdir()):
            out.rmdir()  # the trainer's own doing
        sys.exit(0)
    processes = PartialState()
    with processes.main_process_first():  # it removes what is not complete
        found = checkpoints.newest(out, job)
    resume, log_bytes = (str(found[0]), found[1]) if found else (None, 0)
    _widen(trainer)
    watching = Watching(out, job, running, log_bytes)
    trainer.add_callback(watching)
    trainer.remove_callback(PrinterCallback)
    disable_progress_bar()  # type: ignore[no-untyped-call]
    started = time.monotonic()
    try:
        trainer.train(resume_from_checkpoint=resume)
    finally:
        watching.close()
    state = trainer.state
    processes.wait_for_everyone()  # before the first one clears away what others may still read
    if watching.stopped and state.global_step < state.max_steps:
        if processes.is_main_process:
            told = f"stopped at step {state.global_step} of {state.max_steps}"
            print(f"{told}; saved, the same command goes on", file=sys.stderr)
        sys.exit(0)
    seconds = time.monotonic() - started
    figures = {
        "processes": processes.num_processes,
        "steps": state.global_step,
        "tokens": int(state.num_input_tokens_seen or 0),
        "seconds": round(seconds, 1),
        "cost": cost_of(running, trainer.args.device.type).figures(seconds),
        "best_step": state.best_global_step,
        "best": state.best_metric,
        "last": {name: value for entry in state.log_history for name, value in entry.items()
                 if name.startswith("eval_")},
    }  # fmt: skip
    sharded = trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled
    weights = trainer.accelerator.get_state_dict(trainer.model_wrapped) if sharded else None
    return Trained(trainer.model, figures, weights)


def _widen(trainer: Any) -> None:
    """Adapters of a 4-bit base in fp32 again: trl rounds them to bf16, in which small steps vanish, and from
    a checkpoint they come back in fp32. FSDP wants them as they are: of one type with the base."""
    if trainer.is_fsdp_enabled:
        return
    for weight in trainer.model.parameters():
        if weight.requires_grad and weight.dtype == torch.bfloat16:
            weight.data = weight.data.float()
