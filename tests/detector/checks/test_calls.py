"""Questions for known values, calls with invented ones, and calls shown to the customer."""

from __future__ import annotations

import pytest
from marked_dialogues import with_calls as dialogue

from dialint.detector.checks import CheckContext
from dialint.detector.checks.calls import raw_text_again, raw_tool_call, refused_write, wrong_call
from dialint.detector.checks.questions import asks_for_known, insists_on_number
from dialint.detector.log_profile import LogProfile

ERROR = "Error: user not found"


ORDER = (("c", "It is order B4711."), ("get_order", {"order_id": "B4711"}, "{}"))


def test_a_value_is_known_only_if_the_call_succeeded() -> None:
    failed = dialogue(
        ("c", "I am kim_vale_771."),
        ("get_user", {"user_id": "kim_vale_771"}, ERROR),
        ("a", "Could you give me your user ID?"),
    )
    assert list(asks_for_known(failed)) == []


def test_a_number_that_the_customer_lacks_stands_in_a_list_that_was_not_called() -> None:
    log = LogProfile(listing_tools=("get_user",))
    found = (("c", "I am Kim Vale, 20931."), ("find_user_by_zip", {"zip": "20931"}, "kim_vale_771"))
    lacking = (*found, ("c", "I don't have the order ID with me."))
    asked = ("a", "I need your order ID to go on.")
    (hit,) = insists_on_number(dialogue(*lacking, asked), CheckContext(log))
    assert (hit.turn, "'get_user' was not called" in hit.why) == (4, True)
    assert not list(insists_on_number(dialogue(*found, asked), CheckContext(log)))
    assert not list(insists_on_number(dialogue(*lacking, asked)))
    listed = ("get_user", {"user_id": "kim_vale_771"}, '{"orders": ["B1"]}')
    assert not list(insists_on_number(dialogue(*lacking, listed, asked), CheckContext(log)))


def test_another_order_has_another_number() -> None:
    turns = dialogue(*ORDER, ("c", "I also bought a lamp."), ("a", "Can you give me the order number?"))
    assert list(asks_for_known(turns)) == []


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("I am john dot archer at fastpost dot example.", "john.archer@fastpost.example"),
        ("It is jo underscore doe at mail dot example", "jo_doe@mail.example"),
        ("It is order 1234567.", "ORD1234567"),
        ("Call 415 555 0123.", "14155550123"),
        ("Call four one five, five five five, oh one two three.", "4155550123"),
    ],
)
def test_what_was_dictated_is_no_invention(said: str, value: str) -> None:
    asked = (("get", {"key": value}, ERROR), ("a", "I couldn't find it."))
    assert not list(wrong_call(dialogue(("c", said), *asked)))
    assert list(wrong_call(dialogue(("c", "I am at order 9990, call 415 555 9999."), *asked)))


REFUSED = ("cancel_order", {"order_id": "B4711"}, "Error: order was shipped")


def test_a_refused_write_that_the_agent_has_to_tell() -> None:
    text = "One moment. I'm afraid it can't be cancelled."
    (hit,) = refused_write(dialogue(("c", "Cancel B4711."), REFUSED, ("a", text)))
    assert (hit.turn, hit.code, text[hit.start : hit.end]) == (3, "P3", "I'm afraid it can't be cancelled.")


def test_a_customer_who_sends_such_text_gets_it_back() -> None:
    call = '{"name": "get_order", "arguments": {}}'
    assert (
        list(raw_tool_call(dialogue(("c", f"Why does {call} fail?"), ("a", f"Send {call} as POST.")))) == []
    )


def test_a_customer_who_speaks_of_calls_may_read_of_them() -> None:
    text = "It says so in the response to the tool call."
    assert not list(raw_tool_call(dialogue(("c", "Why does the API fail?"), ("a", text))))
    complaint = dialogue(("c", "Hello"), ("a", text), ("c", "Why do I see a tool call?"), ("a", text))
    assert [hit.turn for hit in raw_tool_call(complaint)] == [1, 3]


def test_the_same_raw_text_again_is_a_repetition_whatever_the_customer_said() -> None:
    call = '{"name": "find_order", "arguments": {"order_id": "#W1"}}'
    other = '{"name": "find_order", "arguments": {"order_id": "#W2"}}'
    talk = dialogue(
        ("c", "Where is it?"), ("a", call), ("c", "My number is #W1, and my zip is 10001."), ("a", f" {call}"),
        ("c", "Hello?"), ("a", other), ("c", "Hello?"), ("a", "We look into it."), ("c", "?"),
        ("a", "We look into it."),
    )  # fmt: skip
    (hit,) = raw_text_again(talk)
    assert (hit.turn, hit.code, hit.why) == (3, "M3", "the raw text of turn 1 was sent again")
