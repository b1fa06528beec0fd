"""Answers of a judge: which can be used, and what is wrong with the others."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialint.detector.judge.reading import (
    Question,
    ReadError,
    Reading,
    average,
    format_reading,
    locate,
    parse_decisions,
    parse_probability,
    parse_reading,
)
from dialint.detector.taxonomy import load_taxonomy

TEXTS = {3: "It’s still  here.", 5: "Goodbye!"}
QUESTION = Question(messages=(), turns=TEXTS, codes=load_taxonomy().codes, clauses=frozenset({"source 1"}))


def error(**changes: Any) -> dict[str, Any]:
    whole = {
        "turn": 3, "quote": "It's still here", "code": "I1", "second_code": "none", "probability": 0.9,
        "severity": "S2", "reason": "It has left.", "clause": "none",
    }  # fmt: skip
    return {**whole, **changes}


def test_an_answer_is_read() -> None:
    answer = {"notes": "It left.", "errors": [error(second_code="U4", clause="source 1")]}
    reading = parse_reading(json.dumps(answer), QUESTION)
    assert isinstance(reading, Reading)
    [read] = reading.errors
    assert read.start is not None
    assert read.end is not None
    assert TEXTS[3][read.start : read.end] == "It’s still  here"
    assert (read.code, read.second_code, read.clause, read.severity) == ("I1", "U4", "source 1", "S2")


def test_a_formatted_reading_is_parsed_as_it_was() -> None:
    own = {"start": 0, "end": 16, "second_code": None, "clause": None}
    for has_rewrites in (False, True):
        errors = (
            ReadError(**error(**own, rewrite="It has left." if has_rewrites else None)),
            ReadError(**error(**own, code="U4", quote="It’s still  here", probability=0.35)),
        )
        reading = Reading(notes="a \n“note”", errors=errors)
        text = format_reading(reading, has_rewrites=has_rewrites)
        assert parse_reading(text, replace(QUESTION, has_rewrites=has_rewrites)) == reading
        assert text.startswith('{"notes":"a \\n“note”","errors":[{"turn":3,"quote":')


FORMS = {
    "thoughts": '<think>{"errors": [1]} hm</think>\n\nANSWER',
    "fence": "Sure!\n```json\nANSWER\n```\nLet me know {if} you need more.",
    "words": "Here it is: ANSWER Bye.",
    "upper": "UPPER",
    "two objects": '{"notes": "", "errors": []} No, wait: ANSWER',
    "code with its name": "NAMED",
    "turn as text": "TEXT",
}


@pytest.mark.parametrize("form", FORMS)
def test_what_models_put_around_an_answer_is_no_fault(form: str) -> None:
    answer = json.dumps({"notes": "", "errors": [error()]})
    forms = {
        "ANSWER": answer, "UPPER": answer.upper().replace("IT'S STILL HERE", "It's still here"),
        "NAMED": answer.replace('"I1"', '"i1: Wrong fact"'), "TEXT": answer.replace('"turn": 3', '"turn": "3"'),
    }  # fmt: skip
    text = FORMS[form]
    for word, shape in forms.items():
        text = text.replace(word, shape)
    reading = parse_reading(text, QUESTION)
    assert isinstance(reading, Reading)
    assert [(each.code, each.probability) for each in reading.errors] == [("I1", 0.9)]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no JSON object"),
        ("<think>Okay, the user wants me to", "no JSON object"),
        ('{"errors": 3}', "no JSON object"),
        ('{"probability": 0.0, "reason": "all good"}', "no JSON object"),
        ('{"notes": "", "errors": {}}', "no JSON object"),
        ('{"notes": "", "errors": [],}', "no JSON object"),
        ('{"notes": "", "errors": [], "Errors": []}', "no JSON object"),
        ("{'notes': '', 'errors': []}", "no JSON object"),
        ('{"errors": [', "no JSON object"),
        ("{" * 100_000, "no JSON object"),
        (json.dumps({"errors": [error(turn=4)]}), "those are 3, 5"),
        (json.dumps({"errors": [error(turn=True)]}), "those are 3, 5"),
        (json.dumps({"errors": [error(code="Z9")]}), '"code" is not one of L1'),
        (json.dumps({"errors": [error(probability="sure")]}), "no number from 0 to 1"),
        ('{"errors": [{"turn": 3, "code": "I1", "probability": NaN, "quote": "x"}]}', "no number"),
        (json.dumps({"errors": ["I1"]}), "errors[0]: not an object"),
    ],
)
def test_an_unusable_answer_gets_a_message_on_its_fault(text: str, complaint: str) -> None:
    result = parse_reading(text, QUESTION)
    assert isinstance(result, str)
    assert complaint in result


def test_what_cannot_be_cited_is_left_out_and_a_severity_of_another_code_is_the_usual_one() -> None:
    answer = {"errors": [error(clause="9.9", severity="S4", second_code="I1")]}
    reading = parse_reading(json.dumps(answer), QUESTION)
    assert isinstance(reading, Reading)
    assert (reading.errors[0].clause, reading.errors[0].severity) == (None, "S2")
    assert reading.errors[0].second_code is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.4, 0.4), ("0.4", 0.4), ("85%", 0.85), (85, 0.85), ("1%", 0.01), (1, 1.0), (0, 0.0), (-0.1, None),
     (1.4, None), (101, None), (None, None), (True, None), (float("nan"), None), ([], None), (10**400, None)],
)  # fmt: skip
def test_probabilities(value: Any, expected: float | None) -> None:
    assert parse_probability(value) == expected


@given(st.text(max_size=40), st.integers(0, 40), st.integers(0, 40))
def test_a_part_of_a_text_is_located_in_it(text: str, first: int, second: int) -> None:
    start, end = sorted((first, second))
    part = text[start:end]
    where = locate(part, text)
    if not part.strip():
        assert where is None
    else:
        assert where is not None
        assert text[where[0] : where[1]] == part.strip()


def test_a_quote_with_other_quotation_marks_and_case_is_located() -> None:
    text = "He said “We’ll  call\nyou – today”."
    assert locate('he said "we\'ll call you - today"', text) == (0, len(text) - 1)
    assert locate("…", text) is None
    assert locate("we will call", text) is None


def test_votes_count_by_their_mean_so_that_copies_weigh_no_more_than_one() -> None:
    def reading(*errors: dict[str, Any]) -> Reading:
        result = parse_reading(json.dumps({"errors": list(errors)}), QUESTION)
        assert isinstance(result, Reading)
        return result

    one = reading(error(), error(turn=5, quote="Goodbye", code="R1", probability=0.5))
    assert average([one]) == average([one] * 7) == one.errors
    other = reading(error(code="U4", second_code="I1", probability=0.6))
    [both] = average([one, other])
    assert (both.turn, both.code, both.probability) == (3, "I1", pytest.approx(0.75))
    twice = reading(error(), error(code="U4", second_code="I1"))
    assert [each.code for each in average([twice, twice])] == ["I1", "U4"]


def test_decisions() -> None:
    answer = {"decisions": [{"number": 1, "code": "U4", "probability": 0.7, "severity": "S3", "reason": "r"},
                            {"number": 2, "code": "none", "probability": 0.4}]}  # fmt: skip
    decisions = parse_decisions(json.dumps(answer), QUESTION, 2)
    assert isinstance(decisions, dict)
    assert [(each.code, each.probability) for each in decisions.values()] == [("U4", 0.7), (None, 0.0)]
    missing = parse_decisions(json.dumps({"decisions": answer["decisions"][:1]}), QUESTION, 2)
    assert missing == "There is no decision on 2."
    wrong = {"decisions": [{"number": 3, "code": "U4", "probability": 0.7}]}
    assert 'a "number" from 1 to 2' in str(parse_decisions(json.dumps(wrong), QUESTION, 2))
