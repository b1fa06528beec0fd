"""What a scanner is taught by: by hand, and the same however a step comes in rows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch

from dialint.detector.engines.scan_model import ScanModel, backbone_from_config
from dialint.detector.render import Rendered, Slot
from dialint.finetune.scanner.data import Target
from dialint.finetune.scanner.losses import (
    TargetCounts,
    count_targets,
    cross_entropy,
    scan_loss,
)
from dialint.finetune.scanner.options import ScanConfig

CONFIG = ScanConfig(examples=Path(), base=Path(), out=Path())


def target(chance: np.random.Generator, pair: str = "", error: bool = False) -> Target:
    """A window of two turns of random words, with soft labels of two codes."""
    sizes = chance.integers(2, 6, 2)
    ids, slots = [1], []
    for turn, size in enumerate(sizes):
        first = len(ids)
        ids += chance.integers(6, 50, size).tolist()
        slots.append(Slot(len(ids), turn, first, tuple((i, i + 1) for i in range(size))))
        ids.append(4)
    ids.append(5)
    wanted = [chance.random((n, 2)).astype(np.float32) for n in (2, int(sizes.sum()), 1)]
    return Target(
        Rendered(tuple(ids), tuple(slots), len(ids) - 1, 1), wanted[0], wanted[1], wanted[2][0],
        pair, (1, 0) if pair else None, error,
    )  # fmt: skip


@pytest.fixture
def step() -> list[Target]:
    """Windows of which some are pairs, and one has no twin."""
    chance = np.random.default_rng(0)
    pairs = [("a", True), ("a", False), ("", False), ("b", True), ("c", False), ("c", True), ("", False)]
    return [target(chance, pair, error) for pair, error in pairs]


def network(**changes: Any) -> ScanModel:
    torch.manual_seed(0)
    return ScanModel(backbone_from_config({**tiny.DECODER, **changes}), 2, evidence=True)


def gradient(
    model: ScanModel, rows: list[list[Target]], of: TargetCounts
) -> tuple[float, dict[str, torch.Tensor]]:
    model.zero_grad()
    losses = [scan_loss(CONFIG, model, row, of) for row in rows]
    sum(losses).backward()  # type: ignore[union-attr]
    return float(sum(losses).detach()), {
        name: w.grad.clone() for name, w in model.named_parameters() if w.grad is not None
    }


def test_the_counts_of_a_step(step: list[Target]) -> None:
    tokens = sum(len(slot.offsets) for one in step for slot in one.window.slots)
    assert count_targets(step) == TargetCounts(turns=14, ends=7, tokens=tokens, pairs=2)


def test_accumulated_rows_teach_as_one(step: list[Target]) -> None:
    model = network()
    of = count_targets(step)
    whole, wanted = gradient(model, [step], of)
    apart, found = gradient(model, [step[:2], step[2:6], step[6:]], of)
    assert apart == pytest.approx(whole, rel=1e-5)
    assert found.keys() == wanted.keys()
    for name, part in wanted.items():
        torch.testing.assert_close(found[name], part, rtol=1e-4, atol=1e-6)
    mean_of_means = sum(scan_loss(CONFIG, model, row).item() for row in (step[:2], step[2:6], step[6:])) / 3
    assert mean_of_means != pytest.approx(whole, rel=1e-3)  # what accumulation is often mistaken for


def test_bf16_changes_the_loss_a_little(step: list[Target]) -> None:
    model, of = network(), count_targets(step)
    exact, low = (scan_loss(CONFIG, model, step, of, bf16=bf16).item() for bf16 in (False, True))
    assert 0 < abs(exact - low) < 0.05 * exact


def test_an_unknown_target_adds_nothing_and_its_position_counts_where_another_code_is_known() -> None:
    targets = [np.array([[1.0, np.nan], [np.nan, np.nan], [0.0, 0.0]], np.float32)]
    assert float(cross_entropy(torch.zeros(3, 2), targets)) == pytest.approx(3 * math.log(2) / 2)
