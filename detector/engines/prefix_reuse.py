"""Answers under a grammar, in which the tokens that a prompt shares with the one before it are not
computed again: their keys and values stay in transformers' cache, the rest is cropped.

Prompts go in the order of their tokens, so that each one's longest common beginning with any earlier one is
that with its neighbour: the system message that all dialogues share is computed once. Answers are written
side by side from copies of the prompts' keys and values, as many as `batch_bytes` holds. A model whose cache
cannot be cropped computes every prompt as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from dialint.detector.engines.json_grammar import JsonMatcher

Layers = list[tuple[torch.Tensor, torch.Tensor]]
"""Keys and values of each layer, of shape (1, heads, tokens, width)."""
PLAIN_TOKENS = 16_384
"""Tokens of prompts that are computed side by side where nothing can be shared."""


def can_crop(model: Any) -> bool:
    """Whether all layers of a causal language model keep the keys and values of every token: no sliding
    windows, no recurrent states."""
    layers = DynamicCache(config=model.config).layers
    return bool(layers) and all(type(layer) is DynamicLayer for layer in layers)


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


def write_answers(
    model: Any,
    rows: Sequence[Sequence[int]],
    matchers: Sequence[JsonMatcher],
    max_tokens: Sequence[int],
    device: torch.device,
    *,
    pad: int,
    batch_bytes: int,
) -> tuple[list[list[int]], list[int]]:
    """What is written behind each row under its matcher, up to the end or so many tokens; and how
    many tokens of each row were computed. `pad` is any token."""
    written: list[list[int]] = [[] for _ in rows]
    computed = [len(row) for row in rows]
    order = sorted(range(len(rows)), key=lambda index: list(rows[index]))
    batches = (
        _shared(model, rows, order, computed, device, batch_bytes)
        if can_crop(model)
        else _plain(model, rows, order, device, pad)
    )
    for places, cache, logits in batches:
        answers = _decode(
            model,
            cache,
            logits,
            [len(rows[place]) for place in places],
            [matchers[place] for place in places],
            [max_tokens[place] for place in places],
            pad,
        )
        for place, answer in zip(places, answers, strict=True):
            written[place] = answer
    return written, computed


Batch = tuple[list[int], Any, torch.Tensor]
"""Indices of rows, the cache of their tokens, each padded at its beginning to the longest, and the logits
behind them, of shape (rows, vocabulary)."""


def _shared(
    model: Any,
    rows: Sequence[Sequence[int]],
    order: Sequence[int],
    computed: list[int],
    device: torch.device,
    batch_bytes: int,
) -> Iterator[Batch]:
    prefix = PrefixCache(model, device)
    places: list[int] = []
    layers: list[Layers] = []
    logits: list[torch.Tensor] = []
    for index in order:
        following, computed[index] = prefix.last_logits(rows[index])
        own = prefix.copy()
        size = max((len(rows[place]) for place in (*places, index)), default=0)
        row_bytes = sum(part.nbytes for layer in own for part in layer) // len(rows[index]) * size
        if places and row_bytes * (len(places) + 1) > batch_bytes:
            yield places, _stack(model, layers), torch.stack(logits)
            places, layers, logits = [], [], []
        places.append(index)
        layers.append(own)
        logits.append(following)
    if places:
        yield places, _stack(model, layers), torch.stack(logits)


def _stack(model: Any, rows: list[Layers]) -> DynamicCache:
    """One cache of several rows, padded at their beginning with zeros; their own are released layer by
    layer."""
    size = max(row[0][0].shape[2] for row in rows)
    cache = DynamicCache(config=model.config)
    for layer in range(len(rows[0])):
        parts = [row[layer] for row in rows]
        keys, values = (
            torch.cat(
                [torch.nn.functional.pad(part[side], (0, 0, size - part[side].shape[2], 0)) for part in parts]
            )
            for side in (0, 1)
        )
        cache.update(keys, values, layer)
        for row in rows:
            row[layer] = (torch.empty(0), torch.empty(0))
    return cache


def _plain(
    model: Any, rows: Sequence[Sequence[int]], order: Sequence[int], device: torch.device, pad: int
) -> Iterator[Batch]:
    by_size = sorted(order, key=lambda index: len(rows[index]))
    while by_size:
        size = len(rows[by_size[-1]])
        n = max(1, PLAIN_TOKENS // size)
        places, by_size = by_size[-n:], by_size[:-n]
        ids = [[pad] * (size - len(rows[place])) + list(rows[place]) for place in places]
        mask = _mask([len(rows[place]) for place in places], device)
        output = model(
            input_ids=torch.tensor(ids, device=device),
            attention_mask=mask,
            position_ids=(mask.cumsum(-1) - 1).clamp(min=0),
            logits_to_keep=1,
            use_cache=True,
        )
        yield places, output.past_key_values, output.logits[:, -1].float()


def _mask(lengths: Sequence[int], device: torch.device) -> torch.Tensor:
    size = max(lengths)
    return torch.tensor([[0] * (size - n) + [1] * n for n in lengths], device=device)


def _decode(
    model: Any,
    cache: Any,
    logits: torch.Tensor,
    lengths: Sequence[int],
    matchers: Sequence[JsonMatcher],
    max_tokens: Sequence[int],
    pad: int,
) -> list[list[int]]:
    """Answers behind rows that are in the cache, with the logits of their first tokens."""
    device = logits.device
    mask = _mask(lengths, device)
    positions = torch.tensor(lengths, device=device)[:, None]
    answers: list[list[int]] = [[] for _ in lengths]
    is_open = [most > 0 for most in max_tokens]
    for step in range(max(max_tokens)):
        following = [pad] * len(lengths)
        for row, matcher in enumerate(matchers):
            token = matcher.take(logits[row]) if is_open[row] else None
            if token is None:
                is_open[row] = False
                continue
            following[row] = token
            answers[row].append(token)
            is_open[row] = not matcher.is_complete and len(answers[row]) < max_tokens[row]
        if not any(is_open):
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
