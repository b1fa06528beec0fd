"""Trains and evaluates a scanner: rows of windows, the loss of a step, average precision, early stopping.

Everything random follows from the seed and the step's number. Targets come from
`dialint.finetune.scanner.data`, the model from `dialint.finetune.scanner.backbone`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from dialint.detector.engines.local import LocalEngine, Precision
from dialint.detector.engines.scan_model import ScanModel
from dialint.detector.errors import ConfigError
from dialint.eval.metrics import average_precision, pair_auc
from dialint.finetune.scanner.backbone import trainable_parameters
from dialint.finetune.scanner.data import Target
from dialint.finetune.scanner.losses import count_targets, scan_loss
from dialint.finetune.scanner.options import ScanConfig
from dialint.finetune.train.loop import (
    Evaluation,
    StepOutput,
    TrainingLoop,
    build_optimizer,
    optimizer_step,
    warmup_cosine,
)

if TYPE_CHECKING:
    from dialint.detector.scanner import WindowScores

LOG_STEPS = 50
EVAL_WINDOWS = 500
"""Windows of each set that are evaluated during training; all at the end."""


@dataclass(frozen=True)
class TrainData:
    """Windows to train on, those of each evaluation set, the codes of their columns, and the job that a
    checkpoint belongs to."""

    train: Sequence[Target]
    evaluation: dict[str, list[Target]]
    codes: list[str]
    job: str


@dataclass
class ScanTrainer:
    """A scanner with the data, the optimizer and the batches of its training."""

    config: ScanConfig
    model: ScanModel
    data: TrainData
    precision: Precision

    def __post_init__(self) -> None:
        rows, accumulate = list(plan_rows(self.config, self.data.train)), self.config.accumulate
        self.steps = [rows[start : start + accumulate] for start in range(0, len(rows), accumulate)]
        self.parameters = trainable_parameters(self.model)
        groups = [
            [weight for name, weight in self.parameters.items() if name.startswith("backbone.") is backbone]
            for backbone in (True, False)
        ]
        device = str(self.model.turn_head.weight.device)
        self.optimizer = build_optimizer(self.config.running.optimizer, groups, device)

    def build_loop(self) -> TrainingLoop:
        """The run in the folder of the config. Loss, average precision of each code on the evaluation sets,
        and how often an error scores above its twin, go to ``metrics.jsonl``."""
        config = self.config
        self.model.train()
        return TrainingLoop(
            out=config.out,
            job=self.data.job,
            n_steps=len(self.steps),
            train_step=self.train_step,
            parameters=self.parameters,
            optimizer=self.optimizer,
            evaluate=self._evaluate_early,
            eval_steps=config.eval_steps,
            patience=config.patience,
            final_evaluate=self.evaluate,
            log_steps=LOG_STEPS,
            running=config.running,
        )

    def train_step(self, step: int) -> StepOutput:
        """The optimizer's step number `step`.

        Raises:
            ConfigError: E_DIVERGED, the loss or the gradient is NaN or infinite.
        """
        config, model = self.config, self.model
        torch.manual_seed(config.running.seed * 1_000_003 + step)  # dropout of adapters, noise
        rows = [[self.data.train[index] for index in row] for row in self.steps[step]]
        counts = count_targets([target for row in rows for target in row])
        total = 0.0
        for row in rows:
            loss = scan_loss(config, model, row, counts, self.precision == "bf16")
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        peaks = (config.learning_rate, config.head_learning_rate)
        share = warmup_cosine(step, len(self.steps))
        optimizer_step(self.optimizer, model.parameters(), total, peaks, share, step)
        return StepOutput(sum(len(target.window) for row in rows for target in row), total)

    def evaluate(self, at_most: int | None = None) -> dict[str, Any]:
        """Figures of each evaluation set, of its first `at_most` windows where that is given."""
        model, codes, row_tokens = self.model, self.data.codes, self.config.row_tokens
        figures = {
            name: evaluate_scanner(model, targets[:at_most], codes, row_tokens, self.precision)
            for name, targets in self.data.evaluation.items()
        }
        model.train()
        return figures

    def _evaluate_early(self, step: int) -> Evaluation:
        """
        Raises:
            ConfigError: E_EXAMPLE, early stopping is wanted, and ``dev`` has no error to be measured by.
        """
        figures = self.evaluate(EVAL_WINDOWS)
        score = figures.get("dev", {}).get("ap", {}).get("macro")
        if score is None and self.config.patience is not None:
            raise ConfigError("E_EXAMPLE", "--patience needs a dev.jsonl with errors in its first windows")
        return Evaluation(figures, score)


def plan_rows(config: ScanConfig, targets: Sequence[Target]) -> Iterator[list[int]]:
    """Indices of the windows in each forward pass, of all epochs, shuffled anew in each; an error and its
    twin are in the same one."""
    by_pair: dict[str, list[int]] = {}
    for index, target in enumerate(targets):
        by_pair.setdefault(target.pair or f"#{index}", []).append(index)
    windows_left = int(len(targets) * config.epochs)
    tokens_left = math.inf if config.tokens is None else config.tokens
    row: list[int] = []
    room = config.row_tokens
    for epoch in range(math.ceil(config.epochs)):
        groups = list(by_pair.values())
        random.Random(config.running.seed * 1000 + epoch).shuffle(groups)
        for group in groups:
            size = sum(len(targets[index].window) for index in group)
            windows_left, tokens_left = windows_left - len(group), tokens_left - size
            if windows_left < 0 or tokens_left < 0:
                break
            if row and size > room:
                yield row
                row, room = [], config.row_tokens
            row += group
            room -= size
    if row:
        yield row


def evaluate_scanner(
    model: ScanModel,
    targets: Sequence[Target],
    codes: Sequence[str],
    row_tokens: int,
    precision: Precision = "auto",
) -> dict[str, dict[str, float]]:
    """Average precision of each code on the windows, and the share of pairs in which the error scores above
    its twin."""
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    device = str(model.turn_head.weight.device)
    results = LocalEngine(model, precision, row_tokens, device).scan([target.window for target in targets])
    for weight in trained:  # the engine freezes them
        weight.requires_grad_(True)
    ended = [(r, t) for r, t in zip(results, targets, strict=True) if t.dialogue is not None]
    ranked, pairs = {}, {}
    for column, code in enumerate(codes):
        truth = np.concatenate([target.turns[:, column] for target in targets]) > 0.5
        scores = np.concatenate([result.slots[:, column] for result in results])
        if not truth.any():
            truth = np.array([t.dialogue[column] > 0.5 for _, t in ended if t.dialogue is not None], bool)
            scores = np.array([r.dialogue[column] for r, _ in ended if r.dialogue is not None])
        if truth.any():
            ranked[code] = round(average_precision(truth, scores), 3)
        errors, twins = _pair_scores(targets, results, column)
        if len(errors):
            pairs[code] = round(pair_auc(errors, twins), 3)
    return {name: {"macro": round(float(np.mean(list(rows.values()))), 3), **rows}
            for name, rows in (("ap", ranked), ("pairs", pairs)) if rows}  # fmt: skip


def _pair_scores(
    targets: Sequence[Target], results: Sequence[WindowScores], column: int
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of errors and of their twins, each of shape (pairs,)."""
    sides: dict[str, dict[bool, float]] = {}
    for target, result in zip(targets, results, strict=True):
        if target.rival is None or target.rival[1] != column:
            continue
        slot = target.rival[0]
        scores = result.dialogue if slot < 0 else result.slots[slot]
        if scores is not None:
            sides.setdefault(target.pair, {})[target.error] = float(scores[column])
    both = [side for side in sides.values() if len(side) == 2]
    return np.array([side[True] for side in both]), np.array([side[False] for side in both])
