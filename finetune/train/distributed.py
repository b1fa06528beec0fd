"""Which device a process trains on, and several processes that train one model: gradients are summed.

Started by ``accelerate launch`` or ``torchrun``, which set rank and world size. With one process all of this
is free. Every process holds the whole model; models that do not fit need FSDP or ZeRO.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from dialint.detector.environment import world_size
from dialint.detector.errors import ConfigError
from dialint.finetune.train.options import RunOptions

if TYPE_CHECKING:
    import torch

T = TypeVar("T")


def resolve_device(running: RunOptions) -> str:
    """The device of this process; with a launcher, one GPU for each.

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
    """Return whether the launcher asked for FSDP or DeepSpeed, which cut a model up among processes."""
    names = ("ACCELERATE_USE_FSDP", "ACCELERATE_USE_DEEPSPEED")
    return any(os.environ.get(name, "").lower() == "true" for name in names)


def loading_device(running: RunOptions) -> str:
    """The device that a model is loaded to: main memory where it will be cut up among processes, else the
    device."""
    return "cpu" if is_sharded() else resolve_device(running)


def uses_bf16(running: RunOptions) -> bool:
    """Return whether arithmetic is in bf16."""
    return running.precision == "bf16" or (running.precision == "auto" and resolve_device(running) != "cpu")


@dataclass(frozen=True)
class ProcessGroup:
    """The processes that train together; this one has number `rank` of `size`."""

    rank: int = 0
    size: int = 1

    @property
    def is_main(self) -> bool:
        """Return whether this process writes the files."""
        return self.rank == 0

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """This process's part of `items`, in order; the parts differ by one item at most."""
        return items[self.start(len(items)) : len(items) * (self.rank + 1) // self.size]

    def start(self, n_items: int) -> int:
        """The index at which this process's share begins."""
        return n_items * self.rank // self.size

    def all_gather(self, items: list[T]) -> list[T]:
        """The items of all processes, in order of rank; tensors among them must lie on the CPU."""
        if self.size == 1:
            return items
        from torch.distributed import all_gather_object

        gathered: list[list[T]] = [[] for _ in range(self.size)]
        all_gather_object(gathered, items)
        return [item for part in gathered for item in part]

    def any(self, mine: bool) -> bool:
        """Return whether it holds in any process."""
        return any(self.all_gather([mine]))

    def all_reduce_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Replace each gradient by its sum over processes; a missing one counts as 0."""
        if self.size == 1:
            return
        import torch

        trained = list(parameters)
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in trained]
        together = torch.cat([gradient.flatten() for gradient in gradients])
        torch.distributed.all_reduce(together)
        for p, gradient in zip(trained, torch.split(together, [p.numel() for p in trained]), strict=True):
            p.grad = gradient.view_as(p)


def init_process_group(device: str) -> ProcessGroup:
    """Join the processes that the launcher started; `device` is this process's own: cpu, cuda or cuda:N."""
    size = world_size()
    if size == 1:
        return ProcessGroup()
    import torch

    if device.startswith("cuda:"):
        torch.cuda.set_device(device)
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group(backend_for(device))
    return ProcessGroup(torch.distributed.get_rank(), size)


def backend_for(device: str) -> str:
    """The torch.distributed backend for tensors on `device`; tensors on the CPU always use gloo."""
    return "cpu:gloo,cuda:nccl" if device.partition(":")[0] == "cuda" else "gloo"


def unwrap(model: Any) -> Any:
    """The language model inside of adapters and of `DistributedDataParallel`, or the model itself."""
    import torch

    if isinstance(model, torch.nn.parallel.DistributedDataParallel):
        model = model.module
    return model.get_base_model() if hasattr(model, "peft_config") else model
