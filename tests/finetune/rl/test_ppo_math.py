"""PPO's formulas against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dialint.finetune.rl.ppo_math import (
    explained_variance,
    gae,
    kl_k1,
    kl_k3,
    policy_loss,
    token_rewards,
    value_loss,
    whiten,
)

LOGS = st.lists(st.floats(-8, 0), min_size=1, max_size=5)


def test_kl_of_a_token_by_hand() -> None:
    policy, reference = torch.tensor([0.5, 0.25]).log(), torch.tensor([0.25, 0.5]).log()
    assert kl_k1(policy, reference).tolist() == pytest.approx([math.log(2), -math.log(2)])
    assert kl_k3(policy, reference).tolist() == pytest.approx([0.5 - 1 + math.log(2), 2 - 1 - math.log(2)])


@given(LOGS, LOGS)
def test_both_estimates_are_the_kl_on_average(one: list[float], other: list[float]) -> None:
    size = min(len(one), len(other))
    policy, reference = (torch.tensor(part[:size]).double().log_softmax(0) for part in (one, other))
    exact = float((policy.exp() * (policy - reference)).sum())
    for estimate in (kl_k1, kl_k3):
        assert float((policy.exp() * estimate(policy, reference)).sum()) == pytest.approx(exact, abs=1e-9)
    assert (kl_k3(policy, reference) >= 0).all()


def test_the_score_comes_with_the_last_token() -> None:
    rewards = token_rewards(torch.tensor([5.0, 7.0]), torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5]), [2, 3])
    assert rewards.tolist() == pytest.approx([-0.1, 4.8, -0.3, -0.4, 6.5])


def test_advantages_by_hand() -> None:
    """gamma 0.9, lambda 0.5. Second answer: d1 = 2 - 1 = 1, d0 = 1 + 0.9 x 1 - 0.5 = 1.4,
    A1 = 1, A0 = 1.4 + 0.45 x 1 = 1.85. The first answer has one token: A = 3 - 1 = 2."""
    advantages = gae(torch.tensor([3.0, 1.0, 2.0]), torch.tensor([1.0, 0.5, 1.0]), [1, 2], 0.9, 0.5)
    assert advantages.tolist() == pytest.approx([2.0, 1.85, 1.0])


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=6), st.floats(-2, 2))
def test_lambda_1_gives_all_that_comes_less_the_value_and_lambda_0_one_step(
    gained: list[float], value: float
) -> None:
    rewards, values = torch.tensor(gained), torch.full((len(gained),), value)
    whole = gae(rewards, values, [len(gained)], 1.0, 1.0)
    assert whole.tolist() == pytest.approx([sum(gained[i:]) - value for i in range(len(gained))], abs=1e-4)
    step = gae(rewards, values, [len(gained)], 1.0, 0.0)
    assert step[:-1].tolist() == pytest.approx(gained[:-1], abs=1e-4)
    assert float(step[-1]) == pytest.approx(gained[-1] - value, abs=1e-4)


def test_whitened_by_hand() -> None:
    assert whiten(torch.tensor([1.0, 3.0])).tolist() == pytest.approx([-1.0, 1.0])
    assert whiten(torch.full((4,), 7.0)).tolist() == [0.0] * 4


def test_the_policys_loss_by_hand() -> None:
    """Ratios 1.5, 1.5, 0.5, 0.5 with advantages 1, -1, 1, -1 and clip 0.2: held are the first, which has
    risen enough, and the last, which has fallen enough."""
    ratios = torch.tensor([1.5, 1.5, 0.5, 0.5])
    logprobs = ratios.log().requires_grad_()
    losses, held = policy_loss(logprobs, torch.zeros(4), torch.tensor([1.0, -1.0, 1.0, -1.0]), 0.2)
    assert losses.tolist() == pytest.approx([-1.2, 1.5, -0.5, 0.8])
    assert held.tolist() == [True, False, False, True]
    losses.sum().backward()
    assert logprobs.grad is not None
    assert logprobs.grad.tolist() == pytest.approx([0.0, 1.5, -0.5, 0.0])


def test_the_values_loss_by_hand() -> None:
    """Old values 0, returns 1, clip 0.2: 0.5 is held at 0.2, whose error is larger; -0.5 at -0.2, whose error
    is smaller; 0.1 is free."""
    losses = value_loss(torch.tensor([0.5, -0.5, 0.1]), torch.zeros(3), torch.ones(3), 0.2)
    assert losses.tolist() == pytest.approx([0.32, 1.125, 0.405])


def test_explained_variance_by_hand() -> None:
    returns = torch.tensor([1.0, 2.0, 3.0])
    assert explained_variance(returns + 5, returns) == pytest.approx(1.0)
    assert explained_variance(torch.zeros(3), returns) == pytest.approx(0.0)
    assert explained_variance(-returns, returns) == pytest.approx(-3.0)
    assert explained_variance(returns, torch.ones(3)) == 0.0
