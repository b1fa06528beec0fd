"""Stage ``dialint train average``: one scanner from several of the same base, weight by weight.

    dialint train average build/seed1 build/seed2 --out build/scanner

Models fine-tuned from one base on the same task often lie in one basin of the loss, and their mean beats each
of them at no cost in serving. Whether it does, ``dialint eval run`` measures. Trains nothing.
Source: Wortsman et al. 2022, "Model soups", uniform soup.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from dialint.detector.artifacts import (
    disk_errors,
    fingerprint,
    make_output_folder,
    read_manifest,
    require_new,
    sha256_file,
    write_manifest,
)
from dialint.detector.errors import ConfigError
from dialint.detector.extras import require_single_process
from dialint.detector.release import WEIGHTS
from dialint.finetune.train.finite import save_weights, validate_finite
from dialint.finetune.train.lineage import TRAINING

SHARED = ("codes", "render", "base_sha256")
"""Fields of ``training.json`` in which averaged scanners must agree."""
FILES = (WEIGHTS, "config.json", "tokenizer.json")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AverageConfig:
    """Options of `dialint train average`."""

    out: Path
    """Folder for it; must not hold a scanner."""


def average(*scanners: Path, config: Annotated[AverageConfig, Parameter(name="*")]) -> None:
    """Average the weights of several trained scanners.

    Raises:
        ConfigError: fewer than two scanners, or they differ in base, codes or rendering.
        OutputRefused: `out` holds a scanner already.
    """
    require_single_process("train average")
    if len(scanners) < 2:
        raise ConfigError("E_OPTION", "name at least two folders of dialint train sft scan")
    require_new(config.out, TRAINING, "a trained scanner")
    trainings = [_read_training(folder) for folder in scanners]
    for folder, training in zip(scanners, trainings, strict=True):
        differing = [name for name in SHARED if training[name] != trainings[0][name]]
        if differing:
            raise ConfigError("E_OTHER_BASE", f"{folder}: another {', '.join(differing)} than {scanners[0]}")
    if len({sha256_file(folder / "config.json") for folder in scanners}) > 1:
        raise ConfigError("E_OTHER_BASE", f"{scanners[0]}: of another shape than the others; was one pruned?")
    with disk_errors(config.out):
        make_output_folder(config.out)
    _write_mean([folder / WEIGHTS for folder in scanners], config.out / WEIGHTS)
    for name in ("config.json", "tokenizer.json"):
        shutil.copyfile(scanners[0] / name, config.out / name)
    hashes = [sha256_file(folder / WEIGHTS) for folder in scanners]
    examples = {training["examples"] for training in trainings}
    content = {
        **trainings[0],
        "config": {**trainings[0]["config"], "averaged": json.dumps(hashes)},
        "examples": trainings[0]["examples"] if len(examples) == 1 else fingerprint(trainings),
        "seconds": sum(training["seconds"] for training in trainings),
    }
    write_manifest(config.out / TRAINING, content)


def _read_training(folder: Path) -> dict[str, Any]:
    """The manifest of a trained scanner.

    Raises:
        ConfigError: E_SCANNER, the folder holds none, or a file is missing.
    """
    training = read_manifest(folder / TRAINING)
    if training.get("kind") != "scanner" or not all((folder / name).is_file() for name in FILES):
        raise ConfigError("E_SCANNER", f"{folder}: no folder of dialint train sft scan, or not all of it")
    return training


def _write_mean(sources: list[Path], target: Path) -> None:
    """Write the mean of the weights in `sources`, one file in memory at a time beside the mean."""
    from safetensors.torch import load_file

    mean = load_file(sources[0])
    validate_finite(mean, sources[0])
    for number, source in enumerate(sources[1:], 2):
        weights = load_file(source)
        validate_finite(weights, source)
        for name, tensor in weights.items():
            mean[name] += (tensor - mean[name]) / number
    save_weights(mean, target)
