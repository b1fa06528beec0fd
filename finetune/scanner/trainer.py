"""Training steps of a scanner: rows of windows, the loss, evaluation, early stopping.

Everything random follows from the seed and the step's number. Knows targets and a model; how they are made is
in `dialint.finetune.scanner.data` and `dialint.finetune.scanner.backbone`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from dialint.detector.engines.local import Precision
from dialint.detector.engines.scan_model import ScanModel
from dialint.detector.errors import ConfigError
from dialint.finetune.scanner.backbone import trainable_parameters
from dialint.finetune.scanner.data import Target
from dialint.finetune.scanner.evaluate import evaluate
from dialint.finetune.scanner.losses import count_targets, scan_loss
from dialint.finetune.scanner.options import ScanConfig
from dialint.finetune.train.estimate import Cost
from dialint.finetune.train.loop import Evaluation, StepOutput, TrainingLoop, optimizer_step
from dialint.finetune.train.optimizer import build_optimizer, warmup_cosine

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

    def build_loop(self, cost: Cost) -> TrainingLoop:
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
            checkpoint_steps=config.running.checkpoint_steps,
            checkpoint_minutes=config.running.checkpoint_minutes,
            cost=cost,
        )

    def train_step(self, step: int) -> StepOutput:
        """The optimizer's step number `step`.

        Raises:
            ConfigError: E_DIVERGED, the loss or the gradient is NaN or infinite.
        """
        config, model = self.config, self.model
        torch.manual_seed(config.running.seed * 1_000_003 + step)  # dropout of adapters, noise
        rows = [[self.data.train[place] for place in row] for row in self.steps[step]]
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
            name: evaluate(model, targets[:at_most], codes, row_tokens, self.precision)
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
