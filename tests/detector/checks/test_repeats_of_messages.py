"""The agent's last message sent once more."""

from __future__ import annotations

import pytest

from dialint.detector.checks.repeats import last_message_again
from dialint.detector.records import Dialogue, ToolCall, Turn

ASKS_PAID = "Have you already paid the fee for it?"
REPLY = "It is for my brother, who moves in June."


def again(*between: Turn) -> list[int]:
    turns = (Turn(index=0, role="agent", text=ASKS_PAID), *between)
    last = Turn(index=len(turns), role="agent", text=f" {ASKS_PAID} ")
    return [hit.turn for hit in last_message_again(Dialogue(id="d", turns=(*turns, last)))]


def test_the_last_message_once_more_answers_nothing() -> None:
    customer = Turn(index=1, role="customer", text=REPLY)
    assert again(customer) == [2]
    assert again() == []
    assert again(customer, Turn(index=2, role="agent", text="I see.")) == []
    assert again(customer.model_copy(update={"text": "Could you repeat that?"})) == []


def test_the_same_answer_to_a_new_look_up_is_no_repetition() -> None:
    customer = Turn(index=1, role="customer", text="And on Friday?")
    call = Turn(index=2, role="agent", text="", tool_calls=(ToolCall(name="look_up"),))
    assert again(customer, call, Turn(index=3, role="tool", text='{"free": 0}')) == []
    assert again(customer, call, Turn(index=3, role="tool", text="Error: no such day")) == [4]


def test_goodbyes_may_be_said_twice() -> None:
    text = "Thank you for your call, and have a good day!"
    turns = (
        Turn(index=0, role="agent", text=text),
        Turn(index=1, role="customer", text="Bye"),
        Turn(index=2, role="agent", text=text),
    )
    assert not list(last_message_again(Dialogue(id="d", turns=turns)))


@pytest.mark.parametrize(
    "texts",
    [
        ("locker code?", "Your code is 4471, valid until Friday.", "could you give me that one more time"),
        ("any?", "We are still checking this with the warehouse team.", "hm"),
    ],
)
def test_what_was_asked_for_once_more_and_a_hold_are_left_alone(texts: tuple[str, ...]) -> None:
    roles = ("customer", "agent", "customer", "agent")
    turns = tuple(
        Turn(index=n, role=role, text=text)  # type: ignore[arg-type]
        for n, (role, text) in enumerate(zip(roles, (*texts, texts[1]), strict=True))
    )
    assert list(last_message_again(Dialogue(id="d", turns=turns))) == []
