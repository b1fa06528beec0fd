"""Look-ups that are claimed without any call, and what agents tell of records that no tool returned."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dialint.detector.checks import CheckContext
from dialint.detector.checks.claims import claims_undone_write
from dialint.detector.checks.facts import claims_undone_lookup, unsupported_fact
from dialint.detector.log_profile import EMPTY_PROFILE
from dialint.detector.records import Dialogue, ToolCall, Turn

WITH_TOOLS = CheckContext(log=replace(EMPTY_PROFILE, n_dialogues=10, tool_dialogues=8))
NOT_FOUND = "Error: user not found"


def dialogue(said: str, customer: str = "I want to know about my order.", result: str = "") -> Dialogue:
    turns = [Turn(index=0, role="customer", text=customer)]
    if result:
        call = ToolCall(name="find_user", arguments={"name": "Ana"})
        turns.append(Turn(index=1, role="agent", text="", tool_calls=(call,)))
        turns.append(Turn(index=2, role="tool", text=result))
    turns.append(Turn(index=len(turns), role="agent", text=said))
    return Dialogue(id="d", turns=tuple(turns))


@pytest.mark.parametrize(
    "claim",
    [
        "I have located your account.",
        "I've checked your order history and all is well.",
        "I was able to find your reservation.",
        "I found two orders under your name.",
        "According to our records, you live in Oslo.",
        "Based on your account, you live in Oslo.",
        "The lamp is in white based on the product details.",
        "I see from your profile that you live in Oslo.",
        "I see that you have several orders.",
        "It looks like your order was sent to Oslo.",
        "The order is currently pending.",
        "The refund amount is $85.00.",
    ],
)
def test_what_no_tool_returned_is_made_up(claim: str) -> None:
    text = f"One moment. {claim} Anything else?"
    (hit,) = claims_undone_lookup(dialogue(text), WITH_TOOLS)
    assert (hit.turn, hit.code, text[hit.start : hit.end]) == (1, "I2", claim)
    assert not list(claims_undone_lookup(dialogue(text, result='{"user": "ana"}'), WITH_TOOLS))
    assert not list(claims_undone_lookup(dialogue(text), CheckContext()))


@pytest.mark.parametrize(
    "said",
    [
        "I can help you with that.",
        "Once I have located your account, we can go on.",
        "Have I found the right order?",
        "Let me check your order history.",
        "If the order is pending, it can be cancelled.",
        "A refund over $85.00 may take five days.",
        "Have you checked your order details?",
        "The direct debit is taken from your account on the 1st.",
        "Taken monthly (on the 1st) from your account, it pays for all.",
        "From your account, choose the settings.",
        "We remove the card from your profile.",
        "The limit is based on your account type.",
    ],
)
def test_offers_plans_and_questions_claim_nothing(said: str) -> None:
    assert not list(claims_undone_lookup(dialogue(said), WITH_TOOLS))


def test_the_customers_own_words_are_no_invention() -> None:
    customer = "My order is still pending, and the total was $85.00."
    for said in ("So your order is pending.", "The total of $85.00 is noted."):
        assert not list(claims_undone_lookup(dialogue(said, customer), WITH_TOOLS))
        assert list(claims_undone_lookup(dialogue(said), WITH_TOOLS))


def test_what_a_system_turn_holds_is_known() -> None:
    said = dialogue("The cost is $85.00 for each order.")
    prompt = Turn(index=0, role="system", text="A repair costs $85.00.")
    turns = tuple(turn.model_copy(update={"index": turn.index + 1}) for turn in said.turns)
    assert list(claims_undone_lookup(said, WITH_TOOLS))
    assert not list(claims_undone_lookup(Dialogue(id="d", turns=(prompt, *turns)), WITH_TOOLS))
    other = prompt.model_copy(update={"text": "A repair costs $95.00."})
    assert list(claims_undone_lookup(Dialogue(id="d", turns=(other, *turns)), WITH_TOOLS))


def test_a_failed_look_up_may_be_told() -> None:
    told = "I have checked our system, but there is no such account."
    assert not list(claims_undone_lookup(dialogue(told, result=NOT_FOUND), WITH_TOOLS))
    assert list(claims_undone_lookup(dialogue("I have located your account.", result=NOT_FOUND)))


def test_a_log_with_tools_makes_a_dialogue_without_any_speak() -> None:
    said = dialogue("I have cancelled order B47119.")
    assert [hit.code for hit in claims_undone_write(said, WITH_TOOLS)] == ["R3"]
    assert [hit.code for hit in unsupported_fact(said, WITH_TOOLS)] == ["I2"]
    assert not list(claims_undone_write(said))
    assert not list(unsupported_fact(said))


def test_the_words_of_a_raw_call_are_read() -> None:
    text = '{"name": "respond", "arguments": {"content": "I have cancelled your order. Bye."}}'
    (hit,) = claims_undone_write(dialogue(text), WITH_TOOLS)
    assert text[hit.start : hit.end] == "I have cancelled your order."
    text = '{"name": "respond", "arguments": {"content": "I have located your account."}}'
    (hit,) = claims_undone_lookup(dialogue(text), WITH_TOOLS)
    assert text[hit.start : hit.end] == "I have located your account."
