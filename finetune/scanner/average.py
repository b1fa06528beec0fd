"""Stage ``dialint train average``: one scanner from several of the same base, weight by weight.

    dialint train average build/seed1 build/seed2 --out build/scanner
    dialint train average build/further embedded --weights 3 1 --out build/scanner

Models fine-tuned from one base on the same task often lie in one basin of the loss, and their mean beats each
of them at no cost in serving; the mean of a model and what it was trained further to keeps more of what the
first one could. Whether it does, ``dialint eval run`` measures. Trains nothing.
Source: Wortsman et al. 2022, "Model soups", uniform soup; Wortsman et al. 2022, "Robust fine-tuning of
zero-shot models", for two models of which one continues the other.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from dialint.detector.artifacts import (
    disk_errors,
    make_output_folder,
    read_manifest,
    require_new,
    write_manifest,
)
from dialint.detector.engines.base_models import SHIPPED
from dialint.detector.errors import ConfigError
from dialint.detector.extras import require_single_process
from dialint.detector.release import WEIGHTS
from dialint.finetune.scanner.trained import BACKBONE, ScannerManifest, TrainedScanner, Weights, read_scanner
from dialint.finetune.train.finite import save_weights, validate_finite
from dialint.finetune.train.lineage import TRAINING


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AverageConfig:
    """Options of `dialint train average`."""

    out: Path
    """Folder for it; must not hold a scanner."""
    weights: Annotated[tuple[float, ...], Parameter(consume_multiple=True)] = ()
    """How much each scanner counts, in their order; none: all the same."""

    def __post_init__(self) -> None:
        if any(not 0 < weight < float("inf") for weight in self.weights):
            raise ConfigError("E_OPTION", "--weights must be above 0")


def average(*scanners: Path, config: Annotated[AverageConfig, Parameter(name="*")]) -> None:
    """Average the weights of several trained scanners.

    The first is a folder of dialint train sft scan, the others may be releases. The result has the codes of
    the first, and is packed with its examples. A code's heads are the mean over the scanners that have it.

    Raises:
        ConfigError: fewer than two scanners, or they differ in base, shape or rendering.
        OutputRefused: `out` holds a scanner already.
    """
    require_single_process("train average")
    if len(scanners) < 2 or len(config.weights) not in (0, len(scanners)):
        raise ConfigError(
            "E_OPTION", "name at least two folders of dialint train sft scan, and as many --weights"
        )
    require_new(config.out, TRAINING, "a trained scanner")
    folders = [SHIPPED.get(str(folder), folder) for folder in scanners]
    weights = config.weights or (1.0,) * len(folders)
    first, hashes = read_scanner(folders[0]), []
    training = read_manifest(folders[0] / TRAINING, "dialint train sft scan", ScannerManifest)
    mean: Weights = {}
    totals: Weights = {}
    for folder, weight in zip(folders, weights, strict=True):
        scanner = read_scanner(folder)
        _validate_pair(folders[0], first, folder, scanner)
        validate_finite(scanner.model.state_dict(), folder / WEIGHTS)
        _add(mean, totals, scanner, first.codes, weight)
        hashes.append(scanner.sha256)
    for name in mean:
        mean[name] /= totals[name]
    with disk_errors(config.out):
        make_output_folder(config.out)
    save_weights(mean, config.out / WEIGHTS)
    for name in ("config.json", "tokenizer.json"):
        shutil.copyfile(folders[0] / name, config.out / name)
    averaged = json.dumps(dict(zip(hashes, weights, strict=True)))
    content: dict[str, Any] = {**training, "config": {**training["config"], "averaged": averaged}}
    write_manifest(config.out / TRAINING, content)


def _validate_pair(first_folder: Path, first: TrainedScanner, folder: Path, other: TrainedScanner) -> None:
    """
    Raises:
        ConfigError: E_OTHER_BASE, the weights of the two do not belong together.
    """
    other_roles = set(other.render.roles.items()) - set(first.render.roles.items())
    render = other.render.model_copy(update={"roles": first.render.roles})
    differing = [
        name
        for name, differs in (
            ("base_sha256", other.base_sha256 != first.base_sha256),
            ("render", bool(other_roles) or render != first.render or other.tokenizer != first.tokenizer),
            ("shape; was one pruned?", other.shape != first.shape),
        )
        if differs
    ]
    if differing:
        raise ConfigError("E_OTHER_BASE", f"{folder}: another {', '.join(differing)} than {first_folder}")


def _add(
    mean: Weights, totals: Weights, scanner: TrainedScanner, codes: Sequence[str], weight: float
) -> None:
    """Add a scanner's weights times `weight` to `mean`, and `weight` to `totals`; of its heads the rows of
    `codes`, in their order."""
    import torch

    rows = [scanner.codes.index(code) if code in scanner.codes else -1 for code in codes]
    for name, tensor in scanner.model.state_dict().items():
        share = torch.full((), weight)
        if not name.startswith((BACKBONE, "history")):
            tensor = torch.stack([tensor[row] if row >= 0 else torch.zeros_like(tensor[0]) for row in rows])
            share = torch.tensor([weight if row >= 0 else 0.0 for row in rows])
            share = share.reshape(-1, *[1] * (tensor.dim() - 1))
        mean[name] = mean[name] + tensor * share if name in mean else tensor * share
        totals[name] = totals[name] + share if name in totals else share
