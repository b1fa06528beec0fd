"""The policy model of PPO and its rollouts: answers that it samples, their rewards, advantages and returns.

The policy model is a language model with a frozen reference of it and a value head. The reference is the
initial model, stored as a copy of the trainable weights alone, which is swapped with the current ones where
the reference is used.

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
from dialint.finetune.rl.answers import compute_logprobs, sample
from dialint.finetune.rl.ppo_math import gae, kl_k1, token_rewards, whiten
from dialint.finetune.train.adapters import unwrap
from dialint.finetune.train.memory import enable_gradient_checkpointing
from dialint.finetune.train.options import PpoOptions

Decode = Callable[[Sequence[int]], str]
VALUE_REACH = 0.1
"""Share of the value loss's gradient that reaches the policy's own weights."""
GAMMA, LAMBDA = 1.0, 0.95
"""Discount factor per token, and lambda of the generalized advantage estimate."""


@dataclass(frozen=True)
class TokenScores:
    """A policy's scores of the concatenated tokens of answers, each of shape (tokens,): log-probability and
    entropy in nats, and the predicted return."""

    logprobs: torch.Tensor
    entropies: torch.Tensor
    values: torch.Tensor


class PolicyModel:
    """A causal language model with or without adapters, its reference and its value head. `decode` turns the
    token ids of an answer into text, `stop_ids` end an answer. With `bf16` it computes under autocast."""

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

    def score(self, prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]) -> TokenScores:
        """Scores the answers' tokens; the share `VALUE_REACH` of the values' gradient reaches the model."""
        with self.autocast():
            tokens = compute_logprobs(self.model, prompts, answers)
        states = tokens.states.float()
        states = VALUE_REACH * states + (1 - VALUE_REACH) * states.detach()
        return TokenScores(tokens.logprobs, tokens.entropies, self.value_head(states)[:, 0])

    @torch.no_grad()
    def score_all(
        self, prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]], batch_size: int
    ) -> TokenScores:
        """Scores without gradients, `batch_size` answers at a time; the result is on the CPU."""
        parts = [
            self.score(prompts[start : start + batch_size], answers[start : start + batch_size])
            for start in range(0, len(answers), batch_size)
        ]
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return TokenScores(*(torch.cat(column).cpu() for column in columns))

    def autocast(self) -> torch.autocast:
        """Returns the autocast of the policy's precision, for one call each: it caches casts of weights while
        it is active, also when the reference has been swapped in."""
        return torch.autocast(self.model.device.type, torch.bfloat16, enabled=self.bf16)

    @contextmanager
    def as_reference(self) -> Iterator[None]:
        """Swaps in the weights of the reference; for use without gradients."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        for name, p in self.trainable.items():
            p.data, self._reference[name] = self._reference[name], p.data

    def parameters(self) -> dict[str, nn.Parameter]:
        """Returns all trainable weights by name, those of the value head as ``value.``."""
        head = {f"value.{name}": p for name, p in self.value_head.named_parameters()}
        return {**self.trainable, **head}


def _disable_dropout(model: Any) -> None:
    """Disables dropout: the same answer must have the same probability twice.

    Source: Huang et al. 2024, The N+ implementation details of RLHF with PPO.
    """
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        elif isinstance(getattr(module, "attention_dropout", None), float):
            module.attention_dropout = 0.0


RewardFn = Callable[[Sequence[int], Sequence[str]], Sequence[Mapping[str, float]]]
"""Takes indices of prompts and one answer to each; returns the terms of each answer's reward by name, the
same names for all. The reward is their sum."""


@dataclass(frozen=True)
class Batch:
    """The answers of a step, those of a prompt adjacent: the index of its prompt, its token ids, and the
    terms of its reward by name. Tensors are on the CPU, of the concatenated tokens of all answers, shape
    (tokens,), but `scores` (answers,): rewards without the KL penalty."""

    prompts: list[int]
    ids: list[tuple[int, ...]]
    terms: list[dict[str, float]]
    scores: torch.Tensor
    logprobs: torch.Tensor
    reference: torch.Tensor
    values: torch.Tensor
    advantages: torch.Tensor
    returns: torch.Tensor

    @property
    def lengths(self) -> list[int]:
        """The number of tokens of each answer."""
        return list(map(len, self.ids))


def select_prompts(n_prompts: int, per_step: int, seed: int, step: int) -> list[int]:
    """Returns the indices of a step's prompts: epoch after epoch over all of them, each shuffled."""
    indices = []
    for number in range(step * per_step, (step + 1) * per_step):
        order = np.random.default_rng([seed, number // n_prompts]).permutation(n_prompts)
        indices.append(int(order[number % n_prompts]))
    return indices


def roll_out(
    policy: PolicyModel,
    prompts: Sequence[Sequence[int]],
    reward: RewardFn,
    options: PpoOptions,
    seed: int,
    step: int,
) -> Batch:
    """Samples, rewards and scores answers to the prompts of a step, with advantages and returns.

    Raises:
        ConfigError: E_REWARD, a reward is not finite.
    """
    selected = select_prompts(len(prompts), options.questions, seed, step)
    with policy.autocast():
        sampled = sample(
            policy.model,
            [prompts[index] for index in selected],
            options.answers,
            max_new_tokens=options.answer_tokens,
            stop_ids=policy.stop_ids,
            seed=seed * 1_000_003 + step,
        )
    answers = [answer for of_prompt in sampled for answer in of_prompt]
    indices = [index for index in selected for _ in range(options.answers)]
    answered = [prompts[index] for index in indices]
    terms = _reward(policy, indices, answers, reward, options.unfinished)
    current = policy.score_all(answered, answers, options.minibatch)
    with policy.as_reference():
        reference = policy.score_all(answered, answers, options.minibatch).logprobs
    scores = torch.tensor([sum(own.values()) for own in terms])
    lengths = list(map(len, answers))
    penalties = options.kl * kl_k1(current.logprobs, reference)
    advantages = gae(token_rewards(scores, penalties, lengths), current.values, lengths, GAMMA, LAMBDA)
    return Batch(
        indices, answers, terms, scores, current.logprobs, reference, current.values, whiten(advantages),
        advantages + current.values,
    )  # fmt: skip


def _reward(
    policy: PolicyModel,
    indices: Sequence[int],
    answers: Sequence[tuple[int, ...]],
    reward: RewardFn,
    unfinished: float,
) -> list[dict[str, float]]:
    """Computes the terms of each answer's reward, with the penalty of those that did not end."""
    ended = [ids[-1] in policy.stop_ids for ids in answers]
    texts = [policy.decode(ids[:-1] if done else ids) for ids, done in zip(answers, ended, strict=True)]
    rewards = [dict(terms) for terms in reward(indices, texts)]
    for name in sorted({name for terms in rewards for name in terms}):
        if not all(math.isfinite(terms.get(name, math.nan)) for terms in rewards):
            raise ConfigError("E_REWARD", f"the reward's term {name} is no finite number for each answer")
    for terms, done in zip(rewards, ended, strict=True):
        terms["unfinished"] = 0.0 if done else -unfinished
    return rewards
