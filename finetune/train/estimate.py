"""Estimates what a training takes before it starts: memory by formula, time by a few measured steps, cost."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeVar

from dialint.finetune.train.distributed import unwrap
from dialint.finetune.train.options import Optimizer, RunOptions

T = TypeVar("T")

STATE_BYTES: dict[Optimizer, int] = {"adamw": 8, "adamw-8bit": 2, "paged-adamw-8bit": 2}
"""Two moments of each trained parameter, in fp32 or in 8 bits."""
LARGE = 1_000_000_000
"""Weights above which activations are computed twice unless asked otherwise."""
MEASURED = 3
"""Steps that are timed at most, after one to warm up."""
MOST_PARTLY = 5
"""Parts of a long step that are timed at most, each of four times as many questions as the one before."""
SAMPLE = 256
"""Questions that a plan is made of where the number of steps is given."""
BUDGET_S = 8.0
"""Seconds in which no further step is begun to be timed."""


@dataclass(frozen=True)
class Workload:
    """What one forward pass computes: `tokens` tokens in windows of `window`, through `layers` layers of
    width `hidden` with `heads` heads; `value_bytes` is 2 in bf16, 4 in fp32. `vocabulary` above 0: logits of
    every token are kept too, in fp32 with their gradient."""

    tokens: int
    window: int
    hidden: int
    layers: int
    heads: int
    value_bytes: int
    vocabulary: int = 0
    checkpointing: bool = False

    @property
    def activations(self) -> int:
        """Bytes kept for the gradient.

        Source: Korthikanti et al. 2022, "Reducing Activation Recomputation in Large Transformer Models",
        equation 1: sbh(34 + 5as/h) a layer in 16 bits; with checkpointing 2sbh a layer and one layer whole.
        """
        scale = self.value_bytes / 2
        inputs = 2 * self.tokens * self.hidden * scale
        layer = self.tokens * (34 * self.hidden + 5 * self.heads * self.window) * scale
        kept = inputs * self.layers + layer if self.checkpointing else layer * self.layers
        return round(kept + 8 * self.tokens * self.vocabulary)


@dataclass(frozen=True)
class ModelSizes:
    """A model's parameters and bytes; `n_frozen` counts 4-bit weights one by one, not as they are stored."""

    n_trained: int
    n_frozen: int
    weight_bytes: int


def model_sizes(model: Any) -> ModelSizes:
    """The sizes of a torch module, packed 4-bit weights among them."""
    trained = frozen = stored = 0
    for weight in model.parameters():
        stored += weight.numel() * weight.element_size()
        packed = getattr(weight, "quant_state", None)
        if weight.requires_grad:
            trained += weight.numel()
        else:
            frozen += packed.shape.numel() if packed is not None else weight.numel()
    return ModelSizes(trained, frozen, stored)


def recomputes_activations(running: RunOptions, model: Any) -> bool:
    """Whether activations are computed twice rather than kept (`RunOptions.gradient_checkpointing`)."""
    if running.gradient_checkpointing is not None:
        return running.gradient_checkpointing
    sizes = model_sizes(model)
    return sizes.n_trained + sizes.n_frozen > LARGE


def enable_gradient_checkpointing(model: Any) -> None:
    """Recompute activations of `model` in the backward pass, in training mode, instead of storing them."""
    bare = unwrap(model)  # older versions of transformers know the second name only
    enable = getattr(bare, "activation_checkpointing_enable", bare.gradient_checkpointing_enable)
    enable({"use_reentrant": False})


@dataclass(frozen=True)
class Memory:
    """Bytes of each kind that a training holds at its peak, beside the program itself."""

    weights: int
    gradients: int
    optimizer: int
    activations: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.weights + self.gradients + self.optimizer + self.activations

    def summary(self) -> str:
        """A line for a person."""
        parts = ", ".join(f"{name} {size / 1e9:.2f}" for name, size in vars(self).items())
        return f"memory: about {self.total / 1e9:.2f} GB ({parts}) beside the program itself"


def estimate_memory(sizes: ModelSizes, optimizer: Optimizer, work: Workload) -> Memory:
    """The memory of training in steps of `work`; gradients in fp32."""
    return Memory(
        weights=sizes.weight_bytes,
        gradients=4 * sizes.n_trained,
        optimizer=STATE_BYTES[optimizer] * sizes.n_trained,
        activations=work.activations,
    )


def subsample_for_estimate(items: Sequence[T], running: RunOptions) -> Sequence[T]:
    """All of `items`, or for a dry run some of them, evenly spread: a plan need not read them all."""
    return items[:: max(1, -(-len(items) // SAMPLE))] if running.dry_run else items


def estimate_limit(running: RunOptions) -> int | None:
    """Source dialogues whose questions are read for a dry run; all, if none: masking them takes longest."""
    return SAMPLE if running.dry_run else None


@dataclass(frozen=True)
class StepTime:
    """Seconds of a step, its tokens a second, and what was timed to know."""

    seconds: float
    tokens_s: float
    timed: str


def measure_step_time(step: Callable[[int], int], clock: Callable[[], float] = perf_counter) -> StepTime:
    """The pace of `step`, which takes a number and gives its tokens. The first warms up, and counts only
    where it leaves no time for another."""
    started = clock()
    tokens = step(0)
    first = clock() - started
    if 2 * first > BUDGET_S:
        return StepTime(first, tokens / first, "the first step")
    tokens = n_steps = 0
    begun = clock()
    while n_steps < MEASURED and (not n_steps or clock() - started < BUDGET_S):
        n_steps += 1
        tokens += step(n_steps)
    seconds = clock() - begun
    return StepTime(seconds / n_steps, tokens / seconds, f"{n_steps} step{'s' * (n_steps > 1)}")


def measure_partial_step_time(
    part: Callable[[int], None], n_parts: int, tokens: int, clock: Callable[[], float] = perf_counter
) -> StepTime:
    """The pace of a step that is too long to be timed: of `n_parts` equal parts, of which `part` runs as many
    as it is told, and `tokens`. One part first, then more while there is time: many take less each."""
    begun, n, n_timed = clock(), 1, 0
    while True:
        started = clock()
        part(n)
        ended = clock()
        seconds = (ended - started) / n * n_parts
        n_timed += 1
        if n == n_parts or n_timed == MOST_PARTLY or (ended - begun) + 4 * (ended - started) > BUDGET_S:
            return StepTime(seconds, tokens / seconds, f"{n} of {n_parts} questions of a step")
        n = min(n_parts, 4 * n)


def print_memory(sizes: ModelSizes, taken: Memory) -> None:
    """Print what is known before a step is run: it may be the step that does not fit."""
    print(f"parameters: {sizes.n_trained:,} trained, {sizes.n_frozen:,} frozen")
    print(taken.summary(), flush=True)


def print_time(n_steps: int, pace: StepTime, cost: Cost) -> None:
    """Print what `n_steps` steps take."""
    all_s = n_steps * pace.seconds
    print(
        f"time: {n_steps:,} steps of {pace.seconds:.2f} s, about {all_s / 60:,.0f} min at "
        f"{pace.tokens_s:,.0f} tokens/s (measured on {pace.timed}), looks not counted"
    )
    print(f"cost: {cost.summary(all_s)} at {cost.watts:g} W ({cost.source})", flush=True)


WATTS_A_CORE = 10.0
"""A guess where nothing says more: servers' processors are sold at 3 to 10 W a core, memory comes on top."""


@dataclass(frozen=True)
class Cost:
    """Price of an hour in any currency, and power; `source` says where `watts` is from."""

    price_per_hour: float
    watts: float
    source: str

    def price(self, seconds: float) -> float:
        """What so many seconds cost."""
        return self.price_per_hour * seconds / 3600

    def watt_hours(self, seconds: float) -> float:
        """The energy of so many seconds."""
        return self.watts * seconds / 3600

    def summary(self, seconds: float) -> str:
        """Both for a person; the price only where one is known."""
        energy = f"{self.watt_hours(seconds):,.1f} Wh"
        return f"{energy}, cost {self.price(seconds):,.2f}" if self.price_per_hour else energy

    def to_dict(self, seconds: float) -> dict[str, Any]:
        """Both for a manifest, and the most memory that this process has taken so far."""
        return {
            "price": round(self.price(seconds), 4),
            "watt_hours": round(self.watt_hours(seconds), 2),
            "watts": self.watts,
            "watts_from": self.source,
            "peak_memory_mb": round(peak_memory() / 1e6),
        }


def estimate_cost(running: RunOptions, device: str) -> Cost:
    """The cost of training on `device`: power as given, else the GPU's limit, else a guess by threads."""
    if running.watts is not None:
        return Cost(running.price_per_hour, running.watts, "given")
    limit = _limit(device) if device.startswith("cuda") else None
    if limit is not None:
        return Cost(running.price_per_hour, limit, "the GPU's power limit, by nvidia-smi")
    guess = WATTS_A_CORE * running.threads
    return Cost(running.price_per_hour, guess, f"guessed, {WATTS_A_CORE:g} W a thread")


def peak_memory() -> int:
    """Bytes: of the GPU where there is one, else of this process with all its libraries."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _limit(device: str) -> float | None:
    """The most power that the GPU may take, in watts; None where nobody says. What it takes at the moment
    says nothing of what it will take while it learns."""
    if shutil.which("nvidia-smi") is None:
        return None
    place = device.partition(":")[2] or "0"
    command = ["nvidia-smi", f"--id={place}", "--query-gpu=power.limit", "--format=csv,noheader,nounits"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
        return float(said.strip())
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
