"""Trains and evaluates a scanner: rows of windows, the loss of a step, average precision; or its heads alone.

The heads alone are fitted by logistic regression on the hidden states of a frozen base, which reads every
window once: a head for each code on the slot's state and the mean of the turn's tokens, standardised, with an
L2 penalty towards the existing head of a release, bias included, or towards zero. Standardisation is then
multiplied into the weights.

All randomness follows from the seed and the step's number. Targets come from
`dialint.finetune.scanner.data`, the model from `dialint.finetune.scanner.backbone`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from dialint.detector.engines.local import LocalEngine, Precision, fill_rows, head_positions, pack_windows
from dialint.detector.engines.scan_model import ScanModel, mean_by_slot
from dialint.detector.errors import ConfigError
from dialint.detector.progress import track
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
    """Windows to train on, those of each evaluation set, the codes of their columns, and the checkpoints'
    job."""

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
        """Builds the run in the folder of the config. Loss, and average precision of each code on the
        evaluation sets, go to ``metrics.jsonl``."""
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
        """Makes the optimizer's step number `step`.

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
        """Computes figures of each evaluation set, or of its first `at_most` windows."""
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
            ConfigError: E_EXAMPLE, early stopping without an error in ``dev``.
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
    """Computes the mean cross-entropy of a slot, summed over codes, plus the weighted mean of an evidence
    token, by one packed forward pass over the windows of `row`; the heads compute in fp32. If a step has
    several rows, `counts` are the step's slots and tokens, and this is the row's part. `bf16`: the backbone
    computes in bf16."""
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
    """Computes the binary cross-entropy of shape (positions, codes) with soft targets, summed over codes,
    divided by `count`, by default the number of positions with any target. A target of NaN is unknown and
    adds nothing."""
    if not len(logits):
        return logits.new_zeros(())
    wanted = torch.from_numpy(np.concatenate(targets)).to(logits.device)
    mask = ~wanted.isnan()
    divisor = mask.any(dim=1).sum().clamp_min(1) if count is None else count
    return binary_cross_entropy_with_logits(logits[mask], wanted[mask], reduction="sum") / divisor


def evaluate_scanner(
    model: ScanModel,
    targets: Sequence[Target],
    codes: Sequence[str],
    row_tokens: int,
    precision: Precision = "auto",
) -> dict[str, dict[str, float]]:
    """Computes the average precision of each code on the windows, and its mean; empty without windows."""
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
    """Computes the average precision of each code that has an error, and the mean, from arrays of shape
    (slots, codes), without NaN."""
    ranked = {}
    for column, code in enumerate(codes):
        mask = ~np.isnan(truth[:, column])
        wrong = truth[mask, column] > 0.5
        if wrong.any():
            ranked[code] = round(average_precision(wrong, scores[mask, column]), 3)
    return {"ap": {"macro": round(float(np.mean(list(ranked.values()))), 3), **ranked}} if ranked else {}


STRENGTH = 0.01
"""Inverse strength of the L2 penalty; chosen on real dialogues (`docs/experiments/training.md`)."""
RELEASE_STRENGTH, RELEASE_BIAS = 0.001, 0.1
"""The same of weights and biases of a release: fifty labels leave it as good as it was."""
ITERATIONS = 150
UNCERTAIN = (0.3, 0.7)
"""Labels of a probability between these are not used."""


def read_states(engine: LocalEngine, targets: Sequence[Target]) -> tuple[Array, Array]:
    """Computes the hidden states of every slot of the windows and the mean of its tokens, shape (slots, 2 x
    hidden), in half precision, and returns them with the labels, shape (slots, codes), NaN if unknown or
    uncertain."""
    states, labels = [], []
    rows = fill_rows([len(target.window) for target in targets], engine.row_tokens)
    for row in track(rows, len(rows), "reading examples"):
        windows = [targets[index].window for index in row]
        packed = engine.pack(windows)
        with torch.inference_mode():
            hidden = engine.hidden_states(packed)
            positions = head_positions(windows, packed)
            counts = torch.tensor(positions.lengths, dtype=torch.long, device=hidden.device)
            means = mean_by_slot(hidden[positions.tokens], counts)
            states.append(torch.cat([hidden[positions.slots], means], dim=1).half().cpu().numpy())
        labels += [targets[index].turns for index in row]
    wanted = np.concatenate(labels)
    is_uncertain = (wanted > UNCERTAIN[0]) & (wanted < UNCERTAIN[1])
    return np.concatenate(states), np.where(is_uncertain, np.float32(np.nan), wanted.round())


def fit_heads(model: ScanModel, states: Array, labels: Array) -> None:
    """Fits the heads of `model`, in place, to states and labels of `read_states`."""
    inputs = torch.from_numpy(states).float()
    mean, deviation = inputs.mean(dim=0), inputs.std(dim=0, correction=0) + 1e-4
    inputs.sub_(mean).div_(deviation)
    before = torch.cat([model.slot_head.weight, model.token_head.weight], dim=1).detach().cpu().float()
    towards = (before * deviation).T.contiguous()
    level = model.slot_head.bias.detach().cpu().float() + before @ mean
    is_of_release = before.any(dim=1)
    strength = torch.where(is_of_release, RELEASE_STRENGTH, STRENGTH)
    wanted, mask = torch.from_numpy(np.nan_to_num(labels)), torch.from_numpy(~np.isnan(labels)).float()
    weights, bias = towards.clone().requires_grad_(), level.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([weights, bias], max_iter=ITERATIONS, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        logits = inputs @ weights + bias
        errors = binary_cross_entropy_with_logits(logits, wanted, mask, reduction="sum")
        penalty = ((weights - towards) ** 2 / strength).sum()
        penalty = penalty + ((bias - level)[is_of_release] ** 2 / RELEASE_BIAS).sum()
        total = (errors + penalty / 2) / len(inputs)
        total.backward()  # type: ignore[no-untyped-call]
        return total

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    fitted = (weights.detach() / deviation[:, None]).T
    hidden = fitted.shape[1] // 2
    with torch.no_grad():
        model.slot_head.weight.copy_(fitted[:, :hidden])
        model.token_head.weight.copy_(fitted[:, hidden:])
        model.slot_head.bias.copy_(bias.detach() - fitted @ mean)
