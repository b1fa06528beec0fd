"""Samples answers of a decoder, and computes log-probabilities of answers, with or without gradients.

Works on token ids, under the caller's autocast. transformers generates, after prompts that are computed once
each. For the log-probabilities, computed in fp32, only positions that predict a token of an answer go through
the language model head. A model with the attention of `dialint.detector.engines.packed` computes no padding,
and a prompt that several answers share only once; any other gets a padded batch.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from transformers import DynamicCache, GenerationConfig

from dialint.detector.engines import packed
from dialint.finetune.train.adapters import require_positions, unwrap

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
    """Samples `n` answers for each prompt of at least one token, in order: their token ids, with the stop
    token of those that ended. `seed` alone determines them; torch's own generators are unchanged.

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
            for row, answer in enumerate(generated[:, ids.shape[1] :].tolist()):
                end = next((place for place, token in enumerate(answer) if token in stop_ids), len(answer))
                answers[indices[row // n]].append(tuple(answer[: end + 1]))
    return answers


def _pad_left(prompts: Sequence[Sequence[int]], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns token ids and attention mask, each of shape (prompts, tokens of the longest)."""
    padding = [max(map(len, prompts)) - len(prompt) for prompt in prompts]
    ids = [[0] * pad + list(prompt) for pad, prompt in zip(padding, prompts, strict=True)]
    mask = [[0] * pad + [1] * len(prompt) for pad, prompt in zip(padding, prompts, strict=True)]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


@contextmanager
def _generation_mode(model: Any) -> Iterator[Any]:
    """Switches the language model to evaluation mode, an attention that supports padding and a cache, and
    sampling by its own probabilities alone; all are restored."""
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


@dataclass(frozen=True)
class TokenLogprobs:
    """The concatenated tokens of all answers. `logprobs` and `entropies`, shape (tokens,), are in nats,
    entropies without gradient; `states`, shape (tokens, hidden), are the inputs of the head that predict each
    token."""

    logprobs: torch.Tensor
    entropies: torch.Tensor
    states: torch.Tensor


@dataclass(frozen=True)
class _ForwardPass:
    """One call of the model: the indices of its answers, its inputs, and row and column of the hidden state
    that predicts each of their tokens."""

    answers: list[int]
    inputs: dict[str, torch.Tensor]
    bounds: torch.Tensor | None
    rows: list[int]
    columns: list[int]


def compute_logprobs(
    model: Any,
    prompts: Sequence[Sequence[int]],
    answers: Sequence[Sequence[int]],
) -> TokenLogprobs:
    """Computes log-probabilities of every token of non-empty `answers`, each after the prompt of its
    index."""
    if unwrap(model).config._attn_implementation == packed.NAME:
        passes = _packed_passes(prompts, answers)
    else:
        passes = [_padded_pass(prompts, answers)]
    by_answer: list[tuple[torch.Tensor, ...]] = [()] * len(answers)
    for one in passes:
        lengths = [len(answers[index]) for index in one.answers]
        targets = [token for index in one.answers for token in answers[index]]
        inputs = {name: part.to(model.device) for name, part in one.inputs.items()}
        if one.bounds is not None:
            inputs["cu_seq_lens_q"] = one.bounds  # stays on the CPU, where every layer reads it
        with select_head_inputs(model, one.rows, one.columns) as states:
            logits = model(**inputs, use_cache=False).logits[0].float()
        logprobs = -cross_entropy(logits, torch.tensor(targets, device=logits.device), reduction="none")
        with torch.no_grad():
            entropies = torch.special.entr(torch.softmax(logits, -1)).sum(-1)
        split = (torch.split(part, lengths) for part in (logprobs, entropies, states[0]))
        for index, parts in zip(one.answers, zip(*split, strict=True), strict=True):
            by_answer[index] = parts
    return TokenLogprobs(*(torch.cat(parts) for parts in zip(*by_answer, strict=True)))


@contextmanager
def select_head_inputs(model: Any, rows: Any, columns: Any) -> Iterator[list[torch.Tensor]]:
    """Restricts the language model head to these hidden states, as one row; they are put into the list that
    is yielded."""
    selected: list[torch.Tensor] = []

    def select(_: Any, arguments: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        selected.append(arguments[0][rows, columns])
        return (selected[0][None],)

    handle = unwrap(model).get_output_embeddings().register_forward_pre_hook(select)
    try:
        yield selected
    finally:
        handle.remove()


def _packed_passes(prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]) -> list[_ForwardPass]:
    """Makes a packed row for each prompt with several answers, and one for all prompts with one."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for index, prompt in enumerate(prompts):
        groups.setdefault(tuple(prompt), []).append(index)
    rows = [(indices, len(prompt)) for prompt, indices in groups.items() if len(indices) > 1]
    single = [indices[0] for indices in groups.values() if len(indices) == 1]
    return [
        _packed_pass(indices, shared, prompts, answers) for indices, shared in [*rows, (single, 0)] if indices
    ]


def _packed_pass(
    indices: list[int], shared: int, prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]
) -> _ForwardPass:
    """Concatenates answers, each after its own prompt, or all after the one prompt of `shared` tokens."""
    row = packed.pack([[*prompts[index], *answers[index]] for index in indices], shared)
    columns: list[int] = []
    for index, bound in zip(indices, row.bounds.tolist(), strict=False):
        first = bound - shared + len(prompts[index])
        columns += [first - 1 if not shared else shared - 1, *range(first, first + len(answers[index]) - 1)]
    inputs = {"input_ids": row.ids, "position_ids": row.positions}
    return _ForwardPass(indices, inputs, row.bounds, [0] * len(columns), columns)


def _padded_pass(prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]) -> _ForwardPass:
    """Makes a row for each answer, padded on the right."""
    sequences = [[*prompt, *answer] for prompt, answer in zip(prompts, answers, strict=True)]
    longest = max(map(len, sequences))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in sequences])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in sequences])
    rows = [row for row, answer in enumerate(answers) for _ in answer]
    columns = [
        len(prompts[row]) - 1 + token for row, answer in enumerate(answers) for token in range(len(answer))
    ]
    inputs = {"input_ids": ids, "attention_mask": mask}
    return _ForwardPass(list(range(len(answers))), inputs, None, rows, columns)


def enable_packed_attention(model: Any, longest: int) -> bool:
    """Switches to packed attention if it is equivalent to the model's own for up to `longest` tokens, and
    returns whether it is. If not, prints the reason to standard error.

    Raises:
        ConfigError: E_BASE, the model has positions for fewer tokens.
    """
    require_positions(model, longest)
    bare = unwrap(model)
    reason = packed.equivalence_error(bare.base_model, longest)
    if reason is None:
        bare.set_attn_implementation(packed.NAME)
    else:
        print(f"{reason}; questions are padded", file=sys.stderr)
    return reason is None
