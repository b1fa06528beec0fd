"""Which device a process trains on, where a launcher may have started several.

The Hugging Face trainers train one model in several processes, started by ``accelerate launch`` or
``torchrun``; all other stages run in one.
"""

from __future__ import annotations

import os
from typing import Any

from dialint.detector.environment import world_size
from dialint.detector.errors import ConfigError
from dialint.finetune.train.options import RunOptions


def resolve_device(running: RunOptions) -> str:
    """The device of this process; with a launcher, one GPU for each.

    Raises:
        ConfigError: E_DEVICE, this machine has no such device, one GPU is named for several processes, or the
            launcher would cut the model up among them.
    """
    from dialint.detector.engines import local

    for name in ("ACCELERATE_USE_FSDP", "ACCELERATE_USE_DEEPSPEED"):
        if os.environ.get(name, "").lower() == "true":
            raise ConfigError("E_DEVICE", f"{name} is set: a model is whole in each process here")
    device = local.resolve_device(running.device)
    if device == "cuda" and "LOCAL_RANK" in os.environ:
        return f"cuda:{os.environ['LOCAL_RANK']}"
    if device != "cpu" and world_size() > 1:
        raise ConfigError(
            "E_DEVICE", f"--device {device}: one GPU for {world_size()} processes; leave it out"
        )
    return device


def uses_bf16(running: RunOptions) -> bool:
    """Return whether arithmetic is in bf16."""
    return running.precision == "bf16" or (running.precision == "auto" and resolve_device(running) != "cpu")


def unwrap(model: Any) -> Any:
    """The language model inside of adapters and of `DistributedDataParallel`, or the model itself."""
    import torch

    if isinstance(model, torch.nn.parallel.DistributedDataParallel):
        model = model.module
    return model.get_base_model() if hasattr(model, "peft_config") else model
