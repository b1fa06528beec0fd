"""Ends of talks: what makes a closing an error stands in the history, never in the closing."""

from random import Random

import pytest

from dialint.labeling.synthetic import resolution
from dialint.labeling.synthetic.example_draft import DraftTurn, ExampleDraft, Family, HardNegative, Pool

FAMILIES = resolution.FAMILIES
NEGATIVES = [negative for negative in resolution.NEGATIVES if negative.use != "heldout"]
BIKE = ExampleDraft(
    id="bike",
    source="hand",
    domain="repairs",
    turns=(
        DraftTurn("customer", "Hello, my bicycle needs new brakes."),
        DraftTurn("agent", "Happy to help. Which day suits you?"),
        DraftTurn("customer", "Tuesday in the morning."),
        DraftTurn("agent", "Nine is free. Is that fine with you?"),
        DraftTurn("customer", "Put me down for nine then."),
        DraftTurn("agent", "You have the slot at nine on Tuesday."),
        DraftTurn("customer", "And how much will it cost in the end?"),
        DraftTurn("agent", "It comes to forty pounds with the parts."),
    ),
)
SEEDS = range(30)
TRAINED = [family for family in FAMILIES if family.use == "train"]


@pytest.mark.parametrize("family", TRAINED, ids=lambda family: family.name)
def test_error_and_twin_end_in_the_same_closing_after_another_history(family: Family) -> None:
    closes = set()
    for seed in SEEDS:
        made = family.make(BIKE, Random(seed), Pool())
        assert made is not None
        assert made.twin is not None
        error, twin = made.error.turns, made.twin.turns
        assert error[-1].text == twin[-1].text
        assert "R1" in {mark.code for mark in error[-1].marks}
        assert twin[-1].probe == "R1"
        assert [turn.text for turn in error[:-1]] != [turn.text for turn in twin[:-1]]
        assert not any(turn.marks for turn in (*error[:-1], *twin))
        closes.add(error[-1].text)
    assert len(closes) > 12


@pytest.mark.parametrize("negative", NEGATIVES, ids=lambda negative: negative.name)
def test_a_talk_that_ends_well_is_clean(negative: HardNegative) -> None:
    for seed in SEEDS:
        draft = negative.make(BIKE, Random(seed), Pool())
        assert draft is not None
        assert not any(turn.marks for turn in draft.turns)
        assert [turn.probe for turn in draft.turns if turn.probe] == ["R1"]
        assert draft == negative.make(BIKE, Random(seed), Pool())


def test_an_agent_who_still_asks_back_has_not_answered() -> None:
    asking = BIKE.with_turn(7, DraftTurn("agent", "Please tell me the model first."))
    unanswered = next(family for family in TRAINED if family.name == "R1.unanswered")
    assert unanswered.make(BIKE, Random(1), Pool()) is not None
    assert unanswered.make(asking, Random(1), Pool()) is None


def test_open_and_met_ends_stand_in_pairs_and_no_closing_is_held_out_and_trained() -> None:
    assert len(resolution.UNSOLVED) == len(resolution.SOLVED)
    assert len(resolution.NOT_DONE) == len(resolution.ALL_DONE)
    trained = {*resolution.PLAIN, *resolution.SETTLED_CLOSINGS, *resolution.FILED_CLOSINGS}
    assert not trained & {*resolution.NOTICE["notice"], *resolution.SURVEY["survey"]}
