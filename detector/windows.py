"""Cuts a dialogue into windows that fit the model. Works on token counts, not on text.

Turns are first cut into pieces that always fit, mostly one piece a turn; a window is the dialogue's opening
and a run of pieces. Every judged piece is judged in exactly one window, with as many pieces before it as
context as fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

OPENING_SHARE = 0.125
STRIDE_SHARE = 0.5


@dataclass(frozen=True)
class Piece:
    """Tokens `start` to `end` (exclusive) of one turn; a blank turn is one piece without tokens."""

    turn: int
    start: int
    end: int


@dataclass(frozen=True)
class Window:
    """Pieces in dialogue order; `judged[i]` says whether piece i gets its verdict in this window."""

    pieces: tuple[Piece, ...]
    judged: tuple[bool, ...]


def smallest_capacity(overhead: int) -> int:
    """The least tokens a window must hold, so that a piece of one token fits into its share."""
    return math.ceil((overhead + 1) / STRIDE_SHARE)


def plan_windows(
    lengths: Sequence[int], judged: Sequence[bool], capacity: int, overhead: int
) -> tuple[Window, ...]:
    """Windows for turns of `lengths` tokens of which some are `judged`.

    `capacity` is what a window may hold in tokens; each piece costs its tokens and `overhead`.
    At least half of a window is context for what is judged in it, once the dialogue is that long;
    the opening takes at most an eighth.

    Raises:
        ValueError: `capacity` is too small to hold anything.
    """
    largest = int(capacity * STRIDE_SHARE) - overhead
    if largest < 1:
        raise ValueError(f"a capacity of {capacity} tokens is too small")
    pieces = [
        Piece(turn, at, min(at + largest, length))
        for turn, length in enumerate(lengths)
        for at in range(0, max(length, 1), largest)
    ]
    costs = [piece.end - piece.start + overhead for piece in pieces]
    if sum(costs) <= capacity:
        return (Window(tuple(pieces), tuple(judged[p.turn] for p in pieces)),)

    opening = _fitting(costs, int(capacity * OPENING_SHARE))
    windows: list[Window] = []
    done = 0
    while done < len(pieces):
        room = capacity if not windows else int(capacity * STRIDE_SHARE)
        end = done + max(1, _fitting(costs[done:], room))
        start = end
        left = capacity - (sum(costs[:opening]) if windows else 0)
        while start > 0 and costs[start - 1] <= left:
            start -= 1
            left -= costs[start]
        positions = [*range(min(opening, start)), *range(start, end)]
        windows.append(
            Window(
                tuple(pieces[position] for position in positions),
                tuple(position >= done and judged[pieces[position].turn] for position in positions),
            )
        )
        done = end
    return tuple(windows)


def _fitting(costs: Sequence[int], room: int) -> int:
    """How many of the first `costs` fit into `room` together."""
    count = 0
    for cost in costs:
        if cost > room:
            break
        room -= cost
        count += 1
    return count
