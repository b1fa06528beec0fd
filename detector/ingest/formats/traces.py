"""Traces of LLM agents: spans by the GenAI conventions of OpenTelemetry, and by OpenInference.

Spans stand in OTLP JSON (`resourceSpans`, one export a line or one document), or one span a record with its
attributes as an object. A conversation (`gen_ai.conversation.id`, `session.id`, else the trace) may be spread
over many spans and records; each call of a model repeats the messages before it, or sends only what is new.
Messages are joined where they overlap. Calls with other instructions that share no message, such as those of
a router, are conversations of their own, of which the longest is read. Reasoning is left out.

Sources: https://opentelemetry.io/docs/specs/semconv/gen-ai/ (`gen_ai.input.messages`,
`gen_ai.output.messages`, parts `text`, `tool_call`, `tool_call_response`; spans `execute_tool`) and
https://arize-ai.github.io/openinference/spec/ (`llm.input_messages.N.message.role`, `message.tool_calls`).
Events of older conventions (`gen_ai.user.message`) and attributes of vendors are not read.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

from dialint.detector.ingest.formats.chats import ROLES, read_content, result_text
from dialint.detector.ingest.formats.tool_turns import tool_call
from dialint.detector.ingest.log_format import (
    LogFormat,
    RawDialogue,
    RawTurn,
    as_name,
    map_role,
    object_at,
    object_list,
)
from dialint.detector.ingest.outcomes import BadRecord, json_kind
from dialint.detector.ingest.times import from_epoch, parse_iso
from dialint.detector.records import ToolCall

INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
OPEN_INPUT, OPEN_OUTPUT = "llm.input_messages", "llm.output_messages"
INSTRUCTIONS = "gen_ai.system_instructions"
CONVERSATION = ("gen_ai.conversation.id", "session.id")
TOOL_OPERATION, TOOL_KIND = "execute_tool", "TOOL"
MODEL_OPERATIONS = ("chat", "generate_content", "text_completion")

MAX_INDEX_DIGITS = 6
MAX_THREADS = 16
"""Newest threads that a call may continue."""

Span = dict[str, Any]
Message = dict[str, Any]
"""JSON: `role`, `text`, `calls` as [name, arguments, id], `call_id`, `error` and `at`."""


def _has_attributes(prefixes: tuple[str, ...], record: Any) -> bool:
    """Returns whether a record is an export of spans, or one span, with such attributes."""
    try:
        return any(
            key.startswith(prefixes)
            for _, span in _spans(record)
            for attributes in _attribute_sets(span, "")
            for key in _flatten(attributes)
        )
    except BadRecord:
        return False


def parts(record: Any, fallback_id: str) -> Iterator[tuple[str, Span]]:
    """The spans of a record that belong to a conversation, each with its conversation's id.

    Raises:
        BadRecord: E_TYPE, a span or a message has another shape.
    """
    if not isinstance(record, dict):
        raise BadRecord("E_TYPE", "", json_kind(record), "an object, one a line")
    if "resourceSpans" not in record and "attributes" not in record:
        raise BadRecord("E_TYPE", "attributes", "nothing", "a span with attributes, or resourceSpans")
    for path, span in _spans(record):
        flat: dict[str, Any] = {}
        for attributes in _attribute_sets(span, path):
            flat |= _flatten(attributes)
        ids = (span.get("traceId"), object_at(span, "context").get("trace_id"), span.get("trace_id"))
        name = _first_name(*map(flat.get, CONVERSATION), *ids) or fallback_id
        part = _part(span, flat, f"{path}attributes.", name)
        if part is not None:
            span_ids = (span.get("spanId"), object_at(span, "context").get("span_id"), span.get("span_id"))
            trace, own = _first_name(*ids), _first_name(*span_ids)
            yield name, {**part, "span": [trace, own] if trace and own else None}


def read_conversation(spans: list[Span], name: str) -> Iterator[RawDialogue]:
    """Reads a conversation from its spans, in the order of their times."""
    ordered = sorted(spans, key=lambda span: (span["start"] is None, span["start"] or ""))
    threads: list[_Thread] = []
    for span in ordered:
        if "messages" in span:
            recent = reversed(threads[-MAX_THREADS:])
            thread = next((one for one in recent if one.continues(span)), None)
            if thread is None:
                thread = _Thread(span["instructions"])
                threads.append(thread)
            thread.add(span)
    thread = max(threads, key=lambda one: len(one.messages), default=_Thread(""))
    results = {span["call_id"]: span for span in ordered if "result" in span and span["call_id"]}
    turns = list(_turns(thread, results))
    agent = next((span["agent"] for span in ordered if span.get("agent")), None)
    yield RawDialogue(name, turns, {"agent": agent}, path="messages")


class _Thread:
    """Messages under the same instructions, in order."""

    def __init__(self, instructions: str) -> None:
        self.instructions = instructions
        self.messages: list[Message] = []
        self._keys: list[str] = []

    def continues(self, span: Span) -> bool:
        """Returns whether the span continues the messages so far."""
        return span["instructions"] == self.instructions or self._overlap(_keys(span)) > 0

    def add(self, span: Span) -> None:
        """Adds the new messages of a span."""
        incoming: list[Message] = span["messages"]
        keys = _keys(span)
        n_overlap = self._overlap(keys)
        for earlier, again in zip(self.messages[len(self.messages) - n_overlap :], incoming, strict=False):
            for call, other in zip(earlier["calls"], again["calls"], strict=True):
                call[2] = call[2] or other[2]
            earlier["call_id"] = earlier["call_id"] or again["call_id"]
        self.messages += incoming[n_overlap:]
        self._keys += keys[n_overlap:]

    def _overlap(self, new: list[str]) -> int:
        """The number of the last messages that are also the first of `new` (Knuth, Morris and Pratt)."""
        borders = [0] * len(new)
        n = 0
        for position in range(1, len(new)):
            while n and new[position] != new[n]:
                n = borders[n - 1]
            n += new[position] == new[n]
            borders[position] = n
        n = 0
        for key in self._keys[max(0, len(self._keys) - len(new)) :]:
            while n and (n == len(new) or key != new[n]):
                n = borders[n - 1]
            n += bool(new) and key == new[n]
        return n


def _keys(span: Span) -> list[str]:
    """Keys of messages, for equality: role, words, and calls without their ids."""
    return [
        json.dumps([one["role"], one["text"].strip(), [call[:2] for call in one["calls"]]], sort_keys=True)
        for one in span["messages"]
    ]


def _turns(thread: _Thread, results: dict[str, Span]) -> Iterator[RawTurn]:
    """The turns of a thread; results that are only in a tool's own span follow their call."""
    if thread.instructions and not any(message["role"] == "system" for message in thread.messages):
        yield RawTurn("system", thread.instructions)
    answered = {message["call_id"] for message in thread.messages if message["call_id"]}
    last: datetime | None = None
    for message in thread.messages:
        at = None if message["at"] is None else datetime.fromisoformat(message["at"])
        if at is not None and last is not None and at < last:
            at = last
        last = at or last
        if message["role"] == "tool":
            own = results.get(message["call_id"] or "")
            error = own["error"] if own else message["error"]
            yield RawTurn("tool", message["text"], at, tool_call_id=message["call_id"], tool_error=error)
            continue
        turn = RawTurn(message["role"], message["text"], at)
        if message["role"] == "bot":
            turn.tool_calls = tuple(
                ToolCall(name=name, arguments=arguments, id=call_id)
                for name, arguments, call_id in message["calls"]
            )
        yield turn
        for call in turn.tool_calls:
            if call.id in results and call.id not in answered:
                own = results[call.id]
                answered.add(call.id)
                yield RawTurn("tool", own["result"], at, tool_call_id=call.id, tool_error=own["error"])


def _spans(record: Any) -> Iterator[tuple[str, Span]]:
    """Path (with a dot after it) and value of every span of a record."""
    if not isinstance(record, dict):
        return
    if "resourceSpans" not in record:
        if isinstance(record.get("attributes"), dict | list):
            yield "", record
        return
    for i, resource in enumerate(object_list(record, "resourceSpans")):
        key = "scopeSpans" if "scopeSpans" in resource else "instrumentationLibrarySpans"
        for j, scope in enumerate(object_list(resource, key)):
            for k, span in enumerate(object_list(scope, "spans")):
                yield f"resourceSpans[{i}].{key}[{j}].spans[{k}].", span


def _attribute_sets(span: Span, path: str) -> Iterator[dict[str, Any]]:
    """The attributes of a span, then those of its events."""
    yield _attributes(span.get("attributes"), f"{path}attributes")
    events = span.get("events")
    for index, event in enumerate(events if isinstance(events, list) else []):
        if isinstance(event, dict):
            yield _attributes(event.get("attributes"), f"{path}events[{index}].attributes")


def _attributes(value: Any, path: str) -> dict[str, Any]:
    """Attributes as an object, of an object or of OTLP's list of keys and values."""
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    if not isinstance(value, list):
        raise BadRecord("E_TYPE", path, json_kind(value), "a list of keys and values, or an object")
    result = {}
    for index, item in enumerate(value):
        if not isinstance(item, dict) or not isinstance(item.get("key"), str):
            raise BadRecord("E_TYPE", f"{path}[{index}]", json_kind(item), "an object with key and value")
        result[item["key"]] = _any_value(item.get("value"))
    return result


def _any_value(value: Any) -> Any:
    """Decodes a value of OTLP, ``{"stringValue": ...}`` and the like."""
    if not isinstance(value, dict):
        return value
    for key in ("stringValue", "boolValue", "doubleValue"):
        if key in value:
            return value[key]
    if "intValue" in value:
        number = str(value["intValue"])
        is_number = number.isascii() and number.removeprefix("-").isdecimal() and len(number) <= 20
        return int(number) if is_number else number
    if isinstance(value.get("arrayValue"), dict):
        return [_any_value(item) for item in object_list(value["arrayValue"], "values")]
    if isinstance(value.get("kvlistValue"), dict):
        pairs = object_list(value["kvlistValue"], "values")
        return {str(pair.get("key")): _any_value(pair.get("value")) for pair in pairs}
    return None


def _flatten(value: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The attributes with dotted keys; those of OpenInference also where lists and objects are nested."""
    flat: dict[str, Any] = {}
    for key, item in value.items():
        name = prefix + key
        nested = isinstance(item, dict) or (
            isinstance(item, list) and (name.startswith((OPEN_INPUT, OPEN_OUTPUT)) or name == "llm")
        )
        if nested and not name.startswith("gen_ai."):
            children = item if isinstance(item, dict) else {str(n): each for n, each in enumerate(item)}
            flat |= _flatten({str(n): each for n, each in children.items()}, f"{name}.")
        elif nested and isinstance(item, dict) and name not in (INPUT, OUTPUT):
            flat |= _flatten(item, f"{name}.") | {name: item}
        else:
            flat[name] = item
    return flat


def _first_name(*values: object) -> str | None:
    return next(filter(None, map(as_name, values)), None)


def _part(span: Span, flat: dict[str, Any], path: str, dialogue: str) -> Span | None:
    """The part of its conversation that a span holds, as JSON; None if none."""
    start = _time(span, ("startTimeUnixNano", "start_time"))
    end = _time(span, ("endTimeUnixNano", "end_time"))
    kind, operation = flat.get("openinference.span.kind"), flat.get("gen_ai.operation.name")
    if operation == TOOL_OPERATION or kind == TOOL_KIND:
        call_id = _first_name(*map(flat.get, ("gen_ai.tool.call.id", "tool_call.id", "tool.id")))
        value = flat.get("gen_ai.tool.call.result", flat.get("output.value"))
        if call_id is None or value is None:
            return None
        failed = _has_failed(span, flat)
        return {"start": start, "call_id": call_id, "result": result_text(value), "error": failed}
    messages: list[Message] = []
    for key, read, at in (
        (INPUT, _gen_ai_messages, start),
        (OPEN_INPUT, _open_messages, start),
        (OUTPUT, _gen_ai_messages, end),
        (OPEN_OUTPUT, _open_messages, end),
    ):
        batch = list(read(flat, key, path, dialogue))
        if batch and at is not None and key in (OUTPUT, OPEN_OUTPUT):
            batch[0]["at"] = at
        elif batch and at is not None and batch[-1]["role"] == "customer":
            batch[-1]["at"] = at
        messages += batch
    if not messages and kind != "LLM" and operation not in MODEL_OPERATIONS:
        return None
    instructions = "\n".join(one["text"] for one in messages if one["role"] == "system")
    if INSTRUCTIONS in flat:
        system_parts = _decode_list(flat[INSTRUCTIONS], path + INSTRUCTIONS, dialogue)
        texts = [part.get("content") for part in system_parts if isinstance(part, dict)]
        instructions = "\n".join([*(text for text in texts if isinstance(text, str)), instructions]).strip()
    return {
        "start": start,
        "instructions": instructions,
        "messages": [one for one in messages if one["role"] != "system"],
        "agent": as_name(flat.get("gen_ai.agent.name")),
    }


def _time(span: Span, keys: Iterable[str]) -> str | None:
    """The time under one of the keys, ISO 8601 in UTC: nanoseconds since 1970, or a text."""
    for key in keys:
        value = span.get(key)
        if isinstance(value, bool) or not isinstance(value, str | int):
            continue
        digits = str(value)
        if not (digits.isascii() and digits.isdecimal()):
            time = parse_iso(digits)
        else:
            time = from_epoch(int(digits) / 1e9) if len(digits) <= 20 and digits.strip("0") else None
        if (text := utc_text(time)) is not None:
            return text
    return None


def utc_text(time: datetime | None) -> str | None:
    """Formats a time as ISO 8601 in UTC, so that texts sort like times; None for none, and for one that is
    then before the year 1 or after 9999."""
    if time is None:
        return None
    with suppress(OverflowError):
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    return None


def _has_failed(span: Span, flat: dict[str, Any]) -> bool | None:
    """Returns whether a span ended with an error; None if unknown."""
    status = object_at(span, "status")
    code = status.get("code", status.get("status_code", span.get("status_code")))
    if code in (2, "2", "STATUS_CODE_ERROR", "ERROR") or flat.get("error.type"):
        return True
    return False if code in (1, "1", "STATUS_CODE_OK", "OK") else None


def _decode_list(value: Any, path: str, dialogue: str) -> list[Any]:
    """Returns a list, decoded if it is JSON."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise BadRecord("E_TYPE", path, "another text", "the JSON of a list", dialogue) from None
    if not isinstance(value, list):
        raise BadRecord("E_TYPE", path, json_kind(value), "a list", dialogue)
    return value


def as_message(turn: RawTurn) -> Message:
    """A turn as JSON."""
    return {
        "role": turn.role,
        "text": turn.text,
        "calls": [[call.name, call.arguments, call.id] for call in turn.tool_calls],
        "call_id": turn.tool_call_id,
        "error": turn.tool_error,
        "at": None,
    }


def _gen_ai_messages(flat: dict[str, Any], key: str, path: str, dialogue: str) -> Iterator[Message]:
    """The messages of OpenTelemetry's attribute; each result of a tool is one of its own. Of several answers
    to choose from the first is read."""
    if flat.get(key) is None:
        return
    for index, item in enumerate(_decode_list(flat[key], path + key, dialogue)):
        place = f"{path}{key}[{index}]"
        if not isinstance(item, dict):
            raise BadRecord("E_TYPE", place, json_kind(item), "a message", dialogue)
        role, content = item.get("role"), item.get("parts", item.get("content"))
        if not isinstance(role, str):
            raise BadRecord("E_TYPE", f"{place}.role", json_kind(role), "a text", dialogue)
        turns = read_content(map_role(role, ROLES), content, f"{place}.parts", dialogue, Counter())
        yield from map(as_message, turns if key != OUTPUT or index == 0 else ())


def _open_messages(flat: dict[str, Any], key: str, path: str, dialogue: str) -> Iterator[Message]:
    """The messages of OpenInference's numbered attributes."""
    for index, values in _list_numbered(flat, f"{key}."):
        place = f"{path}{key}.{index}"
        role = values.get("message.role")
        if not isinstance(role, str):
            raise BadRecord("E_TYPE", f"{place}.message.role", json_kind(role), "a text", dialogue)
        text = values.get("message.content")
        if not isinstance(text, str | None):
            raise BadRecord("E_TYPE", f"{place}.message.content", json_kind(text), "a text", dialogue)
        parts = [part.get("message_content.text") for _, part in _list_numbered(values, "message.contents.")]
        text = text or "\n".join(part for part in parts if isinstance(part, str))
        calls = []
        for n, call in _list_numbered(values, "message.tool_calls."):
            name = call.get("tool_call.function.name")
            where = f"{place}.message.tool_calls.{n}.tool_call.function.name"
            if not isinstance(name, str) or not name.strip():
                raise BadRecord("E_TYPE", where, json_kind(name), "the name of a tool", dialogue)
            arguments = call.get("tool_call.function.arguments")
            calls.append(tool_call(name, arguments, call.get("tool_call.id")))
        older = values.get("message.function_call_name")
        if isinstance(older, str) and older.strip():
            arguments = values.get("message.function_call_arguments_json")
            calls.append(tool_call(older, arguments))
        call_id = as_name(values.get("message.tool_call_id"))
        turn = RawTurn(map_role(role, ROLES), text, tool_calls=tuple(calls), tool_call_id=call_id)
        yield as_message(turn)


def _list_numbered(flat: dict[str, Any], prefix: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The attributes under ``<prefix><number>.``, by number."""
    groups: dict[int, dict[str, Any]] = {}
    for key, value in flat.items():
        if key.startswith(prefix):
            number, _, rest = key[len(prefix) :].partition(".")
            if number.isascii() and number.isdecimal() and len(number) <= MAX_INDEX_DIGITS:
                groups.setdefault(int(number), {})[rest] = value
    yield from sorted(groups.items())


opentelemetry = LogFormat(
    "opentelemetry", partial(_has_attributes, ("gen_ai.",)), read_conversation, parts=parts
)
openinference = LogFormat(
    "openinference",
    partial(_has_attributes, ("openinference.", OPEN_INPUT, OPEN_OUTPUT)),
    read_conversation,
    parts=parts,
)
