"""Translates our options into those of the Hugging Face trainers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from dialint.detector.errors import ConfigError
from dialint.detector.extras import world_size
from dialint.finetune.train.estimate import recomputes_activations
from dialint.finetune.train.options import Optimizer, RunOptions, ScheduleOptions

T = TypeVar("T")

OPTIMIZERS: dict[Optimizer, str] = {
    "adamw": "adamw_torch_fused",
    "adamw-8bit": "adamw_bnb_8bit",
    "paged-adamw-8bit": "paged_adamw_8bit",
}


def resolve_device(running: RunOptions) -> str:
    """Resolve the device; with a launcher, one GPU for each process.

    Raises:
        ConfigError: E_DEVICE, this machine has no such device, or one GPU is named for several processes.
    """
    from dialint.detector.engines import local

    device = local.resolve_device(running.device)
    if device == "cuda" and "LOCAL_RANK" in os.environ:
        return f"cuda:{os.environ['LOCAL_RANK']}"
    if device != "cpu" and world_size() > 1:
        raise ConfigError(
            "E_DEVICE", f"--device {device}: one GPU for {world_size()} processes; leave it out"
        )
    return device


def is_sharded() -> bool:
    """Whether the launcher asked for FSDP or DeepSpeed, which cut a model up among processes."""
    names = ("ACCELERATE_USE_FSDP", "ACCELERATE_USE_DEEPSPEED")
    return any(os.environ.get(name, "").lower() == "true" for name in names)


def loading_device(running: RunOptions) -> str:
    """Where a model is loaded to: main memory where it will be cut up among processes, else the device."""
    return "cpu" if is_sharded() else resolve_device(running)


def restrict_to_one_gpu(config: Any, device: str) -> Any:
    """A trainer's configuration held to one GPU, though more are visible: without a launcher the Hugging Face
    trainer would copy the model to all of them (`DataParallel`) and learn batches as many times as large."""
    if device != "cpu" and "LOCAL_RANK" not in os.environ:
        import torch

        _ = config.device  # transformers counts the GPUs when it is first asked, and not again
        config._n_gpu = 1
        if ":" in device:
            config.__dict__["_setup_devices"] = torch.device(device)  # transformers 5.23 takes cuda:0
    return config


def uses_bf16(running: RunOptions) -> bool:
    """Whether arithmetic is in bf16."""
    return running.precision == "bf16" or (running.precision == "auto" and resolve_device(running) != "cpu")


def build_trainer_config(
    kind: Callable[..., T], running: RunOptions, out: Path, model: Any, **stage: Any
) -> T:
    """The configuration of a trainer of trl that trains `model`, of class `kind`; `stage` adds what the stage
    alone knows.

    Saving is left to `TrainingCallback`, logging to every step, trackers to
    `dialint.finetune.train.metrics_log`.
    """
    device = resolve_device(running)
    if ":" in device and "LOCAL_RANK" not in os.environ:
        os.environ["ACCELERATE_TORCH_DEVICE"] = device
    recompute = recomputes_activations(running, model)
    from transformers import TrainingArguments

    fields = TrainingArguments.__dataclass_fields__
    renamed = "activation_checkpointing" in fields  # not in transformers 5.19, as vLLM has it
    checkpointing = "activation_checkpointing" if renamed else "gradient_checkpointing"
    shared: dict[str, Any] = {
        "output_dir": str(out),
        "seed": running.seed,
        "data_seed": running.seed,
        "use_cpu": device == "cpu",
        "bf16": uses_bf16(running),
        "fp16": False,
        "tf32": None,
        "optim": _optimizer_name(running),
        checkpointing: recompute,
        "max_grad_norm": 1.0,
        "lr_scheduler_type": "cosine",
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "no",
        "save_total_limit": None,
        "remove_unused_columns": False,
        "dataloader_pin_memory": False,
        "ddp_find_unused_parameters": False,
    }
    if recompute:
        shared[f"{checkpointing}_kwargs"] = {"use_reentrant": False}
    return restrict_to_one_gpu(kind(**{**shared, **stage}), device)  # type: ignore[no-any-return]


def _optimizer_name(running: RunOptions) -> str:
    """The optimizer's name in transformers. Paging needs CUDA: on a CPU the paged optimizer is the plain
    one."""
    paged = running.optimizer == "paged-adamw-8bit"
    return OPTIMIZERS["adamw-8bit" if paged and resolve_device(running) == "cpu" else running.optimizer]


def schedule_arguments(learning: ScheduleOptions, metric: str) -> dict[str, Any]:
    """The schedule of a stage that evaluates on its dev split, where lower `metric` is better."""
    return {
        "include_num_input_tokens_seen": "all",
        "gradient_accumulation_steps": learning.accumulate,
        "num_train_epochs": learning.epochs,
        "max_steps": learning.steps or -1,
        "warmup_steps": learning.warm_up,
        "eval_strategy": "steps",
        "eval_steps": learning.eval_steps,
        "save_strategy": "steps",
        "save_steps": learning.eval_steps,
        "load_best_model_at_end": True,
        "metric_for_best_model": metric,
        "greater_is_better": False,
    }
