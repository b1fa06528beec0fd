"""Checkpoints: a folder for each, sealed by a manifest that is written last. Losses, gradients and weights
that are not finite end a training and are not saved.

A run resumes from the newest sealed checkpoint of its own job; an unsealed one of a killed run is removed.
The sha256 of every file is verified before it is read, and tensors are loaded without running code. The
Hugging Face trainers write the content of a checkpoint themselves (`hf_trainer` seals it); the content of
`dialint.finetune.train.loop` is one file, ``state.pt``.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialint.detector.artifacts import (
    atomic_file,
    disk_errors,
    file_entry,
    fsync_folder,
    make_output_folder,
    read_manifest,
    verify_whole,
    write_manifest,
)
from dialint.detector.environment import sharding
from dialint.detector.errors import ConfigError, OutputRefused, WorldError
from dialint.detector.manifests import Count, Folder
from dialint.detector.option_ranges import option_changes

if TYPE_CHECKING:
    import torch

SEAL = "checkpoint.json"
STATE = "state.pt"
FORMAT = "dialint-loop-3"
"""Changes whenever the content of ``state.pt`` does; part of the job."""
INTERVAL_S = 300.0
"""Default seconds between two checkpoints."""
_FOLDER = re.compile(r"checkpoint-\d+")


class Checkpoint(Folder):
    """The seal of a checkpoint."""

    job: str
    log_bytes: Count


def save_state(out: Path, job: str, step: int, log_bytes: int, content: Mapping[str, Any]) -> None:
    """Writes the checkpoint of a step, seals it, and removes older ones. `content` has tensors and plain
    values.

    Raises:
        ConfigError: E_DIVERGED, a tensor holds NaN or infinity; the older checkpoint stays.
        WorldError: the disk is full or failed; the older checkpoint stays.
    """
    import torch

    folder = out / f"checkpoint-{step}"
    validate_finite(content, folder)
    with write_errors(folder):
        make_output_folder(folder)
        with atomic_file(folder / STATE) as file:
            torch.save(dict(content), file)
    seal(folder, job, log_bytes)
    remove_except(out, folder)


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Converts errors as `disk_errors` does, also those of torch and safetensors, which hide the system's
    error.

    Raises:
        WorldError: the disk is full, failed, or not permitted.
    """
    from safetensors import SafetensorError

    with disk_errors(path):
        try:
            yield
        except (RuntimeError, SafetensorError) as error:
            if re.search("inline_container|PytorchStreamWriter|os error", str(error)) is None:
                raise
            reason = "writing failed, as when the disk is full"
            raise WorldError("E_WRITE", "{path}: {reason}", path=path, reason=reason) from error


def seal(folder: Path, job: str, log_bytes: int) -> None:
    """Completes a checkpoint: syncs its files and writes the manifest that lists them last.

    `log_bytes` is the length of the run's metrics file at this step.

    Raises:
        ConfigError: E_DIVERGED, its weights hold NaN or infinity; it is removed.
    """
    from safetensors import safe_open

    for path in sorted(folder.glob("*.safetensors")):  # which a library wrote
        try:
            with safe_open(path, "pt") as file:
                for name in file.keys():  # noqa: SIM118  not a mapping
                    validate_finite({name: file.get_tensor(name)}, path)
        except ConfigError:
            shutil.rmtree(folder)
            raise
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SEAL)
    with disk_errors(folder):
        for path in (*files, folder):
            fsync_folder(path)
    entries = [{**file_entry(path), "name": str(path.relative_to(folder))} for path in files]
    write_manifest(folder / SEAL, {"job": job, "log_bytes": log_bytes, "files": entries})
    fsync_folder(folder.parent)


def describe_job(options: Mapping[str, Any], *inputs: Any) -> str:
    """Returns the job of a checkpoint as JSON: options, inputs, and the sharding of the model. ZeRO's
    checkpoints belong to a number of processes, others to any."""
    processes = os.environ.get("WORLD_SIZE", "1") if sharding() == "deepspeed" else "any"
    job = {
        "options": dict(options),
        "inputs": inputs,
        "processes": f"{sharding() or 'ddp'} {processes}",
        "format": FORMAT,
    }
    return json.dumps(job, sort_keys=True, default=str)


def job_mismatch(path: Path, before: str, now: str) -> OutputRefused:
    """Makes the error with the differences of two jobs of `describe_job`; the checkpoint belongs to
    `before`."""
    try:
        first, second = json.loads(before), json.loads(now)
        details = option_changes(first["options"], second["options"])
        if first["inputs"] != second["inputs"]:
            details.append("the data or the base differs")
        if first["format"] != second["format"]:
            details.append("another version of dialint wrote it")
        if first["processes"] != second["processes"]:
            details.append(f"processes were {first['processes']}, are {second['processes']} now")
    except (ValueError, KeyError, TypeError):
        details = ["other options or other data"]
    return OutputRefused("E_OTHER_JOB", f"{path}: {', '.join(details)}; remove it to start anew")


def find_latest(out: Path, job: str) -> tuple[Path, int] | None:
    """Returns the newest complete checkpoint of `out` and its `log_bytes`, and removes incomplete ones.

    Raises:
        OutputRefused: E_OTHER_JOB, it was made with other options or other data; E_CHECKSUM, a sealed
            checkpoint was changed.
    """
    for folder in sorted(_folders(out), key=lambda each: int(each.name.partition("-")[2]), reverse=True):
        if not (folder / SEAL).exists():
            shutil.rmtree(folder)
            continue
        manifest = read_manifest(folder / SEAL, expected=Checkpoint)
        if manifest["job"] != job:
            raise job_mismatch(folder, manifest["job"], job)
        verify_whole(folder, manifest["files"], frozenset((SEAL,)))
        return folder, manifest["log_bytes"]
    return None


def remove_except(out: Path, *retained: Path) -> None:
    """Removes all checkpoints of `out` except `retained`."""
    for folder in _folders(out):
        if folder not in retained:
            shutil.rmtree(folder, ignore_errors=True)


def _folders(out: Path) -> list[Path]:
    return [path for path in out.glob("checkpoint-*") if path.is_dir() and _FOLDER.fullmatch(path.name)]


def validate_loss(step: int, loss: float, norm: float | None = None) -> None:
    """Checks the loss before the optimizer steps; `norm` is that of the gradient.

    Raises:
        ConfigError: E_DIVERGED, one of them is NaN or infinite.
    """
    for name, value in (("loss", loss), ("norm of the gradient", norm)):
        if value is not None and not math.isfinite(value):
            raise ConfigError(
                "E_DIVERGED", f"step {step}: the {name} is {value}, no number; lower the learning rate"
            )


def validate_finite(value: Any, path: Path | str) -> None:
    """Checks weights or optimizer states before they are saved. `value` is a tensor, or mappings and
    sequences of tensors, such as a ``state_dict``; integers always pass.

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
    """Writes `weights` as safetensors.

    Raises:
        ConfigError: E_DIVERGED, one of them holds NaN or infinity; nothing is written.
    """
    from safetensors.torch import save_file

    validate_finite(weights, path)
    tensors = {name: weight.detach().cpu().contiguous() for name, weight in weights.items()}
    with write_errors(path):
        save_file(tensors, path, metadata=metadata)
