"""Links the tool calls of a dialogue to their results: what an agent looked up and did, and what came back.

A call without a result before the customer's next turn was never run. Checks and policies read the uses; the
model never sees them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from dialint.detector.records import Dialogue, ToolCall, Turn

_ERROR_TEXT = re.compile(
    r"error\b|exception\b|traceback \(most|failed\b|unknown (?:action|tool|function)\b", re.IGNORECASE
)
_FAILED_STATUS = ("error", "failed", "failure")


@dataclass(frozen=True)
class ToolUse:
    """A call and what came of it. `turn` and `result_turn` are indices of turns in the input; `result` is the
    text of the result, None if the call was never run. `failed` is whether the tool reported an error, or the
    call was never run."""

    call: ToolCall
    turn: int
    result: str | None = None
    result_turn: int | None = None
    failed: bool = True

    @property
    def was_run(self) -> bool:
        """Whether there is a result."""
        return self.result is not None


def tool_uses(dialogue: Dialogue) -> tuple[ToolUse, ...]:
    """The calls of a dialogue in their order, each with its result.

    A result that names a call belongs to it, wherever it stands. Any other belongs to the earliest call
    before it that has none yet, and to none made before the customer's last turn.
    """
    calls = [(turn.index, call) for turn in dialogue.turns for call in turn.tool_calls]
    results: dict[int, Turn] = {}
    waiting: list[int] = []
    n_calls = 0
    for turn in dialogue.turns:
        if turn.role == "customer" and turn.text.strip():
            waiting = []
        waiting.extend(range(n_calls, n_calls + len(turn.tool_calls)))
        n_calls += len(turn.tool_calls)
        if turn.role != "tool":
            continue
        position = _position_of(turn, calls[:n_calls], results, waiting)
        if position is not None:
            results[position] = turn
            waiting = [other for other in waiting if other != position]
    return tuple(
        ToolUse(call, index)
        if (result := results.get(position)) is None
        else ToolUse(call, index, result.text, result.index, has_failed(result))
        for position, (index, call) in enumerate(calls)
    )


def _position_of(
    result: Turn,
    calls: Sequence[tuple[int, ToolCall]],
    results: dict[int, Turn],
    waiting: Sequence[int],
) -> int | None:
    """The position among `calls` of the call that `result` answers."""
    if result.tool_call_id is not None:
        for position in range(len(calls) - 1, -1, -1):
            if calls[position][1].id == result.tool_call_id and position not in results:
                return position
        return next((position for position in waiting if calls[position][1].id is None), None)
    return waiting[0] if waiting else None


def has_failed(result: Turn) -> bool:
    """Whether a tool's result is an error: the log says so, or else its text does."""
    if result.tool_error is not None:
        return result.tool_error
    if _ERROR_TEXT.match(result.text.lstrip()):
        return True
    value = parse_result(result.text)
    if not isinstance(value, dict):
        return False
    status = value.get("status")
    return (
        bool(value.get("error") or value.get("errors"))
        or value.get("success") is False
        or (isinstance(status, str) and status.lower() in _FAILED_STATUS)
    )


def format_call(call: ToolCall) -> str:
    """The call as one line: its name and its arguments as JSON."""
    return f"{call.name}({json.dumps(call.arguments, ensure_ascii=False)})"


def parse_result(text: str) -> JsonValue | None:
    """The JSON value of a result's text, None if it is no JSON."""
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value
