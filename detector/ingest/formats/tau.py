"""tau-bench results (`traj`), tau2-bench simulations (`messages`), and agents that think aloud.

An agent that writes ``Thought: ... Action: {...}`` was shown to the customer as tau-bench's loop did
it: what follows the last ``Action:``, and of that the content if it is the JSON of a ``respond``; any
other JSON is a tool call, which nobody saw (role system). On the 925 such dialogues of the corpus this
rule predicts who speaks next without exception (13,926 turns, 2026-11-20).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from dialint.detector.ingest.checks import Draft, DraftTurn
from dialint.detector.ingest.formats import fields
from dialint.detector.ingest.formats.openai import content_text

MARK = "Action:"
TOOL_OUTPUT = "API output:"
ROLES = {"user": "customer", "assistant": "bot", "system": "system", "tool": "system"}


def matches(record: Any) -> bool:
    """A results row of tau-bench."""
    return isinstance(record, dict) and "traj" in record and "task_id" in record


def matches_tau2(record: Any) -> bool:
    """A simulation of tau2-bench."""
    return isinstance(record, dict) and "messages" in record and "task_id" in record


def drafts(record: dict[str, Any], fallback_id: str) -> Iterator[Draft]:
    """One episode; its id is ``<task_id>-<trial>``."""
    yield _episode(record, "traj", fallback_id)


def drafts_tau2(record: dict[str, Any], fallback_id: str) -> Iterator[Draft]:
    """One simulation; its id is its `id`, else ``<task_id>-<trial>``."""
    yield _episode(record, "messages", fallback_id)


def _episode(record: dict[str, Any], key: str, fallback_id: str) -> Draft:
    name = record.get("id")
    if not isinstance(name, str):
        task, trial = fields.name(record.get("task_id")), fields.name(record.get("trial"))
        name = f"{task}-{trial}" if task and trial else task or fallback_id
    messages = list(_flat(fields.items(record, key, name)))
    turns = [_turn(message, f"{key}[{index}]", name) for index, message in enumerate(messages)]
    if not any(message.get("tool_calls") for message in messages):
        seen_by_customer(turns)
    return Draft(name, turns, path=key)


def _flat(messages: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for message in messages:
        nested = message.get("tool_messages")
        if isinstance(nested, list):
            yield from (item for item in nested if isinstance(item, dict))
        else:
            yield message


def _turn(message: dict[str, Any], path: str, name: str) -> DraftTurn:
    role = message.get("role")
    text = content_text(message.get("content"), f"{path}.content", name)
    if role in ("assistant", "user") and message.get("tool_calls") and not text.strip():
        return DraftTurn("system", text, message.get("timestamp"))
    if role == "user" and text.startswith(TOOL_OUTPUT):
        return DraftTurn("system", text, message.get("timestamp"))
    return DraftTurn(fields.known(role, ROLES), text, message.get("timestamp"))


def seen_by_customer(turns: list[DraftTurn]) -> None:
    """Replace, in place, what agents that think aloud wrote by what the customer saw of it."""
    agents = [turn for turn in turns if turn.role in ("agent", "bot") and isinstance(turn.text, str)]
    if not any(MARK in str(turn.text) for turn in agents):
        return
    for turn in agents:
        text = str(turn.text)
        if MARK not in text and not text.lstrip().startswith("{"):
            continue
        spoken = _spoken(text)
        if spoken is None:
            turn.role = "system"
        else:
            turn.text = spoken


def _spoken(text: str) -> str | None:
    said = text.split(MARK)[-1].strip()
    try:
        action = json.loads(said)
    except (ValueError, RecursionError):
        return said
    if not isinstance(action, dict):
        return said
    if action.get("name") != "respond":
        return None
    arguments = action.get("arguments")
    content = arguments.get("content") if isinstance(arguments, dict) else None
    return content if isinstance(content, str) else said
