"""Stage ``dialint train average``: one scanner from several of the same base, weight by weight.

    dialint train average build/seed1 build/seed2 --out build/scanner

Branches of one pre-trained model that learnt the same task lie in one basin, and their mean often beats
each of them at no cost in serving. Whether it does is for `dialint eval run` to say. Trains nothing.
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

SAME = ("codes", "render", "base_sha256")
"""What scanners must share to be averaged."""
FILES = (WEIGHTS, "config.json", "tokenizer.json")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AverageConfig:
    """Where the averaged scanner goes."""

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
    told = [_told(folder) for folder in scanners]
    for folder, training in zip(scanners, told, strict=True):
        other = [name for name in SAME if training[name] != told[0][name]]
        if other:
            raise ConfigError("E_OTHER_BASE", f"{folder}: another {', '.join(other)} than {scanners[0]}")
    if len({sha256_file(folder / "config.json") for folder in scanners}) > 1:
        raise ConfigError("E_OTHER_BASE", f"{scanners[0]}: of another shape than the others; was one pruned?")
    with disk_errors(config.out):
        make_output_folder(config.out)
    _write_mean([folder / WEIGHTS for folder in scanners], config.out / WEIGHTS)
    for name in ("config.json", "tokenizer.json"):
        shutil.copyfile(scanners[0] / name, config.out / name)
    write_manifest(config.out / TRAINING, _training(scanners, told))


def _told(folder: Path) -> dict[str, Any]:
    """What a trained scanner's folder says of itself.

    Raises:
        ConfigError: it is none, or a file of it is missing.
    """
    told = read_manifest(folder / TRAINING)
    if told.get("kind") != "scanner" or not all((folder / name).is_file() for name in FILES):
        raise ConfigError("E_SCANNER", f"{folder}: no folder of dialint train sft scan, or not all of it")
    return told


def _write_mean(sources: list[Path], target: Path) -> None:
    from safetensors.torch import load_file

    mean = load_file(sources[0])
    validate_finite(mean, sources[0])
    for number, source in enumerate(sources[1:], 2):
        weights = load_file(source)
        validate_finite(weights, source)
        for name, tensor in weights.items():
            mean[name] += (tensor - mean[name]) / number
    save_weights(mean, target)


def _training(scanners: tuple[Path, ...], told: list[dict[str, Any]]) -> dict[str, Any]:
    """What a release says of its training: that of all branches."""
    branches = [
        {"config": training["config"], "sha256": sha256_file(folder / WEIGHTS)}
        for folder, training in zip(scanners, told, strict=True)
    ]
    return {
        **told[0],
        "config": {**told[0]["config"], "averaged": json.dumps([b["sha256"] for b in branches])},
        "examples": told[0]["examples"] if len({t["examples"] for t in told}) == 1 else fingerprint(told),
        "seconds": sum(training["seconds"] for training in told),
    }
