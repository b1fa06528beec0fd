"""Checkpoints that are whole or do not count: a folder a step, its manifest written last.

A run takes up the newest complete one of its own job; what a killed run left half-written is removed.
Everything in it is vouched for by sha256 before it is read, and tensors are read without running code.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dialint.detector.artifacts import (
    disk_errors,
    file_entry,
    fsync_folder,
    option_changes,
    read_manifest,
    verify_whole,
    write_manifest,
)
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.finetune.train.finite import validate_finite_files

SEAL = "checkpoint.json"
_FOLDER = re.compile(r"checkpoint-(\d+)")


def seal(folder: Path, job: str, log_bytes: int) -> None:
    """Make a checkpoint count: its files durable, and last the manifest that names them.

    `log_bytes` is the length of the run's metrics file at this step.

    Raises:
        ConfigError: E_DIVERGED, its weights hold NaN or infinity; it is removed.
    """
    try:
        validate_finite_files(folder)
    except ConfigError:
        shutil.rmtree(folder)
        raise
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SEAL)
    with disk_errors(folder):
        for path in files:
            _fsync(path)
        fsync_folder(folder)
    entries = [{**file_entry(path), "name": str(path.relative_to(folder))} for path in files]
    write_manifest(folder / SEAL, {"job": job, "log_bytes": log_bytes, "files": entries})
    fsync_folder(folder.parent)


def describe_job(options: Mapping[str, Any], *inputs: Any) -> str:
    """What a checkpoint belongs to, as JSON: options, inputs, and how many processes share a step."""
    processes = os.environ.get("WORLD_SIZE", "1")
    job = {"options": dict(options), "inputs": inputs, "processes": processes}
    return json.dumps(job, sort_keys=True, default=str)


def job_mismatch(path: Path, before: str, now: str) -> OutputRefused:
    """The error that says in what two jobs of `describe_job` differ; the checkpoint belongs to `before`."""
    try:
        first, second = json.loads(before), json.loads(now)
        details = option_changes(first["options"], second["options"])
        if first["inputs"] != second["inputs"]:
            details.append("the data or the base is another one")
        if first["processes"] != second["processes"]:
            details.append(f"{first['processes']} processes shared a step, {second['processes']} do now")
    except (ValueError, KeyError, TypeError):
        details = ["other options or other data"]
    return OutputRefused("E_OTHER_JOB", f"{path}: {', '.join(details)}; remove it to start anew")


def find_latest(out: Path, job: str) -> tuple[Path, int] | None:
    """The newest complete checkpoint of `out` and its `log_bytes`; incomplete ones are removed.

    Raises:
        OutputRefused: E_OTHER_JOB, it was made with other options or other data; E_CHECKSUM, a sealed
            checkpoint was changed.
    """
    for folder in sorted(_folders(out), key=_step, reverse=True):
        if not (folder / SEAL).exists():
            shutil.rmtree(folder)
            continue
        told = read_manifest(folder / SEAL)
        if told["job"] != job:
            raise job_mismatch(folder, told["job"], job)
        verify_whole(folder, told["files"], frozenset((SEAL,)))
        return folder, int(told["log_bytes"])
    return None


def remove_except(out: Path, *kept: Path) -> None:
    """Remove all checkpoints but `kept`."""
    for folder in _folders(out):
        if folder not in kept:
            shutil.rmtree(folder, ignore_errors=True)


def remove_all(out: Path) -> None:
    """Remove all checkpoints: the run has ended and its result is sealed."""
    for folder in _folders(out):
        shutil.rmtree(folder, ignore_errors=True)


def _folders(out: Path) -> list[Path]:
    return [path for path in out.glob("checkpoint-*") if path.is_dir() and _FOLDER.fullmatch(path.name)]


def _step(folder: Path) -> int:
    found: Any = _FOLDER.fullmatch(folder.name)
    return int(found[1])


def _fsync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
