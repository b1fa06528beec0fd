"""Claims of a completed act against the tool calls of the dialogue."""

from __future__ import annotations

import pytest
from marked_dialogues import with_calls

from dialint.detector.checks.claims import claims_undone_write, may_write, name_words

LOOKUP = ("get_order", {"order_id": "A17741"}, '{"order_id": "A17741", "status": "pending"}')
CANCEL = ("cancel_order", {"order_id": "A17741"}, "{}")


def reasons(*turns: tuple[str, str] | tuple[str, dict[str, str], str | None]) -> list[str]:
    return [hit.why for hit in claims_undone_write(with_calls(*turns))]


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


@pytest.mark.parametrize(
    ("tool", "claim"),
    [
        ("update_subscription", "I've cancelled your subscription."),
        ("set_status", "I've cancelled your order."),
        ("submit_cancellation", "I've cancelled your order."),
        ("delete_item", "I've removed the item."),
        ("cancel_addon", "I've removed the add-on."),
        ("replace_card", "I've ordered a new card."),
        ("issue_card", "I've ordered a new card."),
        ("send_replacement", "I've ordered a new one."),
        ("create_ticket", "I've escalated this."),
        ("add_note", "I've escalated this."),
        ("remove_fee", "I've waived the fee."),
        ("apply_discount", "I've waived the fee."),
        ("adjust_bill", "I've waived the fee."),
        ("add_points", "I've credited your points."),
        ("create_esim", "I've activated your eSIM."),
        ("cancel_card", "I've deactivated your card."),
        ("create_appointment", "I've rescheduled your visit."),
        ("create_replacement_order", "I've replaced it."),
        ("move_money", "I've transferred the money."),
        ("send_payment", "I've transferred the money."),
        ("assign_slot", "I've booked your slot."),
        ("create_note", "I've added a note."),
        ("create_plan", "I've adjusted your plan."),
        ("close_order", "I've cancelled your order."),
        ("schedule_pickup", "Your return has been initiated."),
        ("move_visit", "I've booked you for Tuesday."),
        ("route_ticket", "I've updated the ticket."),
        ("waive_fee", "I've cancelled the fee."),
        ("block_card", "I've ordered a new card."),
    ],
)
def test_a_tool_that_may_have_done_it_proves_it_and_its_failure_does_not(tool: str, claim: str) -> None:
    asked = ("c", "Please do it.")
    assert reasons(asked, LOOKUP, (tool, {"order_id": "A17741"}, "{}"), ("a", claim)) == []
    assert len(reasons(asked, LOOKUP, (tool, {"order_id": "A17741"}, "Error: closed"), ("a", claim))) == 1
    assert len(reasons(asked, LOOKUP, ("a", claim))) == 1


def test_an_argument_that_tells_the_act_proves_it() -> None:
    claim = ("a", "I have cancelled your order.")
    assert reasons(("c", "Cancel it."), ("update_address", {"status": "cancelled"}, "{}"), claim) == []
    summary = ("transfer_to_human_agents", {"summary": "The customer wants to cancel the order."}, "{}")
    assert len(reasons(("c", "Cancel it."), summary, claim)) == 1


def test_the_failure_of_a_general_tool_does_not_undo_what_was_done_before() -> None:
    failed = ("add_note", {"order_id": "A17741"}, "Error: unknown")
    claim = ("a", "I have cancelled your order.")
    assert reasons(("c", "Cancel it."), CANCEL, ("c", "Note that."), failed, claim) == []


def test_an_error_reports_what_had_been_done_before() -> None:
    refused = ("cancel_order", {"order_id": "A17741"}, "Error: order was already cancelled")
    assert reasons(("c", "Cancel it."), refused, ("a", "Your order has been cancelled.")) == []


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


def test_a_state_that_a_tool_reported_may_be_told_in_the_passive() -> None:
    report = ("get_esim", {}, '{"esim_status": "active"}')
    asked = ("c", "Does it work?")
    assert reasons(asked, report, ("a", "Your eSIM is now activated.")) == []
    assert len(reasons(asked, report, ("a", "I've activated your eSIM."))) == 1
    assert len(reasons(asked, report, ("a", "Your eSIM has been deactivated."))) == 1


def test_dialogues_without_results_of_tools_say_nothing() -> None:
    assert reasons(("c", "Cancel it."), ("a", "I have cancelled your order.")) == []


def test_names_of_tools() -> None:
    assert name_words("getOrder_by-ID2") == ("get", "order", "by", "id", "2")
    assert all(may_write(name) for name in ("check_in_passenger", "find_and_book", "verify_or_create"))
    assert [may_write(name) for name in ("get_order", "searchFlights", "think", "orders", "cancel", "")] == [
        False, False, False, True, True, True,
    ]  # fmt: skip
