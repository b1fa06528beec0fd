"""The policy of PPO: a language model, a frozen reference of it, and a value head.

The reference is the model as the stage loaded it. It is kept as a copy of the trainable weights alone (of a
loaded adapter, a new one, or all weights), which is swapped with the current ones where the reference is
used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from dialint.detector.engines.quote_constraint import AllowedTokens
from dialint.finetune.rl.logprobs import compute_logprobs
from dialint.finetune.train.distributed import unwrap
from dialint.finetune.train.memory import enable_gradient_checkpointing

Decode = Callable[[Sequence[int]], str]


@dataclass(frozen=True)
class Prompt:
    """Token ids of a question; `about`, whatever the reward function needs to know about it; and which tokens
    an answer may have."""

    ids: tuple[int, ...]
    about: Any = None
    allowed: AllowedTokens | None = None


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
            rules = [prompt.allowed for prompt in prompts]
            tokens = compute_logprobs(self.model, [prompt.ids for prompt in prompts], answers, rules)
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
