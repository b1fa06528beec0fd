"""Claims of a completed act against the tool calls of the dialogue."""

from __future__ import annotations

import pytest

from dialint.detector.checks.claims import claims_undone_write, may_write, name_words
from dialint.detector.records import Dialogue, ToolCall, Turn

LOOKUP = ("get_order", {"order_id": "A17741"}, '{"order_id": "A17741", "status": "pending"}')
CANCEL = ("cancel_order", {"order_id": "A17741"}, "{}")


def dialogue(*turns: tuple[str, str] | tuple[str, dict[str, str], str | None]) -> Dialogue:
    """Turns as ("c" or "a", text), or as a call with its result, None if it never ran."""
    made: list[Turn] = []
    for turn in turns:
        if len(turn) == 2:
            role, text = turn
            made.append(Turn(index=len(made), role="customer" if role == "c" else "agent", text=text))
            continue
        call = ToolCall(name=turn[0], arguments=dict(turn[1]))
        made.append(Turn(index=len(made), role="agent", text="", tool_calls=(call,)))
        if turn[2] is not None:
            made.append(Turn(index=len(made), role="tool", text=turn[2]))
    return Dialogue(id="d", turns=tuple(made))


def reasons(*turns: tuple[str, str] | tuple[str, dict[str, str], str | None]) -> list[str]:
    return [hit.why for hit in claims_undone_write(dialogue(*turns))]


@pytest.mark.parametrize(
    "claim",
    [
        "I have cancelled your order.",
        "All done. I've now successfully updated the address.",
        "Your refund has been processed.",
        "You are now booked for Friday.",
    ],
)
def test_a_claim_without_any_writing_call_is_found(claim: str) -> None:
    turns = dialogue(("c", "Please help."), LOOKUP, ("a", claim))
    (hit,) = claims_undone_write(turns)
    text = turns.turns[hit.turn].text
    assert (hit.turn, hit.code) == (3, "R3")
    assert text[hit.start : hit.end] == claim.removeprefix("All done. ")


@pytest.mark.parametrize(
    "text",
    [
        "I will cancel your order.",
        "Have I cancelled the right order?",
        "Once I have cancelled it, you get a mail.",
        "If I've updated the wrong address, tell me.",
        "I have not cancelled your order.",
        "I have found your order.",
        'The policy says "your order has been cancelled".',
        "The courier has returned it.",
        "The order status has been updated to pending.",
    ],
)
def test_plans_conditions_questions_and_look_ups_claim_nothing(text: str) -> None:
    assert reasons(("c", "Please help."), LOOKUP, ("a", text)) == []


def test_a_write_that_succeeded_proves_the_claim() -> None:
    assert reasons(("c", "Cancel it."), LOOKUP, CANCEL, ("a", "I have cancelled your order.")) == []


def test_a_write_that_failed_or_never_ran_does_not() -> None:
    failed = ("cancel_order", {"order_id": "A17741"}, "Error: order was shipped")
    never = ("cancel_order", {"order_id": "A17741"}, None)
    claim = ("a", "I have cancelled your order.")
    assert reasons(("c", "Cancel it."), LOOKUP, failed, claim) == [
        "said to be cancelled, but the call of 'cancel_order' failed"
    ]
    assert reasons(("c", "Cancel it."), LOOKUP, never, ("c", "And?"), claim) == [
        "said to be cancelled, but the call of 'cancel_order' never ran"
    ]


def test_a_later_failure_counts_only_if_nothing_succeeded_since_the_customer_spoke() -> None:
    failed = ("cancel_order", {"order_id": "B2"}, "Error: unknown")
    claim = ("a", "I have cancelled your order.")
    assert reasons(("c", "Cancel both."), CANCEL, failed, claim) == []
    assert reasons(("c", "Cancel it."), CANCEL, ("c", "And B2."), failed, claim) == [
        "said to be cancelled, but the call of 'cancel_order' failed"
    ]


def test_a_tool_of_another_purpose_does_not_prove_it_and_an_unknown_one_might() -> None:
    claim = ("a", "I have cancelled your order.")
    assert len(reasons(("c", "Cancel it."), ("update_address", {}, "{}"), claim)) == 1
    assert reasons(("c", "Cancel it."), ("orders_api", {}, "{}"), claim) == []
    assert reasons(("c", "Add one."), ("send_voucher", {}, "{}"), ("a", "I've added a voucher.")) == []


def test_the_noun_tells_the_family_of_a_general_verb() -> None:
    claim = ("a", "Your cancellation has been processed.")
    assert reasons(("c", "Cancel it."), CANCEL, claim) == []
    assert len(reasons(("c", "Cancel it."), ("upgrade_seat", {}, "{}"), claim)) == 1


def test_a_claim_for_an_id_that_was_looked_up_and_not_written() -> None:
    other = ("get_order", {"order_id": "B20055"}, "{}")
    turns = (("c", "Cancel both."), LOOKUP, other, CANCEL)
    assert reasons(*turns, ("a", "I have cancelled order A17741.")) == []
    assert reasons(*turns, ("a", "I have cancelled order B20055.")) == [
        "said to be cancelled for B20055, but 'cancel_order' was called for others only"
    ]


def test_what_a_tool_or_the_customer_reported_may_be_repeated() -> None:
    report = ("get_order", {}, '{"status": "cancelled"}')
    assert reasons(("c", "What happened?"), report, ("a", "Your order has been canceled.")) == []
    said = ("c", "My order has been cancelled, why?")
    assert reasons(said, LOOKUP, ("a", "I see that your order has been cancelled.")) == []
    assert len(reasons(("c", "I want it cancelled."), LOOKUP, ("a", "Your order has been cancelled."))) == 1


def test_dialogues_without_results_of_tools_say_nothing() -> None:
    assert reasons(("c", "Cancel it."), ("a", "I have cancelled your order.")) == []


def test_names_of_tools() -> None:
    assert name_words("getOrder_by-ID2") == ("get", "order", "by", "id", "2")
    assert [may_write(name) for name in ("get_order", "searchFlights", "think", "orders", "cancel", "")] == [
        False,
        False,
        False,
        True,
        True,
        True,
    ]
