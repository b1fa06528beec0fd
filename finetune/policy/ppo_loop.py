"""The loop of PPO: sample answers, reward them, train on them for a few epochs, repeat.

All randomness follows from the seed and the step's number, and checkpoints are written between steps only. So
a run that was killed at any point resumes from its last checkpoint and becomes the run that was never
stopped, bit for bit on CPU in fp32. Several processes share the answers of a step and add up their gradients:
the result is that of one process, apart from rounding. The reward is a function that the caller passes.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

from dialint.detector.artifacts import make_output_folder
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
from dialint.finetune.train import checkpoint as checkpoints
from dialint.finetune.train.distributed import ProcessGroup
from dialint.finetune.train.estimate import Cost
from dialint.finetune.train.finite import save_weights, validate_finite, validate_loss
from dialint.finetune.train.metrics_log import MetricsLog
from dialint.finetune.train.optimizer import build_optimizer, set_learning_rates
from dialint.finetune.train.options import Optimizer
from dialint.finetune.train.progress import Progress
from dialint.finetune.train.shutdown import stop_on_signal

WEIGHTS, OPTIMIZER, STATE = "weights.safetensors", "optimizer.pt", "state.json"
MAX_NORM = 1.0
"""Gradient norm at which gradients are clipped."""


@dataclass(frozen=True)
class LoopConfig:
    """Settings of the loop; all but `job`, `cost` and the checkpoint interval change the trained weights."""

    job: str
    options: PpoOptions
    seed: int
    optimizer: Optimizer = "adamw"
    checkpoint_s: float = 300.0
    checkpoint_steps: int | None = None
    cost: Cost | None = None


@dataclass
class State:
    """What a checkpoint has beside weights: completed steps, the weight of the KL penalty, tokens of all
    answers, and the metrics of the last step."""

    step: int = 0
    kl_weight: float = 0.0
    tokens: int = 0
    last: dict[str, Any] = field(default_factory=dict)


@dataclass
class Run:
    """A training run; `saved_step` and `saved_at` (monotonic clock, seconds) are those of the last
    checkpoint."""

    policy: Policy
    prompts: Sequence[Prompt]
    reward: RewardFn
    config: LoopConfig
    folder: Path
    team: ProcessGroup = field(default_factory=ProcessGroup)
    state: State = field(default_factory=State)
    saved_step: int = 0
    saved_at: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.state.kl_weight = self.config.options.kl
        groups = (self.policy.trainable.values(), self.policy.value_head.parameters())
        device = self.policy.model.device.type
        self.optimizer = build_optimizer(self.config.optimizer, groups, device, weight_decay=0.0)

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether the interval between checkpoints has passed."""
        steps = self.config.checkpoint_steps
        if steps is not None:
            return self.state.step - self.saved_step >= steps
        return time.monotonic() - self.saved_at >= self.config.checkpoint_s


def train_ppo(run: Run) -> State:
    """Train the policy from the folder's last checkpoint to the end, or to SIGTERM, which saves a checkpoint.

    Raises:
        OutputRefused: the checkpoint belongs to another job, or was changed.
        ConfigError: E_REWARD or E_DIVERGED: a reward or a gradient is not finite.
    """
    log_bytes, steps = _resume(run), run.config.options.steps
    with ExitStack() as stack:
        terminated = stack.enter_context(stop_on_signal())
        log = stack.enter_context(MetricsLog(run.folder, log_bytes)) if run.team.is_main else None
        progress = stack.enter_context(Progress(steps, run.state.step, run.config.cost))
        while run.state.step < steps and not run.team.any(bool(terminated())):
            metrics = _train_step(run)
            shown = f"reward {metrics['reward']['total']:.3f}, KL {metrics['kl']['answer']:.2f}"
            progress.advance(metrics["tokens"], shown)
            if log is not None:
                log.write({**metrics, "tokens_s": round(progress.tokens_s), "left_s": round(progress.left_s)})
                if run.is_checkpoint_due:
                    _save_checkpoint(run, log.size)
        if log is not None and run.saved_step < run.state.step < steps:
            _save_checkpoint(run, log.size)
    return run.state


def _train_step(run: Run) -> dict[str, Any]:
    """Sample, reward, train; the metrics of the step."""
    options, state = run.config.options, run.state
    rollouts = roll_out(run.policy, run.prompts, run.reward, options, run.team, run.config.seed, state.step)
    batch = make_batch(rollouts, options, state.kl_weight)
    losses = _train_on_batch(run, batch)
    kl = float(kl_k1(batch.logprobs, batch.reference).sum()) / len(rollouts)
    state.step += 1
    state.tokens += sum(batch.lengths)
    state.last = {**_batch_metrics(batch, kl, state.kl_weight), **losses}
    if options.kl_target is not None:
        state.kl_weight = adapt_kl_weight(state.kl_weight, kl, options.kl_target)
    return {"step": state.step, "of": options.steps, **state.last}


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


def _train_on_batch(run: Run, batch: Batch) -> dict[str, float]:
    """All epochs over the answers of a step; mean losses over their tokens."""
    options = run.config.options
    peaks = (options.learning_rate, options.value_learning_rate)
    set_learning_rates(run.optimizer, peaks, 1 - run.state.step / options.steps)
    sums: dict[str, float] = {}
    for indices in minibatches(len(batch.rollouts), options, run.config.seed, run.state.step):
        n_tokens = sum(batch.lengths[index] for index in indices)
        own, loss = run.team.share(indices), 0.0
        forward_size = math.ceil(options.minibatch / options.accumulate)
        for start in range(0, len(own), forward_size):
            losses = _backward(run, batch, own[start : start + forward_size], n_tokens)
            loss += losses["policy_loss"] + losses["value_loss"]
            for name, value in losses.items():
                sums[name] = sums.get(name, 0.0) + value
        _update(run, loss)
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


def _update(run: Run, loss: float) -> None:
    """One step of the optimizer; `loss` is that of this process. The value head's gradient is clipped apart:
    its first errors are large and would scale the policy's down to nothing.

    Raises:
        ConfigError: E_DIVERGED.
    """
    for group in run.optimizer.param_groups:
        run.team.all_reduce_gradients(group["params"])
        norm = torch.nn.utils.clip_grad_norm_(group["params"], MAX_NORM)
        validate_loss(run.state.step + 1, loss, float(norm))
    run.optimizer.step()
    run.optimizer.zero_grad(set_to_none=True)


def _save_checkpoint(run: Run, log_bytes: int) -> None:
    """Write and seal a checkpoint, and remove older ones."""
    folder, optimizer = run.folder / f"checkpoint-{run.state.step}", run.optimizer.state_dict()
    validate_finite(optimizer, folder)
    make_output_folder(folder, new=True)
    save_weights(run.policy.state_dict(), folder / WEIGHTS)
    torch.save(optimizer, folder / OPTIMIZER)
    (folder / STATE).write_text(json.dumps(asdict(run.state)))
    checkpoints.seal(folder, run.config.job, log_bytes)
    checkpoints.remove_except(run.folder, folder)
    run.saved_step, run.saved_at = run.state.step, time.monotonic()


def _resume(run: Run) -> int:
    """Load the newest checkpoint, if there is one; the bytes of the log to keep."""
    newest = [checkpoints.find_latest(run.folder, run.config.job)] if run.team.is_main else []
    checkpoint = run.team.all_gather(newest)[0]
    if checkpoint is None:
        return 0
    folder, log_bytes = checkpoint
    run.policy.load_state_dict(load_file(folder / WEIGHTS))
    run.optimizer.load_state_dict(torch.load(folder / OPTIMIZER, weights_only=True, map_location="cpu"))
    run.state = State(**json.loads((folder / STATE).read_text()))
    run.saved_step = run.state.step
    return log_bytes
