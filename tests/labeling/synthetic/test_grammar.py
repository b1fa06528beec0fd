"""Sentences broken and right at once, rewriting rules, macros with holes, and grammar mended."""

from __future__ import annotations

import re
from random import Random

import pytest

from dialint.labeling.synthetic import grammar, spelling, template
from dialint.labeling.synthetic.cleaning import correct_text, is_broken
from dialint.labeling.synthetic.example_draft import DraftTurn, ExampleDraft
from dialint.labeling.synthetic.grammar import BROKEN, CHATTY, Rule, apply_rule, both_forms
from dialint.labeling.synthetic.spelling import MISSPELT
from dialint.labeling.synthetic.template import KINDS, SHAPES

TALK = ExampleDraft(
    "d",
    "tests",
    "hotel",
    (
        DraftTurn("customer", "I would like a room for two nights."),
        DraftTurn("agent", "I have found the right one for you. Would you like to book it?"),
        DraftTurn("customer", "Yes please."),
        DraftTurn("agent", "Thank you, it is booked."),
    ),
)
NEGATIVES = [
    negative
    for module in (spelling, grammar, template)
    for negative in module.NEGATIVES
    if negative.use == "train"
]
LINES = [line for lines in BROKEN.values() for line in lines] + list(MISSPELT)


def test_a_bracket_says_the_wrong_and_the_right_words_and_where() -> None:
    bad, good = both_forms("We [was|were] not told, [is|it is] new.", Random(0))
    assert (bad.text, good.text) == ("We was not told, is new.", "We were not told, it is new.")
    assert [bad.text[a:b] for a, b in bad.spans] == ["was", "is"]


def test_a_right_sentence_of_ours_is_left_alone_by_mending() -> None:
    right = [both_forms(line, Random(0))[1].text for lines in BROKEN.values() for line in lines]
    assert not [text for text in (*right, *CHATTY) if is_broken(text)]
    assert not [text for text in right if correct_text(text) != text]


@pytest.mark.parametrize(
    ("text", "correct"),
    [
        ("It is a expensive hotel, located north.", "It is an expensive hotel, located in the north."),
        ("What is you name?", "What is your name?"),
        ("There is 5 hotels in the the north.", "There are 5 hotels in the north."),
        ("Your welcome, I've book it for 3 night.", "you're welcome, I've booked it for 3 nights."),
        ("Im sorry, its a long way.", "I'm sorry, it's a long way."),
        ("A four star hotel for a 3 night stay.", "A four star hotel for a 3 night stay."),
        ("I like the A and B Guest House at 10:01 people say.", "I like the A and B Guest House at 10:01 people say."),
    ],
)  # fmt: skip
def test_natural_slips_of_grammar_are_mended_and_nothing_else(text: str, correct: str) -> None:
    assert correct_text(text).lower() == correct.lower()


@pytest.mark.parametrize("text", ["When you like to leave?", "There a 5 places.", "Does you have it?"])
def test_what_cannot_be_mended_is_broken(text: str) -> None:
    assert is_broken(correct_text(text))


def test_a_rule_rewrites_one_place_and_moves_the_capital() -> None:
    rule = Rule(r"\b(can) (i) (help)\b", (r"\3 \1 \2",))
    assert apply_rule("Can I help you?", rule, Random(0)) == ("Help can I you?", 0, 10)
    assert apply_rule("Nothing here.", rule, Random(0)) is None


def test_no_hole_is_what_redaction_leaves() -> None:
    holes = {
        template.render_slot(kind, shape, Random(n)) for kind in KINDS for shape in SHAPES for n in range(20)
    }
    assert not [hole for hole in holes if re.fullmatch(r"\[(name|link|url|date|address)\]", hole)]
    assert not [hole for hole in holes if re.search(r"@(label|upper|snake)", hole)]
