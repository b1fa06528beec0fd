"""Which heads or layers a scanner can do without, by what the loss says when each is gone.

Greedy: every candidate is taken out in turn, the loss is measured, the least harmful goes, and the rest is
measured again. Teaches nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dialint.finetune.examples import Target
from dialint.finetune.smaller.cuts import drop_heads, heads_of, keep_layers
from dialint.finetune.smaller.scanners import TrainedScanner, with_backbone
from dialint.finetune.smaller.soft_loss import mean_loss

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


def without_layers(
    scanner: TrainedScanner, n_gone: int, loss: Loss, told: Callable[[str], None]
) -> TrainedScanner:
    """The scanner without `n_gone` of its layers."""
    for _ in range(n_gone):
        places = range(scanner.shape["num_hidden_layers"])
        losses = {place: loss(_layers(scanner, place)) for place in places}
        least = min(losses, key=lambda place: (losses[place], place))
        told(f"layer {least + 1} of {len(places)} goes: loss {losses[least]:.4f}")
        scanner = _layers(scanner, least)
    return scanner


def _layers(scanner: TrainedScanner, gone: int) -> TrainedScanner:
    kept = [place for place in range(scanner.shape["num_hidden_layers"]) if place != gone]
    shape, weights = keep_layers(scanner.shape, scanner.backbone(), kept)
    return replace(scanner, shape=shape, model=with_backbone(scanner.model, shape, weights))


def without_heads(
    scanner: TrainedScanner, n_gone: int, loss: Loss, told: Callable[[str], None]
) -> TrainedScanner:
    """The scanner without `n_gone` of its heads; every layer keeps one.

    Raises:
        ConfigError: E_HEADS, its attention is not built for that.
    """
    left = n_gone
    for round_ in range(ROUNDS, 0, -1):
        go = min(left, -(-left // round_))
        counts = heads_of(scanner.shape)
        losses = {
            (layer, head): loss(_heads(scanner, {(layer, head)}))
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
            scanner = _heads(scanner, gone)
            left -= len(gone)
            told(f"{len(gone)} heads go, {sum(heads_of(scanner.shape))} stay: loss {loss(scanner):.4f}")
    return scanner


def _heads(scanner: TrainedScanner, gone: set[tuple[int, int]]) -> TrainedScanner:
    shape, weights = drop_heads(scanner.shape, scanner.backbone(), gone)
    return replace(scanner, shape=shape, model=with_backbone(scanner.model, shape, weights))
