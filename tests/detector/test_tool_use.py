"""Tool calls and their results: which belongs to which, what failed, what was never run."""

from __future__ import annotations

import pytest

from dialint.detector.records import Dialogue, ToolCall, Turn
from dialint.detector.tool_use import ToolUse, has_failed, parse_result, tool_uses


def dialogue(*turns: Turn) -> Dialogue:
    return Dialogue(
        id="d", turns=tuple(turn.model_copy(update={"index": place}) for place, turn in enumerate(turns))
    )


def customer(text: str = "Where is it?") -> Turn:
    return Turn(index=0, role="customer", text=text)


def calls(*names: str) -> Turn:
    """Calls of these names, with an id after a colon."""
    pairs = [name.partition(":") for name in names]
    made = tuple(ToolCall(name=name, id=own or None) for name, _, own in pairs)
    return Turn(index=0, role="agent", text="", tool_calls=made)


def result(text: str, call_id: str | None = None, error: bool | None = None) -> Turn:
    return Turn(index=0, role="tool", text=text, tool_call_id=call_id, tool_error=error)


def summary(uses: tuple[ToolUse, ...]) -> list[tuple[str, int, str | None, int | None, bool]]:
    return [(use.call.name, use.turn, use.result, use.result_turn, use.failed) for use in uses]


def test_results_without_ids_belong_to_the_earliest_call_without_one() -> None:
    uses = tool_uses(dialogue(customer(), calls("a", "b"), result("1"), result("2"), calls("c"), result("3")))
    assert summary(uses) == [("a", 1, "1", 2, False), ("b", 1, "2", 3, False), ("c", 4, "3", 5, False)]


def test_results_with_ids_belong_to_their_call_in_any_order() -> None:
    uses = tool_uses(dialogue(calls("a:x", "b:y"), result("2", "y"), customer(), result("1", "x")))
    assert summary(uses) == [("a", 0, "1", 3, False), ("b", 0, "2", 1, False)]


def test_a_reused_id_means_the_last_call() -> None:
    uses = tool_uses(dialogue(calls("a:0"), result("1", "0"), calls("b:0"), result("2", "0")))
    assert [use.result for use in uses] == ["1", "2"]


def test_a_call_without_a_result_before_the_customer_was_never_run() -> None:
    uses = tool_uses(dialogue(calls("a"), customer(), result("late"), calls("b")))
    assert summary(uses) == [("a", 0, None, None, True), ("b", 3, None, None, True)]
    assert not any(use.was_run for use in uses)


def test_a_result_of_an_unknown_call_belongs_to_none() -> None:
    assert summary(tool_uses(dialogue(calls("a:x"), result("1", "z")))) == [("a", 0, None, None, True)]


@pytest.mark.parametrize(
    ("turn", "failed"),
    [
        (result("Error: order not found"), True),
        (result('{"error": "no such user"}'), True),
        (result('{"status": "Failed"}'), True),
        (result('{"success": false}'), True),
        (result("Error: said the log", error=False), False),
        (result("fine", error=True), True),
        (result('{"status": "delivered", "error": null}'), False),
        (result("ToolException: no such user"), True),
        (result("HTTP 500 Internal Server Error"), True),
        (result("Request timed out after 30 s"), True),
        (result('{"statusCode": 409, "message": "held"}'), True),
        (result('{"isError": true, "content": []}'), True),
        (result('{"status": 200}'), False),
        (result("Terror is a film of 1978"), False),
        (result("Errors are shown on page 2"), False),
        (result("[]"), False),
        (result(""), False),
    ],
)
def test_failures(turn: Turn, failed: bool) -> None:
    assert has_failed(turn) is failed


def test_results_are_parsed_if_they_are_json() -> None:
    assert parse_result('{"a": [1]}') == {"a": [1]}
    assert parse_result("a_user_12") is None
    assert parse_result("[" * 100_000) is None
