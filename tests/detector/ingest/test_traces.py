"""Traces of LLM agents: OpenTelemetry's GenAI spans and OpenInference, conversations spread over spans."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import reading
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import role_texts, write_lines

from dialint.detector.ingest.read import Reject
from dialint.detector.records import Dialogue, ToolCall
from dialint.detector.tool_use import tool_uses

START = 1_772_442_800
CALL = {"type": "tool_call", "id": "c1", "name": "track", "arguments": {"order": "4471"}}
MESSAGES = [
    {"role": "user", "parts": [{"type": "text", "content": "Where is 4471?"}]},
    {"role": "assistant", "parts": [{"type": "reasoning", "content": "Look it up."}, CALL]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": {"state": "left"}}]},
    {"role": "assistant", "parts": [{"type": "text", "content": "It left."}], "finish_reason": "stop"},
    {"role": "user", "parts": [{"type": "text", "content": "Thanks"}]},
    {"role": "assistant", "parts": [{"type": "text", "content": "Gladly."}]},
]
EXPECTED = [
    ("customer", "Where is 4471?"), ("bot", ""), ("tool", '{"state": "left"}'), ("bot", "It left."), ("customer", "Thanks"),
    ("bot", "Gladly."),
]  # fmt: skip


def load(path: Path) -> tuple[list[Dialogue], list[Reject]]:
    return reading.dialogues(path)[:2]


def any_value(value: Any) -> Any:
    """As OTLP writes it."""
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": k, "value": any_value(v)} for k, v in value.items()]}}
    return {"arrayValue": {"values": [any_value(item) for item in value]}}


def span(number: int, attributes: dict[str, Any], trace: str = "t1", **more: Any) -> dict[str, Any]:
    return {
        "traceId": trace, "spanId": f"s{number}", "name": "chat gpt-4",
        "startTimeUnixNano": str((START + 10 * number) * 10**9), "endTimeUnixNano": str((START + 10 * number + 5) * 10**9),
        "attributes": [{"key": key, "value": any_value(value)} for key, value in attributes.items()], **more,
    }  # fmt: skip


def chat(
    number: int, first: int, last: int, n_output: int = 1, *, text: bool = True, **more: Any
) -> dict[str, Any]:
    """A span of `MESSAGES` from `first` to `last`."""
    write: Any = json.dumps if text else lambda value: value
    values = {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": "conv-1",
        "gen_ai.input.messages": write(MESSAGES[first : last - n_output]),
        "gen_ai.output.messages": write(MESSAGES[last - n_output : last]),
        **more,
    }
    return span(number, values)


def export(*spans: dict[str, Any]) -> dict[str, Any]:
    return {
        "resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]
    }


@pytest.mark.parametrize("layout", ["document", "lines", "structured", "interleaved"])
def test_a_conversation_is_joined_from_its_calls(tmp_path: Path, layout: str) -> None:
    spans = [chat(n, 0, last, text=layout != "structured") for n, last in enumerate((2, 4, 6))]
    other = span(7, {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(MESSAGES[:1]),
                     "gen_ai.output.messages": json.dumps(MESSAGES[3:4])}, trace="t2")  # fmt: skip
    path = tmp_path / ("trace.json" if layout == "document" else "trace.jsonl")
    if layout == "document":
        path.write_text(json.dumps(export(*spans, other), indent=1))
    elif layout == "interleaved":
        write_lines(path, export(spans[2]), export(other), export(spans[0], spans[1]))
    else:
        write_lines(path, *map(export, [*spans, other]))
    (first, second), rejects = load(path)
    assert not rejects
    assert (first.id, role_texts(first)) == ("conv-1", EXPECTED)
    (use,) = tool_uses(first)
    assert use.call == ToolCall(name="track", arguments={"order": "4471"}, id="c1")
    assert (use.turn, use.result_turn) == (1, 2)
    assert (second.id, role_texts(second)) == ("t2", [EXPECTED[0], EXPECTED[3]])
    times = [turn.at for turn in first.turns]
    assert times[0] == datetime.fromisoformat("2026-03-02T09:13:20+00:00")
    assert [time is None for time in times] == [False, False, True, False, False, False]


def test_a_router_is_no_part_of_the_conversation(tmp_path: Path) -> None:
    route = {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": "conv-1",
        "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Choose a queue."}]),
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Queue?"}]}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "B"}]}]),
    }  # fmt: skip
    path = write_lines(tmp_path / "t.jsonl", export(chat(1, 0, 4), span(0, route), chat(2, 0, 6)))
    assert role_texts(load(path)[0][0]) == EXPECTED


def test_results_of_the_tools_own_spans(tmp_path: Path) -> None:
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.conversation.id": "conv-1",
        "gen_ai.tool.name": "track",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.result": "no such order",
    }
    failed = span(1, tool, status={"code": 2})
    alone = load(write_lines(tmp_path / "a.jsonl", export(chat(0, 0, 2), failed)))[0][0]
    assert role_texts(alone) == [*EXPECTED[:2], ("tool", "no such order")]
    assert [use.failed for use in tool_uses(alone)] == [True]
    joined = load(write_lines(tmp_path / "b.jsonl", export(chat(0, 0, 2), failed, chat(2, 0, 4))))[0][0]
    assert role_texts(joined) == EXPECTED[:4]
    assert joined.turns[2].tool_error is True


OPENINFERENCE = json.loads(Path(__file__).with_name("openinference.json").read_text(encoding="utf-8"))
"""The attributes of one span, with dotted keys and nested."""


@pytest.mark.parametrize("layout", ["span a line", "array", "nested", "otlp"])
def test_openinference_in_its_layouts(tmp_path: Path, layout: str) -> None:
    record: dict[str, Any] = {
        "name": "llm", "context": {"trace_id": "t1", "span_id": "s1"}, "span_kind": "LLM",
        "start_time": "2026-03-02T10:13:20+01:00", "end_time": "2026-03-02T10:13:25+01:00",
        "attributes": OPENINFERENCE["nested" if layout == "nested" else "flat"],
    }  # fmt: skip
    path = tmp_path / ("t.json" if layout == "array" else "t.jsonl")
    if layout == "array":
        path.write_text(json.dumps([record], indent=1))
    else:
        write_lines(path, export(span(0, OPENINFERENCE["flat"])) if layout == "otlp" else record)
    (dialogue,), rejects = load(path)
    assert not rejects
    assert (dialogue.id, role_texts(dialogue)) == ("conv-1", [("system", "Be kind."), *EXPECTED[:4]])
    (use,) = tool_uses(dialogue)
    assert (use.call, use.turn) == (ToolCall(name="track", arguments={"order": "4471"}, id="c1"), 2)


@pytest.mark.parametrize(
    ("attributes", "path"),
    [
        ({"gen_ai.input.messages": "no JSON"}, "gen_ai.input.messages"),
        ({"gen_ai.input.messages": '["Hi"]'}, "gen_ai.input.messages[0]"),
        ({"gen_ai.input.messages": '[{"parts": []}]'}, "gen_ai.input.messages[0].role"),
        ({"gen_ai.input.messages": '[{"role": "user", "parts": 3}]'}, "gen_ai.input.messages[0].parts"),
        (
            {"gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "tool_call"}]}]'},
            "gen_ai.output.messages[0].parts[0].name",
        ),
        ({"llm.input_messages.0.message.content": "Hi"}, "llm.input_messages.0.message.role"),
        (
            {
                "llm.input_messages.0.message.role": "assistant",
                "llm.input_messages.0.message.tool_calls.0.tool_call.id": "c",
            },
            "llm.input_messages.0.message.tool_calls.0.tool_call.function.name",
        ),
    ],
)
def test_wrong_shapes_are_refused_with_their_place(
    tmp_path: Path, attributes: dict[str, Any], path: str
) -> None:
    log = write_lines(tmp_path / "t.jsonl", export(span(0, attributes, trace="bad")), export(chat(1, 0, 2)))
    (good,), (reject,) = load(log)
    assert good.id == "conv-1"
    place = "resourceSpans[0].scopeSpans[0].spans[0].attributes."
    assert (reject.code, reject.path, reject.line) == ("E_TYPE", place + path, 1)


def test_a_trace_without_content_is_refused_and_not_clean(tmp_path: Path) -> None:
    empty = span(0, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4"})
    loaded, (reject,) = load(write_lines(tmp_path / "t.jsonl", export(empty)))
    assert (loaded, reject.code) == ([], "E_EMPTY")


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 6)), min_size=1, max_size=6))
def test_windows_that_overlap_give_back_the_conversation(tmp_path: Path, cuts: list[tuple[int, int]]) -> None:
    """However much of the history each call repeats, as long as it ends where the last one did or later."""
    ends = sorted({2, 4, 6} | {end for _, end in cuts})
    starts = {end: start for start, end in cuts}
    spans, before = [], 0
    for number, end in enumerate(ends):
        spans.append(chat(number, min(starts.get(end, 0), before), end))
        before = end
    (dialogue,), rejects = load(write_lines(tmp_path / "t.jsonl", export(*spans)))
    assert not rejects
    assert role_texts(dialogue) == EXPECTED
