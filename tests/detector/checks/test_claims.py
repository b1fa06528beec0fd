"""Claims of a completed act: which tools may have done it. Their cases stand in `cases.yaml`."""

from __future__ import annotations

import pytest
from marked_dialogues import read_case

from dialint.detector.checks import NO_CONTEXT
from dialint.detector.checks.calls import may_write
from dialint.detector.checks.claims import claims_undone_write
from dialint.detector.checks.values import name_words

TOOLS = {
    "I've cancelled your subscription.": "update_subscription",
    "I've cancelled your order.": "set_status submit_cancellation close_order",
    "I've removed the item.": "delete_item",
    "I've removed the add-on.": "cancel_addon",
    "I've ordered a new card.": "replace_card issue_card block_card",
    "I've ordered a new one.": "send_replacement",
    "I've escalated this.": "create_ticket add_note",
    "I've waived the fee.": "remove_fee apply_discount adjust_bill",
    "I've credited your points.": "add_points",
    "I've activated your eSIM.": "create_esim",
    "I've deactivated your card.": "cancel_card",
    "I've rescheduled your visit.": "create_appointment",
    "I've replaced it.": "create_replacement_order",
    "I've transferred the money.": "move_money send_payment",
    "I've booked your slot.": "assign_slot",
    "I've added a note.": "create_note",
    "I've adjusted your plan.": "create_plan",
    "Your return has been initiated.": "schedule_pickup",
    "I've booked you for Tuesday.": "move_visit",
    "I've updated the ticket.": "route_ticket",
    "I've cancelled the fee.": "waive_fee",
}


@pytest.mark.parametrize("claim", TOOLS)
def test_a_tool_that_may_have_done_it_proves_it_and_its_failure_does_not(claim: str) -> None:
    def n_hits(*calls: str) -> int:
        talk, _ = read_case(["c: Please do it.", "call: get_order", "t: {}", *calls, f"a: {claim}"])
        return len(list(claims_undone_write(talk, NO_CONTEXT)))

    assert n_hits() == 1
    for tool in TOOLS[claim].split():
        assert n_hits(f"call: {tool}", "t: {}") == 0
        assert n_hits(f"call: {tool}", "t: Error: closed") == 1


def test_names_of_tools() -> None:
    assert name_words("getOrder_by-ID2") == ("get", "order", "by", "id", "2")
    assert all(may_write(name) for name in ("check_in_passenger", "find_and_book", "verify_or_create"))
    assert [may_write(name) for name in ("get_order", "searchFlights", "think", "orders", "cancel", "")] == [
        False, False, False, True, True, True,
    ]  # fmt: skip
