"""Trains and evaluates a scanner: rows of windows, the loss of a step, average precision, early stopping.

Everything random follows from the seed and the step's number. Targets come from
`dialint.finetune.scanner.data`, the model from `dialint.finetune.scanner.backbone`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from dialint.detector.engines.local import LocalEngine, Precision, head_positions, pack_windows
from dialint.detector.engines.scan_model import ScanModel
from dialint.detector.errors import ConfigError
from dialint.detector.scanner import Array
from dialint.eval.figures import average_precision
from dialint.finetune.scanner.backbone import trainable_parameters
from dialint.finetune.scanner.data import Target
from dialint.finetune.scanner.options import ScanConfig
from dialint.finetune.train.loop import (
    Evaluation,
    StepOutput,
    TrainingLoop,
    build_optimizer,
    optimizer_step,
    plan_rows,
    warmup_cosine,
)

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
        config, sizes = self.config, [len(target.window) for target in self.data.train]
        rows = list(plan_rows(sizes, config.running.seed, config.epochs, config.row_tokens, config.tokens))
        accumulate = config.accumulate
        self.steps = [rows[start : start + accumulate] for start in range(0, len(rows), accumulate)]
        self.parameters = trainable_parameters(self.model)
        groups = [
            [weight for name, weight in self.parameters.items() if name.startswith("backbone.") is backbone]
            for backbone in (True, False)
        ]
        device = str(self.model.slot_head.weight.device)
        self.optimizer = build_optimizer(self.config.running.optimizer, groups, device)

    def build_loop(self) -> TrainingLoop:
        """The run in the folder of the config. Loss, and average precision of each code on the evaluation
        sets, go to ``metrics.jsonl``."""
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
        step_targets = [target for row in rows for target in row]
        counts = sum(len(t.turns) for t in step_targets), sum(len(t.spans) for t in step_targets)
        total = 0.0
        for row in rows:
            loss = scan_loss(model, row, config.span_weight, counts, self.precision == "bf16")
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


def scan_loss(
    model: ScanModel,
    row: Sequence[Target],
    span_weight: float,
    counts: tuple[int, int] | None = None,
    bf16: bool = False,
) -> torch.Tensor:
    """The mean cross-entropy of a slot, summed over codes, plus the weighted mean of an evidence token, by
    one packed forward pass over the windows of `row`; the heads compute in fp32. Where a step has several
    rows, `counts` are the step's slots and tokens, and this is the row's part. `bf16`: the backbone computes
    in bf16."""
    windows = [target.window for target in row]
    device = model.slot_head.weight.device
    packed = pack_windows(windows).to(device)
    positions = head_positions(windows, packed)
    with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
        states = model.hidden_states(packed)
    states = states.float()
    turns, tokens = model.scores(states[positions.slots], states[positions.tokens], positions.lengths)
    n_turns, n_tokens = counts or (None, None)
    spans = cross_entropy(tokens, [target.spans for target in row], n_tokens)
    return cross_entropy(turns, [target.turns for target in row], n_turns) + span_weight * spans


def cross_entropy(logits: torch.Tensor, targets: Sequence[Array], count: int | None = None) -> torch.Tensor:
    """Binary cross-entropy of shape (positions, codes) with soft targets, summed over codes, divided by
    `count`, by default the number of positions that have any target. A target of NaN is unknown and adds
    nothing."""
    if not len(logits):
        return logits.new_zeros(())
    wanted = torch.from_numpy(np.concatenate(targets)).to(logits.device)
    is_known = ~wanted.isnan()
    divisor = is_known.any(dim=1).sum().clamp_min(1) if count is None else count
    logits, wanted = logits[is_known], wanted[is_known]
    return binary_cross_entropy_with_logits(logits, wanted, reduction="sum") / divisor


def evaluate_scanner(
    model: ScanModel,
    targets: Sequence[Target],
    codes: Sequence[str],
    row_tokens: int,
    precision: Precision = "auto",
) -> dict[str, dict[str, float]]:
    """Average precision of each code on the windows, and its mean; nothing of no windows."""
    if not targets:
        return {}
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    device = str(model.slot_head.weight.device)
    results = LocalEngine(model, precision, row_tokens, device).scan([target.window for target in targets])
    for weight in trained:  # the engine freezes them
        weight.requires_grad_(True)
    truth = np.concatenate([target.turns for target in targets])
    return average_precisions(truth, np.concatenate([result.slots for result in results]), codes)


def average_precisions(
    truth: np.ndarray, scores: np.ndarray, codes: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Average precision of each code that has an error, and the mean, of arrays of shape (slots, codes);
    what is unknown, NaN, is left out."""
    ranked = {}
    for column, code in enumerate(codes):
        is_known = ~np.isnan(truth[:, column])
        wrong = truth[is_known, column] > 0.5
        if wrong.any():
            ranked[code] = round(average_precision(wrong, scores[is_known, column]), 3)
    return {"ap": {"macro": round(float(np.mean(list(ranked.values()))), 3), **ranked}} if ranked else {}
