"""A policy that learns by reward: a language model, what it was before, a head that foretells rewards.

The reference is the model as the stage found it: a copy of the weights that learn, be they an old adapter's,
a new one's or all, that changes places with them where it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from dialint.detector.engines.verbatim import Allowed
from dialint.finetune.policy.logprobs import inner, score_tokens

Decode = Callable[[Sequence[int]], str]


@dataclass(frozen=True)
class Prompt:
    """A question's tokens, whatever rewards want to know `about` it, and which tokens an answer may hold."""

    ids: tuple[int, ...]
    about: Any = None
    allowed: Allowed | None = None


@dataclass(frozen=True)
class Opinion:
    """What a policy holds of given answers, their tokens end to end, each of shape (tokens,): log-probability
    and entropy in nats, and the reward it expects from there on."""

    logprobs: torch.Tensor
    entropies: torch.Tensor
    values: torch.Tensor


class Policy:
    """`model` is a causal language model with or without adapters; what is trainable of it learns. `decode`
    turns an answer's tokens into text, `stop_ids` end one. With `bf16` its arithmetic is autocast."""

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
        self.value = nn.Linear(inner(model).get_output_embeddings().weight.shape[1], 1).to(model.device)
        nn.init.zeros_(self.value.weight)
        nn.init.zeros_(self.value.bias)
        self.learning = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self._found = {name: p.detach().clone() for name, p in self.learning.items()}
        _without_dropout(model)
        if checkpointing:
            compute_twice(model)
        model.train(checkpointing)  # transformers computes activations twice in training mode only

    def opinion(
        self, prompts: Sequence[Prompt], answers: Sequence[Sequence[int]], reach: float = 0.0
    ) -> Opinion:
        """Scores of the answers' tokens; the share `reach` of the values' gradient goes on into the model."""
        with self.autocast():
            rules = [prompt.allowed for prompt in prompts]
            scores = score_tokens(self.model, [prompt.ids for prompt in prompts], answers, rules)
        states = scores.states.float()
        states = states.detach() if reach == 0 else reach * states + (1 - reach) * states.detach()
        return Opinion(scores.logprobs, scores.entropies, self.value(states)[:, 0])

    def autocast(self) -> torch.autocast:
        """The policy's precision. To be entered for one call and left: autocast remembers casts of weights as
        long as it lasts, also when the reference has taken their place."""
        return torch.autocast(self.model.device.type, torch.bfloat16, enabled=self.bf16)

    @contextmanager
    def as_found(self) -> Iterator[None]:
        """The reference takes the policy's place; for use without gradients."""
        self._change_places()
        try:
            yield
        finally:
            self._change_places()

    def _change_places(self) -> None:
        for name, p in self.learning.items():
            p.data, self._found[name] = self._found[name], p.data

    def state(self) -> dict[str, torch.Tensor]:
        """All weights that learn, on the CPU, by name."""
        named = {**self.learning, **{f"value.{name}": p for name, p in self.value.named_parameters()}}
        return {name: p.detach().cpu().contiguous() for name, p in named.items()}

    def load_state(self, state: dict[str, torch.Tensor]) -> None:
        """Take up what `state` gave."""
        with torch.no_grad():
            for name, p in self.learning.items():
                p.copy_(state[name])
            for name, p in self.value.named_parameters():
                p.copy_(state[f"value.{name}"])


def compute_twice(model: Any) -> None:
    """Activations of `model`, in training mode, are computed again rather than kept."""
    bare = inner(model)  # older versions of transformers know the second name only
    enable = getattr(bare, "activation_checkpointing_enable", bare.gradient_checkpointing_enable)
    enable({"use_reentrant": False})


def _without_dropout(model: Any) -> None:
    """A policy is compared with itself: the same answer must have the same probability twice.

    Source: Huang et al. 2024, The N+ implementation details of RLHF with PPO.
    """
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        elif isinstance(getattr(module, "attention_dropout", None), float):
            module.attention_dropout = 0.0
