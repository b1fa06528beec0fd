"""The content of a chat message: a text, or a list of typed parts, as turns.

One reader for what OpenAI (chat and Responses), Anthropic, Bedrock Converse, Gemini and the AI SDK write:
texts, calls of tools, results of tools. A result ends the turn before it and is a turn of the tool. Reasoning
is left out; parts without a text, such as images, are counted (`W_EVENT_SKIPPED`).

Sources: https://docs.anthropic.com/en/api/messages (`tool_use`, `tool_result`, `thinking`),
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html (`toolUse`),
https://ai.google.dev/api/caching#Part (`functionCall`, `functionResponse`, `thought`),
https://platform.openai.com/docs/api-reference/responses/object (`function_call`, `function_call_output`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from dialint.detector.ingest.formats import fields
from dialint.detector.ingest.formats.tool_turns import call_id, read_call, tool_turn
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.ingest.validation import DraftTurn
from dialint.detector.records import ToolCall

TEXTS = frozenset(("text", "inputtext", "outputtext", "refusal", "summarytext", ""))
_CALLS = "tooluse servertooluse mcptooluse toolcall functioncall customtoolcall mcpcall"
_RESULTS = """
toolresult toolresponse toolcallresponse toolcalloutput functionresponse functioncalloutput
customtoolcalloutput mcptoolresult websearchtoolresult codeexecutiontoolresult
"""
CALLS, RESULTS = frozenset(_CALLS.split()), frozenset(_RESULTS.split())
SILENT = frozenset(("thinking", "redactedthinking", "reasoning", "reasoningcontent", "thought"))
"""Kinds of parts, without case, hyphens and underscores."""
WRAPPERS = ("output", "result", "content", "text", "value", "error")
"""The key of an object that holds nothing but the text of a result."""


def part_kind(part: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The kind of a part, normalised, and the object with its fields: by `type`, else by the key that holds
    them, as Bedrock and Gemini write it."""
    if part.get("thought") is True:
        return "thought", part
    if isinstance(part.get("type"), str):
        return _normalize(part["type"]), part
    for key, value in part.items():
        if isinstance(value, dict) and _normalize(key) in CALLS | RESULTS | SILENT:
            return _normalize(key), value
    return ("" if "text" in part or "refusal" in part else "unknown"), part


def _normalize(kind: str) -> str:
    return kind.replace("_", "").replace("-", "").lower()


def read_content(
    role: object, content: object, path: str, name: str | None, warnings: Counter[str]
) -> list[DraftTurn]:
    """The turns of one message, in order: its own, and those of tools whose results stand in it.

    Raises:
        BadRecord: E_TYPE.
    """
    if content is None or isinstance(content, str):
        return [DraftTurn(role, content or "")]
    if not isinstance(content, list):
        raise BadRecord("E_TYPE", path, fields.kind(content), "a text, a list of parts or null", name)
    turns: list[DraftTurn] = []
    texts: list[str] = []
    own = DraftTurn(role, "")
    calls: list[ToolCall] = []
    is_silent = bool(content)

    def close() -> None:
        if texts or calls:
            turns.append(DraftTurn(role, "\n".join(texts), tool_calls=tuple(calls)))
            texts.clear()
            calls.clear()

    for index, part in enumerate(content):
        where = f"{path}[{index}]"
        if part is None or isinstance(part, str):
            texts += [part] if part else []
            is_silent = False
            continue
        if not isinstance(part, dict):
            raise BadRecord("E_TYPE", where, fields.kind(part), "a part with a text", name)
        kind, body = part_kind(part)
        if kind in TEXTS:
            text = part.get("text") or part.get("refusal")
            if text is not None and not isinstance(text, str):
                raise BadRecord("E_TYPE", where, fields.kind(text), "a part with a text", name)
            texts += [text] if text else []
            is_silent = False
        elif kind in CALLS:
            calls.append(read_call(body, where, name))
        elif kind not in RESULTS | SILENT:
            is_silent = False
            warnings["W_EVENT_SKIPPED"] += 1
        if kind in RESULTS or (kind == "mcpcall" and body.get("output") is not None):
            close()
            turns.append(result_turn(body))
    close()
    return turns if turns or is_silent else [own]


def result_turn(body: dict[str, Any]) -> DraftTurn:
    """The turn of a tool's result, under any of the keys that hold its text and its error."""
    value = next((body[key] for key in ("content", "output", "response", "result") if key in body), None)
    error = next((body[key] for key in ("is_error", "isError") if isinstance(body.get(key), bool)), None)
    if error is None and body.get("status") in ("error", "success"):
        error = body["status"] == "error"
    if (
        error is None
        and isinstance(value, dict)
        and (value.keys() == {"error"} or value.get("type") in ERRORS)
    ):
        error = True
    return tool_turn(result_text(value), call_id(body), error)


ERRORS = ("error-text", "error-json")


def result_text(value: object) -> str:
    """The text of a result: of a list of parts the texts, of an object that wraps a text that text, else its
    JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return "\n".join(_part_texts(value))
    if isinstance(value, dict):
        inner = [value[key] for key in value if key != "type"]
        if len(inner) == 1 and isinstance(inner[0], str) and set(value) <= {*WRAPPERS, "type"}:
            return inner[0]
    return json.dumps(value, ensure_ascii=False)


def _part_texts(parts: Iterable[dict[str, Any]]) -> Iterator[str]:
    for part in parts:
        text = part.get("text", part.get("json", part))
        yield text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)


def content_text(content: object, path: str, name: str | None) -> str:
    """The texts of a message's content, without calls and results.

    Raises:
        BadRecord: E_TYPE.
    """
    turns = read_content("", content, path, name, Counter())
    return "\n".join(str(turn.text) for turn in turns if turn.role == "" and turn.text)
