"""The cost of a training: price, energy, and the most memory that it took."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from dialint.finetune.train.options import RunOptions

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
