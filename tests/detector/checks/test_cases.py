"""What every check must find and, as important, what it must leave alone: the cases of `cases.yaml`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from marked_dialogues import read_case

from dialint.detector.checks import Hit, load_checks
from dialint.detector.checks.context import GateInput
from dialint.detector.checks.gates import GATES
from dialint.detector.checks.words import read_words
from dialint.detector.log_profile import EMPTY_PROFILE

CASES: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text("utf-8"))
GATE_CASES: dict[str, Any] = CASES.pop("gates")


def cases(groups_of: dict[str, Any]) -> Iterator[Any]:
    for check, groups in groups_of.items():
        for why, listed in groups.items() if isinstance(groups, dict) else [("", groups)]:
            for case in listed:
                yield pytest.param(check, why, case, id=f"{check}: {str(case)[:60]}")


@pytest.mark.parametrize(("check", "why", "case"), tuple(cases(CASES)))
def test_a_check_finds_what_is_marked_and_nothing_else(check: str, why: str, case: str | list[str]) -> None:
    dialogue, quotes = read_case(case)
    if check in ("insult", "asks_secret"):  # in several languages
        dialogue = dialogue.model_copy(update={"language": None})
    hits: list[Hit] = list(load_checks()[check](dialogue))
    assert list(dict.fromkeys((hit.turn, hit.start, hit.end) for hit in hits)) == quotes
    assert all(why in hit.why for hit in hits)


def test_every_rule_of_grammar_has_a_slip() -> None:
    assert set(CASES["grammar_slip"]) - {"correct"} == set(read_words("grammar_rules"))


@pytest.mark.parametrize(("gate", "outcome", "case"), tuple(cases(GATE_CASES)))
def test_a_gate_decides_by_what_the_log_shows(gate: str, outcome: str, case: str | list[str]) -> None:
    dialogue, marked = read_case(case)
    spoken = [n for n, turn in enumerate(dialogue.turns) if turn.role == "agent" and turn.text]
    position = marked[0][0] if marked else spoken[-1]
    suspicion = GateInput(dialogue, position, 0, len(dialogue.turns[position].text), 0.9, EMPTY_PROFILE)
    assert GATES[gate](suspicion).outcome == outcome


def test_every_gate_says_what_it_must_see() -> None:
    assert set(GATE_CASES) | {"odd_word"} == set(GATES)
    for name, gate in GATES.items():
        assert " must see " in " ".join((gate.__doc__ or "").split()), name
