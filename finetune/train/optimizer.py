"""AdamW as it is wanted, and its rate over a run, for the loops that are our own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dialint.detector.extras import require_library
from dialint.finetune.train.options import Optimizer

if TYPE_CHECKING:
    import torch


def build_optimizer(
    wanted: Optimizer, groups: Sequence[Iterable[torch.nn.Parameter]], device: str, weight_decay: float = 0.01
) -> torch.optim.Optimizer:
    """AdamW over groups of weights, by bitsandbytes with 8-bit states. Pages are CUDA's: on a CPU there is no
    other memory to go to, so paged is the same as not.

    Raises:
        ConfigError: E_EXTRA, bitsandbytes is not there.
    """
    import torch

    made = [{"params": list(group)} for group in groups]
    if wanted == "adamw":
        return torch.optim.AdamW(made, weight_decay=weight_decay, fused=True)
    require_library("bitsandbytes", f"--optimizer {wanted}")
    library: Any = import_module("bitsandbytes.optim")
    paged = wanted == "paged-adamw-8bit" and device.startswith("cuda")
    optimizer: torch.optim.Optimizer = (library.PagedAdamW8bit if paged else library.AdamW8bit)(
        made, weight_decay=weight_decay
    )
    return optimizer


def set_learning_rates(optimizer: torch.optim.Optimizer, peaks: Sequence[float], share: float) -> None:
    """Each group's rate as a share of its peak."""
    for group, peak in zip(optimizer.param_groups, peaks, strict=True):
        group["lr"] = peak * share


def warmup_cosine(step: int, steps: int) -> float:
    """The rate's share of its peak: a line up over a twentieth of all steps, 200 at most, then half a cosine
    down to a fiftieth."""
    warm = max(1, min(200, steps // 20))
    if step < warm:
        return (step + 1) / warm
    return 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))
