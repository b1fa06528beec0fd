"""Every structural family on dialogues written for it: labels, spans, twins, and no place, no error."""

from __future__ import annotations

from random import Random

import pytest

from dialint.labeling.synthetic.draft import Draft, DraftTurn, ErrorPair, Family, Pool
from dialint.labeling.synthetic.families import all_families

TALKS = {
    "hotel": (
        "c I am looking for a cheap hotel in the north for 3 people, arriving on Friday.",
        "a I found 4 hotels there. The Alder Lodge is nice, it has 3 stars and costs 42.50 pounds.",
        "c Sounds nice to me. I arrive by train at 17:30.",
        "a The Alder Lodge has a room. Its phone number is 01223450911.",
        "c What is the postcode of the lodge?",
        "a The postcode is CB12AB and they have free parking. Would you like me to book it?",
        "c Yes, I would be glad.",
        "a I have booked the room for 42.50 pounds. Your booking reference is QX7T2MNB.",
        "c Where is the nearest bus stop, and when does the last bus leave?",
        "a The stop is across the street. The last bus leaves at 23:40 and takes 15 minutes.",
        "c I will walk then, it is not far.",
        "a There is a footpath along the river that many guests enjoy.",
        "c That's all, thank you!",
        "a Thank you for contacting us. Goodbye!",
    ),
    "ride": (
        "c My name is Mira Stone and I need a taxi from London to Stevenage.",
        "a Your taxi will be a black Volvo, it arrives at 14:15 and costs $31.",
        "c My suitcase is quite large, I hope it fits.",
        "a There is plenty of space in the trunk of this car.",
        "c What does the driver look like?",
        "a The driver has a red beard and wears a green jacket.",
        "c Okay, that helps me a lot.",
        "a I have scheduled your taxi for the evening as you wished.",
        "c Nice, I am packing already.",
        "a You could not forget anything important with such a long list.",
        "c I hope so too.",
        "a Which of the two doors will you come out of?",
        "c The green one next to the bakery.",
        "a The driver will be told about the green door.",
    ),
}
FOREIGN = [
    (
        "Which savings account pays the best interest?",
        "Our platinum savings account pays interest every quarter.",
    ),
    (
        "Is my dentist appointment confirmed?",
        "Shall the dentist examine your molar before cleaning your teeth?",
    ),
    ("Which savings fee applies?", "Does your savings account already include monthly paper statements?"),
    (
        "How long does the dentist need?",
        "The dentist needs forty minutes for cleaning your teeth and molars.",
    ),
]
HOME = [
    ("Do you serve soup in the evening?", "Every evening our kitchen prepares tomato soup, pasta dishes."),
    (
        "What does a room cost?",
        "A hotel room costs forty pounds including breakfast, guests settle that in cash.",
    ),
    (
        "What kind of breakfast is it?",
        "Breakfast at the hotel is a buffet with bread, eggs, fruit and porridge.",
    ),
    ("Who wrote the hymn in the lobby?", "The hymn was composed by Alma Brandt during winter holidays."),
]
POOL = Pool(exchanges={"bank": FOREIGN, "hotel": HOME * 3, "ride": HOME * 3})

MINE = [f for f in all_families() if f.code in {"L1", "L2", "M2", "M3", "C1", "U2", "U3", "U5", "R1"}]
ALWAYS_TWINNED = {"M2", "M3", "C1", "U2", "U3", "U5", "R1"}


def talk(name: str) -> Draft:
    """One of the talks as a draft."""
    turns = tuple(DraftTurn("customer" if line[0] == "c" else "agent", line[2:]) for line in TALKS[name])
    return Draft(id=name, source="tests", domain=name, turns=turns)


def made_by(family: Family, seeds: int = 12) -> list[ErrorPair]:
    """What the family makes of the talks."""
    tries = (family.make(talk(name), Random(seed), POOL) for seed in range(seeds) for name in TALKS)
    return [made for made in tries if made]


@pytest.mark.parametrize("family", MINE, ids=lambda family: family.name)
def test_an_error_is_labelled_where_it_is(family: Family) -> None:
    found = made_by(family)
    assert found
    for made in found:
        marked = [turn for turn in made.error.turns if turn.marks]
        assert len(marked) == 1
        assert marked[0].role == "agent"
        assert marked[0].touched
        assert family.code in {mark.code for mark in marked[0].marks}
        for mark in marked[0].marks:
            assert mark.family == family.name
            assert 0 <= mark.start < mark.end <= len(marked[0].text)
            assert marked[0].text[mark.start : mark.end].strip()


@pytest.mark.parametrize("family", MINE, ids=lambda family: family.name)
def test_a_twin_is_clean_and_says_which_turn_is_the_counterpart(family: Family) -> None:
    found = made_by(family)
    twins = [made.twin for made in found if made.twin]
    if family.code in ALWAYS_TWINNED:
        assert len(twins) == len(found)
    for twin in twins:
        assert not any(turn.marks for turn in twin.turns)
        probes = [turn for turn in twin.turns if turn.probe]
        assert [turn.probe for turn in probes] == [family.code]
        assert probes[0].role == "agent"


@pytest.mark.parametrize("family", MINE, ids=lambda family: family.name)
def test_the_same_seed_makes_the_same_error_and_other_seeds_others(family: Family) -> None:
    assert made_by(family, 3) == made_by(family, 3)
    texts = {turn.text for made in made_by(family, 20) for turn in made.error.turns if turn.marks}
    assert len(texts) > 1 or family.name in {"C1.dropped", "R1.cut-off"}  # one place in the talks


@pytest.mark.parametrize("family", MINE, ids=lambda family: family.name)
def test_nothing_is_made_in_a_dialogue_without_a_free_agent_turn(family: Family) -> None:
    whole = talk("hotel")
    taken = tuple(DraftTurn(turn.role, turn.text, touched=turn.role == "agent") for turn in whole.turns)
    draft = Draft(id="taken", source="tests", domain="hotel", turns=taken)
    made = [family.make(draft, Random(seed), POOL) for seed in range(6)]
    if family.code == "U2":
        for each in made:  # these put turns in and leave the taken ones as they are
            marked = [turn.text for turn in each.error.turns if turn.marks] if each else []
            assert not any(turn.text in text for turn in taken if turn.role == "agent" for text in marked)
    else:
        assert made == [None] * 6


@pytest.mark.parametrize("code", ["C1", "U2", "U3", "R1", "M3"])
def test_small_talk_offers_no_honest_place_for_errors_of_state(code: str) -> None:
    turns = (DraftTurn("customer", "Hello there!"), DraftTurn("agent", "Hi."))
    draft = Draft(id="small", source="tests", domain="hotel", turns=turns)
    for family in MINE:
        if family.code == code and family.name != "M3.twice":
            assert all(family.make(draft, Random(seed), POOL) is None for seed in range(5))


@pytest.mark.parametrize(
    "family", [f for f in MINE if f.code in {"C1", "U2", "U3", "R1"}], ids=lambda f: f.name
)
def test_the_words_of_error_and_twin_have_one_form(family: Family) -> None:
    for made in made_by(family):
        assert made.twin
        bad = next(turn.text for turn in made.error.turns if turn.marks)
        good = next(turn.text for turn in made.twin.turns if turn.probe)
        if family.code == "U2" or (family.name.startswith("C1.") and family.use == "train"):
            assert bad == good
        if family.code == "R1":
            assert bad == good
        if family.name in {"C1.echo", "C1.advert"}:
            assert bad.rstrip(".!? ") in good
        if family.code == "U3":
            changed = {
                "U3.repeated",
                "U3.asked",
                "U3.swapped",
                "U3.recap",
                "U3.undone",
                "U3.house-figure",
                "U3.recalled",
            }
            assert (bad != good) == (family.name in changed)


def test_codes_have_trained_and_held_out_families_with_names_of_their_own() -> None:
    for code in sorted({family.code for family in all_families()}):
        of_code = [family for family in all_families() if family.code == code]
        assert sum(family.use == "train" for family in of_code) >= 3, code
        assert sum(family.use == "dev" for family in of_code) >= 1, code
        assert all(family.name.startswith(f"{code}.") for family in of_code)
