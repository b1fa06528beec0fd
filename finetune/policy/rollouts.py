"""Answers as a policy drew them, and what they teach: rewards, advantages, returns.

Which prompts a step asks and what is drawn follow from seed and step alone, however many processes share the
work. Nothing here learns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from dialint.detector.errors import ConfigError
from dialint.finetune.policy.policy import Opinion, Policy, Prompt
from dialint.finetune.policy.ppo_math import gae, kl_k1, token_rewards, whitened
from dialint.finetune.policy.sampling import sample, seeds
from dialint.finetune.train.distributed import ProcessGroup

if TYPE_CHECKING:
    from dialint.finetune.judge.ppo import Method

Reward = Callable[[Sequence[Prompt], Sequence[str]], Sequence[Mapping[str, float]]]
"""What each answer is worth: the sum of its terms, each named. An answer and its prompt have the same place;
all answers have the same terms."""


@dataclass(frozen=True)
class Rollout:
    """An answer as it was drawn: its prompt's place, its tokens, what it is worth, and of each token, on
    the CPU with shape (tokens,), the log-probability under policy and reference and the expected reward."""

    place: int
    ids: tuple[int, ...]
    worth: dict[str, float]
    logprobs: torch.Tensor
    reference: torch.Tensor
    values: torch.Tensor


@dataclass(frozen=True)
class Batch:
    """A step's answers, those of a prompt side by side. Tensors of shape (tokens,), but `scores` (answers,):
    rewards without the KL penalty."""

    rollouts: list[Rollout]
    scores: torch.Tensor
    logprobs: torch.Tensor
    reference: torch.Tensor
    values: torch.Tensor
    advantages: torch.Tensor
    returns: torch.Tensor

    @property
    def lengths(self) -> list[int]:
        """Tokens of each answer."""
        return [len(rollout.ids) for rollout in self.rollouts]


def asked(n_prompts: int, per_step: int, seed: int, step: int) -> list[int]:
    """The places of a step's prompts: pass after pass over all of them, each pass in an order of its own."""
    places = []
    for number in range(step * per_step, (step + 1) * per_step):
        order = np.random.default_rng([seed, number // n_prompts]).permutation(n_prompts)
        places.append(int(order[number % n_prompts]))
    return places


def roll_out(
    policy: Policy,
    prompts: Sequence[Prompt],
    reward: Reward,
    method: Method,
    team: ProcessGroup,
    seed: int,
    step: int,
) -> list[Rollout]:
    """A step's answers: this process draws, rewards and scores those of its share of the prompts, and gets
    everybody's."""
    places = asked(len(prompts), method.questions, seed, step)
    generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
    seeds(team.start(len(places)), method.answers, method.answer_tokens, generator)  # of the ranks before
    mine = team.share(places)
    with policy.autocast():
        groups = sample(
            policy.model,
            [prompts[place].ids for place in mine],
            method.answers,
            max_new_tokens=method.answer_tokens,
            temperature=1.0,
            stop_ids=policy.stop_ids,
            generator=generator,
            allowed=[prompts[place].allowed for place in mine],
        )
    answers = [answer.ids for group in groups for answer in group]
    of = [place for place in mine for _ in range(method.answers)]
    made = _judged(policy, prompts, reward, method, of, answers) if answers else []
    return team.gathered(made)


def _judged(
    policy: Policy,
    prompts: Sequence[Prompt],
    reward: Reward,
    method: Method,
    of: Sequence[int],
    answers: Sequence[tuple[int, ...]],
) -> list[Rollout]:
    """Answers to the prompts at the places `of` with their rewards and scores."""
    to = [prompts[place] for place in of]
    worth = _worth(policy, to, answers, reward, method.unfinished)
    now = _opinion(policy, to, answers, method.minibatch)
    with policy.as_found():
        before = _opinion(policy, to, answers, method.minibatch)
    lengths = [len(answer) for answer in answers]
    parts = (now.logprobs, before.logprobs, now.values)
    by_answer = zip(*(torch.split(part.cpu(), lengths) for part in parts), strict=True)
    return [
        Rollout(place, ids, gained, *(part.clone() for part in scored))
        for place, ids, gained, scored in zip(of, answers, worth, by_answer, strict=True)
    ]


def _worth(
    policy: Policy,
    to: Sequence[Prompt],
    answers: Sequence[tuple[int, ...]],
    reward: Reward,
    unfinished: float,
) -> list[dict[str, float]]:
    """The terms of each answer's reward, with what it costs not to have ended.

    Raises:
        ConfigError: E_REWARD, one is no number.
    """
    ended = [ids[-1] in policy.stop_ids for ids in answers]
    texts = [policy.decode(ids[:-1] if done else ids) for ids, done in zip(answers, ended, strict=True)]
    terms = [dict(one) for one in reward(to, texts)]
    for name in sorted({name for one in terms for name in one}):
        if not all(math.isfinite(one.get(name, math.nan)) for one in terms):
            raise ConfigError("E_REWARD", f"the reward's term {name} is no finite number for each answer")
    return [
        {**one, "unfinished": 0.0 if done else -unfinished} for one, done in zip(terms, ended, strict=True)
    ]


@torch.no_grad()
def _opinion(
    policy: Policy, to: Sequence[Prompt], answers: Sequence[tuple[int, ...]], at_once: int
) -> Opinion:
    """The policy's opinion of all answers, `at_once` of them at a time."""
    parts = [
        policy.opinion(to[start : start + at_once], answers[start : start + at_once])
        for start in range(0, len(answers), at_once)
    ]
    return Opinion(
        *(torch.cat(columns) for columns in zip(*(vars(part).values() for part in parts), strict=True))
    )


def batch_of(rollouts: list[Rollout], method: Method, kl_weight: float) -> Batch:
    """What the answers teach, with a penalty of `kl_weight` for each nat between policy and reference."""
    lengths = [len(rollout.ids) for rollout in rollouts]
    logprobs = torch.cat([rollout.logprobs for rollout in rollouts])
    reference = torch.cat([rollout.reference for rollout in rollouts])
    values = torch.cat([rollout.values for rollout in rollouts])
    scores = torch.tensor([sum(rollout.worth.values()) for rollout in rollouts])
    gained = token_rewards(scores, kl_weight * kl_k1(logprobs, reference), lengths)
    advantages = gae(gained, values, lengths, method.gamma, method.lam)
    return Batch(rollouts, scores, logprobs, reference, values, whitened(advantages), advantages + values)
