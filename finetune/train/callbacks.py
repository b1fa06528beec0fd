"""The callback of every Hugging Face trainer: metrics log, progress, checkpoints, signals.

Writes ``metrics.jsonl``, shows progress, seals each checkpoint and removes all but the newest and the best,
and on SIGTERM saves and stops after the current step. Of several processes only the first writes, and all
save and stop at the same step.
"""

from __future__ import annotations

import math
import signal
import time
from pathlib import Path
from types import FrameType
from typing import Any

from accelerate import PartialState
from accelerate.utils import gather_object
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from dialint.finetune.train import checkpoint
from dialint.finetune.train.estimate import estimate_cost
from dialint.finetune.train.finite import validate_loss
from dialint.finetune.train.metrics_log import MetricsLog
from dialint.finetune.train.options import RunOptions
from dialint.finetune.train.progress import Progress


class TrainingCallback(TrainerCallback):
    """Logs, checkpoints and stops one run of `job` in `out`; `log_bytes` of an earlier log stay."""

    def __init__(self, out: Path, job: str, running: RunOptions, log_bytes: int = 0) -> None:
        self.out, self.job, self.running = out, job, running
        self.stopped = False
        self._processes = PartialState()
        self._log = MetricsLog(out, log_bytes) if self._processes.is_main_process else None
        self._progress: Progress | None = None
        self._saved = time.monotonic()
        self._tokens = 0
        self._message = ""
        self._handler: Any = None

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if self._log is not None:
            self._progress = Progress(
                state.max_steps, state.global_step, estimate_cost(self.running, args.device.type)
            )
            self._progress.__enter__()
        self._tokens = int(state.num_input_tokens_seen or 0)
        self._handler = signal.signal(signal.SIGTERM, self._on_sigterm)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self.close()

    def close(self) -> None:
        """Restore the signal handler, and close progress and log."""
        if self._handler is not None:
            signal.signal(signal.SIGTERM, self._handler)
            self._handler = None
        if self._progress is not None:
            self._progress.__exit__(None, None, None)
            self._progress = None
        if self._log is not None:
            self._log.close()
            self._log = None

    def _on_sigterm(self, number: int, frame: FrameType | None) -> None:
        self.stopped = True

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> TrainerControl:
        if self._progress is not None:
            seen = int(state.num_input_tokens_seen or 0)
            self._progress.advance(seen - self._tokens, self._message)
            self._tokens = seen
        due = time.monotonic() - self._saved >= 60 * self.running.checkpoint_minutes
        if self.running.checkpoint_steps is not None:
            due = state.global_step % self.running.checkpoint_steps == 0
        due, self.stopped = self._synchronize(due, self.stopped)
        if due or self.stopped:
            control.should_save = True
        if self.stopped:
            control.should_training_stop = True
        return control

    def _synchronize(self, due: bool, stopped: bool) -> tuple[bool, bool]:
        """Whether to save, by the clock of the first process, and whether any process received SIGTERM."""
        if self._processes.num_processes == 1:
            return due, stopped
        gathered = gather_object([(due, stopped)])
        return gathered[0][0], any(stopped for _, stopped in gathered)

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
        if (
            self._log is None or not figures or "train_loss" in figures
        ):  # the trainer's own summary at the end
            return
        if "loss" in figures:
            self._message = f"loss {figures['loss']:.4f}"
        finite = {
            name: value for name, value in figures.items() if math.isfinite(value) and name not in CLOCKS
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


LOSSES = frozenset(("loss", "train_loss", "eval_log_loss"))
CLOCKS = frozenset(
    (
        "eval_runtime",
        "eval_samples_per_second",
        "eval_steps_per_second",
        "step_time",
        "train_runtime",
        "train_tokens_per_second",
    )
)
"""Times that the trainer measures itself; `Progress` measures ours."""
