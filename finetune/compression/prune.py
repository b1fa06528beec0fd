"""Prunes a scanner: removes its least useful heads or layers, and their weights.

    dialint train prune --scanner build/scanner --examples build/examples --layers 2 --out build/pruned
    dialint train prune --scanner build/scanner --examples build/examples --heads 0.25 --out build/pruned

How useful one is, the loss on a sample of ``dev.jsonl`` says when it is gone. Writes a folder like that of
the scan's training, for `dialint train pack`. Teaches nothing: `dialint train distill --base build/pruned`
does, with the whole scanner as the teacher.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import (
    disk_errors,
    make_output_folder,
    package_versions,
    read_manifest,
    require_new,
    sha256_file,
)
from dialint.detector.errors import ConfigError
from dialint.detector.extras import require_single_process
from dialint.detector.option_ranges import check_ranges
from dialint.detector.release import WEIGHTS
from dialint.finetune.compression.soft_targets import mean_loss
from dialint.finetune.compression.surgery import count_heads, drop_heads, keep_layers
from dialint.finetune.scanner.data import Target
from dialint.finetune.scanner.trained import TrainedScanner, replace_backbone
from dialint.finetune.train.lineage import LIBRARIES, TRAINING, git_commit


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PruneConfig:
    """What `dialint train prune` needs to know."""

    scanner: Path = field(kw_only=False)
    """Folder of a trained scanner."""
    examples: Path = field(kw_only=False)
    """Folder of `dialint data inject`; the loss is measured on its dev.jsonl."""
    out: Path = field(kw_only=False)
    """Folder for what is left."""
    heads: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of all attention heads to remove; every layer keeps one."""
    layers: Annotated[int, Field(ge=0)] = 0
    """Layers to remove."""
    sample: Annotated[int, Field(ge=1)] = 300
    """Windows that the loss is measured on; small samples choose badly."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Seed of the sample."""
    row_tokens: Annotated[int, Field(ge=1)] = 4096
    """Tokens that go through the model together."""
    device: str = "auto"
    """cpu, cuda or cuda:N; auto takes a GPU if there is one."""
    threads: Annotated[int, Field(ge=1)] = 2
    """CPU threads."""

    def __post_init__(self) -> None:
        check_ranges(self)


def prune(config: PruneConfig) -> None:
    """Take the least useful heads or layers out of a scanner."""
    import torch

    from dialint.detector.engines.equivalence_check import check_equivalence
    from dialint.finetune.scanner.trained import read_scanner, write_scanner

    _refuse(config)
    torch.set_num_threads(config.threads)
    started = time.monotonic()
    whole = read_scanner(config.scanner)
    n_heads = _counted(config, whole)
    check = _check(config, whole)
    loss = _measure(config, check[: config.sample])
    smaller = remove_layers(whole, config.layers, loss, _tell)
    if n_heads:
        smaller = remove_heads(smaller, n_heads, loss, _tell)
    check_equivalence(smaller.model, smaller.render.context_tokens)
    rest = check[config.sample :] or check
    figures = {"before": _figures(config, whole, rest), "after": _figures(config, smaller, rest)}
    for when, row in figures.items():
        _tell(f"{when}: {row['parameters']:,} parameters, loss {row['loss']}, macro AP {row['ap']['macro']}")
    with disk_errors(config.out):
        make_output_folder(config.out)
    write_scanner(config.out, smaller, config, _told(config, figures, time.monotonic() - started))


def _refuse(config: PruneConfig) -> None:
    """
    Raises:
        ConfigError: an option out of its range.
        OutputRefused: `out` holds a scanner already.
    """
    require_new(config.out, TRAINING, "a trained scanner")
    require_single_process("train prune")
    if not config.heads and not config.layers:
        raise ConfigError("E_OPTION", "say what to remove: --heads, a share, or --layers, a number")


def _counted(config: PruneConfig, scanner: TrainedScanner) -> int:
    """Heads to take out.

    Raises:
        ConfigError: E_HEADS, its attention is not built for that; E_OPTION, no layer would be left.
    """
    from dialint.finetune.compression.surgery import count_heads

    if config.layers >= scanner.shape["num_hidden_layers"]:
        raise ConfigError("E_OPTION", f"--layers {config.layers}: no layer would be left")
    return round(config.heads * sum(count_heads(scanner.shape))) if config.heads else 0


def _check(config: PruneConfig, scanner: TrainedScanner) -> list[Target]:
    """The windows of dev, shuffled; the first of them are the sample."""
    from dialint.detector.render import Renderer
    from dialint.eval.results import read_examples
    from dialint.finetune.scanner.data import build_targets

    renderer = Renderer(scanner.render, scanner.tokenizer)
    read = read_examples(config.examples / "dev.jsonl")
    found = list(build_targets(read, renderer, scanner.codes, scanner.dialogue_codes))
    if not found:
        raise ConfigError("E_EXAMPLE", f"{config.examples}/dev.jsonl: holds no dialogue to measure on")
    random.Random(config.seed).shuffle(found)
    return found


def _measure(config: PruneConfig, windows: Sequence[Target]) -> Measure:
    import torch

    from dialint.detector.engines.local import resolve_device, resolve_precision

    device = resolve_device(config.device)
    precision = resolve_precision("auto", torch.device(device))
    return Measure(windows, precision, config.row_tokens, device)


def _figures(config: PruneConfig, scanner: TrainedScanner, rest: Sequence[Target]) -> dict[str, Any]:
    """Size, loss and average precision on the windows that chose nothing: on the sample itself the loss even
    falls when a few windows choose many heads."""
    from dialint.finetune.scanner.trainer import evaluate_scanner

    return {
        "parameters": sum(weight.numel() for weight in scanner.model.parameters()),
        "loss": round(_measure(config, rest)(scanner), 4),
        "ap": evaluate_scanner(scanner.model, rest, scanner.codes, config.row_tokens)["ap"],
    }


def _told(config: PruneConfig, figures: dict[str, Any], seconds: float) -> dict[str, Any]:
    """What the folder says of how it came about, beside what was said of the scanner's training."""
    training = read_manifest(config.scanner / TRAINING)
    return {
        "pruned_from": {"sha256": sha256_file(config.scanner / WEIGHTS), "config": training["config"]},
        "figures": figures,
        "seconds": round(seconds),
        "commit": git_commit(),
        "versions": package_versions(*LIBRARIES),
    }


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


ROUNDS = 4
"""Times that all heads are measured again: a share of those to go leaves in each, for a model of 72 heads
would have to be measured a thousand times to let a quarter go one by one."""

Loss = Callable[[TrainedScanner], float]


@dataclass(frozen=True)
class Measure:
    """The loss on a sample of windows."""

    sample: Sequence[Target]
    precision: str
    row_tokens: int
    device: str

    def __call__(self, scanner: TrainedScanner) -> float:
        return mean_loss(scanner.model.to(self.device), self.sample, self.precision, self.row_tokens)


def remove_layers(
    scanner: TrainedScanner, n_gone: int, loss: Loss, told: Callable[[str], None]
) -> TrainedScanner:
    """The scanner without `n_gone` of its layers."""
    for _ in range(n_gone):
        places = range(scanner.shape["num_hidden_layers"])
        losses = {place: loss(_without_layer(scanner, place)) for place in places}
        least = min(losses, key=lambda place: (losses[place], place))
        told(f"layer {least + 1} of {len(places)} goes: loss {losses[least]:.4f}")
        scanner = _without_layer(scanner, least)
    return scanner


def _without_layer(scanner: TrainedScanner, gone: int) -> TrainedScanner:
    kept = [place for place in range(scanner.shape["num_hidden_layers"]) if place != gone]
    shape, weights = keep_layers(scanner.shape, scanner.backbone(), kept)
    return replace(scanner, shape=shape, model=replace_backbone(scanner.model, shape, weights))


def remove_heads(
    scanner: TrainedScanner, n_gone: int, loss: Loss, told: Callable[[str], None]
) -> TrainedScanner:
    """The scanner without `n_gone` of its heads; every layer keeps one.

    Raises:
        ConfigError: E_HEADS, its attention is not built for that.
    """
    left = n_gone
    for round_ in range(ROUNDS, 0, -1):
        go = min(left, -(-left // round_))
        counts = count_heads(scanner.shape)
        losses = {
            (layer, head): loss(_without_heads(scanner, {(layer, head)}))
            for layer, n in enumerate(counts)
            for head in range(n)
            if n > 1 and go
        }
        gone: set[tuple[int, int]] = set()
        for layer, head in sorted(losses, key=lambda place: (losses[place], place)):
            alone = counts[layer] - sum(other == layer for other, _ in gone) == 1
            if len(gone) < go and not alone:
                gone.add((layer, head))
        if gone:
            scanner = _without_heads(scanner, gone)
            left -= len(gone)
            told(f"{len(gone)} heads go, {sum(count_heads(scanner.shape))} stay: loss {loss(scanner):.4f}")
    return scanner


def _without_heads(scanner: TrainedScanner, gone: set[tuple[int, int]]) -> TrainedScanner:
    shape, weights = drop_heads(scanner.shape, scanner.backbone(), gone)
    return replace(scanner, shape=shape, model=replace_backbone(scanner.model, shape, weights))
