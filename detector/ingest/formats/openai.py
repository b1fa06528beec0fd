"""Chats of language models, and ShareGPT (`conversations`): assistants are bots.

A chat is a list of messages under `messages` (OpenAI, Anthropic, Bedrock Converse, LangChain), `contents`
(Gemini), or `items`, `input` and `output` (OpenAI Responses), with the instructions in it or beside it
(`CHATS`). Whatever the form, the same dialogue gives the same turns: calls belong to the bot's turn, results
are turns of tools. Of preference files (`input`, `preferred_output`) the input and the preferred answer are
read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from dialint.detector.ingest.formats import fields
from dialint.detector.ingest.formats.content_parts import (
    CALLS,
    RESULTS,
    SILENT,
    content_text,
    part_kind,
    read_content,
)
from dialint.detector.ingest.formats.tool_turns import call_id, read_call, read_calls, tool_turn
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.ingest.validation import Draft, DraftTurn
from dialint.detector.records import ToolCall
from dialint.detector.tool_use import parse_result

ROLES = {
    "system": "system",
    "developer": "system",
    "user": "customer",
    "human": "customer",
    "assistant": "bot",
    "ai": "bot",
    "model": "bot",
    "tool": "tool",
    "function": "tool",
}
SHAREGPT_ROLES = {
    **ROLES,
    "gpt": "bot",
    "chatgpt": "bot",
    "observation": "tool",
    "tool_response": "tool",
    "function_response": "tool",
}
SHAREGPT_CALLS = ("function_call", "tool_call")
SHAREGPT_LISTS = ("conversations", "conversation", "items")
CHATS = ("messages", "contents", "items", "turns", "input", "user_input", "output", "data")
"""Keys of lists of messages, in the order in which they are tried."""
INSTRUCTIONS = ("system", "systemInstruction", "system_instruction", "instructions")


def matches(record: Any) -> bool:
    """A chat, or a preference row."""
    if not isinstance(record, dict):
        return False
    if "preferred_output" in record:
        return isinstance(record.get("input"), dict)
    return _chat_key(record) is not None


def _chat_key(record: dict[str, Any]) -> str | None:
    """The key of the messages; `data` is one only in the list objects of OpenAI's API."""
    for key in CHATS:
        first = fields.first(record, key)
        if first and _is_message(first, key) and (key != "data" or record.get("object") == "list"):
            return key
    return None


def _is_message(item: dict[str, Any], key: str) -> bool:
    role = _speaker(item)
    if isinstance(role, str):
        return role in ROLES and (key != "turns" or "content" in item)
    if key == "contents":
        return "parts" in item
    return key in ("items", "input", "output", "data") and part_kind(item)[0] in CALLS | RESULTS | SILENT


def _speaker(message: dict[str, Any]) -> object:
    """The word for who speaks; LangChain writes it as `type`."""
    role = message.get("role")
    kind = message.get("type")
    return kind if role is None and isinstance(kind, str) and kind in ROLES else role


def matches_sharegpt(record: Any) -> bool:
    """A ShareGPT row, under any spelling of the list and of its keys."""
    if not isinstance(record, dict):
        return False
    first = next((first for key in SHAREGPT_LISTS if (first := fields.first(record, key))), {})
    return "value" in first or "role" in first


def drafts(record: dict[str, Any], fallback_id: str) -> Iterator[Draft]:
    """One chat. Its id is a text `id` if there is one, else file and record number."""
    name = _id(record, fallback_id)
    warnings: Counter[str] = Counter()
    if "preferred_output" in record:
        lists = {"input.messages": fields.mapping(record, "input").get("messages")}
        lists["preferred_output"] = record["preferred_output"]
    else:
        key = _chat_key(record) or "messages"
        lists = {key: record.get(key)}
        if key == "input" and "output" in record:
            lists["output"] = record["output"]
        elif key == "output" and isinstance(record.get("input"), str):
            lists = {"input": [{"role": "user", "content": record["input"]}], **lists}
    turns: list[DraftTurn] = []
    for key, messages in lists.items():
        for index, message in enumerate(fields.items({key: messages}, key, name)):
            add_message(turns, message, f"{key}[{index}]", name, warnings)
    if not any(turn.role == "system" for turn in turns):
        turns = [*_instructions(record, name, warnings), *turns]
    yield Draft(name, turns, warnings=warnings, path=next(iter(lists)))


def _instructions(record: dict[str, Any], name: str, warnings: Counter[str]) -> list[DraftTurn]:
    for key in INSTRUCTIONS:
        value = record.get(key)
        content = value.get("parts") if isinstance(value, dict) else value
        if isinstance(content, str | list) and content:
            return read_content("system", content, key, name, warnings)
    return []


def add_message(
    turns: list[DraftTurn], message: dict[str, Any], path: str, name: str, warnings: Counter[str]
) -> None:
    """Append the turns of a message; of an item that is none, such as a call that stands alone, those of the
    part that it is. Calls that stand alone belong to the bot's turn before them."""
    speaker = _speaker(message)
    if speaker is None and "parts" not in message and "content" not in message:
        results = read_content("bot", [message], path, name, warnings)
        for turn in results:
            if turn.tool_calls and turns and turns[-1].role == "bot":
                turns[-1].tool_calls += turn.tool_calls
            elif turn.text or turn.tool_calls or turn.role == "tool":
                turns.append(turn)
        return
    role = fields.map_role("user" if speaker is None else speaker, ROLES)
    key = "parts" if "parts" in message and "content" not in message else "content"
    own: object = None if role == "tool" else role
    results = read_content(own, message.get(key), f"{path}.{key}", name, warnings)
    refusal, author = message.get("refusal"), message.get("name")
    for turn in results:
        if turn.role is None:
            of_tool = tool_turn(str(turn.text), call_id({**message, "id": None}), message.get("is_error"))
            turn.role, turn.text, turn.edits = of_tool.role, of_tool.text, of_tool.edits
            turn.tool_call_id, turn.tool_error = of_tool.tool_call_id, of_tool.tool_error
        elif turn.role != "tool":
            turn.author = author if isinstance(author, str) else None
    if role == "bot":
        key = "tools_called" if "tools_called" in message else "tool_calls"
        calls = read_calls(message.get(key), f"{path}.{key}", name)
        if message.get("function_call") is not None:
            calls = (*calls, read_call(message["function_call"], f"{path}.function_call", name))
        if calls and not (results and results[-1].role == "bot"):
            results.append(DraftTurn("bot", ""))
        if results and results[-1].role == "bot":
            last = results[-1]
            last.tool_calls += calls
            last.text = last.text or (refusal if isinstance(refusal, str) else "")
    turns += results


def drafts_sharegpt(record: dict[str, Any], fallback_id: str) -> Iterator[Draft]:
    """One conversation. A `system` column becomes its first turn."""
    name = _id(record, fallback_id)
    key = next((key for key in SHAREGPT_LISTS if key in record), "conversations")
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
    for key in ("id", "dialogue_id", "conversation_id", "thread_id", "session_id"):
        result = fields.name(record.get(key))
        if result is not None:
            return result
    return fallback_id


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
