"""Chats of language models, and ShareGPT (`conversations`): assistants are bots.

A chat is a list of messages under `messages` (OpenAI, Anthropic, Bedrock Converse, LangChain, AI SDK),
`contents` (Gemini), or `items`, `input` and `output` (OpenAI Responses), with the instructions in it or
beside it; the words are in ``chats.yaml``. The content of a message is a text, or a list of typed parts:
texts, calls of tools, results of tools. Whatever the form, the same dialogue gives the same turns: calls
belong to the bot's turn, a result ends the turn before it and is a turn of the tool, reasoning is left out,
and parts without a text, such as images, are counted (`W_EVENT_SKIPPED`). Of preference files (`input`,
`preferred_output`) the input and the preferred answer are read.

Sources: https://docs.anthropic.com/en/api/messages (`tool_use`, `tool_result`, `thinking`),
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html (`toolUse`),
https://ai.google.dev/api/caching#Part (`functionCall`, `functionResponse`, `thought`),
https://platform.openai.com/docs/api-reference/responses/object (`function_call`, `function_call_output`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from dialint.detector.ingest.formats.tool_turns import call_id, read_call, read_calls, tool_turn
from dialint.detector.ingest.log_format import (
    LogFormat,
    RawDialogue,
    RawTurn,
    as_name,
    first_object,
    map_role,
    object_at,
    object_list,
)
from dialint.detector.ingest.outcomes import BadRecord, json_kind
from dialint.detector.records import ToolCall
from dialint.detector.tool_use import parse_result
from dialint.detector.yaml_document import read_packaged

WORDS = read_packaged("ingest/chats.yaml")
ROLES: dict[str, str] = WORDS["roles"]
SHAREGPT_ROLES = {**ROLES, **WORDS["sharegpt_roles"]}
TEXTS, CALLS, RESULTS, SILENT = (frozenset(WORDS[kind]) for kind in ("texts", "calls", "results", "silent"))
IN_CALL = ("output", "result", "errorText", "error")
"""The keys of a result within its call."""


def _is_chat(record: Any) -> bool:
    """Returns whether a record is a chat, or a preference row."""
    if isinstance(record, dict) and "preferred_output" in record:
        return isinstance(record.get("input"), dict)
    return isinstance(record, dict) and _chat_key(record) is not None


def _chat_key(record: dict[str, Any]) -> str | None:
    """The key of the messages; `data` is one only in the list objects of OpenAI's API."""
    for name in WORDS["lists"]:
        key = str(name)
        first = first_object(record, key)
        if first and _is_message(first, key) and (key != "data" or record.get("object") == "list"):
            return key
    return None


def _is_message(item: dict[str, Any], key: str) -> bool:
    if key in ("items", "input", "output", "data") and _is_part(item):
        return True
    role = _speaker(_unwrap(item))
    if isinstance(role, str):
        return role in ROLES and (key != "turns" or "content" in item)
    return key == "contents" and "parts" in item


def _speaker(message: dict[str, Any]) -> object:
    """The word for the speaker; LangChain writes it as `type`."""
    role = message.get("role")
    kind = message.get("type")
    is_speaker = isinstance(kind, str) and (kind in ROLES or "content" in message)
    return kind if role is None and is_speaker else role


def _unwrap(message: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of a message that LangChain has serialised."""
    kept = (message[key] for key in ("data", "kwargs") if isinstance(message.get(key), dict))
    inner: dict[str, Any] = next(kept, {})
    return inner if "content" in inner and "content" not in message else message


def _is_part(message: dict[str, Any]) -> bool:
    """Returns whether a part stands in place of a message, such as a call."""
    return "role" not in message and part_kind(message)[0] in CALLS | RESULTS | SILENT


def _is_sharegpt(record: Any) -> bool:
    """Returns whether a record is a ShareGPT row, under any spelling of the list and of its keys."""
    first = next(filter(None, (first_object(record, key) for key in WORDS["sharegpt_lists"])), {})
    return "value" in first or "role" in first


def read_chat(record: dict[str, Any], fallback_id: str) -> Iterator[RawDialogue]:
    """Reads one chat. Its id is a text `id` if there is one, else file and record number."""
    name = _id(record, fallback_id)
    warnings: Counter[str] = Counter()
    if "preferred_output" in record:
        lists = {"input.messages": object_at(record, "input").get("messages")}
        lists["preferred_output"] = record["preferred_output"]
    else:
        key = _chat_key(record) or "messages"
        lists = {key: record.get(key)}
        if key == "input" and "output" in record:
            lists["output"] = record["output"]
        elif key == "output" and isinstance(record.get("input"), str):
            lists = {"input": [{"role": "user", "content": record["input"]}], **lists}
    turns: list[RawTurn] = []
    for key, messages in lists.items():
        for index, message in enumerate(object_list({key: messages}, key, name)):
            add_message(turns, message, f"{key}[{index}]", name, warnings)
    if not any(turn.role == "system" for turn in turns):
        turns = [*_instructions(record, name, warnings), *turns]
    yield RawDialogue(name, turns, warnings=warnings, path=next(iter(lists)))


def _instructions(record: dict[str, Any], name: str, warnings: Counter[str]) -> list[RawTurn]:
    for key in WORDS["instructions"]:
        value = record.get(key)
        content = value.get("parts") if isinstance(value, dict) else value
        if isinstance(content, str | list) and content:
            return read_content("system", content, key, name, warnings)
    return []


def add_message(
    turns: list[RawTurn], message: dict[str, Any], path: str, name: str, warnings: Counter[str]
) -> None:
    """Appends the turns of a message, or of a part that stands in place of one, such as a call; calls without
    a message are added to the bot's turn before them."""
    message = _unwrap(message)
    speaker = _speaker(message)
    if _is_part(message) or (speaker is None and message.keys().isdisjoint(("parts", "content"))):
        results = read_content("bot", [message], path, name, warnings)
        for turn in results:
            if turn.tool_calls and turns and turns[-1].role == "bot":
                turns[-1].tool_calls += turn.tool_calls
            elif turn.text or turn.tool_calls or turn.role == "tool":
                turns.append(turn)
        return
    key = "parts" if "parts" in message and "content" not in message else "content"
    role = map_role(speaker if speaker is not None else "user" if key == "parts" else "", ROLES)
    own: object = None if role == "tool" else role
    content = message.get(key)
    if isinstance(invocations := message.get("toolInvocations"), list) and not isinstance(content, list):
        content = [*({"toolInvocation": each} for each in invocations), content]
    results = read_content(own, content, f"{path}.{key}", name, warnings)
    refusal, author = message.get("refusal"), message.get("name")
    for turn in results:
        if turn.role is None:
            of_tool = tool_turn(str(turn.text), call_id({**message, "id": None}), _error_of(message))
            turn.role, turn.text, turn.edits = of_tool.role, of_tool.text, of_tool.edits
            turn.tool_call_id, turn.tool_error = of_tool.tool_call_id, of_tool.tool_error
        elif turn.role != "tool":
            turn.author = author if isinstance(author, str) else None
    if role == "bot":
        key = "tools_called" if "tools_called" in message else "tool_calls"
        calls = read_calls(message.get(key), f"{path}.{key}", name, warnings)
        if message.get("function_call") is not None:
            calls = (*calls, read_call(message["function_call"], f"{path}.function_call", name))
        if calls and not (results and results[-1].role == "bot"):
            results.append(RawTurn("bot", ""))
        if results and results[-1].role == "bot":
            last = results[-1]
            last.tool_calls += calls
            last.text = last.text or (refusal if isinstance(refusal, str) else "")
    turns += results


def read_sharegpt(record: dict[str, Any], fallback_id: str) -> Iterator[RawDialogue]:
    """Reads one conversation. A `system` column becomes its first turn."""
    name = _id(record, fallback_id)
    key = next((key for key in WORDS["sharegpt_lists"] if key in record), "conversations")
    turns = []
    if isinstance(record.get("system"), str) and record["system"]:
        turns.append(RawTurn("system", record["system"]))
    for index, message in enumerate(object_list(record, key, name)):
        speaker = message.get("from", message.get("role"))
        value, path = message.get("value", message.get("content")), f"{key}[{index}].value"
        text = content_text(value, path, name)
        if speaker not in WORDS["sharegpt_calls"]:
            turns.append(RawTurn(map_role(speaker, SHAREGPT_ROLES), text))
            continue
        value = parse_result(text)
        if value is None:
            raise BadRecord(
                "E_TYPE", path, "another text", "the JSON of a call with name and arguments", name
            )
        calls = read_calls(value if isinstance(value, list) else [value], path, name)
        turns.append(RawTurn("bot", "", tool_calls=calls))
    yield RawDialogue(name, turns, path=key)


def _id(record: dict[str, Any], fallback_id: str) -> str:
    keys = ("id", "dialogue_id", "conversation_id", "thread_id", "session_id")
    return next(filter(None, (as_name(record.get(key)) for key in keys)), fallback_id)


def part_kind(part: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The kind of a part, normalised, and the object with its fields: by `type`, else by its key, as Bedrock
    and Gemini write it."""
    if part.get("thought") is True:
        return "thought", part
    for key, value in part.items():
        if isinstance(value, dict) and _normalize(key) in CALLS | RESULTS | SILENT:
            return _normalize(key), value
    if isinstance(kind := part.get("type"), str):
        if _normalize(kind) not in CALLS | RESULTS and "toolCallId" in part:  # the AI SDK's tool-NAME
            return "toolcall", {"toolName": kind.partition("-")[2], **part}
        return _normalize(kind), part
    return ("" if "text" in part or "refusal" in part else "unknown"), part


def _normalize(kind: str) -> str:
    return kind.replace("_", "").replace("-", "").lower()


def read_content(
    role: object, content: object, path: str, name: str | None, warnings: Counter[str]
) -> list[RawTurn]:
    """The turns of one message, in order: its own, and those of the results of tools in it.

    Raises:
        BadRecord: E_TYPE.
    """
    if content is None or isinstance(content, str):
        return [RawTurn(role, content or "")]
    if not isinstance(content, list):
        raise BadRecord("E_TYPE", path, json_kind(content), "a text, a list of parts or null", name)
    turns: list[RawTurn] = []
    texts: list[str] = []
    calls: list[ToolCall] = []
    is_silent = bool(content)

    def close() -> None:
        if texts or calls:
            turns.append(RawTurn(role, "\n".join(texts), tool_calls=tuple(calls)))
            texts.clear()
            calls.clear()

    for index, part in enumerate(content):
        where = f"{path}[{index}]"
        if part is None or isinstance(part, str):
            texts += [part] if part else []
            is_silent = False
            continue
        if not isinstance(part, dict):
            raise BadRecord("E_TYPE", where, json_kind(part), "a part with a text", name)
        kind, body = part_kind(part)
        if kind in TEXTS:
            text = part.get("text") or part.get("refusal") or part.get("content")
            if text is not None and not isinstance(text, str):
                raise BadRecord("E_TYPE", where, json_kind(text), "a part with a text", name)
            texts += [text] if text else []
            is_silent = False
        elif kind in CALLS:
            calls.append(read_call(body, where, name))
        elif kind not in RESULTS | SILENT:
            is_silent = False
            warnings["W_EVENT_SKIPPED"] += 1
        if kind in RESULTS or (kind in CALLS and any(body.get(key) is not None for key in IN_CALL)):
            close()
            turns.append(result_turn(body))
    close()
    return turns if turns or is_silent else [RawTurn(role, "")]


def result_turn(body: dict[str, Any]) -> RawTurn:
    """Reads a tool's result, under any of the keys for its text and its error."""
    value = next((body[key] for key in ("content", "response", *IN_CALL) if body.get(key) is not None), None)
    error = _error_of(body)
    if error is None and isinstance(value, dict):
        error = True if value.keys() == {"error"} or value.get("type") in WORDS["errors"] else None
    return tool_turn(result_text(value), call_id(body) or call_id(object_at(body, "origin")), error)


def _error_of(body: dict[str, Any]) -> bool | None:
    """Returns whether a result or its message says that the tool failed; None if it says nothing of it."""
    for key in ("is_error", "isError", "error"):
        if isinstance(body.get(key), bool):
            return bool(body[key])
    if body.get("errorText") is not None or isinstance(body.get("error"), str):
        return True
    return body["status"] == "error" if body.get("status") in ("error", "success") else None


def result_text(value: object) -> str:
    """The text of a result: the texts of a list of parts, the text that an object wraps, else JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        texts = (part.get("text", part.get("json", part)) for part in value)
        return "\n".join(
            one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in texts
        )
    if isinstance(value, dict):
        inner = [value[key] for key in value if key != "type"]
        if len(inner) == 1 and isinstance(inner[0], str) and set(value) <= {*WORDS["wrappers"], "type"}:
            return inner[0]
    return json.dumps(value, ensure_ascii=False)


def content_text(content: object, path: str, name: str | None) -> str:
    """The texts of a message's content, without calls and results.

    Raises:
        BadRecord: E_TYPE.
    """
    turns = read_content("", content, path, name, Counter())
    return "\n".join(str(turn.text) for turn in turns if turn.role == "" and turn.text)


openai = LogFormat("openai", _is_chat, read_chat, is_common=True)
sharegpt = LogFormat("sharegpt", _is_sharegpt, read_sharegpt, is_common=True)
