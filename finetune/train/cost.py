"""The time of a training by a few measured steps, and its cost: price and energy."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from dialint.finetune.train.options import RunOptions

MAX_TIMED_STEPS = 3
"""Steps that are timed at most, after one to warm up."""
BUDGET_S = 8.0
"""Seconds after which no further step is timed."""
WATTS_A_CORE = 10.0
"""The default where no power is known: server processors take 3 to 10 W a core, memory not included."""


@dataclass(frozen=True)
class StepTime:
    """Seconds of a step, tokens a second, and what was timed for it."""

    seconds: float
    tokens_s: float
    timed: str


def measure_step_time(
    step: Callable[[int], int], n_parts: int = 1, clock: Callable[[], float] = perf_counter
) -> StepTime:
    """Time a step of `n_parts` equal parts, the questions of PPO and GRPO: `step` runs a number of them and
    returns its tokens. One part warms up, and counts only if it leaves no time for another; then whole steps
    are timed, or as many parts of one as there is time for."""
    started = clock()
    tokens = step(1)
    first = clock() - started
    if 2 * first > BUDGET_S:
        what = "the first step" if n_parts == 1 else f"1 of {n_parts} questions of a step"
        return StepTime(first * n_parts, tokens / first, what)
    parts = min(n_parts, max(1, int((BUDGET_S - first) / max(first, 1e-9))))
    tokens = n_runs = 0
    timed_from = clock()
    most_runs = MAX_TIMED_STEPS if n_parts == 1 else 1
    while n_runs < most_runs and (not n_runs or clock() - started < BUDGET_S):
        n_runs += 1
        tokens += step(parts)
    seconds = clock() - timed_from
    what = f"{n_runs} step{'s' * (n_runs > 1)}"
    if n_parts > 1:
        what = f"{parts} of {n_parts} questions of a step"
    return StepTime(seconds / n_runs / parts * n_parts, tokens / seconds, what)


def print_time(n_steps: int, time: StepTime, cost: Cost) -> None:
    """Print the time and cost of `n_steps` steps."""
    all_s = n_steps * time.seconds
    print(
        f"time: {n_steps:,} steps of {time.seconds:.2f} s, about {all_s / 60:,.0f} min at "
        f"{time.tokens_s:,.0f} tokens/s (measured on {time.timed}), evaluations not counted"
    )
    print(f"cost: {cost.summary(all_s)} at {cost.watts:g} W ({cost.source})", flush=True)


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
    limit = _power_limit(device) if device.startswith("cuda") else None
    if limit is not None:
        return Cost(running.price_per_hour, limit, "the GPU's power limit, by nvidia-smi")
    guess = WATTS_A_CORE * running.threads
    return Cost(running.price_per_hour, guess, f"guessed, {WATTS_A_CORE:g} W a thread")


def _power_limit(device: str) -> float | None:
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


def peak_memory() -> int:
    """Bytes: of the GPU where there is one, else of this process with all its libraries."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
