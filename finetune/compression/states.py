"""The state of a loop in sealed checkpoints: whatever has a ``state_dict``, and the step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dialint.detector.artifacts import disk_errors, make_output_folder
from dialint.finetune.train import checkpoint
from dialint.finetune.train.finite import validate_finite

STATE = "state.pt"


def save(out: Path, job: str, step: int, log_bytes: int, parts: dict[str, Any]) -> None:
    """Keep the state of all `parts` after `step` steps in a sealed checkpoint, and no older one.

    Raises:
        ConfigError: E_DIVERGED, a number of it is NaN or infinite; the older one stays.
        WorldError: the disk is full or failed; the older one stays.
    """
    import torch

    folder = out / f"checkpoint-{step}"
    states = {name: part.state_dict() for name, part in parts.items()}
    validate_finite(states, folder)
    with disk_errors(folder):
        make_output_folder(folder)
        torch.save({"step": step, **states}, folder / STATE)
    checkpoint.seal(folder, job, log_bytes)
    checkpoint.remove_except(out, folder)


def resume(out: Path, job: str, parts: dict[str, Any]) -> tuple[int, int]:
    """Bring `parts` back to the newest checkpoint: its step and the bytes of the log by then, or zeros.

    Raises:
        OutputRefused: it was made with other options or data, or was changed.
    """
    import torch

    found = checkpoint.find_latest(out, job)
    if found is None:
        return 0, 0
    folder, log_bytes = found
    state = torch.load(folder / STATE, weights_only=True, map_location="cpu")
    for name, part in parts.items():
        part.load_state_dict(state[name])
    return int(state["step"]), log_bytes
