"""Prunes a scanner: removes its least useful heads or layers, and their weights.

    dialint train prune --scanner build/scanner --examples build/examples --layers 2 --out build/pruned
    dialint train prune --scanner build/scanner --examples build/examples --heads 0.25 --out build/pruned

The usefulness of a head or layer is the loss on a sample of ``dev.jsonl`` without it. Writes a folder like
that of ``dialint train sft scan``, for ``dialint train pack``. Trains nothing: ``dialint train distill --base
build/pruned`` does, with the unpruned scanner as the teacher.
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
    require_new,
)
from dialint.detector.errors import ConfigError
from dialint.detector.extras import require_single_process
from dialint.detector.interface import default_threads
from dialint.detector.option_ranges import check_ranges
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
    """A release, or the folder of a trained scanner."""
    examples: Path = field(kw_only=False)
    """Folder of `dialint data inject`; the loss is measured on its dev.jsonl."""
    out: Path = field(kw_only=False)
    """Folder for the pruned scanner."""
    heads: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of all attention heads to remove; every layer keeps one."""
    layers: Annotated[int, Field(ge=0)] = 0
    """Layers to remove."""
    sample: Annotated[int, Field(ge=1)] = 300
    """Windows of the sample; on a small one the choice is poor."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Seed of the sample."""
    row_tokens: Annotated[int, Field(ge=1)] = 4096
    """Tokens that go through the model together."""
    device: str = "auto"
    """cpu, cuda or cuda:N; auto takes a GPU if there is one."""
    threads: Annotated[int, Field(ge=1)] = field(default_factory=default_threads)
    """CPU threads; by default OMP_NUM_THREADS if it is set, else one for each core this process may use."""

    def __post_init__(self) -> None:
        check_ranges(self)


ROUNDS = 4
"""Rounds in which heads are removed, a share of them in each: measuring all heads again after every single
one would take a thousand evaluations for a quarter of 72 heads."""

Loss = Callable[[TrainedScanner], float]


def prune(config: PruneConfig) -> None:
    """Remove the least useful heads or layers of a scanner.

    Raises:
        ConfigError: E_OPTION, an option out of its range; E_HEADS, this architecture does not allow removing
            heads; E_EXAMPLE, nothing to measure the loss on.
        OutputRefused: `out` holds a scanner already.
    """
    import torch

    from dialint.detector.engines.equivalence_check import check_equivalence
    from dialint.finetune.scanner.trained import read_scanner, write_scanner

    require_new(config.out, TRAINING, "a trained scanner")
    require_single_process("train prune")
    if not config.heads and not config.layers:
        raise ConfigError("E_OPTION", "say what to remove: --heads, a share, or --layers, a number")
    torch.set_num_threads(config.threads)
    started = time.monotonic()
    scanner = read_scanner(config.scanner)
    if config.layers >= scanner.shape["num_hidden_layers"]:
        raise ConfigError("E_OPTION", f"--layers {config.layers}: no layer would be left")
    n_heads = round(config.heads * sum(count_heads(scanner.shape))) if config.heads else 0
    windows = _dev_windows(config, scanner)
    loss = _sample_loss(config, windows[: config.sample])
    pruned = remove_layers(scanner, config.layers, loss, _log)
    if n_heads:
        pruned = remove_heads(pruned, n_heads, loss, _log)
    check_equivalence(pruned.model, pruned.render.context_tokens)
    rest = windows[config.sample :] or windows
    figures = {"before": _figures(config, scanner, rest), "after": _figures(config, pruned, rest)}
    for when, row in figures.items():
        _log(f"{when}: {row['parameters']:,} parameters, loss {row['loss']}, macro AP {row['ap']['macro']}")
    with disk_errors(config.out):
        make_output_folder(config.out)
    lineage = {
        "pruned_from": {"sha256": scanner.sha256, "config": scanner.config},
        "figures": figures,
        "seconds": round(time.monotonic() - started),
        "commit": git_commit(),
        "versions": package_versions(*LIBRARIES),
    }
    write_scanner(config.out, pruned, config, lineage)


def _dev_windows(config: PruneConfig, scanner: TrainedScanner) -> list[Target]:
    """The windows of dev, shuffled; the first of them are the sample."""
    from dialint.detector.render import Renderer
    from dialint.eval.results import read_examples
    from dialint.finetune.scanner.data import build_targets

    renderer = Renderer(scanner.render, scanner.tokenizer)
    examples = read_examples(config.examples / "dev.jsonl")
    windows = list(build_targets(examples, renderer, scanner.codes, scanner.dialogue_codes))
    if not windows:
        raise ConfigError("E_EXAMPLE", f"{config.examples}/dev.jsonl: holds no dialogue to measure on")
    random.Random(config.seed).shuffle(windows)
    return windows


def _sample_loss(config: PruneConfig, sample: Sequence[Target]) -> Loss:
    """The loss of a scanner on `sample`, on the device of the config."""
    import torch

    from dialint.detector.engines.local import resolve_device, resolve_precision

    device = resolve_device(config.device)
    precision = resolve_precision("auto", torch.device(device))
    return lambda scanner: mean_loss(scanner.model.to(device), sample, precision, config.row_tokens)


def _figures(config: PruneConfig, scanner: TrainedScanner, windows: Sequence[Target]) -> dict[str, Any]:
    """Size, loss and average precision on windows outside the sample: on the sample itself the loss even
    falls when a few windows choose many heads."""
    from dialint.finetune.scanner.trainer import evaluate_scanner

    return {
        "parameters": sum(weight.numel() for weight in scanner.model.parameters()),
        "loss": round(_sample_loss(config, windows)(scanner), 4),
        "ap": evaluate_scanner(scanner.model, windows, scanner.codes, config.row_tokens)["ap"],
    }


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def remove_layers(
    scanner: TrainedScanner, n_layers: int, loss: Loss, log: Callable[[str], None]
) -> TrainedScanner:
    """Remove `n_layers` layers one by one, each time the one without which the loss is lowest."""
    for _ in range(n_layers):
        layers = range(scanner.shape["num_hidden_layers"])
        losses = {layer: loss(_drop_layer(scanner, layer)) for layer in layers}
        least = min(losses, key=lambda layer: (losses[layer], layer))
        log(f"layer {least + 1} of {len(layers)} goes: loss {losses[least]:.4f}")
        scanner = _drop_layer(scanner, least)
    return scanner


def _drop_layer(scanner: TrainedScanner, dropped: int) -> TrainedScanner:
    layers = [layer for layer in range(scanner.shape["num_hidden_layers"]) if layer != dropped]
    shape, weights = keep_layers(scanner.shape, scanner.backbone(), layers)
    return replace(scanner, shape=shape, model=replace_backbone(scanner.model, shape, weights))


def remove_heads(
    scanner: TrainedScanner, n_heads: int, loss: Loss, log: Callable[[str], None]
) -> TrainedScanner:
    """Remove `n_heads` heads in a few rounds, those without which the loss is lowest; every layer keeps one.

    Raises:
        ConfigError: E_HEADS, this architecture does not allow it.
    """
    remaining = n_heads
    for rounds_left in range(ROUNDS, 0, -1):
        n_now = min(remaining, -(-remaining // rounds_left))
        counts = count_heads(scanner.shape)
        losses = {
            (layer, head): loss(_drop_heads(scanner, {(layer, head)}))
            for layer, n in enumerate(counts)
            for head in range(n)
            if n > 1 and n_now
        }
        dropped: set[tuple[int, int]] = set()
        for layer, head in sorted(losses, key=lambda key: (losses[key], key)):
            is_last = counts[layer] - sum(other == layer for other, _ in dropped) == 1
            if len(dropped) < n_now and not is_last:
                dropped.add((layer, head))
        if dropped:
            scanner = _drop_heads(scanner, dropped)
            remaining -= len(dropped)
            log(f"{len(dropped)} heads go, {sum(count_heads(scanner.shape))} stay: loss {loss(scanner):.4f}")
    return scanner


def _drop_heads(scanner: TrainedScanner, dropped: set[tuple[int, int]]) -> TrainedScanner:
    shape, weights = drop_heads(scanner.shape, scanner.backbone(), dropped)
    return replace(scanner, shape=shape, model=replace_backbone(scanner.model, shape, weights))
