"""Ids, numbers, amounts and times in texts. Statements of agents about them are in `cases.yaml`."""

from __future__ import annotations

from marked_dialogues import read_case

from dialint.detector.checks.facts import unsupported_fact
from dialint.detector.checks.quantities import find_quantities, plain
from dialint.detector.checks.questions import asks_for_known
from dialint.detector.checks.values import ids


def test_a_deeply_nested_result_is_read_to_a_limit() -> None:
    nested = '{"a":' * 900 + "1" + "}" * 900
    text = "Your number is #K9912345. What is your email address?"
    talk, _ = read_case(["c: Hello", "call: get_order", f"t: {nested}", f"a: {text}"])
    assert [(hit.code, text[hit.start : hit.end]) for hit in unsupported_fact(talk)] == [("I2", "#K9912345")]
    assert list(asks_for_known(talk)) == []


def test_values_in_text() -> None:
    text = "Order W2378156 (#77120), flight QX112, user ann_lee_3668, 27th, 500ml, 10am, 2024-05-20, a.b@c.de1234"
    assert [match.group() for match in ids(text)] == ["W2378156", "#77120", "QX112", "ann_lee_3668"]
    text = "$1,200.5 and 30 dollars, €7, 12 USD; 6:10 AM, 12 am, 17:00:00, 12:05pm, 99:10"
    located = [(text[slice(*place)], kind, n) for kind, n, place in find_quantities(text)]
    assert [each for each in located if each[1] in ("money", "time")] == [
        ("6:10 AM", "time", 370), ("12 am", "time", 0), ("17:00:00", "time", 1020), ("12:05pm", "time", 725),
        ("$1,200.5", "money", 120050), ("30 dollars", "money", 3000), ("€7", "money", 700), ("12 USD", "money", 1200),
    ]  # fmt: skip


def test_a_number_in_words_ends_where_a_word_does() -> None:
    assert plain("the twenty-sixth of march") == "the 26th of march"
    assert plain("forty tenants, sixty sevens, two thousand one") == "40 tenants, 60 sevens, 2000 one"
