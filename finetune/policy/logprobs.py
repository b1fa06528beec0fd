"""How probable given answers are, token by token: with a gradient for learning, without one for comparing.

Only the places that foretell a token of an answer go through the language model's head. A model whose
attention is `dialint.detector.engines.packed` computes no padding, and a prompt that several answers share
only once; any other is given a padded batch. Runs under the caller's autocast; probabilities are fp32.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from dialint.detector.engines import packed
from dialint.detector.engines.faithful import unfaithful
from dialint.detector.engines.verbatim import Allowed
from dialint.detector.errors import ConfigError

ROWS_AT_ONCE = 32
"""Rows of a batch whose last states are read."""


@dataclass(frozen=True)
class TokenScores:
    """The answers' tokens end to end, in their order. `logprobs` and `entropies` (tokens,) are in nats,
    `states` (tokens, hidden) is what the head read to foretell each. Entropies have no gradient."""

    logprobs: torch.Tensor
    entropies: torch.Tensor
    states: torch.Tensor


@dataclass(frozen=True)
class _Pass:
    """One call of the model: which answers it holds, its inputs, and row and column of the state that
    foretells each of their tokens."""

    places: list[int]
    inputs: dict[str, torch.Tensor]
    bounds: torch.Tensor | None
    rows: list[int]
    columns: list[int]


def score_tokens(
    model: Any,
    prompts: Sequence[Sequence[int]],
    answers: Sequence[Sequence[int]],
    allowed: Sequence[Allowed | None] | None = None,
) -> TokenScores:
    """Scores of every token of `answers`, each after the prompt of the same place; neither may be empty.

    `allowed` says of each answer which tokens it could hold, as it did when it was drawn: all others have no
    probability, and the answer holds none of them.
    """
    rules = allowed or [None] * len(answers)
    if inner(model).config._attn_implementation == packed.NAME:
        passes = _packed(prompts, answers)
    else:
        passes = [_padded(prompts, answers)]
    found: list[tuple[torch.Tensor, ...]] = [()] * len(answers)
    for one in passes:
        wanted = [answers[place] for place in one.places]
        so_far = [
            (rules[place], answers[place][:size])
            for place in one.places
            for size in range(len(answers[place]))
        ]
        scores = _scored(model, one, [token for answer in wanted for token in answer], so_far)
        lengths = [len(answer) for answer in wanted]
        cut = zip(*(torch.split(part, lengths) for part in scores), strict=True)
        for place, parts in zip(one.places, cut, strict=True):
            found[place] = parts
    return TokenScores(*(torch.cat(parts) for parts in zip(*found, strict=True)))


def barred_of(so_far: Sequence[tuple[Allowed | None, Sequence[int]]], logits: torch.Tensor) -> torch.Tensor:
    """Which tokens may not follow: of shape (rows, vocabulary), from the rule of each row and its answer so
    far; all False, of shape (rows, 1), where every row is free."""
    found = [None if rule is None else rule(ids) for rule, ids in so_far]
    if all(one is None for one in found):
        return torch.zeros(len(found), 1, dtype=torch.bool, device=logits.device)
    barred = torch.zeros(len(found), logits.shape[-1], dtype=torch.bool)
    for row, one in enumerate(found):
        if one is not None:
            barred[row] = True
            barred[row, one] = False
    return barred.to(logits.device)


def _scored(
    model: Any, one: _Pass, wanted: list[int], so_far: Sequence[tuple[Allowed | None, Sequence[int]]]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    inputs = {name: part.to(model.device) for name, part in one.inputs.items()}
    if one.bounds is not None:
        inputs["cu_seq_lens_q"] = one.bounds  # stays on the CPU, where every layer reads it
    with _head_reads(model, one.rows, one.columns) as states:
        logits = model(**inputs, use_cache=False).logits[0].float()
    logits = logits.masked_fill(barred_of(so_far, logits), -math.inf)
    logprobs = -cross_entropy(logits, torch.tensor(wanted, device=logits.device), reduction="none")
    with torch.no_grad():
        entropies = torch.special.entr(torch.softmax(logits, -1)).sum(-1)
    return logprobs, entropies, states[0]


@contextmanager
def _head_reads(model: Any, rows: list[int], columns: list[int]) -> Iterator[list[torch.Tensor]]:
    """The head is given these states alone, in one row; they stand in the list that is yielded."""
    kept: list[torch.Tensor] = []

    def pick(_: Any, given: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        kept.append(given[0][rows, columns])
        return (kept[0][None],)

    handle = inner(model).get_output_embeddings().register_forward_pre_hook(pick)
    try:
        yield kept
    finally:
        handle.remove()


def _packed(prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]) -> list[_Pass]:
    """A row for each prompt with several answers, and one for all that stand alone."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, prompt in enumerate(prompts):
        groups.setdefault(tuple(prompt), []).append(place)
    rows = [(places, len(prompt)) for prompt, places in groups.items() if len(places) > 1]
    alone = [places[0] for places in groups.values() if len(places) == 1]
    return [_row(places, shared, prompts, answers) for places, shared in [*rows, (alone, 0)] if places]


def _row(
    places: list[int], shared: int, prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]
) -> _Pass:
    """These answers end to end, each after its prompt or all after the one prompt of `shared` tokens."""
    row = packed.pack([[*prompts[place], *answers[place]] for place in places], shared)
    columns: list[int] = []
    for place, bound in zip(places, row.bounds.tolist(), strict=False):
        first = bound - shared + len(prompts[place])
        columns += [first - 1 if not shared else shared - 1, *range(first, first + len(answers[place]) - 1)]
    inputs = {"input_ids": row.ids, "position_ids": row.positions}
    return _Pass(places, inputs, row.bounds, [0] * len(columns), columns)


def _padded(prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]) -> _Pass:
    """A row for each answer, padded on the right."""
    whole = [[*prompt, *answer] for prompt, answer in zip(prompts, answers, strict=True)]
    longest = max(map(len, whole))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in whole])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in whole])
    rows = [row for row, answer in enumerate(answers) for _ in answer]
    columns = [
        len(prompts[row]) - 1 + token for row, answer in enumerate(answers) for token in range(len(answer))
    ]
    return _Pass(list(range(len(answers))), {"input_ids": ids, "attention_mask": mask}, None, rows, columns)


def pack_if_faithful(model: Any, longest: int) -> bool:
    """Take packed attention where it computes what the model does by itself, for up to `longest` tokens;
    whether it does. Where not, one line says why.

    Raises:
        ConfigError: the model has positions for fewer tokens.
    """
    bare = inner(model)
    table = getattr(bare.config, "max_position_embeddings", None)
    if isinstance(table, int) and longest > table:
        raise ConfigError(
            "E_BASE", f"{longest} tokens with the answer, but the base has positions for {table}"
        )
    why = unfaithful(bare.base_model, longest)
    if why is None:
        bare.set_attn_implementation(packed.NAME)
    else:
        print(f"{why}; questions are padded", file=sys.stderr)
    return why is None


def last_states(backbone: Any, rows: Sequence[Sequence[int]], pad: int) -> torch.Tensor:
    """What `backbone` computes for each row's last token that is not `pad`, of shape (rows, hidden); of equal
    rows once. Runs under the caller's autocast."""
    distinct = list(dict.fromkeys(map(tuple, rows)))
    order = sorted(range(len(distinct)), key=lambda place: len(distinct[place]))
    device = backbone.device
    states: dict[tuple[int, ...], torch.Tensor] = {}
    for start in range(0, len(order), ROWS_AT_ONCE):
        some = [distinct[place] for place in order[start : start + ROWS_AT_ONCE]]
        ends = [max(place for place, token in enumerate(row) if token != pad) for row in some]
        if backbone.config._attn_implementation == packed.NAME:
            row = packed.pack(some, 0).to(device)
            found = backbone(
                input_ids=row.ids, position_ids=row.positions, cu_seq_lens_q=row.bounds, use_cache=False
            ).last_hidden_state[0]
            picked = found[row.bounds[:-1] + torch.tensor(ends)]
        else:
            size = max(map(len, some))
            ids = torch.tensor([[*row, *[pad] * (size - len(row))] for row in some], device=device)
            mask = torch.tensor([[1] * len(row) + [0] * (size - len(row)) for row in some], device=device)
            found = backbone(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
            picked = found[torch.arange(len(some)), torch.tensor(ends)]
        states.update(zip(some, picked, strict=True))
    return torch.stack([states[tuple(row)] for row in rows])


def inner(model: Any) -> Any:
    """The language model inside adapters and what joins several processes, or the model itself."""
    if isinstance(model, torch.nn.parallel.DistributedDataParallel):
        model = model.module
    return model.get_base_model() if hasattr(model, "peft_config") else model
