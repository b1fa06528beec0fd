"""Forward passes and greedy answers in which the tokens that a prompt shares with the one before it are not
computed again: their keys and values stay in transformers' cache, the rest is cropped.

Prompts go in the order of their tokens, so that each one's longest common beginning with any earlier one is
that with its neighbour. Answers are written side by side from copies of the prompts' keys and values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

ROW_TOKENS = 8192
"""Tokens of prompts whose keys and values are copied to write answers side by side."""

Layers = list[tuple[torch.Tensor, torch.Tensor]]
"""Keys and values of each layer, of shape (1, heads, tokens, width)."""
Constrain = Callable[[int, list[int], torch.Tensor], torch.Tensor]
"""Called with a row's index, the tokens of its answer so far and the logits of the next token, of shape
(vocabulary,); returns the logits with -inf for what may not follow."""


def can_crop(model: Any) -> bool:
    """Whether all layers of a causal language model keep the keys and values of every token: no sliding
    windows, no recurrent states."""
    layers = DynamicCache(config=model.config).layers
    return all(type(layer) is DynamicLayer for layer in layers)


class PrefixCache:
    """The keys and values of the row that went through the model last. Needs `can_crop`; the caller chooses
    evaluation and gradients."""

    def __init__(self, model: Any, device: torch.device) -> None:
        self._model, self._device = model, device
        self._cache = DynamicCache(config=model.config)
        self._before: Sequence[int] = ()

    def last_logits(self, row: Sequence[int]) -> tuple[torch.Tensor, int]:
        """Logits behind the last token of a row, shape (tokens of the vocabulary), and how many of its tokens
        were computed."""
        before = self._before
        most = min(len(before), len(row) - 1)  # the last token is always computed, for its logits
        shared = next((n for n in range(most) if before[n] != row[n]), most)
        if len(before) > shared:
            self._cache.crop(shared - len(before))
        output = self._model(
            input_ids=torch.tensor([list(row[shared:])], device=self._device),
            position_ids=torch.arange(shared, len(row), device=self._device)[None],
            past_key_values=self._cache,
            logits_to_keep=1,
            use_cache=True,
        )
        self._before = row
        return output.logits[0, -1].float(), len(row) - shared

    def copy(self) -> Layers:
        """The keys and values of the last row."""
        return [(layer.keys.clone(), layer.values.clone()) for layer in self._cache.layers]  # type: ignore[union-attr]


def last_logits(
    model: Any, rows: Sequence[Sequence[int]], device: torch.device
) -> tuple[list[torch.Tensor], list[int]]:
    """Logits behind the last token of each row, each of shape (tokens of the vocabulary), and how many tokens
    of each row were computed."""
    cache = PrefixCache(model, device)
    results = {index: cache.last_logits(rows[index]) for index in _in_order(rows)}
    return [results[n][0] for n in range(len(rows))], [results[n][1] for n in range(len(rows))]


def write_answers(
    model: Any,
    rows: Sequence[Sequence[int]],
    device: torch.device,
    constrain: Constrain,
    stops: Sequence[int],
    max_tokens: int,
) -> tuple[list[list[int]], list[int]]:
    """What is written greedily behind each row, up to one of `stops`, which is left out, or `max_tokens`; and
    how many tokens of each row were computed."""
    cache = PrefixCache(model, device)
    written: dict[int, list[int]] = {}
    computed = [0] * len(rows)
    for group in _groups(rows):
        layers, logits = [], []
        for index in group:
            following, computed[index] = cache.last_logits(rows[index])
            logits.append(following)
            layers.append(cache.copy())
        answers = _decode(
            model, layers, torch.stack(logits), partial(_of_group, constrain, group), stops, max_tokens
        )
        written |= dict(zip(group, answers, strict=True))
    return [written[index] for index in range(len(rows))], computed


def _of_group(
    constrain: Constrain, group: Sequence[int], row: int, ids: list[int], scores: torch.Tensor
) -> torch.Tensor:
    return constrain(group[row], ids, scores)


def _decode(
    model: Any,
    rows: list[Layers],
    logits: torch.Tensor,
    constrain: Constrain,
    stops: Sequence[int],
    max_tokens: int,
) -> list[list[int]]:
    """Greedy answers behind rows whose keys and values are given, with the logits of their first tokens, of
    shape (rows, vocabulary). Rows are padded at their beginning, which nothing attends to."""
    lengths = [row[0][0].shape[2] for row in rows]
    size, device = max(lengths), logits.device
    cache = DynamicCache(config=model.config)
    for layer in range(len(rows[0])):
        keys, values = (torch.cat([_pad(row[layer][part], size) for row in rows]) for part in (0, 1))
        cache.update(keys, values, layer)
    rows.clear()
    mask = torch.tensor([[0] * (size - n) + [1] * n for n in lengths], device=device)
    positions = torch.tensor(lengths, device=device)[:, None]
    answers: list[list[int]] = [[] for _ in lengths]
    is_open = [True] * len(lengths)
    for step in range(max_tokens):
        following = [
            int(constrain(row, answers[row], logits[row]).argmax()) if is_open[row] else stops[0]
            for row in range(len(lengths))
        ]
        for row, token in enumerate(following):
            is_open[row] = is_open[row] and token not in stops
            if is_open[row]:
                answers[row].append(token)
        if not any(is_open) or step == max_tokens - 1:
            break
        mask = torch.cat([mask, mask.new_ones(len(lengths), 1)], 1)
        output = model(
            input_ids=torch.tensor(following, device=device)[:, None],
            attention_mask=mask,
            position_ids=positions + step,
            past_key_values=cache,
            logits_to_keep=1,
            use_cache=True,
        )
        logits = output.logits[:, -1].float()
    return answers


def _pad(part: torch.Tensor, size: int) -> torch.Tensor:
    """Keys or values with zeros before them, up to `size` tokens."""
    return torch.nn.functional.pad(part, (0, 0, size - part.shape[2], 0))


def _in_order(rows: Sequence[Sequence[int]]) -> list[int]:
    return sorted(range(len(rows)), key=lambda index: list(rows[index]))


def _groups(rows: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Indices of rows that are answered side by side, in the order of their tokens."""
    group: list[int] = []
    longest = 0
    for index in _in_order(rows):
        longest = max(longest, len(rows[index]))
        if group and longest * (len(group) + 1) > ROW_TOKENS:
            yield group
            group, longest = [], len(rows[index])
        group.append(index)
    if group:
        yield group
