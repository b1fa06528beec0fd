"""Arguments of tool calls and results of tools are masked like what is said."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dialint.detector.masking import mask_dialogue
from dialint.detector.records import Dialogue, ToolCall, Turn

SECRETS: tuple[Any, ...] = (
    "anna.k@example.com",
    "Anna Kowalska",
    "+49 151 12345678",
    "4111 1111 1111 1111",
    4111111111111111,
    "DE89 3704 0044 0532 0130 00",
)
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


def dialogue(*calls: ToolCall, result: str = "ok") -> Dialogue:
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
def test_no_argument_leaks(found: list[dict[str, Any]]) -> None:
    calls = tuple(ToolCall(name="look_up", arguments=each) for each in found)
    masked, _ = mask_dialogue(dialogue(*calls))
    text = masked.model_dump_json().lower()
    assert not [needle for needle in NEEDLES if needle in text]
    assert mask_dialogue(masked)[0] == masked


def test_harmless_arguments_stay_as_they_are() -> None:
    found: dict[str, Any] = {"order_id": "#W4471", "n": 3, "price": 12.5, "deep": [{"ok": True, "x": None}]}
    masked, _ = mask_dialogue(dialogue(ToolCall(name="track", arguments=found, id="c1")))
    assert masked.turns[1].tool_calls == (ToolCall(name="track", arguments=found, id="c1"),)


def test_the_same_value_gets_the_same_placeholder_in_words_arguments_and_results() -> None:
    masked, texts = mask_dialogue(
        dialogue(
            ToolCall(name="look_up", arguments={"name": "Anna Kowalska"}), result='{"name": "Anna Kowalska"}'
        )
    )
    assert [turn.text for turn in masked.turns] == ["Hello, I am [NAME_1].", "", '{"name": "[NAME_1]"}']
    assert masked.turns[1].tool_calls[0].arguments == {"name": "[NAME_1]"}
    assert texts[2].to_original(10, 18) == (10, 23)


def test_numbers_are_masked_by_what_their_key_says() -> None:
    call = ToolCall(name="look_up", arguments={"phone_number": 4915112345678, "pages": 12})
    masked, _ = mask_dialogue(dialogue(call))
    assert masked.turns[1].tool_calls[0].arguments == {"phone_number": "[PHONE_1]", "pages": 12}
