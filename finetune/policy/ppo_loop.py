"""The loop of PPO: draw answers, reward them, learn from them in a few passes, begin again.

Everything random follows from the seed and the step's number, and checkpoints stand between steps only. So a
run that was killed, wherever it was, takes its last checkpoint and is the run that was never stopped: bit for
bit on CPU in fp32. Several processes share a step's answers and add up their gradients: they learn what one
alone does, but for rounding. What an answer is worth is the business of the reward.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors.torch import load_file

from dialint.detector.artifacts import make_folder
from dialint.finetune.policy.policy import Policy, Prompt
from dialint.finetune.policy.ppo_math import (
    adapted,
    explained_variance,
    kl_k1,
    kl_k3,
    policy_loss,
    value_loss,
)
from dialint.finetune.policy.rollouts import Batch, Reward, batch_of, roll_out
from dialint.finetune.train import checkpoint
from dialint.finetune.train.distributed import ProcessGroup
from dialint.finetune.train.estimate import Cost
from dialint.finetune.train.finite import save_weights, validate_finite, validate_loss
from dialint.finetune.train.metrics_log import MetricsLog
from dialint.finetune.train.optimizer import build_optimizer, set_learning_rates
from dialint.finetune.train.options import Optimizer
from dialint.finetune.train.progress import Progress
from dialint.finetune.train.shutdown import stop_on_signal

if TYPE_CHECKING:
    from dialint.finetune.judge.ppo import Method

WEIGHTS, OPTIMIZER, STATE = "weights.safetensors", "optimizer.pt", "state.json"
MAX_NORM = 1.0


@dataclass(frozen=True)
class Setting:
    """What the loop needs to know; all but `job`, `cost` and when checkpoints are written changes weights."""

    job: str
    method: Method
    seed: int
    optimizer: Optimizer = "adamw"
    checkpoint_s: float = 300.0
    checkpoint_steps: int | None = None
    cost: Cost | None = None


@dataclass
class State:
    """How far a run is, beside its weights: steps, the KL penalty's weight, tokens of all answers, and the
    figures of the last step."""

    step: int = 0
    kl_weight: float = 0.0
    tokens: int = 0
    last: dict[str, Any] = field(default_factory=dict)


@dataclass
class Run:
    """A policy on its way; `saved_step` and `saved_at` (seconds of the monotonic clock) are the last
    checkpoint's."""

    policy: Policy
    prompts: Sequence[Prompt]
    reward: Reward
    setting: Setting
    folder: Path
    team: ProcessGroup = field(default_factory=ProcessGroup)
    state: State = field(default_factory=State)
    saved_step: int = 0
    saved_at: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.state.kl_weight = self.setting.method.kl
        groups = (self.policy.learning.values(), self.policy.value.parameters())
        device = self.policy.model.device.type
        self.optimizer = build_optimizer(self.setting.optimizer, groups, device, weight_decay=0.0)

    @property
    def due(self) -> bool:
        """Whether it is time for a checkpoint."""
        steps = self.setting.checkpoint_steps
        if steps is not None:
            return self.state.step - self.saved_step >= steps
        return time.monotonic() - self.saved_at >= self.setting.checkpoint_s


def ppo_steps(run: Run) -> State:
    """Train the policy from the folder's last checkpoint to the end, or until SIGTERM, which saves.

    Raises:
        OutputRefused: the checkpoint belongs to another job, or was changed.
        ConfigError: E_REWARD or E_DIVERGED: a reward or a gradient is no number.
    """
    kept, steps = _resume(run), run.setting.method.steps
    with ExitStack() as stack:
        told = stack.enter_context(stop_on_signal())
        log = stack.enter_context(MetricsLog(run.folder, kept)) if run.team.leads else None
        progress = stack.enter_context(Progress(steps, run.state.step, run.setting.cost))
        while run.state.step < steps and not run.team.any(told()):
            entry = _step(run)
            shown = f"reward {entry['reward']['total']:.3f}, KL {entry['kl']['answer']:.2f}"
            progress.advance(entry["tokens"], shown)
            if log is not None:
                log.write({**entry, "tokens_s": round(progress.tokens_s), "left_s": round(progress.left_s)})
                if run.due:
                    _checkpoint(run, log.size)
        if log is not None and run.saved_step < run.state.step < steps:
            _checkpoint(run, log.size)
    return run.state


def _step(run: Run) -> dict[str, Any]:
    """One round; its figures."""
    method, state = run.setting.method, run.state
    rollouts = roll_out(run.policy, run.prompts, run.reward, method, run.team, run.setting.seed, state.step)
    batch = batch_of(rollouts, method, state.kl_weight)
    learnt = _learn(run, batch)
    kl = float(kl_k1(batch.logprobs, batch.reference).sum()) / len(rollouts)
    state.step += 1
    state.tokens += sum(batch.lengths)
    state.last = {**_figures(batch, kl, state.kl_weight), **learnt}
    if method.kl_target is not None:
        state.kl_weight = adapted(state.kl_weight, kl, method.kl_target)
    return {"step": state.step, "of": method.steps, **state.last}


def _figures(batch: Batch, kl: float, kl_weight: float) -> dict[str, Any]:
    """What is known of a step before anything is learnt from it; `kl` is in nats an answer."""
    worth = [rollout.worth for rollout in batch.rollouts]
    terms = {name: float(np.mean([one[name] for one in worth])) for name in worth[0]}
    total = float(batch.scores.mean())
    k3 = float(kl_k3(batch.logprobs, batch.reference).mean())
    return {
        "reward": {"total": total, "less_kl": total - kl_weight * kl, **terms},
        "kl": {"answer": kl, "token_k3": k3, "weight": kl_weight},
        "explained_variance": explained_variance(batch.values, batch.returns),
        "answer_tokens": float(np.mean(batch.lengths)),
        "tokens": sum(batch.lengths),
    }


def _learn(run: Run, batch: Batch) -> dict[str, float]:
    """All passes over a step's answers; means over the tokens that were learnt from."""
    method = run.setting.method
    peaks = (method.learning_rate, method.value_learning_rate)
    set_learning_rates(run.optimizer, peaks, 1 - run.state.step / method.steps)
    sums: dict[str, float] = {}
    for places in minibatches(len(batch.rollouts), method, run.setting.seed, run.state.step):
        tokens = sum(batch.lengths[place] for place in places)
        mine, loss = run.team.share(places), 0.0
        at_once = math.ceil(method.minibatch / method.accumulate)
        for start in range(0, len(mine), at_once):
            found = _pass(run, batch, mine[start : start + at_once], tokens)
            loss += found["policy_loss"] + found["value_loss"]
            for name, value in found.items():
                sums[name] = sums.get(name, 0.0) + value
        _update(run, loss)
    everybodys = run.team.gathered([sums])
    learnt = method.epochs * sum(batch.lengths)
    names = sorted({name for theirs in everybodys for name in theirs})
    return {name: sum(theirs.get(name, 0.0) for theirs in everybodys) / learnt for name in names}


def minibatches(n_answers: int, method: Method, seed: int, step: int) -> Iterator[list[int]]:
    """Places of answers to learn from together. Each pass shuffles prompts; answers to the same one stay side
    by side, where they share its computation."""
    for epoch in range(method.epochs):
        order = np.random.default_rng([seed, step, epoch]).permutation(n_answers // method.answers)
        places = [int(group) * method.answers + one for group in order for one in range(method.answers)]
        for start in range(0, n_answers, method.minibatch):
            yield places[start : start + method.minibatch]


def _pass(run: Run, batch: Batch, places: Sequence[int], n_tokens: int) -> dict[str, float]:
    """The gradient of these answers' losses over `n_tokens`, the tokens of the whole minibatch; sums over
    tokens of what is logged."""
    method, device = run.setting.method, run.policy.model.device
    rollouts = [batch.rollouts[place] for place in places]
    tokens = _tokens_of(batch.lengths, places)
    old, expected, advantages, returns = (
        part[tokens].to(device) for part in (batch.logprobs, batch.values, batch.advantages, batch.returns)
    )
    now = run.policy.opinion(
        [run.prompts[rollout.place] for rollout in rollouts],
        [rollout.ids for rollout in rollouts],
        method.value_reach,
    )
    losses, clipped = policy_loss(now.logprobs, old, advantages, method.clip)
    errors = value_loss(now.values, expected, returns, method.value_clip)
    loss = (losses.sum() + method.value_weight * errors.sum()) / n_tokens
    loss.backward()  # type: ignore[no-untyped-call]
    logged = {"policy_loss": losses, "value_loss": errors, "entropy": now.entropies, "clip_share": clipped}
    return {name: float(part.detach().float().sum()) for name, part in logged.items()}


def _update(run: Run, loss: float) -> None:
    """One step of the optimizer; `loss` is that of this process. The head's gradient is clipped apart: its
    first errors are large and would silence the policy's.

    Raises:
        ConfigError: E_DIVERGED.
    """
    for group in run.optimizer.param_groups:
        run.team.all_reduce_gradients(group["params"])
        norm = torch.nn.utils.clip_grad_norm_(group["params"], MAX_NORM)
        validate_loss(run.state.step + 1, loss, float(norm))
    run.optimizer.step()
    run.optimizer.zero_grad(set_to_none=True)


def _tokens_of(lengths: Sequence[int], places: Sequence[int]) -> torch.Tensor:
    """Where the tokens of these answers stand among those of all."""
    ends = np.cumsum(lengths)
    return torch.cat([torch.arange(ends[place] - lengths[place], ends[place]) for place in places])


def _checkpoint(run: Run, log_bytes: int) -> None:
    """Write what the run needs to go on, seal it, and let older ones go."""
    folder, optimizer = run.folder / f"checkpoint-{run.state.step}", run.optimizer.state_dict()
    validate_finite(optimizer, folder)
    make_folder(folder, new=True)
    save_weights(run.policy.state(), folder / WEIGHTS)
    torch.save(optimizer, folder / OPTIMIZER)
    (folder / STATE).write_text(json.dumps(asdict(run.state)))
    checkpoint.seal(folder, run.setting.job, log_bytes)
    checkpoint.remove_except(run.folder, folder)
    run.saved_step, run.saved_at = run.state.step, time.monotonic()


def _resume(run: Run) -> int:
    """Take up the newest checkpoint, if there is one; bytes of the log that stay."""
    first = [checkpoint.find_latest(run.folder, run.setting.job)] if run.team.leads else []
    found = run.team.gathered(first)[0]
    if found is None:
        return 0
    folder, log_bytes = found
    run.policy.load_state(load_file(folder / WEIGHTS))
    run.optimizer.load_state_dict(torch.load(folder / OPTIMIZER, weights_only=True, map_location="cpu"))
    run.state = State(**json.loads((folder / STATE).read_text()))
    run.saved_step = run.state.step
    return log_bytes
