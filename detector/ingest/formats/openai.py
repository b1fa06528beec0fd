"""OpenAI chat JSONL (`messages`) and ShareGPT (`conversations`): assistants are bots.

Calls (`tool_calls`, the older `function_call`; ShareGPT's `function_call` and `tool_call`) belong to the
bot's turn, results (`tool`, `function`, `observation`) are turns of tools. Of preference files (`input`,
`preferred_output`) the input and the preferred answer are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dialint.detector.ingest.formats import fields
from dialint.detector.ingest.formats.tool_turns import read_call, read_calls, tool_turn
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.ingest.validation import Draft, DraftTurn
from dialint.detector.records import ToolCall
from dialint.detector.tool_use import parse_result

ROLES = {
    "system": "system",
    "developer": "system",
    "user": "customer",
    "assistant": "bot",
    "tool": "tool",
    "function": "tool",
}
SHAREGPT_ROLES = {
    **ROLES,
    "human": "customer",
    "gpt": "bot",
    "chatgpt": "bot",
    "observation": "tool",
    "tool_response": "tool",
    "function_response": "tool",
}
SHAREGPT_CALLS = ("function_call", "tool_call")


def matches(record: Any) -> bool:
    """A chat, or a preference row."""
    if not isinstance(record, dict):
        return False
    if "preferred_output" in record:
        return isinstance(record.get("input"), dict)
    role = fields.first(record, "messages").get("role")
    return isinstance(role, str) and role in ROLES


def matches_sharegpt(record: Any) -> bool:
    """A ShareGPT row, under either spelling of the list and of its keys."""
    if not isinstance(record, dict):
        return False
    first = fields.first(record, "conversations") or fields.first(record, "conversation")
    return "value" in first or "role" in first


def drafts(record: dict[str, Any], fallback_id: str) -> Iterator[Draft]:
    """One chat. Its id is a text `id` if there is one, else file and record number."""
    name = _id(record, fallback_id)
    if "preferred_output" in record:
        messages = fields.items(fields.mapping(record, "input"), "messages", name)
        messages = messages + fields.items(record, "preferred_output", name)
    else:
        messages = fields.items(record, "messages", name)
    turns = [_turn(message, f"messages[{index}]", name) for index, message in enumerate(messages)]
    yield Draft(name, turns, path="messages")


def drafts_sharegpt(record: dict[str, Any], fallback_id: str) -> Iterator[Draft]:
    """One conversation. A `system` column becomes its first turn."""
    name = _id(record, fallback_id)
    key = "conversations" if "conversations" in record else "conversation"
    turns = []
    if isinstance(record.get("system"), str) and record["system"]:
        turns.append(DraftTurn("system", record["system"]))
    for index, message in enumerate(fields.items(record, key, name)):
        speaker = message.get("from", message.get("role"))
        value = message["value"] if "value" in message else message.get("content")
        text = content_text(value, f"{key}[{index}].value", name)
        if speaker in SHAREGPT_CALLS:
            turns.append(
                DraftTurn("bot", "", tool_calls=_sharegpt_calls(text, f"{key}[{index}].value", name))
            )
            continue
        turns.append(DraftTurn(fields.map_role(speaker, SHAREGPT_ROLES), text))
    yield Draft(name, turns, path=key)


def _id(record: dict[str, Any], fallback_id: str) -> str:
    for key in ("id", "dialogue_id", "conversation_id"):
        result = fields.name(record.get(key))
        if result is not None:
            return result
    return fallback_id


def _turn(message: dict[str, Any], path: str, name: str) -> DraftTurn:
    text = content_text(message.get("content"), f"{path}.content", name)
    refusal = message.get("refusal")
    if not text and isinstance(refusal, str):
        text = refusal
    role, author = fields.map_role(message.get("role"), ROLES), message.get("name")
    if role == "tool":
        return tool_turn(text, message.get("tool_call_id"))
    turn = DraftTurn(role, text, author=author if isinstance(author, str) else None)
    if role == "bot":
        turn.tool_calls = read_calls(message.get("tool_calls"), f"{path}.tool_calls", name)
        if message.get("function_call") is not None:
            call = read_call(message["function_call"], f"{path}.function_call", name)
            turn.tool_calls = (*turn.tool_calls, call)
    return turn


def _sharegpt_calls(text: str, path: str, name: str) -> tuple[ToolCall, ...]:
    """The call, or the list of calls, that a message is the JSON text of.

    Raises:
        BadRecord: E_TYPE.
    """
    value = parse_result(text)
    calls = value if isinstance(value, list) else [value]
    if value is None:
        raise BadRecord("E_TYPE", path, "another text", "the JSON of a call with name and arguments", name)
    return read_calls(calls, path, name)


def content_text(content: object, path: str, name: str | None) -> str:
    """The text of a message's content: a string, null, or a list of parts, of which images have none.

    Raises:
        BadRecord: E_TYPE.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise BadRecord("E_TYPE", path, fields.kind(content), "a text, a list of parts or null", name)
    texts = []
    for index, part in enumerate(content):
        value = (part.get("text") or part.get("refusal")) if isinstance(part, dict) else part
        if value is not None and not isinstance(value, str):
            raise BadRecord("E_TYPE", f"{path}[{index}]", fields.kind(value), "a part with a text", name)
        texts.append(value or "")
    return "\n".join(part for part in texts if part)
