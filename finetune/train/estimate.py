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
"""Weights above which activations are recomputed by default."""
MAX_TIMED_STEPS = 3
"""Steps that are timed at most, after one to warm up."""
MAX_PARTIAL_STEPS = 5
"""Parts of a long step that are timed at most, each of four times as many questions as the one before."""
SAMPLE = 256
"""Questions that a dry run reads where the number of steps is an option."""
BUDGET_S = 8.0
"""Seconds after which no further step is timed."""


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
        stored = inputs * self.layers + layer if self.checkpointing else layer * self.layers
        return round(stored + 8 * self.tokens * self.vocabulary)


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
    """Seconds of a step, tokens a second, and what was timed for it."""

    seconds: float
    tokens_s: float
    timed: str


def measure_step_time(step: Callable[[int], int], clock: Callable[[], float] = perf_counter) -> StepTime:
    """Time `step`, a function of the step's number that returns its tokens. The first step warms up, and
    counts only if it leaves no time for another."""
    started = clock()
    tokens = step(0)
    first = clock() - started
    if 2 * first > BUDGET_S:
        return StepTime(first, tokens / first, "the first step")
    tokens = n_steps = 0
    timed_from = clock()
    while n_steps < MAX_TIMED_STEPS and (not n_steps or clock() - started < BUDGET_S):
        n_steps += 1
        tokens += step(n_steps)
    seconds = clock() - timed_from
    return StepTime(seconds / n_steps, tokens / seconds, f"{n_steps} step{'s' * (n_steps > 1)}")


def measure_partial_step_time(
    part: Callable[[int], None], n_parts: int, tokens: int, clock: Callable[[], float] = perf_counter
) -> StepTime:
    """Estimate a step of `tokens` tokens that is too long to be timed: it has `n_parts` equal parts, and
    `part` runs a number of them. One part first, then more while there is time: many take less each."""
    first_started, n, n_timed = clock(), 1, 0
    while True:
        started = clock()
        part(n)
        ended = clock()
        seconds = (ended - started) / n * n_parts
        n_timed += 1
        if (
            n == n_parts
            or n_timed == MAX_PARTIAL_STEPS
            or (ended - first_started) + 4 * (ended - started) > BUDGET_S
        ):
            return StepTime(seconds, tokens / seconds, f"{n} of {n_parts} questions of a step")
        n = min(n_parts, 4 * n)


def print_memory(sizes: ModelSizes, memory: Memory) -> None:
    """Print parameters and memory, before a step is run that may not fit."""
    print(f"parameters: {sizes.n_trained:,} trained, {sizes.n_frozen:,} frozen")
    print(memory.summary(), flush=True)


def print_time(n_steps: int, time: StepTime, cost: Cost) -> None:
    """Print the time and cost of `n_steps` steps."""
    all_s = n_steps * time.seconds
    print(
        f"time: {n_steps:,} steps of {time.seconds:.2f} s, about {all_s / 60:,.0f} min at "
        f"{time.tokens_s:,.0f} tokens/s (measured on {time.timed}), evaluations not counted"
    )
    print(f"cost: {cost.summary(all_s)} at {cost.watts:g} W ({cost.source})", flush=True)


WATTS_A_CORE = 10.0
"""The default where no power is known: server processors take 3 to 10 W a core, memory not included."""


@dataclass(frozen=True)
class Cost:
    """Price of an hour in any currency, and power; `source` says where `watts` is from."""

    price_per_hour: float
    watts: float
    source: str

    def price(self, seconds: float) -> float:
        """The price of `seconds`."""
        return self.price_per_hour * seconds / 3600

    def watt_hours(self, seconds: float) -> float:
        """The energy of `seconds`."""
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
    """The GPU's power limit in watts, None if unknown. Its power at the moment is not that of training."""
    if shutil.which("nvidia-smi") is None:
        return None
    index = device.partition(":")[2] or "0"
    command = ["nvidia-smi", f"--id={index}", "--query-gpu=power.limit", "--format=csv,noheader,nounits"]
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
        return float(output.strip())
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
