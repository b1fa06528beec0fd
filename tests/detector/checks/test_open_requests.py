"""Requests that nobody served by the end of a dialogue."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dialint.detector.checks import CheckContext
from dialint.detector.checks.calls import leaves_request_open
from dialint.detector.log_profile import EMPTY_PROFILE
from dialint.detector.records import Dialogue, Role, ToolCall, Turn

WITH_TOOLS = CheckContext(log=replace(EMPTY_PROFILE, n_dialogues=10, tool_dialogues=8))


def talk(*texts: str, call: str = "", result: str = "{}") -> Dialogue:
    """Customer and agent in turn; the call, if any, at the end."""
    roles: tuple[Role, Role] = ("customer", "agent")
    turns = [Turn(index=index, role=roles[index % 2], text=text) for index, text in enumerate(texts)]
    if call:
        turns.append(Turn(index=len(turns), role="agent", text="", tool_calls=(ToolCall(name=call),)))
        turns.append(Turn(index=len(turns), role="tool", text=result))
    return Dialogue(id="d", turns=tuple(turns))


OPEN = (
    "I want to cancel my order.", "Sure, I will do it.", "Fine.", "Give me a moment.", "Ok.", "Have a nice day!",
)  # fmt: skip


def test_a_request_that_no_tool_served_is_open() -> None:
    (hit,) = leaves_request_open(talk(*OPEN), WITH_TOOLS)
    assert (hit.turn, hit.code) == (5, "R2")
    assert "turn 0" in hit.why
    assert not list(leaves_request_open(talk(*OPEN)))


def test_calls_that_failed_or_only_look_up_serve_none() -> None:
    assert list(leaves_request_open(talk(*OPEN, call="get_order")))
    assert list(leaves_request_open(talk(*OPEN, call="cancel_order", result="Error: no such order")))
    assert not list(leaves_request_open(talk(*OPEN, call="cancel_order")))
    assert not list(leaves_request_open(talk(*OPEN, call="transfer_to_human")))


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (0, "Where is my parcel?"), (2, "Never mind, I keep it."), (3, "I'm sorry, that is not possible."),
        (5, "Which order is it?"), (5, "I have cancelled your order."),
    ],
)  # fmt: skip
def test_refusals_questions_and_second_thoughts(place: int, text: str) -> None:
    texts = list(OPEN)
    texts[place] = text
    assert not list(leaves_request_open(talk(*texts), WITH_TOOLS))


def test_a_refusal_that_only_stands_in_raw_text_is_none() -> None:
    texts = (*OPEN[:3], "Thought: I cannot do it, sorry", *OPEN[4:])
    assert list(leaves_request_open(talk(*texts), WITH_TOOLS))
