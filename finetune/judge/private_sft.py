"""Teaches the judge so that no dialogue can be told from what it learnt: `dialint train sft judge` with
``--private-epsilon``.

The promise holds for a dialogue of the train split with all that was made of it (questions, twins), its
labels taken as given, and numbers of dialogues and questions known to all. Noise and order come from a seed
that is drawn anew and written nowhere but in checkpoints, which go at the end: who knows the noise can take
it off. Nothing that is seen of the train split on the way is logged. What is not promised: anything of the
dev split, whose figures are exact, or of options that were chosen by looking at runs; nor is the generator
one of cryptography. The last weights are kept, not the best, and a look at dev stops nothing.
"""

from __future__ import annotations

import math
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file

from dialint.detector.artifacts import make_output_folder
from dialint.detector.engines.judge_local import LocalJudge
from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.errors import ConfigError
from dialint.eval.questions import LabelledQuestion
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

if TYPE_CHECKING:
    from dialint.finetune.judge.sft import SftJudgeConfig

WEIGHTS, STATE = "weights.safetensors", "state.pt"


@dataclass(frozen=True)
class PrivacyPlan:
    """How a private run goes: each of `owners` dialogues takes part in a step with probability `rate`."""

    owners: int
    rate: float
    steps: int
    noise: float

    @property
    def expected(self) -> float:
        """Dialogues in a step, on average."""
        return self.rate * self.owners


def plan_privacy(config: SftJudgeConfig, n_questions: int, owners: int) -> PrivacyPlan:
    """As many questions a step as otherwise, on average, and as many passes, with the noise that these need.

    Raises:
        ConfigError: E_OPTION, a delta that would allow to give a dialogue away, or no noise is enough.
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
    learn: Sequence[LabelledQuestion],
    check: Sequence[LabelledQuestion],
    job: str,
) -> TrainResult:
    """Train `model` in place, from the last checkpoint of `job` if there is one; figures of the run.

    Raises:
        OutputRefused: the checkpoint is of another job, or damaged.
        ConfigError: an option that cannot be, or a gradient is no number.
        SystemExit: 0, after SIGTERM, when all is saved and the same command goes on.
    """
    started = time.monotonic()
    rows = _by_dialogue(learn, prompt)
    plan = plan_privacy(config, len(learn), len(rows))
    own = unwrap(model).config._attn_implementation
    if config.packed:
        enable_packed_attention(model, max(len(row["input_ids"]) for owned in rows for row in owned))
    make_output_folder(config.out)
    run = _Run(config, model, plan, rows, LocalJudge(model, prompt, bf16=uses_bf16(config.running)), job)
    figures = run.to_the_end(check)
    unwrap(model).set_attn_implementation(own)
    epsilon = compute_epsilon(plan.noise, config.private_delta, plan.rate, plan.steps)
    told = {"epsilon": round(epsilon, 4), "delta": config.private_delta, "noise": plan.noise}
    private = {**told, "clip": CLIP, "rate": plan.rate, "dialogues": plan.owners}
    seconds = round(time.monotonic() - started, 1)
    return TrainResult(model, {"steps": plan.steps, "seconds": seconds, "last": figures, "private": private})


def _by_dialogue(learn: Sequence[LabelledQuestion], prompt: JudgePrompt) -> list[list[dict[str, Any]]]:
    """Rows of each dialogue with all that was made of it."""
    owned: dict[str, list[dict[str, Any]]] = {}
    for item, row in zip(learn, tokenize_questions(learn, prompt), strict=True):
        owned.setdefault(item.source, []).append(row)
    return list(owned.values())


def compute_loss(model: Any, rows: Sequence[dict[str, Any]], bf16: bool) -> torch.Tensor:
    """Mean loss of the wanted tokens, each with its question's weight."""
    begins = [sum(label == -100 for label in row["labels"]) for row in rows]
    prompts = [row["input_ids"][:begin] for row, begin in zip(rows, begins, strict=True)]
    answers = [row["input_ids"][begin:] for row, begin in zip(rows, begins, strict=True)]
    with torch.autocast(model.device.type, torch.bfloat16, enabled=bf16):
        logprobs = compute_logprobs(model, prompts, answers).logprobs
    weights = [row["weight"] for row, answer in zip(rows, answers, strict=True) for _ in answer]
    return -(logprobs * torch.tensor(weights, device=logprobs.device)).mean()


class _Run:
    """A private run on its way."""

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
        self.chance = torch.Generator().manual_seed(secrets.randbits(63))
        self.recompute = recomputes_activations(config.running, model)
        if self.recompute:
            enable_gradient_checkpointing(model)

    def to_the_end(self, check: Sequence[LabelledQuestion]) -> dict[str, float]:
        """All steps that are left; figures of the dev split after the last one."""
        kept, steps, figures = self._resumed(), self.plan.steps, {}
        with (
            stop_on_signal() as told,
            MetricsLog(self.config.out, kept) as log,
            Progress(steps, self.step) as bar,
        ):
            while self.step < steps and not told():
                bar.advance(self._learn(), f"noise {self.plan.noise:.2f}")
                if self.step % self.config.learning.eval_steps == 0 or self.step == steps:
                    figures = evaluate_probabilities(self.judge, check)
                    log.write({"step": self.step, "of": steps, "eval": figures})
                if self._due or (told() and self.step < steps):
                    self._save(log.size)
        if self.step < steps:
            print(f"stopped at step {self.step} of {steps}; saved, the same command goes on", file=sys.stderr)
            sys.exit(0)
        return figures or evaluate_probabilities(self.judge, check)

    def _learn(self) -> int:
        """One step; how many tokens it had."""
        self.model.train(self.recompute)
        taken = [self.rows[place] for place in sample_owners(self.plan.owners, self.plan.rate, self.chance)]
        losses = (self._loss(rows) for rows in taken)
        weights = list(self.weights.values())
        set_noisy_gradient(weights, losses, self.plan.noise, self.plan.expected, self.chance, self.step + 1)
        share = warmup_cosine(self.step, self.plan.steps)
        set_learning_rates(self.optimizer, [self.config.learning_rate], share)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return sum(len(row["input_ids"]) for rows in taken for row in rows)

    def _loss(self, rows: Sequence[dict[str, Any]]) -> Callable[[], torch.Tensor]:
        return lambda: compute_loss(self.model, rows, uses_bf16(self.config.running))

    @property
    def _due(self) -> bool:
        running = self.config.running
        if running.checkpoint_steps is not None:
            return self.step % running.checkpoint_steps == 0
        return time.monotonic() - self.saved_at >= 60 * running.checkpoint_minutes

    def _save(self, log_bytes: int) -> None:
        folder: Path = self.config.out / f"checkpoint-{self.step}"
        state = {
            "optimizer": self.optimizer.state_dict(),
            "chance": self.chance.get_state(),
            "step": self.step,
        }
        validate_finite(state, folder)
        make_output_folder(folder, new=True)
        save_weights(self.weights, folder / WEIGHTS)
        torch.save(state, folder / STATE)
        checkpoint.seal(folder, self.job, log_bytes)
        checkpoint.remove_except(self.config.out, folder)
        self.saved_at = time.monotonic()

    def _resumed(self) -> int:
        """Take up the newest checkpoint, if there is one; bytes of the log that stay."""
        found = checkpoint.find_latest(self.config.out, self.job)
        if found is None:
            return 0
        folder, log_bytes = found
        stored = load_file(folder / WEIGHTS)
        state = torch.load(folder / STATE, weights_only=True, map_location="cpu")
        with torch.no_grad():
            for name, p in self.weights.items():
                p.copy_(stored[name])
        self.optimizer.load_state_dict(state["optimizer"])
        self.chance.set_state(state["chance"])
        self.step = int(state["step"])
        return log_bytes
