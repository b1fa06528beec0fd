"""What is put into a dialogue speaks of its trade or of none, and asks for nothing that was given."""

from random import Random

import pytest

from dialint.labeling.synthetic import grammar, security, spelling, template, tone
from dialint.labeling.synthetic.domains import asks_for_stated, domains_in, names_somebody, sample_fitting
from dialint.labeling.synthetic.example_draft import DraftTurn, ExampleDraft, Family, HardNegative, Pool
from dialint.labeling.synthetic.grammar import BROKEN, both_forms
from dialint.labeling.synthetic.insertion import is_nothing_due, sample_placement
from dialint.labeling.synthetic.spelling import MISSPELT

MODULES = (spelling, grammar, tone, template, security)
COFFEE = ExampleDraft(
    "c",
    "tests",
    "coffee",
    (
        DraftTurn("customer", "One large latte, please."),
        DraftTurn("agent", "Of course. Any syrup in it?"),
        DraftTurn("customer", "Vanilla."),
        DraftTurn("agent", "Lovely, thank you."),
        DraftTurn("customer", "Great, thanks."),
        DraftTurn("agent", "You are welcome."),
    ),
)
INSERTED = [
    family
    for module in MODULES
    for family in module.FAMILIES
    if family.use == "train"
    and family.code in ("T1", "M2", "V2")
    and family.name not in ("T1.bark", "M2.value")
]
SOFT = frozenset({"scene", "family", "calendar", "price", "line", "card", "account", "table"})
"""Trades that figures of speech, secrets and a coffee bar may speak of."""


@pytest.mark.parametrize("family", INSERTED, ids=lambda family: family.name)
def test_a_talk_about_coffee_gets_no_words_of_another_trade(family: Family) -> None:
    for seed in range(25):
        made = family.make(COFFEE, Random(seed), Pool())
        if made is None:
            continue
        assert made.twin is not None
        for draft in (
            (made.twin,) if family.code == "M2" else (made.error, made.twin)
        ):  # a hole may be named after anything
            text = " ".join(turn.text for turn in draft.turns if turn not in COFFEE.turns)
            assert domains_in(text) <= SOFT, text


@pytest.mark.parametrize(
    "negative", [n for m in MODULES for n in m.NEGATIVES if n.use == "train"], ids=lambda n: n.name
)
def test_a_hard_negative_is_of_no_other_trade_either(negative: HardNegative) -> None:
    for seed in range(15):
        made = negative.make(COFFEE, Random(seed), Pool())
        if made is not None and not negative.name.endswith(("customer", "declined")):
            assert domains_in(next(turn.text for turn in made.turns if turn.probe)) <= SOFT


def test_broken_sentences_are_of_no_trade() -> None:
    right = [both_forms(line, Random(0))[1].text for lines in (*BROKEN.values(), MISSPELT) for line in lines]
    assert not [text for text in right if domains_in(text)]
    assert len(right) > 450


def test_a_draw_of_another_trade_is_passed_over() -> None:
    draws = iter(["The boiler is fixed.", "One moment."])
    assert sample_fitting(COFFEE, Random(0), lambda: next(draws), lambda text: (text,)) == "One moment."
    assert sample_fitting(COFFEE, Random(0), lambda: "The boiler is fixed.", lambda text: (text,)) is None


def test_what_was_given_is_not_asked_for_again() -> None:
    named = COFFEE.with_turn(0, DraftTurn("customer", "My name is Ada Moss, a latte please."))
    assert asks_for_stated("Could you tell me your name?", named, 3)
    assert not asks_for_stated("Could you tell me your name?", COFFEE, 3)
    assert not asks_for_stated("Thank you for telling me all this about your good name here.", named, 3)
    assert names_somebody(named)
    assert not names_somebody(COFFEE)


def test_a_turn_is_replaced_only_where_nothing_was_asked_by_either() -> None:
    assert [is_nothing_due(COFFEE, index) for index in (1, 3, 5)] == [False, True, True]
    assert {sample_placement(COFFEE, 3, Random(seed)) for seed in range(60)} >= {"before", "after", "instead"}
    for index in (1, 5):  # a question, and the end of the talk
        assert "instead" not in {sample_placement(COFFEE, index, Random(seed)) for seed in range(60)}
