"""The options of PPO, shared by the command and the training loop."""

from __future__ import annotations

from dataclasses import dataclass

from cyclopts import Parameter

from dialint.detector.errors import ConfigError


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PpoOptions:
    """Hyperparameters of PPO; each of them changes the trained weights."""

    steps: int = 100
    """Rounds of drawing and learning."""
    questions: int = 16
    """Questions a round."""
    answers: int = 4
    """Answers drawn for each question."""
    answer_tokens: int = 128
    """Longest answer."""
    epochs: int = 2
    """Passes over a round's answers."""
    minibatch: int = 16
    """Answers in one step of the optimizer."""
    accumulate: int = 1
    """Forward passes that a minibatch is learnt in: less memory, the same step."""
    learning_rate: float = 1e-5
    """Rate of the policy, falling to 0 in a line."""
    value_learning_rate: float = 1e-3
    """Rate of the head that foretells rewards, falling alike."""
    value_weight: float = 0.1
    """Weight of the value loss beside the policy's."""
    value_reach: float = 0.1
    """Share of the value loss's gradient that goes on into the policy's own weights."""
    clip: float = 0.2
    """How far an answer token's probability may move in a round, as a share."""
    value_clip: float = 0.2
    """How far a foretold reward may move in a round."""
    gamma: float = 1.0
    """Discount of later rewards, a token."""
    lam: float = 0.95
    """Lambda of the advantage estimate."""
    kl: float = 0.05
    """Penalty for each nat between the policy and what it was; where it starts with --kl-target."""
    kl_target: float | None = None
    """Nats an answer that the penalty is steered to (Ziegler et al. 2019); none: it stays as it is."""
    unfinished: float = 1.0
    """What an answer loses that has not ended within --answer-tokens."""

    def validate(self) -> None:
        """Raise for a value out of its range.

        Raises:
            ConfigError: E_OPTION.
        """
        for name in ("steps", "questions", "answers", "answer_tokens", "epochs", "minibatch", "accumulate"):
            if getattr(self, name) < 1:
                raise ConfigError("E_OPTION", f"--{name.replace('_', '-')} must be at least 1")
        for name in ("learning_rate", "value_learning_rate", "clip", "value_clip"):
            if not getattr(self, name) > 0:
                raise ConfigError("E_OPTION", f"--{name.replace('_', '-')} must be above 0")
        for name in ("value_reach", "gamma", "lam"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError("E_OPTION", f"--{name.replace('_', '-')} must lie between 0 and 1")
        for name in ("kl", "value_weight", "unfinished"):
            if not getattr(self, name) >= 0:
                raise ConfigError("E_OPTION", f"--{name.replace('_', '-')} must not be negative")
        if self.kl_target is not None and not self.kl_target > 0:
            raise ConfigError("E_OPTION", "--kl-target must be above 0")
