"""AdamW and its learning-rate schedule, for the stages that run `dialint.finetune.train.loop`."""

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
    name: Optimizer, groups: Sequence[Iterable[torch.nn.Parameter]], device: str, weight_decay: float = 0.01
) -> torch.optim.Optimizer:
    """AdamW over groups of parameters; with 8-bit states it is bitsandbytes'. Paging needs CUDA: on a CPU the
    paged optimizer is the plain one.

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
    """Set each group's learning rate to the `share` of its peak."""
    for group, peak in zip(optimizer.param_groups, peaks, strict=True):
        group["lr"] = peak * share


def warmup_cosine(step: int, n_steps: int, warmup_steps: int | None = None, floor: float = 0.02) -> float:
    """The learning rate as a share of its peak: linear up over `warmup_steps` (None: a twentieth of all
    steps, 200 at most), then half a cosine down to `floor`."""
    warm = max(1, min(200, n_steps // 20) if warmup_steps is None else warmup_steps)
    if step < warm:
        return (step + 1) / warm
    return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, n_steps - warm)))
