"""Links the tool calls of a dialogue to their results.

A call without a result before the customer's next turn was never run. Checks and policies read the uses; the
model never sees them.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import TypeVar

from pydantic import JsonValue

from dialint.detector.records import Dialogue, ToolCall, Turn

Value = TypeVar("Value")
CACHED_DIALOGUES = 2
"""Dialogues whose values are cached: one as it is in the log, and the same masked."""
_ERROR_TEXT = re.compile(
    r"error\b|exception\b|\w{1,60}(?-i:Error|Exception)\b"
    r"|traceback \(most|failed\b|unknown (?:action|tool|function)\b"
    r"|(?:the )?(?:request |call )?timed out\b|http\S{0,4} [45]\d\d\b",
    re.IGNORECASE,
)
_ERROR_KEYS = ("error", "errors", "iserror", "is_error", "fehler", "erreur", "errore", "erro", "ошибка")
_STATUS_KEYS = ("status", "state", "result", "outcome", "resultado", "estado", "statut")
_HTTP_KEYS = ("status", "statuscode", "status_code", "httpstatus", "http_status")
_FAILED_STATUS = (
    "error",
    "failed",
    "failure",
    "rejected",
    "declined",
    "refused",
    "rechazado",
    "abgelehnt",
    "refusé",
)


def per_dialogue(function: Callable[[Dialogue], Value]) -> Callable[[Dialogue], Value]:
    """Caches the values of `function` for the last dialogues, by identity: records are frozen."""
    recent: tuple[tuple[Dialogue, Value], ...] = ()

    @wraps(function)
    def cached(dialogue: Dialogue) -> Value:
        nonlocal recent
        for cached_dialogue, value in recent:
            if cached_dialogue is dialogue:
                return value
        value = function(dialogue)
        recent = ((dialogue, value), *recent[: CACHED_DIALOGUES - 1])
        return value

    return cached


@dataclass(frozen=True)
class ToolUse:
    """A call with its result. `turn` and `result_turn` are indices of turns in the input; `result` is the
    text of the result, None if the call was never run. `failed` is whether the tool reported an error, or the
    call was never run."""

    call: ToolCall
    turn: int
    result: str | None = None
    result_turn: int | None = None
    failed: bool = True

    @property
    def was_run(self) -> bool:
        return self.result is not None

    @cached_property
    def value(self) -> JsonValue | None:
        """The JSON value of the result, None if it is none."""
        return parse_result(self.result or "")


@per_dialogue
def tool_uses(dialogue: Dialogue) -> tuple[ToolUse, ...]:
    """Return the calls of a dialogue in their order, each with its result.

    A result that names a call belongs to it, wherever it stands. Any other belongs to the earliest call
    before it that has none yet, and to none made before the customer's last turn.
    """
    calls: list[tuple[int, ToolCall]] = []
    results: dict[int, Turn] = {}
    by_id: dict[str, list[int]] = {}
    waiting: deque[int] = deque()
    unnamed: deque[int] = deque()
    for turn in dialogue.turns:
        if turn.role == "customer" and turn.text.strip():
            waiting, unnamed = deque(), deque()
        for call in turn.tool_calls:
            waiting.append(len(calls))
            (unnamed if call.id is None else by_id.setdefault(call.id, [])).append(len(calls))
            calls.append((turn.index, call))
        if turn.role != "tool":
            continue
        of_id = by_id.get(turn.tool_call_id, []) if turn.tool_call_id is not None else []
        while of_id and of_id[-1] in results:
            of_id.pop()
        queue = waiting if turn.tool_call_id is None else unnamed
        while queue and queue[0] in results:
            queue.popleft()
        if of_id or queue:
            results[of_id[-1] if of_id else queue[0]] = turn
    return tuple(
        ToolUse(call, index)
        if (result := results.get(position)) is None
        else ToolUse(call, index, result.text, result.index, has_failed(result))
        for position, (index, call) in enumerate(calls)
    )


@per_dialogue
def uses_by_turn(dialogue: Dialogue) -> Mapping[int, Sequence[ToolUse]]:
    """Return the calls of each turn that has some, by its index."""
    uses: dict[int, list[ToolUse]] = {}
    for use in tool_uses(dialogue):
        uses.setdefault(use.turn, []).append(use)
    return uses


@per_dialogue
def exchanges(dialogue: Dialogue) -> Sequence[Sequence[Turn]]:
    """Return the turns of a dialogue in groups, each but the first from words of the customer on."""
    groups: list[list[Turn]] = [[]]
    for turn in dialogue.turns:
        if turn.role == "customer" and turn.text.strip():
            groups.append([])
        groups[-1].append(turn)
    return groups


def has_failed(result: Turn) -> bool:
    """Return whether a tool's result is an error: the log says so, or else its text does."""
    if result.tool_error is not None:
        return result.tool_error
    if _ERROR_TEXT.match(result.text.lstrip()):
        return True
    value = parse_result(result.text)
    if not isinstance(value, dict):
        return False
    by_key = {key.casefold(): each for key, each in value.items()}
    return (
        any(by_key.get(key) for key in _ERROR_KEYS)
        or by_key.get("success") is False
        or any(isinstance(n := by_key.get(key), int) and 400 <= n < 600 for key in _HTTP_KEYS)
        or any(str(by_key.get(key)).casefold() in _FAILED_STATUS for key in _STATUS_KEYS)
    )


def format_call(call: ToolCall) -> str:
    """Return the call as one line: its name and its arguments as JSON."""
    return f"{call.name}({json.dumps(call.arguments, ensure_ascii=False)})"


def call_lines(turn: Turn) -> tuple[str, ...]:
    """Return the calls of a turn without words, a line each: what a finding there quotes, by the number of
    the call; nothing for any other turn."""
    return tuple(format_call(call) for call in turn.tool_calls) if turn.is_silent_act else ()


def parse_result(text: str) -> JsonValue | None:
    """Return the JSON value of a result's text, None if it is no JSON."""
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value
