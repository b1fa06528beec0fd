"""The training loop of the stages without a Hugging Face trainer, packing of rows, AdamW with its schedule.

A stage passes a function that does one step, given its number, and the weights it trains; the loop counts
steps, logs, evaluates, stores the best weights, writes checkpoints, resumes, and stops gracefully on SIGTERM
and SIGINT. `train_step` derives all randomness from the seed and the step's number, so that a resumed run
equals an uninterrupted one: bit for bit on CPU in fp32. The Hugging Face trainers have their own loop; see
`dialint.finetune.train.hf_trainer`.
"""

from __future__ import annotations

import math
import random
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from dialint.detector.environment import require_library
from dialint.finetune.train import checkpoint
from dialint.finetune.train.checkpoint import validate_loss
from dialint.finetune.train.metrics_log import MetricsLog, Progress, UsageMeter
from dialint.finetune.train.options import Optimizer, RunOptions

if TYPE_CHECKING:
    import torch

MAX_NORM = 1.0
"""Gradients are clipped to this norm."""
FLOOR = 0.02
"""Learning rate of the last step, as a share of the peak."""
LOSS_DECAY = 0.98
"""Share of the running mean in the displayed and logged loss."""


@dataclass
class TrainerState:
    """Progress of a run, beside its weights. `loss` is a running mean, `tokens`, `seconds` and `usage` are
    totals over all resumptions of the run, `best_score` is the highest of `Evaluation.score`."""

    step: int = 0
    loss: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    usage: dict[str, float] = field(default_factory=dict)
    best_score: float = -math.inf
    best_step: int = 0
    evaluations_since_best: int = 0


@dataclass(frozen=True)
class StepOutput:
    """The result of a step: the tokens it trained on, its loss, `figures` for the metrics log, and a
    `message` for the progress bar in place of the loss."""

    tokens: int
    loss: float | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)
    message: str = ""


@dataclass(frozen=True)
class Evaluation:
    """Figures for the metrics log, and the score that chooses the best weights; higher is better."""

    figures: Mapping[str, Any]
    score: float | None = None


@dataclass
class TrainingLoop:
    """A run of `n_steps` steps that trains `parameters` in place and writes to the folder `out`.

    `job` identifies the run of a checkpoint (`lineage.job_of_config`). `evaluate` is called with the number
    of steps done, every `eval_steps` steps, and with `eval_last_step` after the last one too. With `patience`
    the loop stops after this many evaluations without a better score, and `parameters` have the best weights
    at the end. `final_evaluate` is called last; its figures are logged and are in `final_figures`.
    `log_steps` None logs evaluations only. Of `running` only `checkpoint_steps` and `report_to` are used.
    `extra` has plain values that a step may change; checkpoints save them, and they are restored in place.
    """

    out: Path
    job: str
    n_steps: int
    train_step: Callable[[int], StepOutput]
    parameters: Mapping[str, torch.nn.Parameter]
    optimizer: torch.optim.Optimizer
    extra: dict[str, Any] = field(default_factory=dict)
    evaluate: Callable[[int], Evaluation] | None = None
    eval_steps: int | None = None
    eval_last_step: bool = False
    patience: int | None = None
    final_evaluate: Callable[[], dict[str, Any]] | None = None
    log_steps: int | None = 50
    running: RunOptions = field(default_factory=RunOptions)
    state: TrainerState = field(default_factory=TrainerState)
    best_weights: dict[str, torch.Tensor] = field(default_factory=dict)
    final_figures: dict[str, Any] = field(default_factory=dict)

    @property
    def is_finished(self) -> bool:
        """Returns whether all steps are done, or the last `patience` evaluations were no better."""
        impatient = self.patience is not None and self.state.evaluations_since_best >= self.patience
        return self.state.step >= self.n_steps or impatient

    def run(self) -> bool:
        """Trains from the newest checkpoint of `out` to the end. Returns False if SIGTERM stopped the run
        before, with a checkpoint to resume from.

        Raises:
            OutputRefused: the checkpoint is of another job or version, or was changed.
            ConfigError: E_DIVERGED, a loss, gradient or weight is NaN or infinite.
            KeyboardInterrupt: SIGINT stopped the run, in the same way as SIGTERM.
        """
        log_bytes = self._resume()
        state, running = self.state, self.running
        usage = UsageMeter(next(iter(self.parameters.values())).device, state.usage)
        if state.step:
            print(f"resumes at step {state.step} of {self.n_steps}", file=sys.stderr, flush=True)
        saved_at = time.monotonic()
        with ExitStack() as stack:
            signal_received = stack.enter_context(stop_on_signal())
            log = stack.enter_context(MetricsLog(self.out, log_bytes, running.report_to))
            progress = stack.enter_context(Progress(self.n_steps, state.step, state.seconds))
            while not self.is_finished:
                self._step(log, progress)
                received = signal_received()
                due = (
                    state.step % running.checkpoint_steps == 0
                    if running.checkpoint_steps is not None
                    else time.monotonic() - saved_at >= checkpoint.INTERVAL_S
                )
                if due or received:
                    state.usage = usage.figures()
                    self._save(log.size)
                    saved_at = time.monotonic()
                if received and not self.is_finished:
                    how = f"stopped after step {state.step} of {self.n_steps} and saved"
                    print(f"{how}; the same command resumes", file=sys.stderr, flush=True)
                    if received == signal.SIGINT:
                        raise KeyboardInterrupt
                    return False
            if self.best_weights:
                load_weights(self.parameters, self.best_weights)
            if self.final_evaluate is not None:
                self.final_figures = self.final_evaluate()
                step = state.best_step if self.best_weights else state.step
                log.write({"step": step, **self.final_figures})
            state.usage = usage.figures()
        return True

    def _step(self, log: MetricsLog, progress: Progress) -> None:
        """Runs one step, its log entry, and the evaluation that is due after it."""
        state = self.state
        output = self.train_step(state.step)
        state.step += 1
        state.tokens += output.tokens
        if output.loss is not None:
            mean = LOSS_DECAY * state.loss + (1 - LOSS_DECAY) * output.loss
            state.loss = mean if state.step > 1 else output.loss
        progress.advance(output.tokens, output.message or f"loss {state.loss:.3f}")
        state.seconds = progress.seconds
        if self.log_steps and (state.step % self.log_steps == 0 or state.step == 1):
            entry: dict[str, Any] = {"step": state.step, "of": self.n_steps}
            if output.loss is not None:
                entry["loss"] = state.loss
            speed = round(progress.tokens_s)
            log.write({**entry, "tokens": state.tokens, **output.figures, "tokens_s": speed})
        due = self.eval_steps is not None and state.step % self.eval_steps == 0
        if self.evaluate is None or not (due or (self.eval_last_step and state.step == self.n_steps)):
            return
        evaluation = self.evaluate(state.step)
        log.write({"step": state.step, **evaluation.figures})
        if self.patience is None or evaluation.score is None:
            return
        state.evaluations_since_best += 1
        if evaluation.score > state.best_score:
            state.best_score, state.best_step = evaluation.score, state.step
            state.evaluations_since_best = 0
            self.best_weights = _copy(self.parameters)

    def _save(self, log_bytes: int) -> None:
        """Saves a checkpoint of the run, without frozen weights, and removes the older one."""
        content = {
            "state": asdict(self.state),
            "weights": _copy(self.parameters),
            "best_weights": self.best_weights,
            "optimizer": self.optimizer.state_dict(),
            "extra": self.extra,
        }
        checkpoint.save_state(self.out, self.job, self.state.step, log_bytes, content)

    def _resume(self) -> int:
        """Restores the newest checkpoint, and returns the length of the metrics log at its step, 0 without
        one."""
        import torch

        newest = checkpoint.find_latest(self.out, self.job)
        if newest is None:
            return 0
        folder, log_bytes = newest
        content = torch.load(folder / checkpoint.STATE, weights_only=True, map_location="cpu")
        load_weights(self.parameters, content["weights"])
        self.best_weights = content["best_weights"]
        self.optimizer.load_state_dict(content["optimizer"])
        self.extra.update(content["extra"])
        self.state = TrainerState(**content["state"])
        return log_bytes


def load_weights(parameters: Mapping[str, torch.nn.Parameter], weights: Mapping[str, torch.Tensor]) -> None:
    """Copies `weights` into the `parameters` of the same names."""
    import torch

    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(weights[name])


def pack_rows(order: Iterable[int], sizes: Sequence[int], row_tokens: int) -> Iterator[list[int]]:
    """Yields rows of the indices in `order`, as many in each as fit into `row_tokens`, at least one."""
    row: list[int] = []
    room = row_tokens
    for index in order:
        if row and sizes[index] > room:
            yield row
            row, room = [], row_tokens
        row.append(index)
        room -= sizes[index]
    if row:
        yield row


def plan_rows(
    sizes: Sequence[int], seed: int, epochs: float, row_tokens: int, tokens: int | None = None
) -> Iterator[list[int]]:
    """Yields the indices of the items of `sizes` tokens in each forward pass, of all epochs, each shuffled;
    at most `tokens` tokens."""
    n_items = int(len(sizes) * epochs)
    tokens_left = math.inf if tokens is None else tokens
    for epoch in range(math.ceil(epochs)):
        order = list(range(len(sizes)))
        random.Random(seed * 1000 + epoch).shuffle(order)
        for row in pack_rows(order[: n_items - epoch * len(sizes)], sizes, row_tokens):
            tokens_left -= sum(sizes[index] for index in row)
            if tokens_left < 0:
                return
            yield row


def build_optimizer(
    name: Optimizer,
    groups: Sequence[Iterable[torch.nn.Parameter]],
    device: str,
    weight_decay: float = 0.01,
) -> torch.optim.Optimizer:
    """Builds AdamW over groups of parameters, with 8-bit states that of bitsandbytes. Paging needs CUDA: on a
    CPU the paged optimizer is the plain one.

    Raises:
        ConfigError: E_EXTRA, bitsandbytes is not installed.
    """
    import torch

    parameter_groups = [{"params": list(group)} for group in groups]
    if name == "adamw":
        return torch.optim.AdamW(parameter_groups, weight_decay=weight_decay, fused=True)
    require_library("bitsandbytes", f"--optimizer {name}")
    library: Any = import_module("bitsandbytes.optim")
    paged = name == "paged-adamw-8bit" and device.startswith("cuda")
    optimizer: torch.optim.Optimizer = (library.PagedAdamW8bit if paged else library.AdamW8bit)(
        parameter_groups, weight_decay=weight_decay
    )
    return optimizer


def set_learning_rates(optimizer: torch.optim.Optimizer, peaks: Sequence[float], share: float) -> None:
    """Sets each group's learning rate to the `share` of its peak."""
    for group, peak in zip(optimizer.param_groups, peaks, strict=True):
        group["lr"] = peak * share


def warmup_cosine(step: int, n_steps: int) -> float:
    """Returns the learning rate as a share of its peak: linear up over a twentieth of all steps, at most 200,
    then half a cosine down to `FLOOR`."""
    warm = max(1, min(200, n_steps // 20))
    if step < warm:
        return (step + 1) / warm
    return FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, n_steps - warm)))


def optimizer_step(
    optimizer: torch.optim.Optimizer,
    parameters: Iterable[torch.nn.Parameter],
    loss: float,
    peaks: Sequence[float],
    share: float,
    step: int,
) -> None:
    """Clips the gradients of `parameters` together, validates them and `loss`, sets each group's learning
    rate to the `share` of its peak, and updates the weights.

    Raises:
        ConfigError: E_DIVERGED, the loss or the gradient is NaN or infinite; no weight was updated.
    """
    import torch

    norm = torch.nn.utils.clip_grad_norm_(parameters, MAX_NORM)
    validate_loss(step + 1, loss, float(norm))
    set_learning_rates(optimizer, peaks, share)
    optimizer.step()
    optimizer.zero_grad()


def _copy(parameters: Mapping[str, torch.nn.Parameter]) -> dict[str, torch.Tensor]:
    return {name: parameter.detach().to("cpu", copy=True) for name, parameter in parameters.items()}


@contextmanager
def stop_on_signal() -> Iterator[Callable[[], int | None]]:
    """Yields a function that returns the received signal, or None.

    Within the context the first SIGTERM or SIGINT interrupts nothing; a second one goes to the previous
    handler.
    """
    received: list[int] = []
    previous = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    def handle(number: int, frame: FrameType | None) -> None:
        received.append(number)
        restore()

    for number in previous:
        signal.signal(number, handle)
    try:
        yield lambda: received[0] if received else None
    finally:
        restore()
