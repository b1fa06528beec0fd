"""Checks that losses, gradients and weights are finite; otherwise training ends and nothing is saved."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialint.detector.errors import ConfigError

if TYPE_CHECKING:
    import torch


def validate_loss(step: int, loss: float, norm: float | None = None) -> None:
    """Check the loss before the optimizer steps; `norm` is that of the gradient.

    Raises:
        ConfigError: E_DIVERGED, one of them is NaN or infinite.
    """
    for name, value in (("loss", loss), ("norm of the gradient", norm)):
        if value is not None and not math.isfinite(value):
            raise ConfigError(
                "E_DIVERGED", f"step {step}: the {name} is {value}, no number; lower the learning rate"
            )


def validate_finite(value: Any, path: Path | str) -> None:
    """Check weights or optimizer states before they are saved. `value` is a tensor, or mappings and sequences
    of them, such as a ``state_dict``; integers always pass.

    Raises:
        ConfigError: E_DIVERGED, a tensor holds NaN or infinity; the message names it.
    """
    for name, tensor in _tensors(value, ""):
        plain = tensor.detach()
        if plain.is_floating_point() and plain.element_size() == 1:
            plain = plain.float()  # isfinite does not support 8-bit floats
        if not plain.isfinite().all():
            raise ConfigError("E_DIVERGED", f"{path}: {name or 'a tensor'} holds NaN or infinity; not saved")


def _tensors(value: Any, name: str) -> Iterator[tuple[str, torch.Tensor]]:
    import torch

    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _tensors(part, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from _tensors(part, f"{name}.{index}")


def save_weights(
    weights: Mapping[str, torch.Tensor], path: Path, metadata: dict[str, str] | None = None
) -> None:
    """Write `weights` as safetensors.

    Raises:
        ConfigError: E_DIVERGED, one of them holds NaN or infinity; nothing is written.
    """
    from safetensors.torch import save_file

    validate_finite(weights, path)
    tensors = {name: weight.detach().cpu().contiguous() for name, weight in weights.items()}
    save_file(tensors, path, metadata=metadata)


def validate_finite_files(folder: Path) -> None:
    """Check weights that a library wrote into `folder`, tensor by tensor.

    Raises:
        ConfigError: E_DIVERGED, as `validate_finite`.
    """
    from safetensors import safe_open

    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, "pt") as file:
            for name in file.keys():  # noqa: SIM118  not a mapping
                validate_finite({name: file.get_tensor(name)}, path)
