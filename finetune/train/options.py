"""Options that several training stages share; a stage's own options are in its config."""

from __future__ import annotations

import os
import re
from dataclasses import field
from typing import Annotated, Literal

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.environment import is_installed, require_library, sharding, world_size
from dialint.detector.errors import ConfigError
from dialint.detector.interface import default_threads
from dialint.detector.option_ranges import command_options

Optimizer = Literal["adamw", "adamw-8bit", "paged-adamw-8bit"]
Tracker = Literal["tensorboard", "wandb", "mlflow"]


@command_options
class RunOptions:
    """Device, precision, checkpoints and reports of a training. Of these, only seed, precision, optimizer
    and compressed gradients change weights."""

    seed: Annotated[int, Field(ge=0)] = 1
    """Seed of order, sampling and new weights."""
    device: str = "auto"
    """cpu, cuda or cuda:N; auto uses a GPU if there is one."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """bf16: autocast over fp32 weights, frozen ones stored in bf16; auto uses it on CUDA, for a scanner on
    all hardware that supports it."""
    optimizer: Optimizer = "adamw"
    """adamw, or bitsandbytes' AdamW with 8-bit states, paged to main memory where GPU memory is short."""
    compress_gradients: Literal["none", "fp16", "powersgd"] = "none"
    """How processes with the whole model in each exchange gradients: fp16 halves the bytes, powersgd (rank 4,
    from step 10 on) sends matrices of low rank, for slow networks."""
    gradient_checkpointing: bool | None = None
    """Recompute activations in the backward pass rather than keep them; unset: for models of over a billion
    weights."""
    checkpoint_steps: Annotated[int | None, Field(ge=1)] = None
    """Steps between checkpoints; none: five minutes."""
    threads: Annotated[int, Field(ge=1)] = field(default_factory=default_threads)
    """CPU threads; by default OMP_NUM_THREADS if it is set, else one for each core this process may use."""
    dry_run: bool = False
    """Print the memory that training would take, and train nothing."""
    report_to: Annotated[tuple[Tracker, ...], Parameter(consume_multiple=True)] = ()
    """Experiment trackers that get every line of metrics.jsonl too, each configured by its own environment
    variables."""

    def validate(self) -> None:
        """Checks the device, and that the libraries of optimizer and trackers are installed.

        Raises:
            ConfigError: E_DEVICE, E_EXTRA, E_OPTION.
        """
        if not re.fullmatch(r"auto|cpu|cuda(?::[0-9]+)?", self.device):
            raise ConfigError("E_DEVICE", f"--device {self.device}: neither auto, cpu, cuda nor cuda:N")
        if self.optimizer != "adamw":
            require_library("bitsandbytes", f"--optimizer {self.optimizer}")
        if self.compress_gradients != "none" and (world_size() == 1 or sharding()):
            message = "--compress-gradients needs several processes with the whole model in each (ddp.yaml)"
            raise ConfigError("E_OPTION", message)
        for tracker in self.report_to:
            if not is_installed(tracker):
                raise ConfigError("E_EXTRA", f"--report-to {tracker}: pip install {tracker}")

    def resolve_device(self) -> str:
        """Returns the device of this process; each process of ``accelerate launch`` or ``torchrun`` has its
        own GPU.

        Raises:
            ConfigError: E_DEVICE, this machine has no such device, or one GPU for several processes.
        """
        from dialint.detector.engines import local

        device = local.resolve_device(self.device)
        if device == "cuda" and "LOCAL_RANK" in os.environ:
            return f"cuda:{os.environ['LOCAL_RANK']}"
        if device != "cpu" and world_size() > 1:
            message = f"--device {device}: one GPU for {world_size()} processes; leave it out"
            raise ConfigError("E_DEVICE", message)
        return device

    def uses_bf16(self) -> bool:
        """Returns whether arithmetic is in bf16."""
        return self.precision == "bf16" or (self.precision == "auto" and self.resolve_device() != "cpu")


@command_options
class ScheduleOptions:
    """Length and early stopping of a training."""

    epochs: Annotated[float, Field(gt=0)] = 1.0
    """Passes over the training split."""
    steps: Annotated[int | None, Field(ge=1)] = None
    """Steps in place of passes."""
    accumulate: Annotated[int, Field(ge=1)] = 1
    """Forward passes in one step."""
    eval_steps: Annotated[int, Field(ge=1)] = 200
    """Steps between two evaluations on the dev split."""
    patience: Annotated[int, Field(ge=1)] = 5
    """Evaluations without improvement after which training stops; the best weights are kept."""


@command_options
class PpoOptions:
    """Hyperparameters of PPO; each of them changes the trained weights."""

    steps: Annotated[int, Field(ge=1)] = 100
    """Rounds of sampling and training."""
    questions: Annotated[int, Field(ge=1)] = 16
    """Questions in a step."""
    answers: Annotated[int, Field(ge=1)] = 4
    """Answers sampled for each question."""
    answer_tokens: Annotated[int, Field(ge=1)] = 512
    """Maximum tokens of an answer."""
    epochs: Annotated[int, Field(ge=1)] = 2
    """Passes over the answers of a step."""
    minibatch: Annotated[int, Field(ge=1)] = 16
    """Answers in one step of the optimizer."""
    accumulate: Annotated[int, Field(ge=1)] = 1
    """Forward passes that a minibatch is split into: less memory, the same step."""
    learning_rate: Annotated[float, Field(gt=0)] = 1e-5
    """Learning rate of the policy, decaying linearly to 0."""
    value_learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    """Learning rate of the value head, decaying alike."""
    clip: Annotated[float, Field(gt=0)] = 0.2
    """Range within which the probability ratio of a token may change in a step, as a share, and its
    predicted value."""
    kl: Annotated[float, Field(ge=0)] = 0.05
    """Penalty per nat of KL divergence from the initial policy."""
    unfinished: Annotated[float, Field(ge=0)] = 1.0
    """Penalty of an answer that does not end within --answer-tokens."""


NOT_IN_JOB = frozenset(("out", "checkpoint_steps", "threads", "dry_run", "report_to"))
"""Options that change no weight: a run may resume with others."""
