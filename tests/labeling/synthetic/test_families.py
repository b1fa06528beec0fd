"""Every structural family on dialogues written for it: labels, spans, twins, and no place, no error."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from dialint.detector.yaml_document import read_document
from dialint.labeling.synthetic.example_draft import (
    DraftTurn,
    ErrorPair,
    ExampleDraft,
    Family,
    HardNegative,
    Pool,
)
from dialint.labeling.synthetic.families import all_families, all_negatives
from dialint.labeling.synthetic.wordings import DATA

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
    "sea": (
        "c Hello, my name is Mira Stone, I need a quiet place to stay near the sea.",
        "a The Alder Lodge is beautiful and available, it costs 42.50 pounds. Would you like to book it?",
        "c I would like to see it, and I arrive on Friday. What does breakfast cost?",
        "a Breakfast is part of the price. The kitchen prepares eggs and different kinds of bread.",
        "c That sounds right to me, I like bread in the morning.",
        "a Your reservation is made for Friday. The reference is QX7T2MNB.",
        "c Which bus goes to the beach?",
        "a The seventeen goes to the beach, it takes 15 minutes from the market square.",
        "c I will take my towels with me.",
        "a There are towels in every cupboard, unfortunately they are rather small.",
        "c My children like the water even in spring.",
        "a You could walk along the river, it is close to the village.",
        "c That's all, thank you!",
        "a Thank you for contacting us. Goodbye!",
    ),
    "shop": (
        "c Hello, I would like to return a lamp.",
        "a Hello. What is your order number?",
        "c It is 5512.",
        "a May I have your name, please?",
        "c Robin Vale. Is it free of charge to send?",
        "a Yes, it is, we send you a label by mail for it.",
        "c Please cancel the bulb too.",
        "a I am sorry, that is not available in our system.",
        "c And the cable, please cancel that instead?",
        "a I am sorry, that is not available in our system.",
        "c Fine, then that is it.",
        "a It was a pleasure to help you today.",
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
POOL = Pool(exchanges={"bank": FOREIGN, **dict.fromkeys(TALKS, HOME * 3)})

MINE = [family for family in all_families() if family.code not in ("P1", "P4")]  # these need a chart
NEGATIVES = [negative for negative in all_negatives() if negative.code not in ("P1", "P4")]


def talk(name: str) -> ExampleDraft:
    """One of the talks as a draft."""
    turns = tuple(DraftTurn("customer" if line[0] == "c" else "agent", line[2:]) for line in TALKS[name])
    return ExampleDraft(id=name, source="tests", domain=name, turns=turns)


def made_by(family: Family, seeds: int = 12) -> list[ErrorPair]:
    """What the family makes of the talks."""
    tries = (family.make(talk(name), Random(seed), POOL) for seed in range(seeds) for name in TALKS)
    return [made for made in tries if made]


@pytest.mark.parametrize("family", MINE, ids=lambda family: family.name)
def test_an_error_is_labelled_where_it_is_and_its_twin_is_clean(family: Family) -> None:
    found = made_by(family)
    assert found
    assert made_by(family, 3) == made_by(family, 3)
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
        if made.twin is None:
            assert family.code in ("L1", "L2")
            continue
        assert not any(turn.marks for turn in made.twin.turns)
        probes = [(turn.role, turn.probe) for turn in made.twin.turns if turn.probe]
        assert probes in ([("agent", family.code)], []), "which turn is the counterpart"


@pytest.mark.parametrize("family", MINE, ids=lambda family: family.name)
def test_nothing_is_made_in_a_dialogue_without_a_free_agent_turn(family: Family) -> None:
    whole = talk("hotel")
    taken = tuple(DraftTurn(turn.role, turn.text, touched=turn.role == "agent") for turn in whole.turns)
    draft = ExampleDraft(id="taken", source="tests", domain="hotel", turns=taken)
    made = [family.make(draft, Random(seed), POOL) for seed in range(6)]
    if family.code == "U2":
        for each in made:  # these put turns in and leave the taken ones as they are
            marked = [turn.text for turn in each.error.turns if turn.marks] if each else []
            assert not any(turn.text in text for turn in taken if turn.role == "agent" for text in marked)
    else:
        assert made == [None] * 6


def test_codes_have_trained_and_held_out_families_with_names_of_their_own() -> None:
    for code in sorted({family.code for family in all_families()}):
        of_code = [family for family in all_families() if family.code == code]
        assert sum(family.use == "train" for family in of_code) >= 3, code
        assert sum(family.use == "dev" for family in of_code) >= 1, code
        assert all(family.name.startswith(f"{code}.") for family in of_code)


@pytest.mark.parametrize("negative", NEGATIVES, ids=lambda negative: negative.name)
def test_a_hard_negative_is_clean_and_names_one_turn_of_the_agent(negative: HardNegative) -> None:
    tries = (negative.make(talk(name), Random(seed), POOL) for seed in range(20) for name in TALKS)
    found = [made for made in tries if made]
    assert found
    for made in found:
        assert not any(turn.marks for turn in made.turns)
        assert [(turn.role, turn.probe) for turn in made.turns if turn.probe] == [("agent", negative.code)]


def texts(folder: str) -> set[str]:
    """All texts of the files in `folder`, names of tables and fields left out."""

    def of(value: object) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from (text for each in value.values() for text in of(each))
        elif isinstance(value, list):
            yield from (text for each in value for text in of(each))

    files = (DATA / folder).glob("*.yaml")
    return {text for path in files for text in of(read_document(path, "E_WORDINGS").value)}


class Recorder(Random):
    """A generator that keeps what is chosen from tuples, which hold wordings."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.chosen: set[str] = set()

    def choice(self, seq: Any) -> Any:
        item = super().choice(seq)
        if isinstance(seq, tuple):
            self.chosen.update(
                part for part in (item if isinstance(item, tuple) else (item,)) if isinstance(part, str)
            )
        return item


@pytest.mark.parametrize(
    "made_of",
    [each for each in (*MINE, *NEGATIVES) if each.use == "heldout"],
    ids=lambda made_of: made_of.name,
)
def test_what_is_held_out_says_no_wording_of_training(made_of: Family | HardNegative) -> None:
    trained, own = texts("train") | texts("dev"), texts("heldout")
    for seed in range(25):
        rng = Recorder(seed)
        made_of.make(talk("sea"), rng, POOL)
        assert not {text for text in rng.chosen - own if text in trained}


WRITTEN_TWICE = {
    "My heart goes out to you.",
    "How would you like to pay?",
    "When were you born?",
    "May I bring my dog?",
    "Do you have an app?",
    "Are you hiring at the moment?",
}
"""Common sentences that two authors wrote; of none is the wrong wording of an error."""


def test_held_out_texts_stand_in_no_other_file() -> None:
    sentences = {text for text in texts("heldout") if len(text.split()) >= 4}
    assert len(sentences) > 1300
    assert sentences & (texts("train") | texts("dev")) == WRITTEN_TWICE
