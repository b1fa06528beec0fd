"""Options that every stage of learning has; written once, shown in each stage's help.

A stage's own options (its rate, its length) stand in its own config: what fits one stage fits no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from cyclopts import Parameter

from dialint.detector.errors import ConfigError
from dialint.detector.extras import require_library

Quantization = Literal["none", "nf4"]
Optimizer = Literal["adamw", "adamw-8bit", "paged-adamw-8bit"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AdapterOptions:
    """What is trained of a base: all weights, or adapters beside frozen ones."""

    adapter: Literal["none", "lora"] = "lora"
    """Train low-rank adapters, or all weights (a scanner, unless an option of adapters is given)."""
    rank: int = 16
    """Rank of the adapters."""
    alpha: int | None = None
    """Scale of the adapters; none: twice the rank."""
    targets: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ("all-linear",)
    """Names of the layers that get adapters."""
    adapter_dropout: float = 0.0
    """Dropout before the adapters."""
    dora: bool = False
    """Learn magnitude and direction apart (Liu et al. 2024, DoRA)."""
    rslora: bool = False
    """Scale by alpha over the root of the rank (Kalajdzievski 2023, rsLoRA)."""
    quantise: Quantization = "none"
    """nf4: the frozen base in 4 bits, double quantisation, bf16 arithmetic (Dettmers et al. 2023, QLoRA)."""

    def refuse(self) -> None:
        """Say what cannot be.

        Raises:
            ConfigError: E_OPTION.
        """
        if self.rank < 1 or (self.alpha is not None and self.alpha < 1) or not self.targets:
            raise ConfigError("E_OPTION", "--rank and --alpha must be at least 1, --targets must name layers")
        if not 0 <= self.adapter_dropout < 1:
            raise ConfigError("E_OPTION", "--adapter-dropout must lie between 0 and 1")
        if self.adapter == "none" and self.quantise != "none":
            raise ConfigError(
                "E_OPTION", "--quantise nf4 needs --adapter lora: 4-bit weights are not trained"
            )
        if self.adapter == "lora":
            require_library("peft", "--adapter lora")
        if self.quantise == "nf4":
            require_library("bitsandbytes", "--quantise nf4")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a training runs on its machine. Of these, only seed, precision and optimizer change weights."""

    seed: int = 1
    """Seed of order, sampling and new weights."""
    device: str = "auto"
    """cpu, cuda or cuda:N; auto takes a GPU if there is one. With --dry-run also a size, such as cuda:24GB:
    what would fit such a GPU, which need not be here."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """bf16: autocast over fp32 weights, frozen ones stored in bf16; auto takes it on CUDA, for a scanner on
    all hardware that has it."""
    optimizer: Optimizer = "adamw"
    """adamw, or bitsandbytes' AdamW with 8-bit states, paged to main memory where it is short."""
    gradient_checkpointing: bool | None = None
    """Compute activations twice rather than keep them; unset: for models of over a billion weights."""
    checkpoint_minutes: float = 5.0
    """Minutes between checkpoints."""
    checkpoint_steps: int | None = None
    """Steps between checkpoints, in place of minutes."""
    threads: int = 2
    """CPU threads."""
    dry_run: bool = False
    """Say what memory and time it would take, and train nothing."""
    price_per_hour: float = 0.0
    """What an hour of this machine costs, in any currency."""
    watts: float | None = None
    """Power of this machine for the estimate of energy; none: asked of the GPU, else guessed by cores."""

    def refuse(self) -> None:
        """Say what cannot be.

        Raises:
            ConfigError: E_OPTION.
        """
        without_power = self.watts is not None and self.watts <= 0
        if self.seed < 0 or self.threads < 1 or self.price_per_hour < 0 or without_power:
            raise ConfigError("E_OPTION", "--seed, --threads, --price-per-hour or --watts is out of range")
        if self.checkpoint_minutes < 0 or (self.checkpoint_steps is not None and self.checkpoint_steps < 1):
            raise ConfigError("E_OPTION", "--checkpoint-minutes or --checkpoint-steps is out of range")
        if self.device.endswith("GB") and not self.dry_run:
            raise ConfigError("E_DEVICE", f"--device {self.device} is no device but a size: add --dry-run")
        if self.optimizer != "adamw":
            require_library("bitsandbytes", f"--optimizer {self.optimizer}")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ScheduleOptions:
    """How long a stage learns, and when it stops."""

    epochs: float = 1.0
    """Passes over the training split."""
    steps: int | None = None
    """Steps in place of passes."""
    accumulate: int = 1
    """Forward passes in one step."""
    warm_up: float = 0.05
    """Share of steps in which the rate rises; it falls as a cosine then."""
    eval_steps: int = 200
    """Steps between two looks at the dev split."""
    patience: int = 5
    """Looks without a better one after which training stops; the best weights are kept."""

    def refuse(self) -> None:
        """Say what cannot be.

        Raises:
            ConfigError: E_OPTION.
        """
        for name in ("epochs", "accumulate", "eval_steps", "patience"):
            if not getattr(self, name) > 0:
                raise ConfigError("E_OPTION", f"--{name.replace('_', '-')} must be above 0")
        if not 0 <= self.warm_up < 1 or (self.steps is not None and self.steps < 1):
            raise ConfigError("E_OPTION", "--warm-up or --steps is out of range")


NOT_IN_JOB = frozenset(
    ("out", "checkpoint_minutes", "checkpoint_steps", "threads", "dry_run", "price_per_hour", "watts")
)
"""Options that change no weight: a run may go on with others."""
