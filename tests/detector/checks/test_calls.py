"""Questions for known values, calls with invented ones, and calls shown to the customer."""

from __future__ import annotations

import json

import pytest

from dialint.detector.checks.calls import invented_argument, raw_text_again, raw_tool_call, refused_write
from dialint.detector.checks.questions import asks_for_known
from dialint.detector.records import Dialogue, ToolCall, Turn

ERROR = "Error: user not found"


def dialogue(*turns: tuple[str, str] | tuple[str, dict[str, str], str]) -> Dialogue:
    """Turns as ("c" or "a", text), or as a call with its result."""
    made: list[Turn] = []
    for turn in turns:
        if len(turn) == 2:
            role, text = turn
            made.append(Turn(index=len(made), role="customer" if role == "c" else "agent", text=text))
            continue
        call = ToolCall(name=turn[0], arguments=dict(turn[1]))
        made.append(Turn(index=len(made), role="agent", text="", tool_calls=(call,)))
        made.append(Turn(index=len(made), role="tool", text=turn[2]))
    return Dialogue(id="d", turns=tuple(made))


GIVEN = (
    ("c", "I am kim_vale_771."),
    ("get_user", {"user_id": "kim_vale_771"}, json.dumps({"email": "kim@vale.example", "zip": "20931"})),
)
ORDER = (("c", "It is order B4711."), ("get_order", {"order_id": "B4711"}, "{}"))


@pytest.mark.parametrize(
    ("turns", "asked"),
    [
        (GIVEN, "Thanks. Could you please provide your user ID so I can book it?"),
        (GIVEN, "Please tell me your email address."),
        (GIVEN, "What is your zip code?"),
        (ORDER, "Can you give me the order number?"),
    ],
)
def test_asking_for_what_is_known(turns: tuple[tuple[str, str]], asked: str) -> None:
    hits = list(asks_for_known(dialogue(*turns, ("c", "Go on."), ("a", asked))))
    assert [(hit.turn, hit.code) for hit in hits] == [(4, "U2")]
    assert asked.removeprefix("Thanks. ") == asked[hits[0].start : hits[0].end]


@pytest.mark.parametrize(
    "asked",
    [
        "Could you please confirm your user ID?",
        "Could you provide your new email address?",
        "Please give me your phone number.",
        "Your user ID is kim_vale_771.",
        "Could you share the user ID of your friend?",
    ],
)
def test_confirming_and_asking_for_something_else_is_right(asked: str) -> None:
    assert list(asks_for_known(dialogue(*GIVEN, ("c", "Go on."), ("a", asked)))) == []


def test_a_value_is_known_only_if_the_call_succeeded() -> None:
    failed = dialogue(
        ("c", "I am kim_vale_771."),
        ("get_user", {"user_id": "kim_vale_771"}, ERROR),
        ("a", "Could you give me your user ID?"),
    )
    assert list(asks_for_known(failed)) == []


def test_another_order_has_another_number() -> None:
    turns = dialogue(*ORDER, ("c", "I also bought a lamp."), ("a", "Can you give me the order number?"))
    assert list(asks_for_known(turns)) == []


def test_not_found_after_an_invented_argument() -> None:
    text = "Let me see. I couldn't find your account."
    made_up = dialogue(("c", "Hi, who am I?"), ("get_user", {"user_id": "jo_doe_123"}, ERROR), ("a", text))
    (hit,) = invented_argument(made_up)
    assert (hit.turn, hit.code, text[hit.start : hit.end]) == (3, "P3", "I couldn't find your account.")
    assert "jo_doe_123" in hit.why


@pytest.mark.parametrize("value", ["#Q0000000", "a.user@mail.example", "<user_id>", "#order_id"])
def test_invented_numbers_mail_addresses_and_placeholders(value: str) -> None:
    turns = dialogue(("c", "Hi"), ("get", {"key": value}, ERROR), ("a", "It was not found."))
    assert len(list(invented_argument(turns))) == 1


@pytest.mark.parametrize(
    ("said", "value", "result", "answer"),
    [
        ("I am jo_doe_123.", "jo_doe_123", ERROR, "I couldn't find you."),
        ("Hi", "jo_doe_123", "{}", "I couldn't find a free seat."),
        ("Hi", "jo_doe_123", ERROR, "Who are you, please?"),
        ("Hi", "Berlin", ERROR, "I couldn't find it."),
        ("Hi", "12 + x123.y", ERROR, "There was an error."),
    ],
)
def test_given_values_successes_and_plain_words_are_no_invention(
    said: str, value: str, result: str, answer: str
) -> None:
    assert (
        list(invented_argument(dialogue(("c", said), ("get", {"key": value}, result), ("a", answer)))) == []
    )


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
    assert not list(invented_argument(dialogue(("c", said), *asked)))
    assert list(invented_argument(dialogue(("c", "I am at order 9990, call 415 555 9999."), *asked)))


REFUSED = ("cancel_order", {"order_id": "B4711"}, "Error: order was shipped")


def test_a_refused_write_that_the_agent_has_to_tell() -> None:
    text = "One moment. I'm afraid it can't be cancelled."
    (hit,) = refused_write(dialogue(("c", "Cancel B4711."), REFUSED, ("a", text)))
    assert (hit.turn, hit.code, text[hit.start : hit.end]) == (3, "P3", "I'm afraid it can't be cancelled.")


@pytest.mark.parametrize(
    "turns",
    [
        (
            ("c", "Cancel B4711."),
            REFUSED,
            ("cancel_order", {"order_id": "B4711"}, "{}"),
            ("a", "It was not easy."),
        ),
        (("c", "Just try to cancel B4711."), REFUSED, ("a", "It can't be cancelled.")),
        (("c", "Cancel B4711."), REFUSED, ("a", "One moment.")),
        (("c", "Cancel B4711."), ("get_order", {}, "Error: closed"), ("a", "I can't see it.")),
        (("c", "Cancel B4711."), ("cancel_order", {}, "Error: order not found"), ("a", "I can't find it.")),
        (("c", "Cancel B4711."), ("cancel_order", {}, "Error: timeout"), ("a", "It is not possible now.")),
    ],
)
def test_refusals_that_are_no_mistake_of_the_agent(turns: tuple[tuple[str, str]]) -> None:
    assert list(refused_write(dialogue(*turns))) == []


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ('{"name": "get_order", "arguments": {"id": "B4711"}}', '{"name": "get_order", "arguments": {"id": "B4711"}}'),
        ('One moment. {"name": "get_order", "arguments"', None),
        ('One moment. {"name": "get_order", "arguments": ', '{"name": "get_order", "arguments":'),
        ("Thought: the user wants a refund", "Thought: the user wants a refund"),
        ("<tool_call>get_order</tool_call>", "<tool_call>get_order</tool_call>"),
        ("Food for thought: it is free.", None),
        ('Set "name" in the file.', None),
    ],
)  # fmt: skip
def test_a_call_or_reasoning_shown_to_the_customer(text: str, quote: str | None) -> None:
    hits = list(raw_tool_call(dialogue(("c", "Hi"), ("a", text))))
    assert [text[hit.start : hit.end] for hit in hits] == ([] if quote is None else [quote])
    assert all(hit.code == "L4" for hit in hits)


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


@pytest.mark.parametrize(
    "text",
    [
        "[Simulating tool call] Let me see.",
        "One moment. [pauses to use a tool]",
        "[Tool Call: get_user_details]",
        "(Simulating a tool call)",
        "[Waiting for the user to answer]",
        "[Insert the list of orders here]",
        "[Delay while it is processed]",
        "Thought:\nTo help you, it is best to start.",
        "Thought: I need to find the order.",
        "User: I would like to return the lamp.\nAssistant: Sure, I can help you with that.",
        "(Thinking: which order is it)",
        "I will make a tool call for this.",
        "**Response from tool:** none",
        "Is it this one?\nuser\nYes, that is it.",
        "All done. \nHuman: I have another question.",
        'look_up, Arguments: {"id": 7}',
    ],
)
def test_stage_directions_and_words_of_others_are_raw_text(text: str) -> None:
    (hit,) = raw_tool_call(dialogue(("c", "Hello"), ("a", text)))
    assert hit.code == "L4"


@pytest.mark.parametrize(
    "text",
    [
        "Press [Check for updates] first.",
        "Check the mail (wait five minutes).",
        "User: your login name",
        "You may return them within 28 days (assuming the tags are still on).",
        "(API call limits are per token)",
        "User: Katarzyna Wisniewska (owner)",
        "User: Katarzyna Wisniewska, who is the owner.\nUser: Jan Nowak, who may read.",
        "Roles of the account:\nUser\nAdmin",
        "One moment. [Pause]",
        "[Processing]",
        "[Processing fee: 5 euros only]",
        "[Delay of 10 minutes]",
        "[Waiting for parts to arrive]",
        "[Insert the card and wait]",
        "(simulated results are shown in blue)",
        "Customer: Ana Lopez from Madrid, Spain.\nAgent: Jo Smith from London, UK.",
        "user\nadmin",
        "All is queued (executing jobs are kept).",
        "Dial the number [wait for the second tone].",
        "Thought: a short break from the screen helps.",
        "I asked my colleague [Ana].",
        "The tool calls for care.",
    ],
)
def test_menus_and_asides_are_no_raw_text(text: str) -> None:
    assert not list(raw_tool_call(dialogue(("c", "Hello"), ("a", text))))
