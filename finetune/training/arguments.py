"""Our options as those of a Hugging Face trainer: the one place where the two vocabularies meet."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from detector.errors import ConfigError
from finetune.training.options import Learning, Optimizer, Running
from finetune.training.processes import launched

OPTIMIZERS: dict[Optimizer, str] = {
    "adamw": "adamw_torch_fused",
    "adamw-8bit": "adamw_bnb_8bit",
    "paged-adamw-8bit": "paged_adamw_8bit",
}


def device_of(running: Running) -> str:
    """The device that is meant; one GPU for each process of a launcher.

    Raises:
        ConfigError: E_DEVICE, this machine has none such, or one GPU is named for several processes.
    """
    from detector.engines import local

    device = local.device_of(running.device)
    if device == "cuda" and "LOCAL_RANK" in os.environ:
        return f"cuda:{os.environ['LOCAL_RANK']}"
    if device != "cpu" and launched() > 1:
        raise ConfigError("E_DEVICE", f"--device {device}: one GPU for {launched()} processes; leave it out")
    return device


def loading_device(running: Running) -> str:
    """Where a model is loaded to: main memory where it will be cut up among processes, else the device."""
    cut_up = ("ACCELERATE_USE_FSDP", "ACCELERATE_USE_DEEPSPEED")
    if any(os.environ.get(name, "").lower() == "true" for name in cut_up):
        return "cpu"
    return device_of(running)


def low_precision(running: Running) -> bool:
    """Whether arithmetic is in bf16."""
    return running.precision == "bf16" or (running.precision == "auto" and device_of(running) != "cpu")


def trainer_arguments(running: Running, out: Path, **stage: Any) -> dict[str, Any]:
    """Arguments for the configuration of any trainer of trl; `stage` adds what the stage alone knows.

    Saving is left to `Watching`, logging to every step, trackers to `finetune.metrics_log`.
    """
    shared: dict[str, Any] = {
        "output_dir": str(out),
        "seed": running.seed,
        "data_seed": running.seed,
        "use_cpu": device_of(running) == "cpu",
        "bf16": low_precision(running),
        "fp16": False,
        "tf32": None,
        "optim": _optimizer(running),
        "activation_checkpointing": running.gradient_checkpointing,
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
    if running.gradient_checkpointing:
        shared["activation_checkpointing_kwargs"] = {"use_reentrant": False}
    return {**shared, **stage}


def _optimizer(running: Running) -> str:
    """The optimizer's other name. Pages are CUDA's: on a CPU paged is the same as not."""
    paged = running.optimizer == "paged-adamw-8bit"
    return OPTIMIZERS["adamw-8bit" if paged and device_of(running) == "cpu" else running.optimizer]


def learning_arguments(learning: Learning, metric: str) -> dict[str, Any]:
    """The schedule of a stage that looks at its dev split, where less of `metric` is better."""
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
