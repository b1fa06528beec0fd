"""The training step of PPO: sample answers, reward them, train on them for a few epochs.

`dialint.finetune.train.loop` repeats it, logs, and writes and resumes checkpoints. All randomness of a step
follows from the seed and the step's number. The reward is a function that the caller passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dialint.finetune.rl.ppo_math import (
    explained_variance,
    kl_k1,
    kl_k3,
    policy_loss,
    value_loss,
)
from dialint.finetune.rl.rollouts import Batch, PolicyModel, RewardFn, roll_out
from dialint.finetune.train.checkpoint import validate_loss
from dialint.finetune.train.loop import (
    MAX_NORM,
    StepOutput,
    TrainingLoop,
    build_optimizer,
    set_learning_rates,
)
from dialint.finetune.train.options import PpoOptions, RunOptions

VALUE_WEIGHT = 0.1
"""Weight of the value loss beside the policy's."""


@dataclass
class PpoTrainer:
    """A policy in training. `extra`, which is in checkpoints, has the metrics of the last step (``last``)."""

    policy: PolicyModel
    prompts: Sequence[Sequence[int]]
    """Token ids of each prompt."""
    reward: RewardFn
    options: PpoOptions
    running: RunOptions
    extra: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.extra = {"last": {}}
        groups = (self.policy.trainable.values(), self.policy.value_head.parameters())
        device = self.policy.model.device.type
        self.optimizer = build_optimizer(self.running.optimizer, groups, device, weight_decay=0.0)

    def loop(self, out: Path, job: str) -> TrainingLoop:
        """Returns the loop that trains the policy from the newest checkpoint of `job` in `out`.

        Its `run` raises ConfigError E_REWARD too: a reward is not finite.
        """
        return TrainingLoop(
            out=out,
            job=job,
            n_steps=self.options.steps,
            train_step=self.train_step,
            parameters=self.policy.parameters(),
            optimizer=self.optimizer,
            extra=self.extra,
            log_steps=1,
            running=self.running,
        )

    def train_step(self, step: int) -> StepOutput:
        """Samples and rewards answers, and trains on them."""
        batch = roll_out(self.policy, self.prompts, self.reward, self.options, self.running.seed, step)
        losses = _train_on_batch(self, batch, step)
        kl = float(kl_k1(batch.logprobs, batch.reference).sum()) / len(batch.ids)
        figures = {**_batch_metrics(batch, kl, self.options.kl), **losses}
        self.extra["last"] = figures
        message = f"reward {figures['reward']['total']:.3f}, KL {kl:.2f}"
        return StepOutput(sum(batch.lengths), figures=figures, message=message)


def _batch_metrics(batch: Batch, kl: float, kl_weight: float) -> dict[str, Any]:
    """Computes metrics of rollouts before training on them; `kl` is in nats per answer."""
    terms = {name: float(np.mean([one[name] for one in batch.terms])) for name in batch.terms[0]}
    total = float(batch.scores.mean())
    k3 = float(kl_k3(batch.logprobs, batch.reference).mean())
    return {
        "reward": {"total": total, "less_kl": total - kl_weight * kl, **terms},
        "kl": {"answer": kl, "token_k3": k3, "weight": kl_weight},
        "explained_variance": explained_variance(batch.values, batch.returns),
        "answer_tokens": float(np.mean(batch.lengths)),
        "tokens": sum(batch.lengths),
    }


def _train_on_batch(trainer: PpoTrainer, batch: Batch, step: int) -> dict[str, float]:
    """Runs all epochs over the answers of a step, and returns mean losses over their tokens.

    Raises:
        ConfigError: E_DIVERGED.
    """
    options = trainer.options
    peaks = (options.learning_rate, options.value_learning_rate)
    set_learning_rates(trainer.optimizer, peaks, 1 - step / options.steps)
    sums: dict[str, float] = {}
    for indices in minibatches(len(batch.ids), options, trainer.running.seed, step):
        n_tokens = sum(batch.lengths[index] for index in indices)
        loss = 0.0
        forward_size = math.ceil(options.minibatch / options.accumulate)
        for start in range(0, len(indices), forward_size):
            losses = _backward(trainer, batch, indices[start : start + forward_size], n_tokens)
            loss += losses["policy_loss"] + losses["value_loss"]
            for name, value in losses.items():
                sums[name] = sums.get(name, 0.0) + value
        # the value head's gradient is clipped separately: its first errors are large and would scale the
        # policy's down to nothing
        for group in trainer.optimizer.param_groups:
            norm = torch.nn.utils.clip_grad_norm_(group["params"], MAX_NORM)
            validate_loss(step + 1, loss, float(norm))
        trainer.optimizer.step()
        trainer.optimizer.zero_grad(set_to_none=True)
    n_trained = options.epochs * sum(batch.lengths)
    return {name: sums[name] / n_trained for name in sorted(sums)}


def minibatches(n_answers: int, options: PpoOptions, seed: int, step: int) -> Iterator[list[int]]:
    """Yields the indices of the answers of each minibatch. Every epoch shuffles prompts; answers to one
    prompt stay adjacent, so that they share its computation."""
    for epoch in range(options.epochs):
        order = np.random.default_rng([seed, step, epoch]).permutation(n_answers // options.answers)
        indices = [int(group) * options.answers + one for group in order for one in range(options.answers)]
        for start in range(0, n_answers, options.minibatch):
            yield indices[start : start + options.minibatch]


def _backward(trainer: PpoTrainer, batch: Batch, indices: Sequence[int], n_tokens: int) -> dict[str, float]:
    """Adds the gradient of these answers' losses, divided by the `n_tokens` tokens of the whole minibatch,
    and returns sums of the logged figures over tokens."""
    options, device = trainer.options, trainer.policy.model.device
    ends = np.cumsum(batch.lengths)
    tokens = torch.cat([torch.arange(ends[index] - batch.lengths[index], ends[index]) for index in indices])
    old, old_values, advantages, returns = (
        part[tokens].to(device) for part in (batch.logprobs, batch.values, batch.advantages, batch.returns)
    )
    new = trainer.policy.score(
        [trainer.prompts[batch.prompts[index]] for index in indices], [batch.ids[index] for index in indices]
    )
    policy_losses, clipped = policy_loss(new.logprobs, old, advantages, options.clip)
    value_losses = value_loss(new.values, old_values, returns, options.clip)
    loss = (policy_losses.sum() + VALUE_WEIGHT * value_losses.sum()) / n_tokens
    loss.backward()  # type: ignore[no-untyped-call]
    logged = {
        "policy_loss": policy_losses,
        "value_loss": value_losses,
        "entropy": new.entropies,
        "clip_share": clipped,
    }
    return {name: float(part.detach().float().sum()) for name, part in logged.items()}
