"""What a training would take, before it is begun: memory by formula, time by a few measured steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from finetune.training.cost import Cost
from finetune.training.options import Optimizer

STATE_BYTES: dict[Optimizer, int] = {"adamw": 8, "adamw-8bit": 2, "paged-adamw-8bit": 2}
"""Two moments of each trained parameter, in fp32 or in 8 bits."""
MEASURED = 3
"""Steps that are timed, after one to warm up."""


@dataclass(frozen=True)
class Work:
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
class Sizes:
    """A model's parameters and bytes; `n_frozen` counts 4-bit weights one by one, not as they are stored."""

    n_trained: int
    n_frozen: int
    weight_bytes: int


def sizes_of(model: Any) -> Sizes:
    """The sizes of a torch module, packed 4-bit weights among them."""
    trained = frozen = stored = 0
    for weight in model.parameters():
        stored += weight.numel() * weight.element_size()
        packed = getattr(weight, "quant_state", None)
        if weight.requires_grad:
            trained += weight.numel()
        else:
            frozen += packed.shape.numel() if packed is not None else weight.numel()
    return Sizes(trained, frozen, stored)


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

    def told(self) -> str:
        """A line for a person."""
        parts = ", ".join(f"{name} {size / 1e9:.2f}" for name, size in vars(self).items())
        return f"memory: about {self.total / 1e9:.2f} GB ({parts}) beside the program itself"


def memory(sizes: Sizes, optimizer: Optimizer, work: Work) -> Memory:
    """The memory of training in steps of `work`; gradients in fp32."""
    return Memory(
        weights=sizes.weight_bytes,
        gradients=4 * sizes.n_trained,
        optimizer=STATE_BYTES[optimizer] * sizes.n_trained,
        activations=work.activations,
    )


def measured(step: Callable[[int], int]) -> tuple[float, float]:
    """Seconds of a step and its tokens a second, from running a few; `step` of a number gives its tokens."""
    step(0)
    started = perf_counter()
    tokens = sum(step(number) for number in range(1, 1 + MEASURED))
    seconds = perf_counter() - started
    return seconds / MEASURED, tokens / seconds


def told(sizes: Sizes, taken: Memory, n_steps: int, seconds: float, tokens_s: float, cost: Cost) -> str:
    """The whole estimate for a person: `n_steps` steps of `seconds` seconds each."""
    all_s = n_steps * seconds
    return "\n".join(
        (
            f"parameters: {sizes.n_trained:,} trained, {sizes.n_frozen:,} frozen",
            taken.told(),
            f"time: {n_steps:,} steps of {seconds:.2f} s, about {all_s / 60:,.0f} min at {tokens_s:,.0f} "
            f"tokens/s (measured on {MEASURED} steps), looks not counted",
            f"cost: {cost.told(all_s)} at {cost.watts:g} W ({cost.source})",
        )
    )
