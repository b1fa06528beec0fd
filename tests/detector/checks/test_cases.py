"""What every check must find and, as important, what it must leave alone: the cases of `cases.yaml`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dialint.detector.checks import Hit, load_checks
from dialint.detector.checks.words import read_words
from dialint.detector.records import Dialogue, Role, ToolCall, Turn

CASES: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text("utf-8"))
ROLES: dict[str, Role] = {"c": "customer", "a": "agent", "b": "bot", "t": "tool", "s": "system"}
MARKED = re.compile("⟦(.*?)⟧", re.DOTALL)


def read_case(case: str | list[str]) -> tuple[Dialogue, list[tuple[int, int, int]]]:
    """The dialogue of a case, and the turn, start and end of each marked quote."""
    lines = ["c: Hello", f"a: {case}"] if isinstance(case, str) else case
    if not any(re.match(r"[cabts]: |call: ", line) for line in lines):  # customer and agent in turn
        lines = [f"{'ca'[(len(lines) - n) % 2]}: {line}" for n, line in enumerate(lines)]
    turns, quotes = list[Turn](), list[tuple[int, int, int]]()
    for index, line in enumerate(lines):
        role, _, text = line.partition(": ")
        if role == "call":
            name, _, arguments = text.partition(" ")
            call = ToolCall(name=name, arguments=json.loads(arguments or "{}"))
            turns.append(Turn(index=index, role="agent", text="", tool_calls=(call,)))
            continue
        for n, match in enumerate(MARKED.finditer(text)):
            quotes.append((index, match.start() - 2 * n, match.end() - 2 * n - 2))
        turns.append(Turn(index=index, role=ROLES[role], text=MARKED.sub(r"\1", text)))
    return Dialogue(id="d", turns=tuple(turns), language="en"), quotes


def cases() -> Iterator[Any]:
    for check, groups in CASES.items():
        for why, listed in groups.items() if isinstance(groups, dict) else [("", groups)]:
            for case in listed:
                yield pytest.param(check, why, case, id=f"{check}: {str(case)[:60]}")


@pytest.mark.parametrize(("check", "why", "case"), tuple(cases()))
def test_a_check_finds_what_is_marked_and_nothing_else(check: str, why: str, case: str | list[str]) -> None:
    dialogue, quotes = read_case(case)
    if check in ("insult", "asks_secret"):  # in several languages
        dialogue = dialogue.model_copy(update={"language": None})
    hits: list[Hit] = list(load_checks()[check](dialogue))
    assert [(hit.turn, hit.start, hit.end) for hit in hits] == quotes
    assert all(why in hit.why for hit in hits)


def test_every_rule_of_grammar_has_a_slip() -> None:
    assert set(CASES["grammar_slip"]) - {"correct"} == set(read_words("grammar_rules"))
