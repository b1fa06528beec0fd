"""Maps offsets between an original text and a text derived from it by replacing ranges.

Used for masking and for stripping markup. Outside of the replaced ranges both texts are equal, character for
character.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple


class Edit(NamedTuple):
    """``[start, end)`` of the new text replaces ``[original_start, original_end)`` of the original; a removal
    if `start` equals `end`."""

    start: int
    end: int
    original_start: int
    original_end: int


def to_original(edits: Sequence[Edit], start: int, end: int) -> tuple[int, int]:
    """Offsets ``[start, end)`` of the new text as offsets of the original.

    `edits` are in order and disjoint. A range that touches a replaced one grows to the whole of it, also an
    empty range inside one; removals before or after the range do not belong to it.
    """
    last = end - 1 if start < end else start
    position = bisect_right(edits, last, key=lambda edit: edit.start) - 1
    first, is_inside = _first(edits, start), position >= 0 and last < edits[position].end
    if start >= end:
        return first, edits[position].original_end if is_inside and edits[position].start < start else first
    return first, edits[position].original_end if is_inside else _first(edits, last) + 1


def from_original(edits: Sequence[Edit], start: int, end: int) -> tuple[int, int]:
    """Offsets ``[start, end)`` of the original text as offsets of the new one.

    A range that touches a replaced one grows to the whole of it; a removed one becomes empty.
    """
    shift = 0
    new_start, new_end = start, end
    for edit in edits:
        if edit.original_start >= end:
            break
        shift = edit.end - edit.original_end
        if start >= edit.original_end:
            new_start = start + shift
        elif start >= edit.original_start:
            new_start = edit.start
        new_end = max(end + shift, edit.end)
    return new_start, new_end


def _first(edits: Sequence[Edit], offset: int) -> int:
    """Return where the character at `offset` begins in the original."""
    position = bisect_right(edits, offset, key=lambda edit: edit.start) - 1
    if position < 0:
        return offset
    edit = edits[position]
    return edit.original_start if offset < edit.end else edit.original_end + offset - edit.end


def compose(outer: Sequence[Edit], inner: Sequence[Edit]) -> tuple[Edit, ...]:
    """Edits of a text to an original where `outer` are its edits to a text between, and `inner` are those of
    that text to the original."""
    if not outer or not inner:
        return tuple(outer or inner)
    edits = [Edit(edit.start, edit.end, *to_original(inner, edit.original_start, edit.original_end))
             for edit in outer]  # fmt: skip
    for edit in inner:
        touched = any(
            each.original_start < max(edit.end, edit.start + 1) and edit.start < each.original_end
            for each in outer
        )
        if not touched:
            start, end = from_original(outer, edit.start, edit.end)
            edits.append(Edit(start, max(start, end), edit.original_start, edit.original_end))
    return tuple(sorted(edits, key=lambda edit: (edit.original_start, edit.start)))


class Piece(NamedTuple):
    """Part of a new text: ``[start, end)`` of the original, or `text` in its place."""

    start: int
    end: int
    text: str | None = None

    @property
    def size(self) -> int:
        return self.end - self.start if self.text is None else len(self.text)


def assemble(original: str, pieces: Iterable[Piece]) -> tuple[str, tuple[Edit, ...]]:
    """Join `pieces` of `original`, in order. Returns the new text and its edits."""
    parts: list[str] = []
    edits: list[Edit] = []
    length = position = 0
    for piece in pieces:
        if piece.start > position:
            edits.append(Edit(length, length, position, piece.start))
        if piece.text is not None:
            edits.append(Edit(length, length + len(piece.text), piece.start, piece.end))
        parts.append(original[piece.start : piece.end] if piece.text is None else piece.text)
        length += len(parts[-1])
        position = piece.end
    if position < len(original):
        edits.append(Edit(length, length, position, len(original)))
    return "".join(parts), tuple(edits)


def remove_ranges(pieces: Iterable[Piece], ranges: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    """Remove `ranges` of the joined text, in order and disjoint, from its `pieces`.

    A replaced piece that a range cuts in two is removed as a whole.
    """
    position = at = 0
    for piece in pieces:
        first, last = at, at + piece.size
        at = last
        while position < len(ranges) and ranges[position][1] <= first:
            position += 1
        retained = first
        for start, end in _touching(ranges, position, last):
            if piece.text is not None:
                retained = last
                break
            if start > retained:
                yield Piece(piece.start + retained - first, piece.start + start - first)
            retained = end
        if retained < last:
            yield piece if piece.text is not None else Piece(piece.start + retained - first, piece.end)


def _touching(ranges: Sequence[tuple[int, int]], position: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the `ranges` from index `position` on that begin before `last`."""
    while position < len(ranges) and ranges[position][0] < last:
        yield ranges[position]
        position += 1
