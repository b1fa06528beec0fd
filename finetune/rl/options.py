"""The options of PPO, shared by the command and the training loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.option_ranges import check_ranges


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PpoOptions:
    """Hyperparameters of PPO; each of them changes the trained weights."""

    steps: Annotated[int, Field(ge=1)] = 100
    """Rounds of sampling and training."""
    questions: Annotated[int, Field(ge=1)] = 16
    """Questions in a step."""
    answers: Annotated[int, Field(ge=1)] = 4
    """Answers sampled for each question."""
    answer_tokens: Annotated[int, Field(ge=1)] = 128
    """Maximum tokens of an answer."""
    epochs: Annotated[int, Field(ge=1)] = 2
    """Passes over the answers of a step."""
    minibatch: Annotated[int, Field(ge=1)] = 16
    """Answers in one step of the optimizer."""
    accumulate: Annotated[int, Field(ge=1)] = 1
    """Forward passes that a minibatch is split into: less memory, the same step."""
    learning_rate: Annotated[float, Field(gt=0)] = 1e-5
    """Learning rate of the policy, decaying linearly to 0."""
    value_learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    """Learning rate of the value head, decaying alike."""
    value_weight: Annotated[float, Field(ge=0)] = 0.1
    """Weight of the value loss beside the policy's."""
    value_reach: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Share of the value loss's gradient that reaches the policy's own weights."""
    clip: Annotated[float, Field(gt=0)] = 0.2
    """Range within which the probability ratio of a token may change in a step, as a share."""
    value_clip: Annotated[float, Field(gt=0)] = 0.2
    """Range within which a predicted value may change in a step."""
    gamma: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Discount factor per token."""
    lam: Annotated[float, Field(ge=0, le=1)] = 0.95
    """Lambda of the generalized advantage estimate."""
    kl: Annotated[float, Field(ge=0)] = 0.05
    """Penalty per nat of KL divergence from the initial policy; with --kl-target its initial value."""
    kl_target: Annotated[float | None, Field(gt=0)] = None
    """Nats per answer that the penalty is adapted to (Ziegler et al. 2019); none: it is constant."""
    unfinished: Annotated[float, Field(ge=0)] = 1.0
    """Penalty of an answer that does not end within --answer-tokens."""

    def __post_init__(self) -> None:
        check_ranges(self)
