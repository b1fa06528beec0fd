"""The policy model of PPO and its rollouts: answers that it samples, their rewards, advantages and returns.

The policy model is a language model with a frozen reference of it and a value head. The reference is the
model as the stage loaded it, kept as a copy of the trainable weights alone, which is swapped with the current
ones where the reference is used.

The prompts of a step and its samples follow from the seed and the step's number alone. No weights are trained
here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from dialint.detector.errors import ConfigError
from dialint.finetune.rl.logprobs import compute_logprobs
from dialint.finetune.rl.ppo_math import gae, kl_k1, token_rewards, whiten
from dialint.finetune.rl.sampling import sample
from dialint.finetune.train.distributed import unwrap
from dialint.finetune.train.memory import enable_gradient_checkpointing
from dialint.finetune.train.options import PpoOptions

Decode = Callable[[Sequence[int]], str]


@dataclass(frozen=True)
class Prompt:
    """Token ids of a question, and `about`, whatever the reward function needs to know about it."""

    ids: tuple[int, ...]
    about: Any = None


@dataclass(frozen=True)
class TokenScores:
    """A policy's scores of the tokens of answers, end to end, each of shape (tokens,): log-probability and
    entropy in nats, and the predicted return."""

    logprobs: torch.Tensor
    entropies: torch.Tensor
    values: torch.Tensor


class PolicyModel:
    """`model` is a causal language model with or without adapters, of which the trainable weights are
    trained. `decode` turns the token ids of an answer into text, `stop_ids` end an answer. With `bf16` it
    computes under autocast."""

    def __init__(
        self,
        model: Any,
        decode: Decode,
        stop_ids: Collection[int],
        checkpointing: bool = False,
        bf16: bool = False,
    ) -> None:
        self.model, self.decode, self.stop_ids = model, decode, frozenset(stop_ids)
        self.bf16 = bf16
        self.value_head = nn.Linear(unwrap(model).get_output_embeddings().weight.shape[1], 1)
        self.value_head.to(model.device)
        nn.init.zeros_(self.value_head.weight)
        nn.init.zeros_(self.value_head.bias)
        self.trainable = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self._reference = {name: p.detach().clone() for name, p in self.trainable.items()}
        _disable_dropout(model)
        if checkpointing:
            enable_gradient_checkpointing(model)
        model.train(checkpointing)  # transformers recomputes activations in training mode only

    def score(
        self, prompts: Sequence[Prompt], answers: Sequence[Sequence[int]], value_reach: float = 0.0
    ) -> TokenScores:
        """Scores of the answers' tokens; the share `value_reach` of the values' gradient reaches the
        model."""
        with self.autocast():
            tokens = compute_logprobs(self.model, [prompt.ids for prompt in prompts], answers)
        states = tokens.states.float()
        if value_reach == 0:
            states = states.detach()
        else:
            states = value_reach * states + (1 - value_reach) * states.detach()
        return TokenScores(tokens.logprobs, tokens.entropies, self.value_head(states)[:, 0])

    def autocast(self) -> torch.autocast:
        """The policy's precision. To be entered for one call and left: autocast caches casts of weights for
        as long as it lasts, also when the reference has been swapped in."""
        return torch.autocast(self.model.device.type, torch.bfloat16, enabled=self.bf16)

    @contextmanager
    def as_reference(self) -> Iterator[None]:
        """Swap in the weights of the reference; for use without gradients."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        for name, p in self.trainable.items():
            p.data, self._reference[name] = self._reference[name], p.data

    def parameters(self) -> dict[str, nn.Parameter]:
        """All trainable weights by name, those of the value head as ``value.``."""
        head = {f"value.{name}": p for name, p in self.value_head.named_parameters()}
        return {**self.trainable, **head}


def _disable_dropout(model: Any) -> None:
    """A policy is compared with itself: the same answer must have the same probability twice.

    Source: Huang et al. 2024, The N+ implementation details of RLHF with PPO.
    """
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        elif isinstance(getattr(module, "attention_dropout", None), float):
            module.attention_dropout = 0.0


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
    seed: int,
    step: int,
) -> list[Rollout]:
    """The rollouts of a step: answers to its prompts, sampled, rewarded and scored."""
    selected = select_prompts(len(prompts), options.questions, seed, step)
    with policy.autocast():
        sampled = sample(
            policy.model,
            [prompts[index].ids for index in selected],
            options.answers,
            max_new_tokens=options.answer_tokens,
            stop_ids=policy.stop_ids,
            seed=seed * 1_000_003 + step,
        )
    answers = [answer for of_prompt in sampled for answer in of_prompt]
    indices = [index for index in selected for _ in range(options.answers)]
    return _evaluate(policy, prompts, reward, options, indices, answers)


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


def make_batch(rollouts: list[Rollout], options: PpoOptions) -> Batch:
    """Advantages and returns of rollouts, with the KL penalty between policy and reference."""
    lengths = [len(rollout.ids) for rollout in rollouts]
    logprobs = torch.cat([rollout.logprobs for rollout in rollouts])
    reference = torch.cat([rollout.reference for rollout in rollouts])
    values = torch.cat([rollout.values for rollout in rollouts])
    scores = torch.tensor([sum(rollout.rewards.values()) for rollout in rollouts])
    rewards = token_rewards(scores, options.kl * kl_k1(logprobs, reference), lengths)
    advantages = gae(rewards, values, lengths, options.gamma, options.lam)
    return Batch(rollouts, scores, logprobs, reference, values, whiten(advantages), advantages + values)
