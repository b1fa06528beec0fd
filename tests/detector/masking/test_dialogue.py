"""Masking of dialogues: one numbering for all turns, mentions, questions and their answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from marked_dialogues import in_turn

from dialint.detector.masking import mask_dialogue, mask_words
from dialint.detector.records import Dialogue, ToolCall, Turn


def dialogue(*texts: str, sources: tuple[str, ...] = ()) -> Dialogue:
    turns = tuple(
        Turn(index=i, role="customer" if i % 2 else "agent", text=text, author="anna.lee@example.com")
        for i, text in enumerate(texts)
    )
    return Dialogue(
        id="ben@example.com", turns=turns, agent="Anna Lee", sources=sources, metadata={"o": "555"}
    )


CASES = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text(encoding="utf-8"))["dialogues"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["texts"][-1])[:40])
def test_turns_are_masked_by_the_turns_before(case: dict[str, list[str]]) -> None:
    assert [turn.text for turn in mask_dialogue(dialogue(*case["texts"]))[0].turns] == case["masked"]


def test_ids_authors_and_metadata_stay_and_the_input_is_untouched() -> None:
    before = dialogue("Hi Sarah,", sources=("kb-0049-301234567", "Ask Sarah at s@example.com"))
    after, masked = mask_dialogue(before)
    assert (before.masked, after.masked) == (False, True)
    assert (after.id, after.agent, after.turns[0].author) == (before.id, before.agent, before.turns[0].author)
    assert after.metadata == before.metadata
    assert after.sources == ("kb-0049-301234567", "Ask [NAME_1] at [EMAIL_1]")
    assert before.turns[0].text == "Hi Sarah,"
    assert [text.text for text in masked] == [turn.text for turn in after.turns]


PIECES = st.sampled_from((
    "What is your name?", "Ben", "ben", "my name is Ben Park", "Thanks Ben", "call 555 0199", "phone number?", "5550199",
    "[NAME_2]", "Park it, Ben Park", "your passport number please", "533380006", "ok", " ", "Hi ",
))  # fmt: skip
LINES = st.lists(PIECES, min_size=1, max_size=4).map(" ".join)
CALLS = st.builds(ToolCall, name=LINES, arguments=st.dictionaries(LINES, LINES, max_size=2))


@settings(max_examples=80)
@given(st.lists(LINES, max_size=5), st.lists(LINES, max_size=2), st.lists(CALLS, max_size=2), st.booleans())
def test_masking_a_masked_dialogue_changes_nothing(
    turns: list[str], sources: list[str], calls: list[ToolCall], claimed: bool
) -> None:
    before = dialogue(*turns, sources=tuple(sources)).model_copy(update={"masked": claimed})
    if turns:
        calling = before.turns[-1].model_copy(update={"tool_calls": tuple(calls)})
        before = before.model_copy(update={"turns": (*before.turns[:-1], calling)})
    once, _ = mask_dialogue(before)
    twice, masked = mask_dialogue(once)
    assert twice == once
    assert all(
        span.end - span.start == span.original_end - span.original_start for m in masked for span in m.spans
    )


PERSONAL = ("ana.kovac@example.com", "+48 600 100 200", "4111 1111 1111 1111")


@pytest.mark.parametrize("value", PERSONAL)
@pytest.mark.parametrize("form", ["{}", "look up {}", "find({})"])
def test_names_of_tools_and_keys_of_their_arguments_are_masked(value: str, form: str) -> None:
    call = ToolCall(name=form.format(value), arguments={form.format(value): {form.format(value): [value]}})
    plain = ToolCall(name="Orders.getStatus_v2", arguments={"orderId": "A-1"})
    before = dialogue("One moment.")
    turn = before.turns[0].model_copy(update={"tool_calls": (call, plain)})
    after, _ = mask_dialogue(before.model_copy(update={"turns": (turn,)}))
    masked_call, same = after.turns[0].tool_calls
    assert value not in masked_call.model_dump_json()
    assert same == plain


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I'm Siobhan O'Brien-Nguyen", "hello Ms. O'Brien, hello Siobhan"),
        ("my name is José García", "Hello Jose! Thanks, Mr Garcia."),
        ("My name is Anna-Maria Schmidt", "Hello Anna Maria! Hello Anna."),
        ("my name is Jane M. Doe", "Thanks Jane Doe. Ms. Doe, wait"),
        ("call +44 20 7946 0958", "so it is 020 7946 0958?"),
    ],
)
def test_one_person_or_number_has_one_placeholder(first: str, second: str) -> None:
    masked, _ = mask_dialogue(in_turn(first, second))
    placeholders = re.findall(r"\[\w+\]", " ".join(turn.text for turn in masked.turns))
    assert len(placeholders) > 1
    assert len(set(placeholders)) == 1


SECRETS: tuple[Any, ...] = (
    "anna.k@example.com", "Anna Kowalska", "+49 151 12345678", "4111 1111 1111 1111", 4111111111111111,
    "DE89 3704 0044 0532 0130 00",
)  # fmt: skip
KEYS = ("name", "email", "phone_number", "card", "anna.k@example.com", "Anna Kowalska", "+49 151 12345678")
leaves = st.sampled_from(SECRETS) | st.none() | st.booleans() | st.integers(0, 99) | st.just("ok")
arguments = st.dictionaries(
    st.sampled_from(KEYS),
    st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)
NEEDLES = ("anna", "kowalska", "example.com", "15112345678", "151 12345678", "4111", "3704")


def calling(*calls: ToolCall, result: str = "ok") -> Dialogue:
    return Dialogue(
        id="d",
        turns=(
            Turn(index=0, role="customer", text="Hello, I am Anna Kowalska."),
            Turn(index=1, role="agent", text="", tool_calls=calls),
            Turn(index=2, role="tool", text=result),
        ),
    )


@settings(max_examples=60)
@given(st.lists(arguments, min_size=1, max_size=2))
def test_no_argument_leaks(values: list[dict[str, Any]]) -> None:
    calls = tuple(ToolCall(name="look_up", arguments=each) for each in values)
    masked, _ = mask_dialogue(calling(*calls))
    text = masked.model_dump_json().lower()
    assert not [needle for needle in NEEDLES if needle in text]
    assert mask_dialogue(masked)[0] == masked


def test_harmless_arguments_stay_as_they_are() -> None:
    values: dict[str, Any] = {"order_id": "#W4471", "n": 3, "price": 12.5, "deep": [{"ok": True, "x": None}]}
    masked, _ = mask_dialogue(calling(ToolCall(name="track", arguments=values, id="c1")))
    assert masked.turns[1].tool_calls == (ToolCall(name="track", arguments=values, id="c1"),)


def test_the_same_value_gets_the_same_placeholder_in_words_arguments_and_results() -> None:
    masked, texts = mask_dialogue(
        calling(
            ToolCall(name="look_up", arguments={"name": "Anna Kowalska"}), result='{"name": "Anna Kowalska"}'
        )
    )
    assert [turn.text for turn in masked.turns] == ["Hello, I am [NAME_1].", "", '{"name": "[NAME_1]"}']
    assert masked.turns[1].tool_calls[0].arguments == {"name": "[NAME_1]"}
    assert texts[2].to_original(10, 18) == (10, 23)


def test_reasons_show_no_value_that_the_dialogue_masks() -> None:
    call = ToolCall(name="find", arguments={"first_name": "siobhan", "zip": "19101", "password": "hunter2"})
    turns = in_turn("my name is Siobhan Okrent", "Thanks!").turns
    before = Dialogue(id="d", turns=(*turns, Turn(index=2, role="agent", text="", tool_calls=(call,))))
    reasons = ["called with 19101, hunter2", "the customer named okrent, not siobhan", "nobody had named it"]
    assert list(mask_words(before, reasons).values()) == [
        "called with [ADDRESS_1], [SECRET_1]", "the customer named [NAME_1], not [NAME_1]", reasons[2],
    ]  # fmt: skip
    assert mask_dialogue(before)[0].turns[2].tool_calls[0].arguments["first_name"] == "[NAME_1]"


def test_values_are_masked_by_their_keys() -> None:
    values = {"phone_number": 4915112345678, "pages": 12, "LastName": "okrent"}
    masked, _ = mask_dialogue(calling(ToolCall(name="look_up", arguments=values)))
    expected = {"phone_number": "[PHONE_1]", "pages": 12, "LastName": "[NAME_2]"}
    assert masked.turns[1].tool_calls[0].arguments == expected
