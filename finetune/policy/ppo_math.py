"""The arithmetic of PPO, each formula a function of plain tensors. Knows no model and no text.

Tensors of shape (tokens,) hold the tokens of answers end to end; `lengths` says how many each answer has.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

ADAPTATION = 0.1
"""How fast the coefficient of the KL penalty follows its target, K_beta of Ziegler et al. 2019."""


def kl_k1(logprobs: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """Each token's estimate of KL(policy || reference) in nats: unbiased over draws of the policy, of either
    sign.

    Source: Schulman 2020, Approximating KL divergence, k1.
    """
    return logprobs - reference


def kl_k3(logprobs: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """As `kl_k1`, but never below 0 and of less variance.

    Source: Schulman 2020, Approximating KL divergence, k3.
    """
    return torch.expm1(reference - logprobs) - (reference - logprobs)


def token_rewards(scores: torch.Tensor, penalties: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
    """Each token's reward: minus its penalty, and at an answer's last token its score, shape (answers,), too.

    Source: Ziegler et al. 2019, equation 2.
    """
    rewards = -penalties
    last = torch.tensor(lengths).cumsum(0) - 1
    rewards[last] += scores
    return rewards


def gae(
    rewards: torch.Tensor, values: torch.Tensor, lengths: Sequence[int], gamma: float, lam: float
) -> torch.Tensor:
    """Each token's advantage, in fp32; the value after an answer's end is 0. Advantages plus values are the
    returns.

    Source: Schulman et al. 2016, High-dimensional continuous control, equations 11 and 16.
    """
    gained, expected = rewards.tolist(), values.tolist()
    advantages = [0.0] * len(gained)
    end = len(gained)
    for length in reversed(lengths):
        later = following = 0.0
        for token in range(end - 1, end - length - 1, -1):
            later = gained[token] + gamma * following - expected[token] + gamma * lam * later
            advantages[token], following = later, expected[token]
        end -= length
    return torch.tensor(advantages)


def whitened(values: torch.Tensor) -> torch.Tensor:
    """Mean 0 and variance 1; equal values become 0.

    Source: Huang et al. 2024, The N+ implementation details of RLHF with PPO.
    """
    return (values - values.mean()) / (values.var(correction=0) + 1e-8).sqrt()


def policy_loss(
    logprobs: torch.Tensor, old: torch.Tensor, advantages: torch.Tensor, clip: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Each token's loss, and whether the clip held its ratio back (no gradient then).

    Source: Schulman et al. 2017, Proximal policy optimization, equation 7.
    """
    ratio = (logprobs - old).exp()
    free, held = -advantages * ratio, -advantages * ratio.clamp(1 - clip, 1 + clip)
    return torch.maximum(free, held), held > free


def value_loss(values: torch.Tensor, old: torch.Tensor, returns: torch.Tensor, clip: float) -> torch.Tensor:
    """Half of each token's squared error, or of that with the value held within `clip` of the old one:
    the larger.

    Source: Huang et al. 2024, The N+ implementation details of RLHF with PPO.
    """
    held = old + (values - old).clamp(-clip, clip)
    return 0.5 * torch.maximum((values - returns) ** 2, (held - returns) ** 2)


def explained_variance(values: torch.Tensor, returns: torch.Tensor) -> float:
    """1: the values foretell the returns exactly; 0: no better than their mean; returns that are all equal
    count as 0."""
    spread = float(returns.var(correction=0))
    return 1 - float((returns - values).var(correction=0)) / spread if spread > 0 else 0.0


def adapted(coefficient: float, kl: float, target: float) -> float:
    """The KL penalty's next coefficient, after answers whose mean KL was `kl` nats.

    Source: Ziegler et al. 2019, section 2.2.
    """
    return coefficient * (1 + ADAPTATION * min(0.2, max(-0.2, kl / target - 1)))
