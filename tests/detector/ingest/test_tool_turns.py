"""Calls of tools and their results: read from a log, written to one, refused where their shape is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import reading
from reading import write_lines

from dialint.detector.ingest.formats.canonical import as_record
from dialint.detector.ingest.read import Counts, ReadConfig, Reject
from dialint.detector.records import Dialogue, ToolCall, Turn
from dialint.detector.tool_use import tool_uses

AS_IS = ReadConfig(strip=False, max_bad=1.0)
CALLS = (
    ToolCall(name="track", arguments={"order": "4471", "deep": [{"x": None}]}, id="c1"),
    ToolCall(name="ping"),
)
TOOL_TURNS = (
    Turn(index=0, role="customer", text="Where is 4471?"),
    Turn(index=1, role="bot", text="One moment.", tool_calls=CALLS),
    Turn(index=2, role="tool", text='{"state": "left"}', tool_call_id="c1"),
    Turn(index=3, role="tool", text="", tool_error=True),
    Turn(index=4, role="bot", text="", tool_calls=(ToolCall(name="ping"),)),
    Turn(index=5, role="bot", text="It left."),
)


def load(path: Path, config: ReadConfig = AS_IS) -> tuple[list[Dialogue], list[Reject], Counts]:
    return reading.dialogues(path, config)


def test_json_lines_hold_the_tool_turns(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(as_record(Dialogue(id="d", turns=TOOL_TURNS))))
    (again,), rejects, counts = load(path)
    assert not rejects
    assert "W_BLANK_TURN" not in counts.warnings
    assert again.turns == TOOL_TURNS


@pytest.mark.parametrize(
    ("turn", "path", "actual"),
    [
        ({"role": "agent", "tool_calls": {}}, "turns[1].tool_calls", "an object"),
        ({"role": "agent", "tool_calls": ["track"]}, "turns[1].tool_calls[0]", "a text"),
        ({"role": "agent", "tool_calls": [{"arguments": {}}]}, "turns[1].tool_calls[0].name", "nothing"),
        ({"role": "agent", "tool_calls": [{"name": " "}]}, "turns[1].tool_calls[0].name", "an empty text"),
        ({"role": "agent", "tool_calls": [{"function": 3}]}, "turns[1].tool_calls[0].function", "a number"),
        ({"role": "customer", "tool_calls": [{"name": "a"}]}, "turns[1].tool_calls", "calls of the role customer"),
        ({"role": "tool", "tool_call_id": 3}, "turns[1].tool_call_id", "a number"),
        ({"role": "tool", "tool_error": "no"}, "turns[1].tool_error", "a text"),
        ({"role": "agent", "tool_error": True}, "turns[1].tool_error", "the role agent"),
    ],
)  # fmt: skip
def test_wrong_shapes_are_refused_with_their_place(
    tmp_path: Path, turn: dict[str, Any], path: str, actual: str
) -> None:
    turns = [{"role": "customer", "text": "Hi"}, {"text": "ok", **turn}, {"role": "agent", "text": "Hello"}]
    _, (reject,), _ = load(write_lines(tmp_path / "log.jsonl", {"id": "d", "turns": turns}))
    assert (reject.code, reject.path, reject.found) == ("E_TYPE", path, actual)


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": [1, "x"]}', {"a": [1, "x"]}),
        (None, {}),
        ("", {}),
        ("4471", {"input": "4471"}),
        ("not JSON {", {"input": "not JSON {"}),
        ([1], {"input": [1]}),
        ('{"a": NaN}', {"a": "NaN"}),
        ('{"a": "x\\u0000y"}', {"a": "x y"}),
    ],
)
def test_arguments_are_objects_or_their_text(tmp_path: Path, written: Any, arguments: Any) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "track", "arguments": written}}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "ok"}]},
    ]
    (dialogue,), _, _ = load(write_lines(tmp_path / "log.jsonl", {"messages": messages}))
    (use,) = tool_uses(dialogue)
    assert (use.call.name, use.call.arguments, use.result) == ("track", arguments, "ok")


def test_older_function_calls_are_read(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "function_call": {"name": "track", "arguments": "{}"}},
        {"role": "function", "name": "track", "content": "Error: no such order"},
        {"role": "assistant", "content": "It is not there."},
    ]
    (dialogue,), _, _ = load(write_lines(tmp_path / "log.jsonl", {"messages": messages}))
    assert [(use.call.name, use.failed) for use in tool_uses(dialogue)] == [("track", True)]


@pytest.mark.parametrize("style", ["tau", "tau2"])
def test_tau_bench_calls_are_read(tmp_path: Path, style: str) -> None:
    arguments: Any = {"order_id": "#W4471"}
    call = {"id": "c1", "name": "get_order", "arguments": arguments, "requestor": "assistant"}
    if style == "tau":
        call = {"id": "c1", "type": "function", "function": {"name": "get_order", "arguments": json.dumps(arguments)}}  # fmt: skip
    result = {"role": "tool", "tool_call_id": "c1", "name": "get_order", "content": "Error: not found"}
    if style == "tau2":
        result = {"role": "tool", "id": "c1", "requestor": "assistant", "content": "{}", "error": False}
    messages = [
        {"role": "user", "content": "Where is it?"},
        {"role": "assistant", "content": "Looking it up", "tool_calls": [call]},
        result,
        {"role": "user", "content": "", "tool_calls": [{"id": "u1", "name": "look", "arguments": {}}]},
        {"role": "tool", "id": "u1", "requestor": "user", "content": "no signal"},
        {"role": "assistant", "content": "It left."},
    ]
    row = {"task_id": 1, "trial": 0, "traj" if style == "tau" else "messages": messages}
    if style == "tau":
        row["traj"] = [*messages[:3], messages[-1]]
    path = tmp_path / "log.json"
    path.write_text(json.dumps([row] if style == "tau" else {"simulations": [row]}))
    (dialogue,), rejects, _ = load(path)
    assert not rejects
    (use,) = tool_uses(dialogue)
    assert use.call == ToolCall(name="get_order", arguments=arguments, id="c1")
    assert (use.turn, use.result_turn, use.failed) == (1, 2, style == "tau")
    roles = [(turn.role, turn.text) for turn in dialogue.turns]
    assert roles[1] == ("bot", "")
    if style == "tau2":
        assert roles[3:5] == [("system", ""), ("system", "no signal")]


def test_results_are_not_cleaned_and_no_notes(tmp_path: Path) -> None:
    text = "<b>Internal note:</b> x\n> quoted\n-- \nsigned"
    turns = [
        {"role": "customer", "text": "<p>Hi</p>"},
        {"role": "tool", "text": text},
        {"role": "tool", "text": "Internal note: kept"},
        {"role": "agent", "text": "Hello"},
    ]
    (dialogue,), _, _ = load(
        write_lines(tmp_path / "log.jsonl", {"id": "d", "turns": turns}), ReadConfig(max_bad=1.0)
    )
    assert [turn.text for turn in dialogue.turns] == ["Hi", text, "Internal note: kept", "Hello"]


def test_a_wizards_query_is_a_call_and_its_result_a_tools_turn(tmp_path: Path) -> None:
    """STAR writes both as system turns of the shared schema, beside the customer's instructions."""
    query = {
        "query": "hotel_book",
        "constraints": [{"Name": 'api.is_equal_to("Inn")'}, {"Day": '"4th"'}, {"N": 2}],
    }
    odd = {"query": "weather", "constraints": [{"Day": "api.is_greater_than(3)"}]}
    turns = [
        {"turn_id": 0, "role": "system", "text": "Ask for a room.", "action": "user_guide"},
        {"turn_id": 1, "role": "customer", "text": "A room at the Inn, please.", "action": None},
        {"turn_id": 2, "role": "system", "text": json.dumps(query), "action": "query"},
        {"turn_id": 3, "role": "system", "text": '{"result": {"Message": "Available"}}', "action": "kb"},
        {"turn_id": 4, "role": "agent", "text": "It is free. Shall I book it?", "action": "ask_confirm"},
        {"turn_id": 5, "role": "system", "text": json.dumps(odd), "action": "query"},
        {"turn_id": 6, "role": "system", "text": "no json", "action": "query"},
    ]
    pq.write_table(pa.Table.from_pylist([{"dialogue_id": "s1", "turns": turns}]), tmp_path / "log.parquet")
    ((dialogue,), _, _) = load(tmp_path / "log.parquet")
    assert [turn.role for turn in dialogue.turns] == [
        "system", "customer", "agent", "tool", "agent", "agent", "system",
    ]  # fmt: skip
    booked, unanswered = tool_uses(dialogue)
    assert booked.call == ToolCall(name="hotel_book", arguments={"Name": "Inn", "Day": "4th", "N": 2})
    assert (booked.result_turn, unanswered.was_run) == (3, False)
    assert unanswered.call.arguments == {"Day": "api.is_greater_than(3)"}
    texts = [turn.text for turn in dialogue.turns if turn.role == "agent"]
    assert texts == ["", "It is free. Shall I book it?", ""]
