"""Rollouts of PPO: answers that the policy samples, their rewards, advantages and returns.

The prompts of a step and its samples follow from the seed and the step's number alone, however many processes
share the work. No weights change here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from dialint.detector.errors import ConfigError
from dialint.finetune.rl.options import PpoOptions
from dialint.finetune.rl.policy_model import PolicyModel, Prompt, TokenScores
from dialint.finetune.rl.ppo_math import gae, kl_k1, token_rewards, whiten
from dialint.finetune.rl.sampling import draw_seeds, sample
from dialint.finetune.train.distributed import ProcessGroup

RewardFn = Callable[[Sequence[Prompt], Sequence[str]], Sequence[Mapping[str, float]]]
"""Takes prompts and one answer to each; returns the terms of each answer's reward by name, the same names for
all. The reward is their sum."""


@dataclass(frozen=True)
class Rollout:
    """A sampled answer: its prompt's index, its token ids, the terms of its reward, and of each token, on the
    CPU with shape (tokens,), the log-probability under policy and reference and the predicted return."""

    prompt: int
    ids: tuple[int, ...]
    rewards: dict[str, float]
    logprobs: torch.Tensor
    reference: torch.Tensor
    values: torch.Tensor


@dataclass(frozen=True)
class Batch:
    """The rollouts of a step, those of a prompt side by side. Tensors have shape (tokens,), but `scores`
    (answers,): rewards without the KL penalty."""

    rollouts: list[Rollout]
    scores: torch.Tensor
    logprobs: torch.Tensor
    reference: torch.Tensor
    values: torch.Tensor
    advantages: torch.Tensor
    returns: torch.Tensor

    @property
    def lengths(self) -> list[int]:
        """Number of tokens of each answer."""
        return [len(rollout.ids) for rollout in self.rollouts]


def select_prompts(n_prompts: int, per_step: int, seed: int, step: int) -> list[int]:
    """The indices of a step's prompts: epoch after epoch over all of them, each shuffled."""
    indices = []
    for number in range(step * per_step, (step + 1) * per_step):
        order = np.random.default_rng([seed, number // n_prompts]).permutation(n_prompts)
        indices.append(int(order[number % n_prompts]))
    return indices


def roll_out(
    policy: PolicyModel,
    prompts: Sequence[Prompt],
    reward: RewardFn,
    options: PpoOptions,
    group: ProcessGroup,
    seed: int,
    step: int,
) -> list[Rollout]:
    """The rollouts of a step: this process samples, rewards and scores answers to its share of the prompts,
    and gets those of all processes."""
    selected = select_prompts(len(prompts), options.questions, seed, step)
    generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
    # those of the lower ranks
    draw_seeds(group.start(len(selected)), options.answers, options.answer_tokens, generator)
    own = group.share(selected)
    with policy.autocast():
        sampled = sample(
            policy.model,
            [prompts[index].ids for index in own],
            options.answers,
            max_new_tokens=options.answer_tokens,
            temperature=1.0,
            stop_ids=policy.stop_ids,
            generator=generator,
            allowed=[prompts[index].allowed for index in own],
        )
    answers = [answer.ids for of_prompt in sampled for answer in of_prompt]
    indices = [index for index in own for _ in range(options.answers)]
    rollouts = _evaluate(policy, prompts, reward, options, indices, answers) if answers else []
    return group.all_gather(rollouts)


def _evaluate(
    policy: PolicyModel,
    prompts: Sequence[Prompt],
    reward: RewardFn,
    options: PpoOptions,
    indices: Sequence[int],
    answers: Sequence[tuple[int, ...]],
) -> list[Rollout]:
    """Rollouts of answers to the prompts at `indices`, with rewards and scores.

    Raises:
        ConfigError: E_REWARD, a reward is not finite.
    """
    answered = [prompts[index] for index in indices]
    ended = [ids[-1] in policy.stop_ids for ids in answers]
    texts = [policy.decode(ids[:-1] if done else ids) for ids, done in zip(answers, ended, strict=True)]
    rewards = [dict(terms) for terms in reward(answered, texts)]
    for name in sorted({name for terms in rewards for name in terms}):
        if not all(math.isfinite(terms.get(name, math.nan)) for terms in rewards):
            raise ConfigError("E_REWARD", f"the reward's term {name} is no finite number for each answer")
    for terms, done in zip(rewards, ended, strict=True):
        terms["unfinished"] = 0.0 if done else -options.unfinished
    current = _score(policy, answered, answers, options.minibatch)
    with policy.as_reference():
        reference = _score(policy, answered, answers, options.minibatch)
    lengths = [len(answer) for answer in answers]
    parts = (current.logprobs, reference.logprobs, current.values)
    by_answer = zip(*(torch.split(part.cpu(), lengths) for part in parts), strict=True)
    return [
        Rollout(index, ids, terms, *(part.clone() for part in scores))
        for index, ids, terms, scores in zip(indices, answers, rewards, by_answer, strict=True)
    ]


@torch.no_grad()
def _score(
    policy: PolicyModel, prompts: Sequence[Prompt], answers: Sequence[tuple[int, ...]], batch_size: int
) -> TokenScores:
    """The policy's scores of all answers, `batch_size` of them at a time."""
    parts = [
        policy.score(prompts[start : start + batch_size], answers[start : start + batch_size])
        for start in range(0, len(answers), batch_size)
    ]
    return TokenScores(
        *(torch.cat(columns) for columns in zip(*(vars(part).values() for part in parts), strict=True))
    )


def make_batch(rollouts: list[Rollout], options: PpoOptions, kl_weight: float) -> Batch:
    """Advantages and returns of rollouts, with a penalty of `kl_weight` per nat between policy and
    reference."""
    lengths = [len(rollout.ids) for rollout in rollouts]
    logprobs = torch.cat([rollout.logprobs for rollout in rollouts])
    reference = torch.cat([rollout.reference for rollout in rollouts])
    values = torch.cat([rollout.values for rollout in rollouts])
    scores = torch.tensor([sum(rollout.rewards.values()) for rollout in rollouts])
    rewards = token_rewards(scores, kl_weight * kl_k1(logprobs, reference), lengths)
    advantages = gae(rewards, values, lengths, options.gamma, options.lam)
    return Batch(rollouts, scores, logprobs, reference, values, whiten(advantages), advantages + values)
