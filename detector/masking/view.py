"""The text as the recognisers receive it: look-alike characters folded, masked spans cut to one character.

A text and its masked form have the same view, whatever the length of the placeholders; that is what
makes masking idempotent. Positions in a view map back to the original.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

BLANK = "\ue000"
"""Stands for a whole placeholder. No recogniser may match it."""

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]+")
_APOSTROPHES = dict.fromkeys(map(ord, "‘’ʼ´`"), ord("'"))


class _Fold(dict[int, int]):
    """One code point to one code point, computed once each: digits of any script, dashes, spaces."""

    def __missing__(self, point: int) -> int:
        self[point] = folded = self._fold(point)
        return folded

    @staticmethod
    def _fold(point: int) -> int:
        char = chr(point)
        digit = unicodedata.decimal(char, None)
        if digit is not None:
            return ord("0") + int(digit)
        if point == ord(BLANK):
            return point + 1
        if 0xFF01 <= point <= 0xFF5E:
            return point - 0xFEE0
        category = unicodedata.category(char)
        if category == "Pd" or char == "−":
            return ord("-")
        if category == "Zs":
            return ord(" ")
        return point if len(char.lower()) == 1 else ord("i")


_FOLD = _Fold(_APOSTROPHES)


@dataclass(frozen=True)
class View:
    """`text` as recognisers see it, `low` its lower case of equal length. Segment k begins at
    ``starts[k]`` in the view and at ``origins[k]`` in the original."""

    text: str
    low: str
    starts: list[int]
    origins: list[int]

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """A non-empty range of the view as a range of the original."""
        return self._point(start), self._point(end - 1) + 1

    def _point(self, offset: int) -> int:
        position = bisect_right(self.starts, offset) - 1
        return self.origins[position] + offset - self.starts[position]


def make_view(text: str, selected: Iterable[tuple[int, int]]) -> View:
    """The view of `text` with the ranges `selected` (in order, disjoint) cut to one `BLANK` each."""
    folded = text if text.isascii() else text.translate(_FOLD)
    cuts = [(start, end, BLANK) for start, end in selected]
    if folded is not text:
        cuts = sorted(cuts + [(match.start(), match.end(), "") for match in _INVISIBLE.finditer(text)])
    if not cuts:
        return View(folded, folded.lower(), [0], [0])
    pieces: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    length = position = 0
    for start, end, sign in cuts:
        if start < position:  # an invisible character within a span that is cut already
            continue
        for piece, origin in ((folded[position:start], position), (sign, start)):
            if piece:
                starts.append(length)
                origins.append(origin)
                pieces.append(piece)
                length += len(piece)
        position = end
    starts.append(length)
    origins.append(position)
    pieces.append(folded[position:])
    joined = "".join(pieces)
    return View(joined, joined.lower(), starts, origins)
