"""The formulas of PPO as functions of plain tensors; no model, no text.

Tensors of shape (tokens,) hold the concatenated tokens of all answers; `lengths` has the number of tokens of
each.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch


def kl_k1(logprobs: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """Estimates KL(policy || reference) of each token in nats: unbiased over samples of the policy, of either
    sign.

    Source: Schulman 2020, Approximating KL divergence, k1.
    """
    return logprobs - reference


def kl_k3(logprobs: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """Estimates as `kl_k1`, but never below 0 and with less variance.

    Source: Schulman 2020, Approximating KL divergence, k3.
    """
    return torch.expm1(reference - logprobs) - (reference - logprobs)


def token_rewards(scores: torch.Tensor, penalties: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
    """Returns each token's reward: minus its penalty, plus the score, shape (answers,), at an answer's last
    token.

    Source: Ziegler et al. 2019, equation 2.
    """
    rewards = -penalties
    last = torch.tensor(lengths).cumsum(0) - 1
    rewards[last] += scores
    return rewards


def gae(
    rewards: torch.Tensor, values: torch.Tensor, lengths: Sequence[int], gamma: float, lam: float
) -> torch.Tensor:
    """Returns each token's advantage, in fp32; the value after an answer's end is 0. Advantages plus values
    are the returns.

    Source: Schulman et al. 2016, High-dimensional continuous control, equations 11 and 16.
    """
    token_reward, value = rewards.tolist(), values.tolist()
    advantages = [0.0] * len(value)
    end = len(value)
    for length in reversed(lengths):
        advantage = next_value = 0.0
        for token in range(end - 1, end - length - 1, -1):
            delta = token_reward[token] + gamma * next_value - value[token]
            advantage = delta + gamma * lam * advantage
            advantages[token], next_value = advantage, value[token]
        end -= length
    return torch.tensor(advantages)


def whiten(values: torch.Tensor) -> torch.Tensor:
    """Scales to mean 0 and variance 1; equal values become 0.

    Source: Huang et al. 2024, The N+ implementation details of RLHF with PPO.
    """
    return (values - values.mean()) / (values.var(correction=0) + 1e-8).sqrt()


def policy_loss(
    logprobs: torch.Tensor, old: torch.Tensor, advantages: torch.Tensor, clip: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns each token's loss, and whether its ratio is clipped (it has no gradient then).

    Source: Schulman et al. 2017, Proximal policy optimization, equation 7.
    """
    ratio = (logprobs - old).exp()
    unclipped, clipped = -advantages * ratio, -advantages * ratio.clamp(1 - clip, 1 + clip)
    return torch.maximum(unclipped, clipped), clipped > unclipped


def value_loss(values: torch.Tensor, old: torch.Tensor, returns: torch.Tensor, clip: float) -> torch.Tensor:
    """Returns half of each token's squared error, or of that with the value clipped to within `clip` of the
    old one, whichever is larger.

    Source: Huang et al. 2024, The N+ implementation details of RLHF with PPO.
    """
    clipped = old + (values - old).clamp(-clip, clip)
    return 0.5 * torch.maximum((values - returns) ** 2, (clipped - returns) ** 2)


def explained_variance(values: torch.Tensor, returns: torch.Tensor) -> float:
    """Returns 1 if the values predict the returns exactly, 0 if no better than their mean or all returns are
    equal."""
    variance = float(returns.var(correction=0))
    return 1 - float((returns - values).var(correction=0)) / variance if variance > 0 else 0.0
