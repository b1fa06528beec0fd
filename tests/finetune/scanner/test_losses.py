"""The loss of a scanner: by hand, and the same for any rows of a step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import tiny
import torch

from dialint.detector.engines.scan_model import ScanModel, backbone_from_config
from dialint.detector.render import Rendered, Slot
from dialint.finetune.scanner.data import Target
from dialint.finetune.scanner.trainer import cross_entropy, scan_loss


def target(rng: np.random.Generator) -> Target:
    """A window of two turns of random words, with soft labels of two codes."""
    sizes = rng.integers(2, 6, 2)
    ids, slots = [1], []
    for turn, size in enumerate(sizes):
        first = len(ids)
        ids += rng.integers(6, 50, size).tolist()
        slots.append(Slot(len(ids), turn, first, tuple((i, i + 1) for i in range(size))))
        ids.append(4)
    turns, tokens = (rng.random((n, 2)).astype(np.float32) for n in (2, int(sizes.sum())))
    return Target(Rendered(tuple(ids), tuple(slots)), turns, tokens)


@pytest.fixture
def step() -> list[Target]:
    rng = np.random.default_rng(0)
    return [target(rng) for _ in range(7)]


def counts(step: list[Target]) -> tuple[int, int]:
    return sum(len(one.turns) for one in step), sum(len(one.spans) for one in step)


def network(**changes: Any) -> ScanModel:
    torch.manual_seed(0)
    return ScanModel(backbone_from_config({**tiny.DECODER, **changes}), 2)


def gradient(
    model: ScanModel, rows: list[list[Target]], of: tuple[int, int]
) -> tuple[float, dict[str, torch.Tensor]]:
    model.zero_grad()
    losses = [scan_loss(model, row, 0.5, of) for row in rows]
    sum(losses).backward()  # type: ignore[union-attr]
    return float(sum(losses).detach()), {
        name: w.grad.clone() for name, w in model.named_parameters() if w.grad is not None
    }


def test_accumulated_rows_teach_as_one(step: list[Target]) -> None:
    model = network()
    of = counts(step)
    whole, wanted = gradient(model, [step], of)
    apart, gradients = gradient(model, [step[:2], step[2:6], step[6:]], of)
    assert apart == pytest.approx(whole, rel=1e-5)
    assert gradients.keys() == wanted.keys()
    for name, part in wanted.items():
        torch.testing.assert_close(gradients[name], part, rtol=1e-4, atol=1e-6)
    mean_of_means = sum(scan_loss(model, row, 0.5).item() for row in (step[:2], step[2:6], step[6:])) / 3
    assert mean_of_means != pytest.approx(whole, rel=1e-3)  # what accumulation is often mistaken for


def test_bf16_changes_the_loss_a_little(step: list[Target]) -> None:
    model, of = network(), counts(step)
    exact, low = (scan_loss(model, step, 0.5, of, bf16=bf16).item() for bf16 in (False, True))
    assert 0 < abs(exact - low) < 0.05 * exact


def test_an_unknown_target_adds_nothing_and_its_position_counts_with_another_target() -> None:
    targets = [np.array([[1.0, np.nan], [np.nan, np.nan], [0.0, 0.0]], np.float32)]
    assert float(cross_entropy(torch.zeros(3, 2), targets)) == pytest.approx(3 * math.log(2) / 2)
