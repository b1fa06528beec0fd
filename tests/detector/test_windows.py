"""Windows: every judged piece in exactly one window, nothing dropped, context as far back as fits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialint.detector.render import Piece, Window, plan_windows

OVERHEAD = 2
dialogues = st.lists(st.tuples(st.integers(0, 90), st.booleans()), min_size=1, max_size=60)


def _cost(window: Window) -> int:
    return sum(piece.end - piece.start + OVERHEAD for piece in window.pieces)


def test_a_short_dialogue_is_one_window() -> None:
    assert plan_windows([3, 4], [False, True], 20, OVERHEAD) == (
        Window((Piece(0, 0, 3), Piece(1, 0, 4)), (False, True)),
    )


def test_hand_computed_long_dialogue() -> None:
    """Capacity 40: pieces hold 18; first window 40, then strides of 20 with the opening (5) kept."""
    windows = plan_windows([3, 8, 8, 8, 8, 8], [False, True, False, True, False, True], 40, OVERHEAD)
    turns = [[piece.turn for piece in window.pieces] for window in windows]
    assert turns == [[0, 1, 2, 3], [0, 3, 4, 5]]
    judged = [piece.turn for w in windows for piece, mine in zip(w.pieces, w.judged, strict=True) if mine]
    assert judged == [1, 3, 5]


@settings(max_examples=100)
@given(dialogues, st.integers(12, 120))
def test_every_judged_token_is_judged_once_and_every_token_seen(
    turns: list[tuple[int, bool]], capacity: int
) -> None:
    lengths, judged = [length for length, _ in turns], [flag for _, flag in turns]
    windows = plan_windows(lengths, judged, capacity, OVERHEAD)
    seen = {(p.turn, token) for w in windows for p in w.pieces for token in range(p.start, p.end)}
    assert seen == {(turn, token) for turn, n in enumerate(lengths) for token in range(n)}
    verdicts = [p for w in windows for p, mine in zip(w.pieces, w.judged, strict=True) if mine]
    tokens = [(p.turn, token) for p in verdicts for token in range(p.start, p.end)]
    assert sorted(tokens) == sorted(
        (t, token) for t, n in enumerate(lengths) if judged[t] for token in range(n)
    )
    assert {p.turn for p in verdicts} == {turn for turn, flag in enumerate(judged) if flag}
    assert len(verdicts) == len(set(verdicts))


@settings(max_examples=100)
@given(dialogues, st.integers(12, 120))
def test_windows_fit_keep_order_and_hold_the_opening(turns: list[tuple[int, bool]], capacity: int) -> None:
    windows = plan_windows([n for n, _ in turns], [flag for _, flag in turns], capacity, OVERHEAD)
    for window in windows:
        assert _cost(window) <= capacity
        assert list(window.pieces) == sorted(window.pieces, key=lambda p: (p.turn, p.start))
    first = windows[0].pieces[0]
    if first.end - first.start + OVERHEAD <= int(capacity * 0.125):
        assert all(window.pieces[0] == first for window in windows)


@settings(max_examples=100)
@given(dialogues, st.integers(40, 120))
def test_what_is_judged_has_context_before_it(turns: list[tuple[int, bool]], capacity: int) -> None:
    """In a later window the pieces before the first new one fill what the new ones and the opening leave."""
    windows = plan_windows([n for n, _ in turns], [True for _ in turns], capacity, OVERHEAD)
    for window in windows[1:]:
        new = sum(
            p.end - p.start + OVERHEAD for p, mine in zip(window.pieces, window.judged, strict=True) if mine
        )
        assert new <= capacity // 2 + OVERHEAD
        assert any(not mine for mine in window.judged)


def test_a_capacity_too_small_is_refused() -> None:
    with pytest.raises(ValueError, match="too small"):
        plan_windows([3], [True], 5, OVERHEAD)
