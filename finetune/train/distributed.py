"""Several processes that train one model: results are gathered, gradients are summed.

Started by ``accelerate launch`` or ``torchrun``, which set rank and world size. With one process all of this
is free. Every process holds the whole model; models that do not fit need FSDP or ZeRO.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from dialint.detector.extras import world_size

if TYPE_CHECKING:
    import torch

T = TypeVar("T")


@dataclass(frozen=True)
class ProcessGroup:
    """The processes that train together; this one has number `rank` of `size`."""

    rank: int = 0
    size: int = 1

    @property
    def is_main(self) -> bool:
        """Whether this process writes the files."""
        return self.rank == 0

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """This process's part of `items`, in order; the parts differ by one item at most."""
        return items[self.start(len(items)) : len(items) * (self.rank + 1) // self.size]

    def start(self, n_items: int) -> int:
        """Where this process's share begins."""
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
        """Whether it holds in any process."""
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
