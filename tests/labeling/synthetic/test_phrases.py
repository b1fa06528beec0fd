"""Small parts: grammars, slips, statements, figures, mending."""

from __future__ import annotations

import re
from random import Random

import pytest

from dialint.labeling.synthetic import grammar
from dialint.labeling.synthetic.cleaning import MISSPELLINGS, REAL_WORDS, fit_corrector
from dialint.labeling.synthetic.dialogue_acts import sentences
from dialint.labeling.synthetic.example_draft import DraftTurn, ExampleDraft, join_texts
from dialint.labeling.synthetic.slots import (
    customer_statements,
    mentions,
)
from dialint.labeling.synthetic.wordings import count_forms, expand, match_style


def test_a_grammar_says_every_choice_and_leaves_values_alone() -> None:
    grammar = {"say": ("(A|B) @thing@end",), "thing": ("x", "y"), "end": ("!", "")}
    texts = {expand(grammar, Random(seed)) for seed in range(200)}
    assert texts == {f"{a} {b}{c}" for a in "AB" for b in "xy" for c in ("!", "")}
    assert count_forms(grammar) == 8
    assert expand({"say": ("to @value",)}, Random(0), value="(a|b) @say") == "to (a|b) @say"


def test_an_unknown_rule_is_an_error() -> None:
    with pytest.raises(KeyError):
        expand({"say": ("@nobody",)}, Random(0))


@pytest.mark.parametrize(
    ("text", "kind", "value", "without"),
    [
        ("I need a table for 4 people on Friday.", "people", "4 people", "I need a table on Friday."),
        ("I need a table for 4 people on Friday.", "day", "Friday", "I need a table for 4 people."),
        ("Find me an expensive hotel in the north.", "price", "expensive", "Find me a hotel in the north."),
        ("My name is Ann Lee and I want a ride.", "name", "Ann Lee", "I want a ride."),
        ("Please book a taxi to Norwich.", "destination", "Norwich", "Please book a taxi."),
        ("A latte with oat milk and a bagel please.", "milk", "oat milk", "A latte and a bagel please."),
    ],
)
def test_what_is_given_is_found_and_can_be_left_unsaid(
    text: str, kind: str, value: str, without: str
) -> None:
    found = {given.kind: given for given in customer_statements(text)}
    assert found[kind].value == value
    assert found[kind].without == without
    assert not mentions(kind, found[kind].without)


def test_what_is_given_twice_or_not_at_all_is_not_given() -> None:
    assert "day" not in {
        given.kind for given in customer_statements("Friday or Saturday, either is fine with me.")
    }
    assert customer_statements("Hello, can you help me with something?") == []


def test_joined_texts_know_where_the_second_begins() -> None:
    for first in ("It is open", "It is open.", "Open? "):
        text, start, end = join_texts(first, "Come in.")
        assert text[start:end] == "Come in."
        assert text.startswith(first.rstrip())
    assert "".join(sentences("It costs 4.50 pounds. Fine? Good!")) == "It costs 4.50 pounds. Fine? Good!"


def test_made_text_takes_the_manner_of_its_neighbours() -> None:
    assert match_style("Sure thing.", ["ok sure", "yes it is"]) == "sure thing"
    assert match_style("Sure thing.", ["Yes.", "It is."]) == "Sure thing."


def test_no_misspelling_is_a_word_and_no_rule_leaves_a_sentence_as_it_was() -> None:
    slips = {slip for values in MISSPELLINGS.values() for slip in values}
    assert not slips & set(MISSPELLINGS)
    assert not slips & REAL_WORDS
    assert len(MISSPELLINGS) >= 150
    rules = [*grammar.HOMOPHONES, *(r for group in grammar.RULES.values() for r in group)]
    assert all(re.compile(rule.pattern) and rule.becomes for rule in rules)


def test_mending_corrects_known_slips_and_leaves_out_likely_ones() -> None:
    def draft(text: str) -> ExampleDraft:
        return ExampleDraft(
            "d", "tests", "hotel", (DraftTurn("customer", "recieve it"), DraftTurn("agent", text))
        )

    common = draft("the restaurant serves excellent pancakes and " * 70)
    mender = fit_corrector([common, draft("our pancakse are here")])
    assert mender.suspects == {"pancakse"}
    assert mender.correct(draft("our pancakse are here")) is None
    correct = mender.correct(draft("you will recieve it, the resturant serves pancake"))
    assert correct is not None
    assert [turn.text for turn in correct.turns] == [
        "recieve it",
        "you will receive it, the restaurant serves pancake",
    ]
