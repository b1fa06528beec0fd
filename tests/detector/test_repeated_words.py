"""Which words were said before, and by whom."""

from __future__ import annotations

import pytest

from dialint.detector.render import repeated_words, token_kinds


def kinds(*turns: str) -> list[dict[str, int]]:
    """Kinds by word; a turn that begins with "a:" is the agent's."""
    spoken = [(turn.startswith("a:"), turn[2:]) for turn in turns]
    return [
        {text[start:end]: kind for start, end, kind in words}
        for (_, text), words in zip(spoken, repeated_words(spoken), strict=True)
    ]


def test_a_word_is_new_own_the_others_or_of_both() -> None:
    found = kinds(
        "c:Train to Ely", "a:The train leaves Ely at 9:45", "c:Train from Ely at 9:45?", "a:Ely 9:45 Norwich"
    )
    assert found[0] == {"Train": 1, "Ely": 1}
    assert found[1] == {"The": 1, "train": 3, "leaves": 1, "Ely": 3, "9:45": 1}
    assert found[2]["Ely"] == 4
    assert found[2]["9:45"] == 3
    assert found[3] == {"Ely": 4, "9:45": 4, "Norwich": 1}


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
