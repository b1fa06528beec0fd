"""The steps of PPO: sample answers, reward them, train on them for a few epochs, repeat.

All randomness follows from the seed and the step's number. Several processes share the answers of a step and
add up their gradients: the result is that of one process, apart from rounding. The reward is a function that
the caller passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dialint.finetune.policy.options import PpoOptions
from dialint.finetune.policy.policy import Policy, Prompt
from dialint.finetune.policy.ppo_math import (
    adapt_kl_weight,
    explained_variance,
    kl_k1,
    kl_k3,
    policy_loss,
    value_loss,
)
from dialint.finetune.policy.rollouts import Batch, RewardFn, make_batch, roll_out
from dialint.finetune.train.distributed import ProcessGroup
from dialint.finetune.train.estimate import Cost
from dialint.finetune.train.finite import validate_loss
from dialint.finetune.train.loop import StepOutput, TrainingLoop
from dialint.finetune.train.optimizer import build_optimizer, set_learning_rates
from dialint.finetune.train.options import Optimizer

MAX_NORM = 1.0
"""Gradient norm at which gradients are clipped."""


@dataclass(frozen=True)
class LoopConfig:
    """Settings of the loop; all but `job`, `cost` and the checkpoint interval change the trained weights."""

    job: str
    options: PpoOptions
    seed: int
    optimizer: Optimizer = "adamw"
    checkpoint_minutes: float = 5.0
    checkpoint_steps: int | None = None
    cost: Cost | None = None


@dataclass
class PpoState:
    """What a checkpoint has of PPO beside weights: the weight of the KL penalty, and the metrics of the last
    step."""

    kl_weight: float
    last: dict[str, Any] = field(default_factory=dict)

    def state_dict(self) -> dict[str, Any]:
        return asdict(self)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.kl_weight, self.last = state["kl_weight"], state["last"]


@dataclass
class Run:
    """A training run of a policy in `folder`."""

    policy: Policy
    prompts: Sequence[Prompt]
    reward: RewardFn
    config: LoopConfig
    folder: Path
    team: ProcessGroup = field(default_factory=ProcessGroup)

    def __post_init__(self) -> None:
        self.state = PpoState(self.config.options.kl)
        head = dict(self.policy.value_head.named_parameters())
        self.parameters = {**self.policy.trainable, **{f"value.{name}": p for name, p in head.items()}}
        groups = (self.policy.trainable.values(), head.values())
        device = self.policy.model.device.type
        self.optimizer = build_optimizer(self.config.optimizer, groups, device, weight_decay=0.0)

    def build_loop(self) -> TrainingLoop:
        """The loop over all steps, which checkpoints the policy, its value head and the KL penalty."""
        config = self.config
        return TrainingLoop(
            out=self.folder,
            job=config.job,
            n_steps=config.options.steps,
            train_step=lambda step: _train_step(self, step),
            parameters=self.parameters,
            optimizer=self.optimizer,
            extra_state={"ppo": self.state},
            log_steps=1,
            checkpoint_steps=config.checkpoint_steps,
            checkpoint_minutes=config.checkpoint_minutes,
            cost=config.cost,
            group=self.team,
        )


def _train_step(run: Run, step: int) -> StepOutput:
    """Sample, reward, train; with the metrics of the step.

    Raises:
        ConfigError: E_REWARD or E_DIVERGED: a reward or a gradient is not finite.
    """
    options, state = run.config.options, run.state
    rollouts = roll_out(run.policy, run.prompts, run.reward, options, run.team, run.config.seed, step)
    batch = make_batch(rollouts, options, state.kl_weight)
    losses = _train_on_batch(run, batch, step)
    kl = float(kl_k1(batch.logprobs, batch.reference).sum()) / len(rollouts)
    state.last = {**_batch_metrics(batch, kl, state.kl_weight), **losses}
    if options.kl_target is not None:
        state.kl_weight = adapt_kl_weight(state.kl_weight, kl, options.kl_target)
    message = f"reward {state.last['reward']['total']:.3f}, KL {kl:.2f}"
    return StepOutput(sum(batch.lengths), figures=state.last, message=message)


def _batch_metrics(batch: Batch, kl: float, kl_weight: float) -> dict[str, Any]:
    """Metrics of rollouts before training on them; `kl` is in nats per answer."""
    rewards = [rollout.rewards for rollout in batch.rollouts]
    terms = {name: float(np.mean([one[name] for one in rewards])) for name in rewards[0]}
    total = float(batch.scores.mean())
    k3 = float(kl_k3(batch.logprobs, batch.reference).mean())
    return {
        "reward": {"total": total, "less_kl": total - kl_weight * kl, **terms},
        "kl": {"answer": kl, "token_k3": k3, "weight": kl_weight},
        "explained_variance": explained_variance(batch.values, batch.returns),
        "answer_tokens": float(np.mean(batch.lengths)),
        "tokens": sum(batch.lengths),
    }


def _train_on_batch(run: Run, batch: Batch, step: int) -> dict[str, float]:
    """All epochs over the answers of a step; mean losses over their tokens."""
    options = run.config.options
    peaks = (options.learning_rate, options.value_learning_rate)
    set_learning_rates(run.optimizer, peaks, 1 - step / options.steps)
    sums: dict[str, float] = {}
    for indices in minibatches(len(batch.rollouts), options, run.config.seed, step):
        n_tokens = sum(batch.lengths[index] for index in indices)
        own, loss = run.team.share(indices), 0.0
        forward_size = math.ceil(options.minibatch / options.accumulate)
        for start in range(0, len(own), forward_size):
            losses = _backward(run, batch, own[start : start + forward_size], n_tokens)
            loss += losses["policy_loss"] + losses["value_loss"]
            for name, value in losses.items():
                sums[name] = sums.get(name, 0.0) + value
        _update(run, loss, step)
    by_process = run.team.all_gather([sums])
    n_trained = options.epochs * sum(batch.lengths)
    names = sorted({name for own_sums in by_process for name in own_sums})
    return {name: sum(own_sums.get(name, 0.0) for own_sums in by_process) / n_trained for name in names}


def minibatches(n_answers: int, options: PpoOptions, seed: int, step: int) -> Iterator[list[int]]:
    """Indices of the answers of each minibatch. Every epoch shuffles prompts; answers to one prompt stay side
    by side, where they share its computation."""
    for epoch in range(options.epochs):
        order = np.random.default_rng([seed, step, epoch]).permutation(n_answers // options.answers)
        indices = [int(group) * options.answers + one for group in order for one in range(options.answers)]
        for start in range(0, n_answers, options.minibatch):
            yield indices[start : start + options.minibatch]


def _backward(run: Run, batch: Batch, indices: Sequence[int], n_tokens: int) -> dict[str, float]:
    """Add the gradient of these answers' losses, over the `n_tokens` tokens of the whole minibatch; sums over
    tokens of what is logged."""
    options, device = run.config.options, run.policy.model.device
    rollouts = [batch.rollouts[index] for index in indices]
    ends = np.cumsum(batch.lengths)
    tokens = torch.cat([torch.arange(ends[index] - batch.lengths[index], ends[index]) for index in indices])
    old, old_values, advantages, returns = (
        part[tokens].to(device) for part in (batch.logprobs, batch.values, batch.advantages, batch.returns)
    )
    new = run.policy.score(
        [run.prompts[rollout.prompt] for rollout in rollouts],
        [rollout.ids for rollout in rollouts],
        options.value_reach,
    )
    policy_losses, clipped = policy_loss(new.logprobs, old, advantages, options.clip)
    value_losses = value_loss(new.values, old_values, returns, options.value_clip)
    loss = (policy_losses.sum() + options.value_weight * value_losses.sum()) / n_tokens
    loss.backward()  # type: ignore[no-untyped-call]
    logged = {
        "policy_loss": policy_losses,
        "value_loss": value_losses,
        "entropy": new.entropies,
        "clip_share": clipped,
    }
    return {name: float(part.detach().float().sum()) for name, part in logged.items()}


def _update(run: Run, loss: float, step: int) -> None:
    """One step of the optimizer; `loss` is that of this process. The value head's gradient is clipped apart:
    its first errors are large and would scale the policy's down to nothing.

    Raises:
        ConfigError: E_DIVERGED.
    """
    for group in run.optimizer.param_groups:
        run.team.all_reduce_gradients(group["params"])
        norm = torch.nn.utils.clip_grad_norm_(group["params"], MAX_NORM)
        validate_loss(step + 1, loss, float(norm))
    run.optimizer.step()
    run.optimizer.zero_grad(set_to_none=True)
