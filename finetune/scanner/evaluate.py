"""Average precision of a scanner on evaluation sets during training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dialint.eval.metrics import average_precision, pair_auc
from dialint.finetune.scanner.data import Target

if TYPE_CHECKING:
    from dialint.detector.engines.local import Precision
    from dialint.detector.engines.scan_model import ScanModel
    from dialint.detector.scanner import WindowScores


def evaluate(
    model: ScanModel,
    check: Sequence[Target],
    codes: Sequence[str],
    row_tokens: int,
    precision: Precision = "auto",
) -> dict[str, dict[str, float]]:
    """Average precision of each code on the windows, and the share of pairs with the error above."""
    from dialint.detector.engines.local import LocalEngine

    learnt = [weight for weight in model.parameters() if weight.requires_grad]
    device = str(model.turn_head.weight.device)
    results = LocalEngine(model, precision, row_tokens, device).scan([target.window for target in check])
    for weight in learnt:
        weight.requires_grad_(True)
    ended = [(r, t) for r, t in zip(results, check, strict=True) if t.dialogue is not None]
    ranked, pairs = {}, {}
    for column, code in enumerate(codes):
        truth = np.concatenate([target.turns[:, column] for target in check]) > 0.5
        scores = np.concatenate([result.slots[:, column] for result in results])
        if not truth.any():
            truth = np.array([t.dialogue[column] > 0.5 for _, t in ended if t.dialogue is not None], bool)
            scores = np.array([r.dialogue[column] for r, _ in ended if r.dialogue is not None])
        if truth.any():
            ranked[code] = round(average_precision(truth, scores), 3)
        errors, twins = _sides(check, results, column)
        if len(errors):
            pairs[code] = round(pair_auc(errors, twins), 3)
    return {name: {"macro": round(float(np.mean(list(rows.values()))), 3), **rows}
            for name, rows in (("ap", ranked), ("pairs", pairs)) if rows}  # fmt: skip


def _sides(
    check: Sequence[Target], results: Sequence[WindowScores], column: int
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of errors and of their twins, each of shape (pairs,)."""
    sides: dict[str, dict[bool, float]] = {}
    for target, result in zip(check, results, strict=True):
        if target.rival is None or target.rival[1] != column:
            continue
        place = target.rival[0]
        scores = result.dialogue if place < 0 else result.slots[place]
        if scores is not None:
            sides.setdefault(target.pair, {})[target.error] = float(scores[column])
    both = [side for side in sides.values() if len(side) == 2]
    return np.array([side[True] for side in both]), np.array([side[False] for side in both])
