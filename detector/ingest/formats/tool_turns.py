"""Reads calls of tools: names, arguments as objects or as JSON text, ids; and the text of a reasoning agent
(ReAct), of which the customer saw a part or nothing."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from dialint.detector.errors import Message
from dialint.detector.ingest.log_format import RawTurn, as_name
from dialint.detector.ingest.outcomes import BadRecord, json_kind
from dialint.detector.ingest.validation import CONTROL
from dialint.detector.offsets import Piece, assemble
from dialint.detector.records import ToolCall

INPUT = "input"
"""Name of the argument for an input that is no JSON object."""
ARGUMENTS = ("arguments", "input", "args", "input_parameters")
"""The keys under which tools and frameworks write a call's arguments."""
RESULTS = ("result", "results", "output", "response", "error")
_RESULT_IN_CALL = Message("W_RESULT_IN_CALL not read: the result of a call is a turn of the role tool")
MAX_DEPTH = 32
"""Levels of nesting; deeper arguments stay JSON text."""
ACTION = "Action:"
TOOL_OUTPUT = "API output:"
_CONTENT = re.compile(r'"content"\s*+:\s*+("(?:[^"\\]++|\\.)*+")', re.DOTALL)
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.", re.DOTALL
)


def read_calls(
    value: object, path: str, dialogue: str | None = None, warnings: Counter[str] | None = None
) -> tuple[ToolCall, ...]:
    """Reads the calls of a message: a list of objects, each with `name` and `arguments` (or `input`, `args`),
    or with both under `function` as OpenAI writes them. None is no call. Results within a call are not read;
    `warnings` counts them.

    Raises:
        BadRecord: E_TYPE, it has another shape.
    """
    if value is None:
        return ()
    if not isinstance(value, list):
        raise BadRecord("E_TYPE", path, json_kind(value), "a list of tool calls", dialogue)
    calls = tuple(read_call(item, f"{path}[{index}]", dialogue) for index, item in enumerate(value))
    if warnings is not None:
        warnings.update(
            _RESULT_IN_CALL for item in value if any(item.get(key) is not None for key in RESULTS)
        )
    return calls


def read_call(value: object, path: str, dialogue: str | None = None) -> ToolCall:
    """Reads one call.

    Raises:
        BadRecord: E_TYPE, it is no object, or has no name.
    """
    if not isinstance(value, dict):
        raise BadRecord("E_TYPE", path, json_kind(value), "a tool call with name and arguments", dialogue)
    if "name" not in value and any(key.startswith("tool_call") for key in value):
        inner = _nested(value).get("tool_call")
        if not isinstance(inner, dict):
            raise BadRecord("E_TYPE", f"{path}.tool_call", json_kind(inner), "an object", dialogue)
        value = inner
    inner, where = value, path
    for key in ("function", "custom"):
        if key in value and "name" not in value:
            inner, where = value[key], f"{path}.{key}"
            if not isinstance(inner, dict):
                raise BadRecord("E_TYPE", where, json_kind(inner), "an object with a name", dialogue)
            break
    name = next((inner[key] for key in ("name", "toolName", "tool_name") if key in inner), None)
    if not isinstance(name, str) or not name.strip():
        actual = Message("an empty text") if isinstance(name, str) else json_kind(name)
        raise BadRecord("E_TYPE", f"{where}.name", actual, "the name of a tool", dialogue)
    arguments = next((inner[key] for key in ARGUMENTS if key in inner), None)
    return tool_call(name, arguments, call_id(value))


def _nested(value: dict[str, Any]) -> dict[str, Any]:
    """Nests an object whose keys are dotted paths."""
    result: dict[str, Any] = {}
    for key, item in value.items():
        *steps, last = key.split(".")
        place = result
        for step in steps:
            place = place.setdefault(step, {})
        place[last] = item
    return result


def call_id(value: dict[str, Any]) -> object:
    """The id that a call and its result share, under any of its keys."""
    keys = ("call_id", "tool_use_id", "toolUseId", "tool_call_id", "toolCallId", "id")
    return next((value[key] for key in keys if value.get(key) is not None), None)


def tool_call(name: str, arguments: object = None, call_id: object = None) -> ToolCall:
    """Makes a call. `arguments` are an object or its JSON text; anything else becomes the argument
    `INPUT`."""
    value: Any = {} if arguments is None else arguments
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            decoded = json.loads(value if value.strip() else "{}", parse_constant=str)
            value = decoded if isinstance(decoded, dict) else value
    cleaned = _clean(value if isinstance(value, dict) else {INPUT: value}, 0)
    return ToolCall(name=CONTROL.sub(" ", name), arguments=cleaned, id=as_name(call_id))


def _clean(value: Any, depth: int) -> Any:
    """Cleans a JSON value of control characters."""
    if isinstance(value, str):
        return CONTROL.sub(" ", value.encode("utf-8", "replace").decode())
    if isinstance(value, dict | list) and depth >= MAX_DEPTH:
        return "..."
    if isinstance(value, dict):
        return {str(_clean(str(key), depth)): _clean(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item, depth + 1) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def tool_turn(text: str, call_id: object = None, error: object = None, at: object = None) -> RawTurn:
    """Makes the turn of a result, without the words "API output:" that tau-bench puts before it."""
    turn = RawTurn("tool", text, at, tool_call_id=as_name(call_id))
    turn.tool_error = error if isinstance(error, bool) else None
    if text.startswith(TOOL_OUTPUT):
        start = len(TOOL_OUTPUT) + (text[len(TOOL_OUTPUT) : len(TOOL_OUTPUT) + 1] == " ")
        turn.text, turn.edits = assemble(text, [Piece(start, len(text))])
    return turn


_COMPARED = re.compile(r"\Aapi\.is_equal_to\((.*)\)\Z", re.DOTALL)


def read_star_query(text: str) -> ToolCall | None:
    """Parses the query of a STAR wizard, ``{"query": API, "constraints": [{NAME: VALUE}, ...]}``, as a call;
    a value is the JSON of a text, alone or inside ``api.is_equal_to(...)``. None if it has another shape."""
    try:
        query = json.loads(text)
        pairs = [pair for constraint in query["constraints"] for pair in constraint.items()]
        name = str(query["query"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    arguments: dict[str, Any] = {}
    for key, value in pairs:
        if isinstance(value, str):
            compared = _COMPARED.fullmatch(value)
            with suppress(ValueError, RecursionError):  # another comparison stays as it is written
                value = json.loads(compared[1] if compared else value)
        arguments[key] = value
    return tool_call(name, arguments) if name.strip() else None


def silence(turn: RawTurn, calls: tuple[ToolCall, ...]) -> None:
    """Makes a turn one that only calls tools: the customer saw nothing of its text."""
    turn.tool_calls = calls
    if isinstance(turn.text, str):
        turn.text, turn.edits = assemble(turn.text, [])


def read_reasoning(turns: list[RawTurn]) -> None:
    """Reads, in place, the agent's turns in the form ``Thought: ... Action: {...}``.

    As in tau-bench's own loop the part after the last ``Action:`` counts. The content of a ``respond`` is the
    message to the customer; the JSON of any other call, if a tool's result follows before the customer's next
    turn, is a call. Anything else was never run, and the customer saw it raw.
    """
    agents = [index for index, turn in enumerate(turns) if turn.role in ("agent", "bot")]
    if not any(ACTION in str(turns[index].text) for index in agents):
        return
    for index in agents:
        turn = turns[index]
        text = turn.text
        if not isinstance(text, str) or (ACTION not in text and not text.lstrip().startswith("{")):
            continue
        start = text.rindex(ACTION) + len(ACTION) if ACTION in text else 0
        action: Any = None
        with suppress(ValueError, RecursionError):
            action = json.loads(text[start:].strip())
        name, arguments = map(action.get, ("name", "arguments")) if isinstance(action, dict) else (None, None)
        if isinstance(name, str) and name and name != "respond" and _has_result(turns, index):
            silence(turn, (tool_call(name, arguments),))
            continue
        content = arguments.get("content") if isinstance(arguments, dict) else None
        pieces = list(_response_pieces(text, start)) if name == "respond" else []
        if not pieces or assemble(text, pieces)[0] != content:
            stripped = text[start:].strip()
            first = start + text[start:].find(stripped)
            pieces = [Piece(first, first + len(stripped))]
        turn.text, turn.edits = assemble(text, pieces)


def _has_result(turns: list[RawTurn], index: int) -> bool:
    """Returns whether a tool's result follows the turn at `index` before the customer's next one; true at the
    end of a log, where nobody saw the call."""
    roles = (turn.role for turn in turns[index + 1 :])
    return next((role for role in roles if role in ("tool", "customer")), "tool") == "tool"


def _response_pieces(text: str, start: int) -> Iterator[Piece]:
    """The content of the ``respond`` after `start`, its escapes decoded."""
    *_, last = None, *_CONTENT.finditer(text, start)
    if last is None:
        return
    position, end = last.start(1) + 1, last.end(1) - 1
    for escape in _ESCAPE.finditer(text, position, end):
        if escape.start() > position:
            yield Piece(position, escape.start())
        yield Piece(escape.start(), escape.end(), json.loads(f'"{escape[0]}"', strict=False))
        position = escape.end()
    if end > position:
        yield Piece(position, end)
