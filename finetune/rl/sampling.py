"""Sampling of answers from a decoder: transformers generates, behind prompts that are computed once each.

Works on token ids; `dialint.finetune.rl.logprobs` scores given answers. Runs under the caller's autocast.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from transformers import DynamicCache, GenerationConfig

from dialint.detector.engines import packed
from dialint.finetune.train.adapters import unwrap

BATCH_ANSWERS = 64
"""Answers that are generated together."""


@torch.no_grad()
def sample(
    model: Any,
    prompts: Sequence[Sequence[int]],
    n: int,
    *,
    max_new_tokens: int,
    stop_ids: Collection[int],
    seed: int,
) -> list[list[tuple[int, ...]]]:
    """Sample `n` answers for each prompt of at least one token, in order: their token ids, with the stop
    token of those that ended. `seed` alone determines them; torch's own generators are left as they are.

    `model` is a causal language model of transformers, with or without adapters; its mode and attention are
    restored.
    """
    answers: list[list[tuple[int, ...]]] = [[] for _ in prompts]
    order = sorted(range(len(prompts)), key=lambda index: len(prompts[index]))
    batch_prompts = max(1, BATCH_ANSWERS // n)
    device = model.device
    cuda = [device] if device.type == "cuda" else []
    with _generation_mode(model) as bare, torch.random.fork_rng(devices=cuda):
        torch.manual_seed(seed)
        for start in range(0, len(order), batch_prompts):
            indices = order[start : start + batch_prompts]
            ids, mask = _pad_left([prompts[index] for index in indices], device)
            cache = DynamicCache(config=bare.config)
            if ids.shape[1] > 1:  # generation goes on from the last token
                bare(
                    input_ids=ids[:, :-1],
                    attention_mask=mask[:, :-1],
                    position_ids=(mask.cumsum(-1) - 1).clamp(min=0)[:, :-1],
                    past_key_values=cache,
                    logits_to_keep=1,
                )
                cache.batch_repeat_interleave(n)
            generated = bare.generate(
                input_ids=ids.repeat_interleave(n, 0),
                attention_mask=mask.repeat_interleave(n, 0),
                past_key_values=cache,
                max_new_tokens=max_new_tokens,
                eos_token_id=list(stop_ids) or None,
                pad_token_id=0,
                remove_invalid_values=True,  # of a policy that diverges: its loss is what ends the training
            )
            rows = [_end(row, frozenset(stop_ids)) for row in generated[:, ids.shape[1] :].tolist()]
            for row, index in enumerate(indices):
                answers[index] = rows[row * n : (row + 1) * n]
    return answers


def _pad_left(prompts: Sequence[Sequence[int]], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and attention mask, each of shape (prompts, tokens of the longest)."""
    padding = [max(map(len, prompts)) - len(prompt) for prompt in prompts]
    ids = [[0] * pad + list(prompt) for pad, prompt in zip(padding, prompts, strict=True)]
    mask = [[0] * pad + [1] * len(prompt) for pad, prompt in zip(padding, prompts, strict=True)]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


def _end(ids: list[int], stop_ids: frozenset[int]) -> tuple[int, ...]:
    """The tokens up to and with the first one that stops."""
    end = next((place for place, token in enumerate(ids) if token in stop_ids), len(ids))
    return tuple(ids[: end + 1])


@contextmanager
def _generation_mode(model: Any) -> Iterator[Any]:
    """The language model in evaluation mode, with an attention that takes padding and a cache, and draws by
    its own probabilities alone; all are restored."""
    bare = unwrap(model)
    training, attention, options = model.training, bare.config._attn_implementation, bare.generation_config
    model.eval()
    draws = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
    bare.generation_config = GenerationConfig(**draws)  # type: ignore[no-untyped-call]
    if attention == packed.NAME:
        bare.set_attn_implementation("sdpa")
    try:
        yield bare
    finally:
        bare.generation_config = options
        if attention == packed.NAME:
            bare.set_attn_implementation(packed.NAME)
        model.train(training)
