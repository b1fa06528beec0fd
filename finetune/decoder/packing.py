"""Rows of fixed length out of whole pieces of dialogues, in an order that seed and pass alone decide.

A row's pieces do not see each other: positions start anew in each, and `Batch` says who is whose.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dialint.finetune.decoder.writing import Piece

if TYPE_CHECKING:
    import torch

OPEN_ROWS = 64
IGNORE_INDEX = -100


@dataclass(frozen=True)
class Batch:
    """Tensors of shape (rows, row_tokens). `segments` number the pieces of a row from 1, 0 is padding;
    `wanted` is the next token of the same piece, `IGNORE_INDEX` where there is none."""

    ids: torch.Tensor
    positions: torch.Tensor
    segments: torch.Tensor
    wanted: torch.Tensor

    @property
    def n_wanted(self) -> int:
        """Tokens to predict."""
        return int((self.wanted != IGNORE_INDEX).sum())


def plan_rows(lengths: Sequence[int], seed: int, epochs: float, row_tokens: int) -> list[list[int]]:
    """Rows of places in `lengths` for all passes, each pass shuffled and packed anew."""
    rows: list[list[int]] = []
    for epoch in range(math.ceil(epochs)):
        order = np.random.default_rng([seed, epoch]).permutation(len(lengths)).tolist()
        share = min(1.0, epochs - epoch)
        rows.extend(_pack(order[: math.ceil(share * len(order))], lengths, row_tokens))
    return rows


def _pack(order: list[int], lengths: Sequence[int], row_tokens: int) -> list[list[int]]:
    """First fit over the last `OPEN_ROWS` rows: what does not fit there opens a new one."""
    rows: list[list[int]] = []
    room: list[int] = []
    for place in order:
        for row in range(max(0, len(rows) - OPEN_ROWS), len(rows)):
            if room[row] >= lengths[place]:
                break
        else:
            row = len(rows)
            rows.append([])
            room.append(row_tokens)
        rows[row].append(place)
        room[row] -= lengths[place]
    return rows


def build_batch(
    pieces: Sequence[Piece], rows: Sequence[Sequence[int]], n_rows: int, row_tokens: int
) -> Batch:
    """The rows as tensors of a shape that never changes: missing rows and places are padding."""
    import torch

    shape = (n_rows, row_tokens)
    ids, positions, segments = (np.zeros(shape, np.int64) for _ in range(3))
    wanted = np.full(shape, IGNORE_INDEX, np.int64)
    for row, places in enumerate(rows):
        start = 0
        for segment, place in enumerate(places, 1):
            tokens = pieces[place].ids
            end = start + len(tokens)
            ids[row, start:end] = tokens
            positions[row, start:end] = np.arange(len(tokens))
            segments[row, start:end] = segment
            wanted[row, start : end - 1] = tokens[1:]
            start = end
        positions[row, start:] = np.arange(row_tokens - start)
    return Batch(*(torch.from_numpy(part) for part in (ids, positions, segments, wanted)))
