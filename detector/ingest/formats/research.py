"""Research corpora that a mapping cannot describe: MultiWOZ 2.0 and 2.1 (keyed by file name), tau- and
tau2-bench.

Of an agent of tau-bench that writes ``Thought: ... Action: {...}`` only the text that the customer saw is
read, as in tau-bench's own loop: the part after the last ``Action:``, or the content if that part is the JSON
of a ``respond``; any other JSON is a tool call, which the customer did not see. On the 925 such dialogues of
the corpus this rule predicts who speaks next without exception (13,926 turns, 2026-11-20). An agent with a
list of calls said nothing to the customer beside them: the loop runs the call and goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from dialint.detector.ingest.formats.chats import content_text
from dialint.detector.ingest.formats.tool_turns import (
    TOOL_OUTPUT,
    read_calls,
    read_reasoning,
    silence,
    tool_turn,
)
from dialint.detector.ingest.log_format import (
    LogFormat,
    RawDialogue,
    RawTurn,
    as_name,
    map_role,
    object_list,
    read_rating,
)

ROLES = {"user": "customer", "assistant": "bot", "system": "system"}


def _has(*keys: str) -> Callable[[Any], bool]:
    return lambda record: isinstance(record, dict) and all(key in record for key in keys)


def _read_multiwoz(record: dict[str, Any], fallback_id: str) -> Iterator[RawDialogue]:
    """Reads one value of `data.json`. Even turns are the customer's, odd ones the human wizard's."""
    turns = [
        RawTurn("agent" if index % 2 else "customer", item.get("text"))
        for index, item in enumerate(object_list(record, "log", fallback_id))
    ]
    yield RawDialogue(as_name(record.get("dialogue_id")) or fallback_id, turns, path="log")


def _read_episode(key: str, record: dict[str, Any], fallback_id: str) -> Iterator[RawDialogue]:
    """Reads one episode of tau-bench or tau2-bench; its id is its `id`, else ``<task_id>-<trial>``."""
    name = record.get("id")
    if not isinstance(name, str):
        task, trial = as_name(record.get("task_id")), as_name(record.get("trial"))
        name = f"{task}-{trial}" if task and trial else task or fallback_id
    messages: list[dict[str, Any]] = []
    for message in object_list(record, key, name):
        nested = message.get("tool_messages")
        group = nested if isinstance(nested, list) else [message]
        messages += [one for one in group if isinstance(one, dict)]
    turns = [_turn(message, f"{key}[{index}]", name) for index, message in enumerate(messages)]
    if not any(message.get("tool_calls") for message in messages):
        read_reasoning(turns)
    info = record.get("reward_info")
    reward = read_rating(record.get("reward", info.get("reward") if isinstance(info, dict) else None))
    yield RawDialogue(name, turns, {"metadata": reward or None}, path=key)


def _turn(message: dict[str, Any], path: str, name: str) -> RawTurn:
    role, at, calls = message.get("role"), message.get("timestamp"), message.get("tool_calls")
    text = content_text(message.get("content"), f"{path}.content", name)
    if (role == "tool" and message.get("requestor") == "user") or (
        role == "user" and calls and not text.strip()
    ):  # a look at the customer's own device
        return RawTurn("system", text, at)
    if role == "tool":
        return tool_turn(text, message.get("tool_call_id") or message.get("id"), message.get("error"), at)
    if role == "user" and text.startswith(TOOL_OUTPUT):
        return tool_turn(text, at=at)
    turn = RawTurn(map_role(role, ROLES), text, at)
    if role == "assistant" and calls:
        silence(turn, read_calls(calls, f"{path}.tool_calls", name))
    return turn


tau = LogFormat("tau", _has("traj", "task_id"), partial(_read_episode, "traj"))
tau2 = LogFormat(
    "tau2", _has("messages", "task_id"), partial(_read_episode, "messages"), members=("simulations",)
)
multiwoz = LogFormat(
    "multiwoz",
    lambda record: isinstance(record, dict) and isinstance(record.get("log"), list),
    _read_multiwoz,
    members=("*",),
)
