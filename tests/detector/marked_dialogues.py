"""Dialogues in a few lines."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from dialint.detector.records import Dialogue, Role, ToolCall, Turn

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
ROLES: dict[str, Role] = {"c": "customer", "a": "agent", "b": "bot", "t": "tool", "s": "system"}
MARKED = re.compile("⟦(.*?)⟧", re.DOTALL)


def read_case(case: str | list[str], id: str = "d") -> tuple[Dialogue, list[tuple[int, int, int]]]:
    """The dialogue of a case, and the turn, start and end of each marked quote; of a marked call 0 and 1. A role
    may have the minute of its turn, as in ``a@12: Hello``: then the dialogue is a chat. Lines of sources stand
    before the turns."""
    lines = ["c: Hello", f"a: {case}"] if isinstance(case, str) else case
    sources = tuple(line.removeprefix("source: ") for line in lines if line.startswith("source: "))
    lines = lines[len(sources) :]
    if not any(re.match(r"[cabts](@\d+)?: |call: ", line) for line in lines):  # customer and agent in turn
        lines = [f"{'ca'[(len(lines) - n) % 2]}: {line}" for n, line in enumerate(lines)]
    turns, quotes = list[Turn](), list[tuple[int, int, int]]()
    for index, line in enumerate(lines):
        role, _, text = line.partition(": ")
        if role == "call":
            if MARKED.search(text):
                quotes.append((index, 0, 1))
            name, _, arguments = MARKED.sub(r"\1", text).partition(" ")
            call = ToolCall(name=name, arguments=json.loads(arguments or "{}"))
            turns.append(Turn(index=index, role="agent", text="", tool_calls=(call,)))
            continue
        for n, match in enumerate(MARKED.finditer(text)):
            quotes.append((index, match.start() - 2 * n, match.end() - 2 * n - 2))
        role, _, minute = role.partition("@")
        at = START + timedelta(minutes=int(minute)) if minute else None
        turns.append(Turn(index=index, role=ROLES[role], text=MARKED.sub(r"\1", text), at=at))
    channel = "chat" if any(turn.at for turn in turns) else None
    return Dialogue(id=id, turns=tuple(turns), language="en", channel=channel, sources=sources), quotes


def dialogue(*turns: tuple[str, str], name: str = "d") -> Dialogue:
    """Of roles and texts."""
    made = (Turn(index=i, role=role, text=text) for i, (role, text) in enumerate(turns))  # type: ignore[arg-type]
    return Dialogue(id=name, turns=tuple(made))


def in_turn(*texts: str, id: str = "d", **fields: Any) -> Dialogue:
    """Of texts of a customer and an agent, the customer first."""
    roles: tuple[Role, Role] = ("customer", "agent")
    turns = tuple(Turn(index=i, role=roles[i % 2], text=text) for i, text in enumerate(texts))
    return Dialogue(id=id, turns=turns, **fields)
