"""Edits of edits: offsets lead back to the text in the log through both."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dialint.detector.offsets import Edit, Piece, assemble, compose, from_original, to_original

cuts = st.lists(st.integers(0, 12), max_size=6)


def pieces(length: int, cuts: list[int], replaced: list[bool], sign: str) -> list[Piece]:
    """Parts of a text: between the cuts, every second one is removed or replaced by a sign."""
    edges = sorted({0, length, *(cut for cut in cuts if cut <= length)})
    result = []
    for n, (start, end) in enumerate(pairwise(edges)):
        if n % 2 == 0:
            result.append(Piece(start, end))
        elif replaced[n % len(replaced)]:
            result.append(Piece(start, end, sign))
    return result


@given(st.integers(0, 12), cuts, cuts, st.lists(st.booleans(), min_size=1, max_size=4))
def test_two_edits_lead_back_like_one(
    length: int, first: list[int], second: list[int], replaced: list[bool]
) -> None:
    original = "abcdefghijkl"[:length]
    between, inner = assemble(original, pieces(length, first, replaced, "1"))
    text, outer = assemble(between, pieces(len(between), second, replaced[::-1], "2"))
    both = compose(outer, inner)
    assert both == tuple(sorted(both, key=lambda edit: (edit.start, edit.original_start)))
    for position, char in enumerate(text):
        start, end = to_original(both, position, position + 1)
        middle = to_original(outer, position, position + 1)
        expected = to_original(inner, *middle)
        assert start <= expected[0] <= expected[1] <= end
        if char.isalpha():
            assert original[start:end] == char
            again = from_original(both, start, end)
            assert text[slice(*again)] == char


def test_one_side_without_edits_is_the_other() -> None:
    edits = (Edit(0, 0, 0, 3),)
    assert compose((), edits) == compose(edits, ()) == edits
