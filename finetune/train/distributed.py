"""Training in several processes: sharded weights (FSDP2, ZeRO-3), compressed gradients.

The config file of ``accelerate launch`` decides whether each process has the whole model (``ddp.yaml``) or
a shard of it (``fsdp2.yaml``, ``zero3.yaml`` in ``finetune/accelerate``). A process that computes alone, for
answers or for an evaluation, does so within `whole_weights`.

Source: Vogels et al. 2019, PowerSGD: Practical low-rank gradient compression for distributed optimization.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from transformers import TrainerCallback

from dialint.detector.environment import sharding

POWERSGD_RANK, POWERSGD_START = 4, 10
"""Rank of the matrices that are sent, and the number of first steps without compression."""


@contextmanager
def whole_weights(trainer: Any) -> Iterator[None]:
    """Gathers all weights of the trainer's model in every process, so that each may compute by itself, and
    shards them again afterwards. All processes must enter and leave."""
    if sharding() == "deepspeed":
        from trl.models import unwrap_model_for_generation

        with unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator):
            yield
    elif sharding() == "fsdp":
        from torch.distributed.fsdp import FSDPModule

        trainer.model._get_fsdp_state()._lazy_init()  # or the first part to run would be the root
        parts = [module for module in trainer.model.modules() if isinstance(module, FSDPModule)]
        for part in parts:
            part.unshard()
            part.set_reshard_after_forward(False, recurse=False)
        try:
            yield
        finally:
            reshards = bool(trainer.accelerator.state.fsdp_plugin.reshard_after_forward)
            for part in parts:
                part.reshard()
                part.set_reshard_after_forward(reshards and part is not trainer.model, recurse=False)
    else:
        yield


def gather_weights(model: Any) -> dict[str, torch.Tensor] | None:
    """Gathers the trained weights, or all if there are no adapters, in their own precision, on the CPU;
    returns None if they are not sharded. All processes must call it."""
    if not sharding():
        return None
    has_adapter = hasattr(model, "peft_config")
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad or not has_adapter}
    if sharding() == "deepspeed":
        import deepspeed

        with deepspeed.zero.GatheredParameters(list(trained.values())):
            return {name: weight.detach().cpu().clone() for name, weight in trained.items()}
    return {name: weight.full_tensor().detach().cpu() for name, weight in trained.items()}


class GradientCompression(TrainerCallback):
    """Compresses the gradients that processes exchange, by torch's hooks, and counts bytes: those of the
    gradients, and those that each process sends to the all-reduce."""

    def __init__(self, trainer: Any, kind: str) -> None:
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

        self.figures = {"gradient_bytes": 0, "sent_bytes": 0}
        self._trainer = trainer
        self._hook: Any = default_hooks.fp16_compress_hook
        self._power: Any = None
        if kind == "powersgd":
            self._hook = powerSGD_hook.powerSGD_hook
            self._power = powerSGD_hook.PowerSGDState(
                None, matrix_approximation_rank=POWERSGD_RANK, start_powerSGD_iter=POWERSGD_START
            )

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        # a lambda, as torch refuses annotations that are strings
        self._trainer.model_wrapped.register_comm_hook(None, lambda _, bucket: self._exchange(bucket))

    def _exchange(self, bucket: Any) -> torch.futures.Future[torch.Tensor]:
        gradient = bucket.buffer()
        sent = 2 * gradient.numel() if self._power is None else gradient.nbytes
        before = 0 if self._power is None else self._power.total_numel_after_compression
        future: torch.futures.Future[torch.Tensor] = self._hook(self._power, bucket)
        if self._power is not None and self._power.total_numel_after_compression > before:
            sent = (self._power.total_numel_after_compression - before) * gradient.itemsize
        self.figures["gradient_bytes"] += gradient.nbytes
        self.figures["sent_bytes"] += sent
        return future
