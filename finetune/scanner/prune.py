"""Prunes a scanner: removes its least useful layers, and their weights.

    dialint train prune --scanner build/scanner --examples build/examples --layers 2 --out build/pruned

The usefulness of a layer is the loss on a sample of ``dev.jsonl`` without it. Writes a folder like that of
``dialint train sft scan``, for ``dialint train pack``. Trains nothing: ``dialint train distill --base
build/pruned`` does, with the unpruned scanner as the teacher.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import disk_errors, make_output_folder, require_new
from dialint.detector.environment import require_single_process
from dialint.detector.errors import ConfigError
from dialint.detector.example_files import read_examples
from dialint.detector.interface import default_threads
from dialint.detector.option_ranges import check_ranges
from dialint.finetune.train.lineage import TRAINING

if TYPE_CHECKING:
    from dialint.finetune.scanner.data import Target
    from dialint.finetune.scanner.trained import TrainedScanner

    Loss = Callable[[TrainedScanner], float]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PruneConfig:
    """Options of `dialint train prune`."""

    scanner: Path = field(kw_only=False)
    """A release, or the folder of a trained scanner."""
    examples: Path = field(kw_only=False)
    """Folder of `dialint data inject`; the loss is measured on its dev.jsonl."""
    out: Path = field(kw_only=False)
    """Folder for the pruned scanner."""
    layers: Annotated[int, Field(ge=1)]
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


def prune(config: PruneConfig) -> None:
    """Remove the least useful layers of a scanner.

    Raises:
        ConfigError: E_OPTION, no layer would be left; E_EXAMPLE, nothing to measure the loss on.
        OutputRefused: `out` holds a scanner already.
    """
    import torch

    from dialint.detector.engines.equivalence_check import check_equivalence
    from dialint.detector.engines.local import resolve_device, resolve_precision
    from dialint.finetune.scanner.soft_targets import mean_loss
    from dialint.finetune.scanner.trained import read_scanner, write_scanner

    require_new(config.out, TRAINING, "a trained scanner")
    require_single_process("train prune")
    torch.set_num_threads(config.threads)
    started = time.monotonic()
    scanner = read_scanner(config.scanner)
    if config.layers >= scanner.shape["num_hidden_layers"]:
        raise ConfigError("E_OPTION", f"--layers {config.layers}: no layer would be left")
    windows = _dev_windows(config, scanner)
    device = resolve_device(config.device)
    precision = resolve_precision("auto", torch.device(device))

    def loss_on(sample: Sequence[Target]) -> Loss:
        return lambda scanner: mean_loss(scanner.model.to(device), sample, precision, config.row_tokens)

    pruned = remove_layers(scanner, config.layers, loss_on(windows[: config.sample]))
    check_equivalence(pruned.model, pruned.render.context_tokens)
    # on the sample itself the loss even falls when a few windows choose many layers
    rest = windows[config.sample :] or windows
    figures = {
        when: _figures(config, tried, rest, loss_on(rest))
        for when, tried in (("before", scanner), ("after", pruned))
    }
    for when, row in figures.items():
        _log(f"{when}: {row['parameters']:,} parameters, loss {row['loss']}, macro AP {row['ap']['macro']}")
    with disk_errors(config.out):
        make_output_folder(config.out)
    lineage = {
        "pruned_from": {"sha256": scanner.sha256, "config": scanner.config},
        "figures": figures,
        "seconds": round(time.monotonic() - started),
    }
    write_scanner(config.out, pruned, config, lineage)


def remove_layers(scanner: TrainedScanner, n_layers: int, loss: Loss) -> TrainedScanner:
    """Remove `n_layers` layers one by one, each time the one without which the loss is lowest."""
    from dialint.finetune.scanner.trained import select_layers

    for _ in range(n_layers):
        layers = range(scanner.shape["num_hidden_layers"])
        others = {layer: [each for each in layers if each != layer] for layer in layers}
        losses = {layer: loss(select_layers(scanner, rest)) for layer, rest in others.items()}
        least = min(losses, key=lambda layer: (losses[layer], layer))
        _log(f"layer {least + 1} of {len(layers)} goes: loss {losses[least]:.4f}")
        scanner = select_layers(scanner, others[least])
    return scanner


def _dev_windows(config: PruneConfig, scanner: TrainedScanner) -> list[Target]:
    """The windows of dev, shuffled; the first of them are the sample."""
    from dialint.detector.render import Renderer
    from dialint.finetune.scanner.data import build_targets

    renderer = Renderer(scanner.render, scanner.tokenizer)
    examples = read_examples(config.examples / "dev.jsonl")
    windows = list(build_targets(examples, renderer, scanner.codes, scanner.dialogue_codes))
    if not windows:
        raise ConfigError("E_EXAMPLE", f"{config.examples}/dev.jsonl: holds no dialogue to measure on")
    random.Random(config.seed).shuffle(windows)
    return windows


def _figures(
    config: PruneConfig, scanner: TrainedScanner, windows: Sequence[Target], loss: Loss
) -> dict[str, Any]:
    """Size, loss and average precision."""
    from dialint.finetune.scanner.trainer import evaluate_scanner

    return {
        "parameters": sum(weight.numel() for weight in scanner.model.parameters()),
        "loss": round(loss(scanner), 4),
        "ap": evaluate_scanner(scanner.model, windows, scanner.codes, config.row_tokens)["ap"],
    }


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
