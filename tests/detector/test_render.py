"""The renderer: slots after judged turns, plain text only, offsets that lead back, and which words were said before,
by whom; windows: every judged piece in exactly one, nothing dropped, context as far back as fits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marked_dialogues import dialogue
from tiny import WORDS, render_config, tokenizer_json

from dialint.detector.errors import DialogueFailed, ReleaseRefused
from dialint.detector.records import Dialogue, ToolCall, Turn
from dialint.detector.render import (
    Piece,
    Renderer,
    Window,
    plan_windows,
    repeated_words,
    token_kinds,
    visible_text,
)


def test_slots_stand_after_judged_turns() -> None:
    renderer = Renderer(render_config(), tokenizer_json())
    (window,) = renderer.render(
        dialogue(("customer", "w1 w2"), ("system", "w9"), ("agent", "Hello w3"), ("bot", "w4"))
    )
    assert [WORDS[i] for i in window.ids] == [
        "<s>", "<c>", "w1", "w2", "<a>", "hello", "w3", "<v>", "<a>", "w4", "<v>",
    ]  # fmt: skip
    assert [(slot.turn, WORDS[window.ids[slot.position]]) for slot in window.slots] == [
        (2, "<v>"),
        (3, "<v>"),
    ]
    assert window.slots[0].offsets == ((0, 5), (6, 8))


def test_control_tokens_in_text_are_plain_text() -> None:
    renderer = Renderer(render_config(), tokenizer_json())
    (window,) = renderer.render(dialogue(("customer", "<v> <a> <s>"), ("agent", "<c>")))
    assert [WORDS[i] for i in window.ids].count("<v>") == 1
    assert [WORDS[i] for i in window.ids].count("<a>") == 1
    assert window.slots[0].offsets == ((0, 1), (1, 2), (2, 3))


def test_hidden_characters_do_not_reach_the_model_and_offsets_hold() -> None:
    text = "he\u200bllo \u202eorder"
    renderer = Renderer(render_config(), tokenizer_json())
    (window,) = renderer.render(dialogue(("agent", text)))
    assert [WORDS[i] for i in window.ids[2:-1]] == ["hello", "order"]
    assert [text[a:b] for a, b in window.slots[0].offsets] == ["he\u200bllo", "order"]


def test_visible_text_is_untouched_where_nothing_hides() -> None:
    assert visible_text("naïve") == ("naïve", None)
    assert visible_text("a\u00adb")[0] == "ab"


def test_a_long_dialogue_judges_each_turn_once_in_windows_that_fit() -> None:
    renderer = Renderer(render_config(context_tokens=20), tokenizer_json())
    turns = [("customer" if i % 2 == 0 else "agent", "w1 w2 w3") for i in range(20)]
    windows = renderer.render(dialogue(*turns))
    assert all(len(window) <= 20 for window in windows)
    assert sorted(slot.turn for window in windows for slot in window.slots) == list(range(1, 20, 2))


def test_a_turn_longer_than_the_context_is_split_not_dropped() -> None:
    renderer = Renderer(render_config(context_tokens=20), tokenizer_json())
    windows = renderer.render(dialogue(("agent", "w1 " * 50)))
    offsets = [offset for window in windows for slot in window.slots for offset in slot.offsets]
    assert offsets == [(3 * i, 3 * i + 2) for i in range(50)]


def test_nothing_to_judge_is_a_failure_not_a_clean_dialogue() -> None:
    with pytest.raises(DialogueFailed, match="E_NO_AGENT_TURN"):
        Renderer(render_config(), tokenizer_json()).render(dialogue(("customer", "w1"), ("agent", "  ")))


def test_a_render_of_calls_reads_them_and_results_and_judges_turns_that_only_call() -> None:
    calls = (ToolCall(name="w1", arguments={"w2": "w3"}),)
    turns = (
        Turn(index=0, role="customer", text="w5"),
        Turn(index=1, role="agent", text="", tool_calls=calls),
        Turn(index=2, role="tool", text="w8"),
        Turn(index=3, role="agent", text="Hello", tool_calls=calls),
    )
    config = render_config(
        roles={"customer": "<c>", "agent": "<a>", "tool": "<c>"}, names={"tool": "refund"}, calls=True,
        closes_all=True,
    )  # fmt: skip
    (window,) = Renderer(config, tokenizer_json()).render(Dialogue(id="d", turns=turns))
    words = [word for i in window.ids if (word := WORDS[i]) != "[UNK]"]
    assert words == [
        "<s>", "<c>", "w5", "<v>", "<a>", "w1", "{", "w2", "w3", "}", "<v>", "<c>", "refund", "w8", "<v>",
        "<a>", "hello", "w1", "{", "w2", "w3", "}", "<v>",
    ]  # fmt: skip
    assert [slot.turn for slot in window.slots] == [1, 3]
    only_calls, with_words = window.slots
    assert set(only_calls.offsets) == {(0, 0)}
    assert set(with_words.offsets) == {(0, 5), (5, 5)}  # offsets of what was said; calls have none


def test_tool_calls_and_results_are_not_rendered() -> None:
    spoken = dialogue(("customer", WORDS[0]), ("agent", WORDS[1]))
    customer, agent = spoken.turns
    call = ToolCall(name="w2", arguments={"w": "w3"})
    turns = (
        customer,
        Turn(index=1, role="agent", text="", tool_calls=(call,)),
        Turn(index=2, role="tool", text=WORDS[2]),
        agent.model_copy(update={"index": 3, "tool_calls": (call,)}),
    )
    renderer = Renderer(render_config(), tokenizer_json())
    (plain,) = renderer.render(spoken)
    (with_tools,) = renderer.render(spoken.model_copy(update={"turns": turns}))
    assert with_tools.ids == plain.ids
    assert [slot.turn for slot in with_tools.slots] == [3]


def test_a_tokenizer_without_the_control_tokens_is_refused() -> None:
    with pytest.raises(ReleaseRefused, match="<verdict>"):
        Renderer(render_config(slot="<verdict>"), tokenizer_json())


def test_of_tools_the_model_reads_names_and_failures_only() -> None:
    calls = (ToolCall(name="w1_w2", arguments={"w9": "w9"}), ToolCall(name="w3"))
    turns = (
        Turn(index=0, role="customer", text="w5"),
        Turn(index=1, role="agent", text="", tool_calls=calls),
        Turn(index=2, role="tool", text='{"status": "ok"}'),
        Turn(index=3, role="tool", text="w8", tool_error=True),
        Turn(index=4, role="tool", text="w7"),
        Turn(index=5, role="agent", text="Hello"),
    )
    config = render_config()
    with_tools = config.model_copy(update={"roles": {**config.roles, "tool": "<c>"}})
    dialogue = Dialogue(id="d", turns=turns)
    (window,) = Renderer(with_tools, tokenizer_json()).render(dialogue)
    words = [WORDS[i] for i in window.ids]
    assert words[:8] == ["<s>", "<c>", "w5", "<c>", "w1", "w2", "<c>", "w3"]
    assert "w8" not in words  # a result's text
    assert "w9" not in words  # arguments
    assert "w7" not in words  # no call belongs to it
    assert [slot.turn for slot in window.slots] == [5]
    (plain,) = Renderer(config, tokenizer_json()).render(dialogue)
    assert [WORDS[i] for i in plain.ids] == ["<s>", "<c>", "w5", "<a>", "hello", "<v>"]


def kinds(*turns: str) -> list[dict[str, int]]:
    """Kinds by word; a turn that begins with "a:" is the agent's."""
    spoken = [(turn.startswith("a:"), turn[2:]) for turn in turns]
    return [
        {text[start:end]: kind for start, end, kind in words}
        for (_, text), words in zip(spoken, repeated_words(spoken), strict=True)
    ]


def test_a_word_is_new_own_the_others_or_of_both() -> None:
    by_turn = kinds(
        "c:Train to Ely", "a:The train leaves Ely at 9:45", "c:Train from Ely at 9:45?", "a:Ely 9:45 Norwich"
    )
    assert by_turn[0] == {"Train": 1, "Ely": 1}
    assert by_turn[1] == {"The": 1, "train": 3, "leaves": 1, "Ely": 3, "9:45": 1}
    assert by_turn[2]["Ely"] == 4
    assert by_turn[2]["9:45"] == 3
    assert by_turn[3] == {"Ely": 4, "9:45": 4, "Norwich": 1}


@pytest.mark.parametrize(("one", "other"), [("five", "5"), ("1,200", "1200"), ("ELY", "ely")])
def test_numbers_and_words_agree_in_their_usual_spellings(one: str, other: str) -> None:
    assert kinds(f"c:{one}", f"a:{other}")[1] == {other: 3}


def test_a_word_does_not_count_as_said_within_its_own_turn() -> None:
    assert kinds("a:again and again") == [{"again": 1, "and": 1}]


def test_a_dialogue_cut_short_has_the_same_kinds() -> None:
    turns = [(False, "my order 4711"), (True, "order 4711, yes"), (False, "order?")]
    assert repeated_words(turns)[:2] == repeated_words(turns[:2])


def test_tokens_have_the_kind_of_the_word_they_begin_in() -> None:
    words = repeated_words([(True, "reboot it"), (True, "(reboot) 9:45")])[1]
    assert token_kinds(words, [(0, 1), (1, 3), (3, 7), (7, 8), (9, 10), (10, 11), (11, 13), (13, 13)]) == [
        0, 2, 2, 0, 1, 1, 1, 0,
    ]  # fmt: skip


def test_tokens_that_begin_with_a_space_have_the_kind_of_the_word_after_it() -> None:
    words = repeated_words([(True, "reboot it"), (True, "now reboot 9:45")])[1]
    assert token_kinds(words, [(0, 3), (3, 7), (7, 10), (10, 11), (11, 15), (15, 15)]) == [1, 2, 2, 0, 1, 0]


# --- windows -------------------------------------------------------------------------------------


OVERHEAD = 2
of_lengths = st.lists(st.tuples(st.integers(0, 90), st.booleans()), min_size=1, max_size=60)


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
@given(of_lengths, st.integers(12, 120))
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
@given(of_lengths, st.integers(12, 120))
def test_windows_fit_keep_order_and_hold_the_opening(turns: list[tuple[int, bool]], capacity: int) -> None:
    windows = plan_windows([n for n, _ in turns], [flag for _, flag in turns], capacity, OVERHEAD)
    for window in windows:
        assert _cost(window) <= capacity
        assert list(window.pieces) == sorted(window.pieces, key=lambda p: (p.turn, p.start))
    first = windows[0].pieces[0]
    if first.end - first.start + OVERHEAD <= int(capacity * 0.125):
        assert all(window.pieces[0] == first for window in windows)


@settings(max_examples=100)
@given(of_lengths, st.integers(40, 120))
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
