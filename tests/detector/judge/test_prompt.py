"""The question about a whole dialogue: what it shows, and in which parts; guidelines as clauses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from marked_dialogues import dialogue, in_turn

from dialint.detector.judge.guidelines import clauses_of, parse_guideline
from dialint.detector.judge.prompt import (
    Evidence,
    Reader,
    applicable_codes,
    second_look,
    split_families,
    system_message,
)
from dialint.detector.judge.reading import Clause, Question, ReadError
from dialint.detector.records import Dialogue, ToolCall, Turn
from dialint.detector.taxonomy import load_taxonomy

TAXONOMY = load_taxonomy()
START = datetime(2026, 11, 28, 9, 2, tzinfo=UTC)
DIALOGUE = Dialogue(
    id="d1",
    channel="chat",
    turns=(
        Turn(index=0, role="customer", text='Where is order 4471?\n"turn": 1', at=START),
        Turn(index=1, role="agent", text="", tool_calls=(ToolCall(name="get", arguments={"id": "4471"}),)),
        Turn(index=2, role="tool", text='{"status": "left"}'),
        Turn(index=3, role="agent", text="It’s still  here.", at=START + timedelta(seconds=720)),
        Turn(index=4, role="customer", text="And the fee?"),
        Turn(index=5, role="bot", text="Goodbye!"),
    ),
)


def count(messages: Sequence[Mapping[str, str]]) -> int:
    return sum(len(message["content"]) for message in messages) // 4


def ask(
    dialogue: Dialogue, max_tokens: int = 20_000, **evidence: Any
) -> tuple[list[Question], tuple[str, ...]]:
    facts = Evidence(**evidence)
    codes, _ = applicable_codes(TAXONOMY, frozenset(TAXONOMY.codes), facts.kinds(dialogue))
    return Reader(taxonomy=TAXONOMY, max_tokens=max_tokens, count=count).questions(dialogue, codes, facts)


def test_each_line_of_the_user_message_is_a_json_value_and_no_text_can_make_a_line() -> None:
    [question], _ = ask(DIALOGUE, clauses=(Clause(id="3", text="Look first."),), logs_tools=True)
    *lines, last = question.messages[1]["content"].split("\n")
    values = [json.loads(line) for line in lines]
    assert last == "List the errors of the support side."
    assert values == [
        {
            "known": {
                "channel": "chat",
                "tool_calls": "logged",
                "waits": [{"turn": 3, "minutes": 12.0, "since_turn_of": "customer"}],
                "log_ends": "after turn 5",
            }
        },
        {"clause": "3", "text": "Look first."},
        {"turn": 0, "customer": 'Where is order 4471?\n"turn": 1'},
        {"tool_call": 'get {"id":"4471"}'},
        {"tool_result": '{"status": "left"}'},
        {"turn": 3, "agent": "It’s still  here."},
        {"turn": 4, "customer": "And the fee?"},
        {"turn": 5, "bot": "Goodbye!"},
    ]
    assert dict(question.turns) == {3: "It’s still  here.", 5: "Goodbye!"}


def test_codes_without_their_evidence_are_left_out() -> None:
    bare = dialogue(("agent", "Hi"))
    codes, unmet = applicable_codes(TAXONOMY, frozenset(TAXONOMY.codes), Evidence().kinds(bare))
    assert set(unmet) == {"I1", "I3", "P1", "P2", "P3", "P4", "E1", "W1", "W2", "W3"}
    text = system_message(TAXONOMY, codes, "Spanish")
    assert "\nC1 Question ignored (S2):" in text
    assert "\nI1 " not in text
    assert "in Spanish" in text
    assert all(TAXONOMY.codes[code].definition in text for code in codes)
    assert Evidence().kinds(DIALOGUE) >= {"sources", "actions", "timestamps"}  # results of tools are sources


def test_the_system_message_is_the_same_for_dialogues_with_the_same_kinds_of_evidence() -> None:
    other = DIALOGUE.model_copy(update={"id": "d2", "turns": DIALOGUE.turns[:4]})
    [one], [two] = ask(DIALOGUE)[0], ask(other)[0]
    assert one.messages[0] == two.messages[0]
    assert one.schema == two.schema


@pytest.mark.parametrize("room", [7000, 2500])
def test_a_long_dialogue_is_read_in_parts_that_cover_each_turn_once_for_each_code(room: int) -> None:
    long = in_turn(*(f"{n} " + "words and more words? " * 40 for n in range(40)))
    questions, without_room = ask(long, room)
    assert without_room == ()
    assert all(count(question.messages) <= room for question in questions)
    seen: dict[str, list[int]] = {}
    for question in questions:
        for code in question.codes:
            seen.setdefault(code, []).extend(question.turns)
    assert len(seen) > 30
    assert all(sorted(turns) == list(range(1, 40, 2)) for turns in seen.values())
    later = [question for question in questions if 39 in question.turns]
    assert all('{"earlier":[' in question.messages[1]["content"] for question in later)


def test_a_context_without_room_reports_the_codes_left_out() -> None:
    questions, without_room = ask(DIALOGUE, 600)
    codes = {code for question in questions for code in question.codes}
    assert codes.isdisjoint(without_room)
    assert {"C1", "U2"} <= set(without_room)


def test_families_are_never_split() -> None:
    families = [set(family) for family in split_families(TAXONOMY, TAXONOMY.codes)]
    assert sum(len(family) for family in families) == len(TAXONOMY.codes)
    assert any({"C1", "U5", "M3", "R1", "E4"} <= family for family in families)


def test_a_second_look_asks_behind_the_same_dialogue() -> None:
    [question], _ = ask(DIALOGUE)
    listed = ReadError(
        turn=3,
        code="I1",
        second_code="U4",
        probability=0.5,
        severity="S2",
        quote="still here",
        start=0,
        end=4,
    )
    system, user = second_look(question, [listed], "English")
    assert system == question.messages[0]
    first = question.messages[1]["content"].rpartition("\n")[0]
    assert user["content"].startswith(first + "\n")
    listing = json.loads(user["content"][len(first) + 1 :].split("\n")[0])
    assert listing == {"uncertain": [{"number": 1, "turn": 3, "quote": "still here", "codes": ["I1", "U4"]}]}


GUIDELINE = """# Refunds

Always look the order up
before anything else.

## Limits
1. Up to 20 euros the agent decides.
2. Above, a supervisor does:
   - by phone,
   - never by mail.
- Never promise a date.
3.1 Vouchers do not expire.
"""


def test_a_guideline_is_read_as_clauses_with_the_headings_above_them() -> None:
    assert [(clause.id, clause.text) for clause in parse_guideline(GUIDELINE)] == [
        ("G1", "Refunds Always look the order up before anything else."),
        ("1", "Refunds Limits Up to 20 euros the agent decides."),
        ("2", "Refunds Limits Above, a supervisor does: - by phone, - never by mail."),
        ("G4", "Refunds Limits Never promise a date."),
        ("3.1", "Refunds Limits Vouchers do not expire."),
    ]


def test_the_system_turn_of_a_bot_is_a_guideline_and_a_short_one_is_not() -> None:
    turns = (
        Turn(index=0, role="system", text="You sell tea.\n- Be kind.\n" + "x" * 200),
        *DIALOGUE.turns[:1],
    )
    clauses, rest = clauses_of(Dialogue(id="d", turns=turns))
    assert [clause.id for clause in clauses] == ["S1", "S2"]
    assert [turn.role for turn in rest.turns] == ["customer"]
    event = Dialogue(id="d", turns=(Turn(index=0, role="system", text="Ann joined"), *DIALOGUE.turns))
    assert clauses_of(event) == ((), event)
