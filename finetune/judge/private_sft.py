"""Differentially private fine-tuning of a judge: `dialint train sft judge` with ``--private-epsilon``.

The guarantee holds for a dialogue of the train split with all that was made of it (questions, twins), its
labels taken as given, the numbers of dialogues and questions public. Noise and sampling follow from a random
seed that is written to checkpoints only, which are removed at the end: whoever knows the noise can subtract
it. No metric of the train split is logged. Not covered: the dev split, whose figures are exact; options that
were chosen by comparing runs; and the generator is not a cryptographic one. The last weights are kept, not
the best, and there is no early stopping.
"""

from __future__ import annotations

import math
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from dialint.detector.artifacts import make_output_folder
from dialint.detector.engines.judge_local import LocalJudge
from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.errors import ConfigError
from dialint.eval.questions import LabelledQuestion
from dialint.finetune.judge.sft_options import SftJudgeConfig
from dialint.finetune.judge.sft_trainer import evaluate_probabilities, tokenize_questions
from dialint.finetune.policy.logprobs import compute_logprobs, enable_packed_attention, unwrap
from dialint.finetune.policy.policy import enable_gradient_checkpointing
from dialint.finetune.train import checkpoint
from dialint.finetune.train.arguments import uses_bf16
from dialint.finetune.train.estimate import recomputes_activations
from dialint.finetune.train.finite import save_weights, validate_finite
from dialint.finetune.train.metrics_log import MetricsLog
from dialint.finetune.train.optimizer import build_optimizer, set_learning_rates, warmup_cosine
from dialint.finetune.train.privacy import (
    CLIP,
    compute_epsilon,
    noise_multiplier,
    sample_owners,
    set_noisy_gradient,
)
from dialint.finetune.train.progress import Progress
from dialint.finetune.train.shutdown import stop_on_signal
from dialint.finetune.train.trainer import TrainResult

WEIGHTS, STATE = "weights.safetensors", "state.pt"


@dataclass(frozen=True)
class PrivacyPlan:
    """Poisson sampling and noise of a run: each of `owners` dialogues is in a step with probability
    `rate`."""

    owners: int
    rate: float
    steps: int
    noise: float

    @property
    def expected(self) -> float:
        """Expected number of dialogues in a step."""
        return self.rate * self.owners


def plan_privacy(config: SftJudgeConfig, n_questions: int, owners: int) -> PrivacyPlan:
    """As many questions per step as without privacy, on average, and as many epochs, with the noise that they
    need.

    Raises:
        ConfigError: E_OPTION, a delta that would allow to publish a dialogue, or no noise is enough.
    """
    if config.private_delta >= 1 / owners:
        raise ConfigError("E_OPTION", f"--private-delta must be far below 1/{owners}, one over the dialogues")
    learning = config.learning
    rate = min(1.0, config.questions * learning.accumulate / n_questions)
    steps = learning.steps or math.ceil(learning.epochs / rate)
    epsilon = config.private_epsilon or math.inf
    return PrivacyPlan(owners, rate, steps, noise_multiplier(epsilon, config.private_delta, rate, steps))


def train_privately(
    config: SftJudgeConfig,
    model: Any,
    prompt: JudgePrompt,
    questions: Sequence[LabelledQuestion],
    dev_questions: Sequence[LabelledQuestion],
    job: str,
) -> TrainResult:
    """Train `model` in place, from the last checkpoint of `job` if there is one; the run's figures.

    Raises:
        OutputRefused: the checkpoint is of another job, or damaged.
        ConfigError: an option out of its range, or a gradient that is not finite.
        SystemExit: 0, after SIGTERM, when a checkpoint is saved and the same command resumes.
    """
    started = time.monotonic()
    rows = _rows_by_dialogue(questions, prompt)
    plan = plan_privacy(config, len(questions), len(rows))
    attention = unwrap(model).config._attn_implementation
    if config.packed:
        enable_packed_attention(model, max(len(row["input_ids"]) for owned in rows for row in owned))
    make_output_folder(config.out)
    judge = LocalJudge(model, prompt, bf16=uses_bf16(config.running))
    figures = _Run(config, model, plan, rows, judge, job).train(dev_questions)
    unwrap(model).set_attn_implementation(attention)
    epsilon = compute_epsilon(plan.noise, config.private_delta, plan.rate, plan.steps)
    private = {
        "epsilon": round(epsilon, 4),
        "delta": config.private_delta,
        "noise": plan.noise,
        "clip": CLIP,
        "rate": plan.rate,
        "dialogues": plan.owners,
    }
    seconds = round(time.monotonic() - started, 1)
    return TrainResult(model, {"steps": plan.steps, "seconds": seconds, "last": figures, "private": private})


def _rows_by_dialogue(
    questions: Sequence[LabelledQuestion], prompt: JudgePrompt
) -> list[list[dict[str, Any]]]:
    """The tokenized questions of each source dialogue."""
    owned: dict[str, list[dict[str, Any]]] = {}
    for item, row in zip(questions, tokenize_questions(questions, prompt), strict=True):
        owned.setdefault(item.source, []).append(row)
    return list(owned.values())


def compute_loss(model: Any, rows: Sequence[dict[str, Any]], bf16: bool) -> torch.Tensor:
    """Mean loss of the answers' tokens, each with its question's weight."""
    starts = [sum(label == -100 for label in row["labels"]) for row in rows]
    prompts = [row["input_ids"][:start] for row, start in zip(rows, starts, strict=True)]
    answers = [row["input_ids"][start:] for row, start in zip(rows, starts, strict=True)]
    with torch.autocast(model.device.type, torch.bfloat16, enabled=bf16):
        logprobs = compute_logprobs(model, prompts, answers).logprobs
    weights = [row["weight"] for row, answer in zip(rows, answers, strict=True) for _ in answer]
    return -(logprobs * torch.tensor(weights, device=logprobs.device)).mean()


class _Run:
    """A private training run."""

    def __init__(
        self,
        config: SftJudgeConfig,
        model: Any,
        plan: PrivacyPlan,
        rows: Sequence[Sequence[dict[str, Any]]],
        judge: LocalJudge,
        job: str,
    ) -> None:
        self.config, self.model, self.plan, self.rows, self.judge = config, model, plan, rows, judge
        self.job, self.step, self.saved_at = job, 0, time.monotonic()
        self.weights = {name: p for name, p in model.named_parameters() if p.requires_grad}
        group = list(self.weights.values())
        self.optimizer = build_optimizer(config.running.optimizer, [group], model.device.type, 0.0)
        self.generator = torch.Generator().manual_seed(secrets.randbits(63))
        self.checkpointing = recomputes_activations(config.running, model)
        if self.checkpointing:
            enable_gradient_checkpointing(model)

    def train(self, dev_questions: Sequence[LabelledQuestion]) -> dict[str, float]:
        """Run the remaining steps; figures of the dev split after the last one."""
        log_bytes, steps, figures = self._resume(), self.plan.steps, {}
        with (
            stop_on_signal() as stopped,
            MetricsLog(self.config.out, log_bytes) as log,
            Progress(steps, self.step) as progress,
        ):
            while self.step < steps and not stopped():
                progress.advance(self._train_step(), f"noise {self.plan.noise:.2f}")
                if self.step % self.config.learning.eval_steps == 0 or self.step == steps:
                    figures = evaluate_probabilities(self.judge, dev_questions)
                    log.write({"step": self.step, "of": steps, "eval": figures})
                if self._is_checkpoint_due or (stopped() and self.step < steps):
                    self._save_checkpoint(log.size)
        if self.step < steps:
            print(f"stopped at step {self.step} of {steps}; saved, the same command goes on", file=sys.stderr)
            sys.exit(0)
        return figures or evaluate_probabilities(self.judge, dev_questions)

    def _train_step(self) -> int:
        """One step; the number of its tokens."""
        self.model.train(self.checkpointing)
        owners = sample_owners(self.plan.owners, self.plan.rate, self.generator)
        sampled = [self.rows[owner] for owner in owners]
        losses = (self._loss(rows) for rows in sampled)
        weights = list(self.weights.values())
        set_noisy_gradient(
            weights, losses, self.plan.noise, self.plan.expected, self.generator, self.step + 1
        )
        share = warmup_cosine(self.step, self.plan.steps)
        set_learning_rates(self.optimizer, [self.config.learning_rate], share)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return sum(len(row["input_ids"]) for rows in sampled for row in rows)

    def _loss(self, rows: Sequence[dict[str, Any]]) -> Callable[[], torch.Tensor]:
        return lambda: compute_loss(self.model, rows, uses_bf16(self.config.running))

    @property
    def _is_checkpoint_due(self) -> bool:
        running = self.config.running
        if running.checkpoint_steps is not None:
            return self.step % running.checkpoint_steps == 0
        return time.monotonic() - self.saved_at >= 60 * running.checkpoint_minutes

    def _save_checkpoint(self, log_bytes: int) -> None:
        folder: Path = self.config.out / f"checkpoint-{self.step}"
        state = {
            "optimizer": self.optimizer.state_dict(),
            "chance": self.generator.get_state(),
            "step": self.step,
        }
        validate_finite(state, folder)
        make_output_folder(folder, new=True)
        save_weights(self.weights, folder / WEIGHTS)
        torch.save(state, folder / STATE)
        checkpoint.seal(folder, self.job, log_bytes)
        checkpoint.remove_except(self.config.out, folder)
        self.saved_at = time.monotonic()

    def _resume(self) -> int:
        """Load the newest checkpoint, if there is one; the bytes of the log to keep."""
        latest = checkpoint.find_latest(self.config.out, self.job)
        if latest is None:
            return 0
        folder, log_bytes = latest
        stored = load_file(folder / WEIGHTS)
        state = torch.load(folder / STATE, weights_only=True, map_location="cpu")
        with torch.no_grad():
            for name, p in self.weights.items():
                p.copy_(stored[name])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["chance"])
        self.step = int(state["step"])
        return log_bytes
