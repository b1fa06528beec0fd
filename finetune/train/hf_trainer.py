"""Runs a Hugging Face trainer with our options, log and checkpoints.

`TrainingCallback` writes ``metrics.jsonl``, shows progress, seals each checkpoint and removes all but the
newest and the best, and on SIGTERM and SIGINT saves and stops after the current step. Also as one of several
processes, started by ``accelerate launch`` or ``torchrun``: the first one writes, and all save and stop at
the same step.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import torch
from accelerate import PartialState
from accelerate.utils import gather_object
from transformers import PrinterCallback, TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.utils.logging import disable_progress_bar

from dialint.finetune.train import checkpoint
from dialint.finetune.train.checkpoint import validate_loss
from dialint.finetune.train.distributed import GradientCompression
from dialint.finetune.train.loop import stop_on_signal
from dialint.finetune.train.memory import peak_memory, recomputes_activations
from dialint.finetune.train.metrics_log import MetricsLog, Progress, UsageMeter
from dialint.finetune.train.options import Optimizer, RunOptions, ScheduleOptions

T = TypeVar("T")

OPTIMIZERS: dict[Optimizer, str] = {
    "adamw": "adamw_torch_fused",
    "adamw-8bit": "adamw_bnb_8bit",
    "paged-adamw-8bit": "paged_adamw_8bit",
}
LOSSES = frozenset(("loss", "train_loss", "eval_loss", "eval_log_loss"))
CLOCKS = ("runtime", "_per_second", "step_time")
"""Suffixes of the trainer's own figures of speed; `Progress` measures ours."""


def build_trainer_config(
    kind: Callable[..., T], running: RunOptions, out: Path, model: Any, **stage: Any
) -> T:
    """Builds the configuration, of class `kind`, of a trl trainer of `model`, with the options `stage` of the
    stage. `TrainingCallback` does saving and logging."""
    device = running.resolve_device()
    if ":" in device and "LOCAL_RANK" not in os.environ:
        os.environ["ACCELERATE_TORCH_DEVICE"] = device
    recompute = recomputes_activations(running, model)
    renamed = "activation_checkpointing" in TrainingArguments.__dataclass_fields__
    checkpointing = "activation_checkpointing" if renamed else "gradient_checkpointing"  # before 5.20
    optimizer: Optimizer = running.optimizer
    if optimizer == "paged-adamw-8bit" and device == "cpu":  # paging needs CUDA
        optimizer = "adamw-8bit"
    shared: dict[str, Any] = {
        "output_dir": str(out),
        "seed": running.seed,
        "data_seed": running.seed,
        "use_cpu": device == "cpu",
        "bf16": running.uses_bf16(),
        "fp16": False,
        "tf32": None,
        "optim": OPTIMIZERS[optimizer],
        checkpointing: recompute,
        "max_grad_norm": 1.0,
        "lr_scheduler_type": "cosine",
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "no",
        "save_total_limit": None,
        "remove_unused_columns": False,
        "dataloader_pin_memory": False,
        "ddp_find_unused_parameters": False,
    }
    if recompute:
        shared[f"{checkpointing}_kwargs"] = {"use_reentrant": False}
    return restrict_to_one_gpu(kind(**{**shared, **stage}), device)


def restrict_to_one_gpu(config: T, device: str) -> T:
    """Restricts a trainer's configuration to one of several visible GPUs: without a launcher the Hugging Face
    trainer would copy the model to all of them (`DataParallel`) and multiply the batch size."""
    if device != "cpu" and "LOCAL_RANK" not in os.environ:
        arguments: Any = config
        _ = arguments.device  # transformers counts the GPUs at the first access, and not again
        arguments._n_gpu = 1
        if ":" in device:
            arguments.__dict__["_setup_devices"] = torch.device(device)  # transformers 5.23 takes cuda:0
    return config


def schedule_arguments(learning: ScheduleOptions, metric: str) -> dict[str, Any]:
    """Returns the schedule of a stage that evaluates on its dev split, where lower `metric` is better."""
    return {
        "include_num_input_tokens_seen": "all",
        "gradient_accumulation_steps": learning.accumulate,
        "num_train_epochs": learning.epochs,
        "max_steps": learning.steps or -1,
        "warmup_steps": 0.05,  # as a share of all
        "eval_strategy": "steps",
        "eval_steps": learning.eval_steps,
        "save_strategy": "steps",
        "save_steps": learning.eval_steps,
        "load_best_model_at_end": True,
        "metric_for_best_model": metric,
        "greater_is_better": False,
    }


class TrainingCallback(TrainerCallback):
    """Logs, checkpoints and stops one run of `job` in `out`; `log_bytes` of an earlier log stay. `stack`
    closes the callback's contexts."""

    def __init__(self, out: Path, job: str, running: RunOptions, log_bytes: int, stack: ExitStack) -> None:
        self.out, self.job, self.running = out, job, running
        self.stopped = False
        self._stack = stack
        self.signal_received = stack.enter_context(stop_on_signal())
        self._processes = PartialState()
        self._log: MetricsLog | None = None
        if self._processes.is_main_process:
            self._log = stack.enter_context(MetricsLog(out, log_bytes, running.report_to))
        self._progress: Progress | None = None
        self._saved = time.monotonic()
        self._tokens = 0
        self._message = ""

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if self._log is not None:
            progress = Progress(state.max_steps, state.global_step)
            self._progress = self._stack.enter_context(progress)
        self._tokens = int(state.num_input_tokens_seen or 0)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> TrainerControl:
        if self._progress is not None:
            seen = int(state.num_input_tokens_seen or 0)
            self._progress.advance(seen - self._tokens, self._message)
            self._tokens = seen
        self.stopped = self.signal_received() is not None
        due = time.monotonic() - self._saved >= checkpoint.INTERVAL_S
        if self.running.checkpoint_steps is not None:
            due = state.global_step % self.running.checkpoint_steps == 0
        if self._processes.num_processes > 1:  # the clock of the first process, a SIGTERM of any
            gathered = gather_object([(due, self.stopped)])
            due, self.stopped = gathered[0][0], any(stopped for _, stopped in gathered)
        if due or self.stopped:
            control.should_save = True
        if self.stopped:
            control.should_training_stop = True
        return control

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **_: Any,
    ) -> None:
        """
        Raises:
            ConfigError: E_DIVERGED, in every process, before anything is saved.
        """
        figures = {name: value for name, value in (logs or {}).items() if isinstance(value, int | float)}
        for name in LOSSES & figures.keys():
            validate_loss(state.global_step, figures[name], figures.get("grad_norm"))
        is_summary = "train_loss" in figures  # the trainer's own, at the end
        if self._log is None or not figures or is_summary:
            return
        if "loss" in figures:
            self._message = f"loss {figures['loss']:.4f}"
        finite = {
            name: value
            for name, value in figures.items()
            if math.isfinite(value) and not name.endswith(CLOCKS)
        }
        speed = {"tokens_s": round(self._progress.tokens_s)} if self._progress is not None else {}
        self._log.write({"step": state.global_step, **finite, **speed})

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self._processes.wait_for_everyone()  # each writes the state of its own random numbers
        self._saved = time.monotonic()
        if self._log is None:
            return
        folder = self.out / f"checkpoint-{state.global_step}"
        checkpoint.seal(folder, self.job, self._log.size)
        best = state.best_model_checkpoint
        checkpoint.remove_except(self.out, folder, *([Path(best)] if best else []))


def run_trainer(trainer: Any, out: Path, job: str, running: RunOptions) -> tuple[Any, dict[str, Any]]:
    """Trains from the newest complete checkpoint of this job, if there is one, and returns the model with its
    best or last weights, and figures of the run.

    Raises:
        OutputRefused: the checkpoint is of another job, or damaged.
        WorldError: E_WRITE, a checkpoint could not be written.
        SystemExit: 0, after SIGTERM, with a checkpoint from which the same command resumes.
        KeyboardInterrupt: SIGINT stopped the run in the same way.
    """
    processes = PartialState()
    with processes.main_process_first():  # it removes incomplete checkpoints
        newest = checkpoint.find_latest(out, job)
    resume, log_bytes = (str(newest[0]), newest[1]) if newest else (None, 0)
    compression = None
    for weight in trainer.model.parameters():  # adapters of a 4-bit base, which trl rounds to bf16, in which
        if weight.requires_grad and weight.dtype == torch.bfloat16:  # small steps vanish
            weight.data = weight.data.float()
    trainer.remove_callback(PrinterCallback)
    disable_progress_bar()  # type: ignore[no-untyped-call]
    started, usage = time.monotonic(), UsageMeter(trainer.args.device)
    with ExitStack() as stack:
        callback = TrainingCallback(out, job, running, log_bytes, stack)
        trainer.add_callback(callback)
        if running.compress_gradients != "none":
            compression = GradientCompression(trainer, running.compress_gradients)
            trainer.add_callback(compression)
        with checkpoint.write_errors(out):
            trainer.train(resume_from_checkpoint=resume)
    state = trainer.state
    processes.wait_for_everyone()  # before the first one removes what others may still read
    if callback.stopped and state.global_step < state.max_steps:
        if processes.is_main_process:
            stopped = f"stopped at step {state.global_step} of {state.max_steps}"
            print(f"{stopped}; saved, the same command resumes", file=sys.stderr)
        if callback.signal_received() == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(0)
    seconds = time.monotonic() - started
    figures = {
        "processes": processes.num_processes,
        "steps": state.global_step,
        "tokens": int(state.num_input_tokens_seen or 0),
        "seconds": round(seconds, 1),
        **usage.figures(),
        **(compression.figures if compression is not None else {}),
        "peak_memory_mb": round(peak_memory() / 1e6),
        "best_step": state.best_global_step,
        "best": state.best_metric,
        "last": {name: value for entry in state.log_history for name, value in entry.items()
                 if name.startswith("eval_")},
    }  # fmt: skip
    return trainer.model, figures
