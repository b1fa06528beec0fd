"""Sampling of answers from a decoder: each prompt is computed once, and a generator alone determines the
tokens.

All random numbers are drawn before the first token: a seed for every position of every answer, prompt after
prompt. So an answer depends on its own prompt and seeds, not on the rest of its batch or on the length that
this grows to. A seed gives every token of the vocabulary a Gumbel noise, and the highest sum wins, which is
robust to the rounding that a batch changes. With inverse transform sampling any of thousands of borders may
move past a draw: 81 of 3,000 tokens changed where logits of 8,192 tokens drifted by up to 2e-5, none this way
(2026-11-22).

Works on token ids; `dialint.finetune.rl.logprobs` scores given answers. Runs under the caller's autocast
and computes probabilities in fp32 or fp64.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from dialint.detector.engines import packed
from dialint.finetune.train.distributed import unwrap

_GOLDEN = 0x9E3779B97F4A7C15 - 2**64
_MIX = ((30, 0xBF58476D1CE4E5B9 - 2**64), (27, 0x94D049BB133111EB - 2**64))
"""Constants of splitmix64 as int64, whose products wrap."""
BATCH_ANSWERS = 64
"""Answers that are generated together."""


@dataclass
class _Generation:
    """A batch of answers that are not finished; all fields but `cache` have a row for each.

    `numbers` has the index of each answer, `mask` (rows, tokens so far) is 0 for padding, `logits` (rows,
    vocabulary) are those of the next token, `seeds` (rows, max_new_tokens) determine the noise.
    """

    cache: Any
    numbers: torch.Tensor
    mask: torch.Tensor
    logits: torch.Tensor
    seeds: torch.Tensor

    def select(self, rows: torch.Tensor) -> None:
        """Keep these rows only."""
        self.cache.batch_select_indices(rows)
        self.numbers, self.mask = self.numbers[rows], self.mask[rows]
        self.logits, self.seeds = self.logits[rows], self.seeds[rows]


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
) -> list[list[tuple[int, ...]]]:
    """Sample `n` answers for each prompt of at least one token, in order: their token ids, with the stop
    token of those that ended. Temperature 0 is greedy.

    `model` is a causal language model of transformers, with or without adapters; its mode and attention are
    restored.
    """
    shape = (len(prompts), n, max_new_tokens)
    seeds = torch.randint(-(2**63), 2**63 - 1, shape, generator=generator)
    answers: list[list[tuple[int, ...]]] = [[] for _ in prompts]
    order = sorted(range(len(prompts)), key=lambda index: len(prompts[index]))
    batch_prompts = max(1, BATCH_ANSWERS // n)
    with _generation_mode(model):
        for start in range(0, len(order), batch_prompts):
            indices = order[start : start + batch_prompts]
            batch = _prefill(model, [prompts[index] for index in indices], seeds[indices])
            generated = _generate(model, batch, temperature, frozenset(stop_ids))
            for row, index in enumerate(indices):
                answers[index] = generated[row * n : (row + 1) * n]
    return answers


def _prefill(model: Any, prompts: Sequence[Sequence[int]], seeds: torch.Tensor) -> _Generation:
    """One pass over the prompts, padded on the left; its cache is repeated for each answer of `seeds`."""
    longest, n = max(map(len, prompts)), seeds.shape[1]
    padding = [longest - len(prompt) for prompt in prompts]
    rows = [[0] * pad + list(prompt) for pad, prompt in zip(padding, prompts, strict=True)]
    ids = torch.tensor(rows, device=model.device)
    mask = torch.tensor([[0] * pad + [1] * (longest - pad) for pad in padding], device=model.device)
    output = model(
        input_ids=ids, attention_mask=mask, position_ids=_positions(mask), use_cache=True, logits_to_keep=1
    )
    output.past_key_values.batch_repeat_interleave(n)
    return _Generation(
        output.past_key_values,
        torch.arange(len(prompts) * n, device=model.device),
        mask.repeat_interleave(n, 0),
        output.logits[:, -1].repeat_interleave(n, 0),
        seeds.flatten(0, 1).to(model.device),
    )


def _generate(
    model: Any, batch: _Generation, temperature: float, stop_ids: frozenset[int]
) -> list[tuple[int, ...]]:
    """Token after token until every answer has ended; finished answers leave the batch."""
    ids: list[list[int]] = [[] for _ in range(len(batch.numbers))]
    for position in range(batch.seeds.shape[1]):
        numbers = batch.numbers.tolist()
        distribution = torch.log_softmax(batch.logits.float(), -1)
        tokens = _gumbel_argmax(distribution, temperature, batch.seeds[:, position])
        token_ids = tokens.tolist()
        for number, token in zip(numbers, token_ids, strict=True):
            ids[number].append(token)
        unfinished = [row for row, token in enumerate(token_ids) if token not in stop_ids]
        if not unfinished or position + 1 == batch.seeds.shape[1]:
            break
        if len(unfinished) < len(token_ids):
            rows = torch.tensor(unfinished, device=tokens.device)
            batch.select(rows)
            tokens = tokens[rows]
        batch.mask = torch.cat((batch.mask, batch.mask.new_ones(len(tokens), 1)), 1)
        output = model(
            input_ids=tokens[:, None],
            attention_mask=batch.mask,
            position_ids=_positions(batch.mask)[:, -1:],
            past_key_values=batch.cache,
            use_cache=True,
        )
        batch.logits = output.logits[:, -1]
    return [tuple(own) for own in ids]


def _gumbel_argmax(logprobs: torch.Tensor, temperature: float, seeds: torch.Tensor) -> torch.Tensor:
    """A token for each row, sampled with the probabilities of softmax (Gumbel 1954)."""
    if temperature == 0:
        return logprobs.argmax(-1)
    noise = -(-_uniform(seeds, logprobs.shape[1]).log()).log()
    tokens: torch.Tensor = (logprobs.double() / temperature + noise).argmax(-1)
    return tokens


def _uniform(seeds: torch.Tensor, n: int) -> torch.Tensor:
    """The first `n` numbers of each seed's stream, shape (seeds, n), in the open interval (0, 1).

    Source: Steele et al. 2014, Fast splittable pseudorandom number generators (splitmix64).
    """
    mixed = seeds[:, None] + _GOLDEN * torch.arange(1, n + 1, device=seeds.device)
    for bits, factor in _MIX:
        mixed = (mixed ^ _shift_right(mixed, bits)) * factor
    mixed = mixed ^ _shift_right(mixed, 31)
    return (_shift_right(mixed, 12).double() + 0.5) * 0.5**52


def _shift_right(values: torch.Tensor, bits: int) -> torch.Tensor:
    """The logical shift; torch's own repeats the sign."""
    return (values >> bits) & ((1 << (64 - bits)) - 1)


def _positions(mask: torch.Tensor) -> torch.Tensor:
    return (mask.cumsum(-1) - 1).clamp(min=0)


@contextmanager
def _generation_mode(model: Any) -> Iterator[None]:
    """Evaluation mode, and an attention that takes padding and a cache; both are restored."""
    bare = unwrap(model)
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
