"""The agent's last message sent once more."""

from __future__ import annotations

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
