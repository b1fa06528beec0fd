"""Answers drawn from a decoder: a prompt is computed once for all of them, draws follow a generator alone.

All chance is drawn before the first token, a seed for every place an answer may have, prompt after prompt. So
an answer depends on its own prompt and seeds, not on what shares its batch or on how long that grows. A seed
gives every token of the vocabulary a Gumbel noise, and the highest sum wins: rounding, which a batch changes,
decides next to nothing. Along cumulated probabilities any of thousands of borders may move past a draw: 81 of
3,000 changed with logits of 8,192 tokens that drifted by up to 2e-5, none this way (2026-11-22).
Knows token ids only; how given answers are scored stands in `dialint.finetune.policy.logprobs`. Runs
under the caller's autocast and computes probabilities in fp32 or more.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from dialint.detector.engines import packed
from dialint.detector.engines.verbatim import Allowed
from dialint.finetune.policy.logprobs import barred_of, inner

_GOLDEN = 0x9E3779B97F4A7C15 - 2**64
_MIX = ((30, 0xBF58476D1CE4E5B9 - 2**64), (27, 0x94D049BB133111EB - 2**64))
"""Constants of splitmix64 as int64, whose products wrap."""
ROWS = 64
"""Answers that grow together."""


@dataclass(frozen=True)
class Sampled:
    """An answer's tokens, with the stop token if it came, and the log-probability in nats that the model
    gives each: at temperature 1, whatever that of the draw."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]


@dataclass
class _Growing:
    """A batch of answers on their way; all fields but `cache` have a row for each answer not yet ended.

    `numbers` says which answer a row is, `mask` (rows, tokens so far) which tokens are no padding, `logits`
    (rows, vocabulary) what comes next, `seeds` (rows, max_new_tokens) its chance.
    """

    cache: Any
    numbers: torch.Tensor
    mask: torch.Tensor
    logits: torch.Tensor
    seeds: torch.Tensor

    def select(self, rows: torch.Tensor) -> None:
        """Go on with these rows only."""
        self.cache.batch_select_indices(rows)
        self.numbers, self.mask = self.numbers[rows], self.mask[rows]
        self.logits, self.seeds = self.logits[rows], self.seeds[rows]


def seeds(n_prompts: int, n: int, max_new_tokens: int, generator: torch.Generator) -> torch.Tensor:
    """The chance that `sample` takes from a generator on the CPU: int64 of shape (prompts, n, tokens)."""
    return torch.randint(-(2**63), 2**63 - 1, (n_prompts, n, max_new_tokens), generator=generator)


@torch.no_grad()
def sample(
    model: Any,
    prompts: Sequence[Sequence[int]],
    n: int,
    *,
    max_new_tokens: int,
    temperature: float,
    stop_ids: Collection[int],
    generator: torch.Generator,
    allowed: Sequence[Allowed | None] | None = None,
) -> list[list[Sampled]]:
    """`n` answers for each prompt of at least one token, in order; temperature 0 takes the likeliest token.

    `allowed` says of each prompt which tokens its answers may hold; all others have no probability. `model`
    is a causal language model of transformers, with or without adapters. It comes back as it was.
    """
    held = allowed or [None] * len(prompts)
    chance = seeds(len(prompts), n, max_new_tokens, generator)
    answers: list[list[Sampled]] = [[] for _ in prompts]
    order = sorted(range(len(prompts)), key=lambda place: len(prompts[place]))
    at_once = max(1, ROWS // n)
    with _answering(model):
        for start in range(0, len(order), at_once):
            places = order[start : start + at_once]
            batch = _begin(model, [prompts[place] for place in places], chance[places])
            rules = [held[place] for place in places for _ in range(n)]
            made = _grow(model, batch, temperature, frozenset(stop_ids), rules)
            for row, place in enumerate(places):
                answers[place] = made[row * n : (row + 1) * n]
    return answers


def _begin(model: Any, prompts: Sequence[Sequence[int]], chance: torch.Tensor) -> _Growing:
    """The prompts' pass, padded on the left, its memory then repeated for each answer of `chance`."""
    longest, n = max(map(len, prompts)), chance.shape[1]
    lacking = [longest - len(prompt) for prompt in prompts]
    rows = [[0] * lack + list(prompt) for lack, prompt in zip(lacking, prompts, strict=True)]
    ids = torch.tensor(rows, device=model.device)
    mask = torch.tensor([[0] * lack + [1] * (longest - lack) for lack in lacking], device=model.device)
    output = model(
        input_ids=ids, attention_mask=mask, position_ids=_positions(mask), use_cache=True, logits_to_keep=1
    )
    output.past_key_values.batch_repeat_interleave(n)
    return _Growing(
        output.past_key_values,
        torch.arange(len(prompts) * n, device=model.device),
        mask.repeat_interleave(n, 0),
        output.logits[:, -1].repeat_interleave(n, 0),
        chance.flatten(0, 1).to(model.device),
    )


def _grow(
    model: Any,
    batch: _Growing,
    temperature: float,
    stop_ids: frozenset[int],
    rules: Sequence[Allowed | None],
) -> list[Sampled]:
    """Token after token until every answer has ended; those that have leave the batch."""
    ids: list[list[int]] = [[] for _ in range(len(batch.numbers))]
    logprobs: list[list[float]] = [[] for _ in ids]
    for place in range(batch.seeds.shape[1]):
        numbers = batch.numbers.tolist()
        barred = barred_of([(rules[number], ids[number]) for number in numbers], batch.logits)
        known = torch.log_softmax(batch.logits.float().masked_fill(barred, -math.inf), -1)
        tokens = _drawn(known, temperature, batch.seeds[:, place])
        said = known.gather(1, tokens[:, None])[:, 0].tolist()
        told = tokens.tolist()
        for number, token, logprob in zip(numbers, told, said, strict=True):
            ids[number].append(token)
            logprobs[number].append(logprob)
        going = [row for row, token in enumerate(told) if token not in stop_ids]
        if not going or place + 1 == batch.seeds.shape[1]:
            break
        if len(going) < len(told):
            rows = torch.tensor(going, device=tokens.device)
            batch.select(rows)
            tokens = tokens[rows]
        _next(model, batch, tokens)
    return [Sampled(tuple(one), tuple(other)) for one, other in zip(ids, logprobs, strict=True)]


def _next(model: Any, batch: _Growing, tokens: torch.Tensor) -> None:
    """One more token for every row."""
    batch.mask = torch.cat((batch.mask, batch.mask.new_ones(len(tokens), 1)), 1)
    output = model(
        input_ids=tokens[:, None],
        attention_mask=batch.mask,
        position_ids=_positions(batch.mask)[:, -1:],
        past_key_values=batch.cache,
        use_cache=True,
    )
    batch.logits = output.logits[:, -1]


def _drawn(logprobs: torch.Tensor, temperature: float, seeds: torch.Tensor) -> torch.Tensor:
    """A token a row, with the probability that softmax gives it (Gumbel 1954)."""
    if temperature == 0:
        return logprobs.argmax(-1)
    noise = -(-_uniform(seeds, logprobs.shape[1]).log()).log()
    drawn: torch.Tensor = (logprobs.double() / temperature + noise).argmax(-1)
    return drawn


def _uniform(seeds: torch.Tensor, n: int) -> torch.Tensor:
    """The first `n` numbers of each seed's stream, shape (seeds, n), between 0 and 1 and neither.

    Source: Steele et al. 2014, Fast splittable pseudorandom number generators (splitmix64).
    """
    mixed = seeds[:, None] + _GOLDEN * torch.arange(1, n + 1, device=seeds.device)
    for shift, factor in _MIX:
        mixed = (mixed ^ _shifted(mixed, shift)) * factor
    mixed = mixed ^ _shifted(mixed, 31)
    return (_shifted(mixed, 12).double() + 0.5) * 0.5**52


def _shifted(bits: torch.Tensor, places: int) -> torch.Tensor:
    """To the right, zeros coming in."""
    return (bits >> places) & ((1 << (64 - places)) - 1)


def _positions(mask: torch.Tensor) -> torch.Tensor:
    return (mask.cumsum(-1) - 1).clamp(min=0)


@contextmanager
def _answering(model: Any) -> Iterator[None]:
    """Without dropout, and with an attention that knows padding and memory; then as it was."""
    bare = inner(model)
    training, attention = model.training, bare.config._attn_implementation
    model.eval()
    if attention == packed.NAME:
        bare.set_attn_implementation("sdpa")
    try:
        yield
    finally:
        if attention == packed.NAME:
            bare.set_attn_implementation(packed.NAME)
        model.train(training)
