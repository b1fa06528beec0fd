"""The families held out for test: exact spans, twins that differ where they should, clean hard negatives."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from dialint.detector.yaml_document import read_document
from dialint.labeling.synthetic import (
    contradiction,
    empathy,
    grammar,
    repetition,
    resolution,
    scenes,
    security,
    state,
    template,
    tone,
    topic,
)
from dialint.labeling.synthetic.draft import Draft, DraftTurn, ErrorPair, Family, HardNegative, Pool
from dialint.labeling.synthetic.families import all_families, all_negatives
from dialint.labeling.synthetic.wordings import DATA

LINES = (
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
)
POOL = Pool(
    exchanges={
        "hotel": [
            (
                "Who wrote the hymn in the lobby?",
                "The hymn was composed by Alma Brandt during winter holidays.",
            ),
            (
                "What kind of food does the pub serve?",
                "The pub serves pasta food and tomato soup every evening.",
            ),
        ]
    }
)
IDEAS = [
    family
    for family in all_families()
    if family.use == "heldout"
    and family.code in {"L1", "L2", "T1", "T2", "M2", "M3", "C1", "U2", "U3", "U5", "V2", "R1"}
]
NEGATIVES = [negative for negative in all_negatives() if negative.use == "heldout"]
SAME_AGENT = ("U2.", "U5.", "R1.", "C1.", "U3.yes-and-no", "M3.")


def talk() -> Draft:
    """A talk of 14 turns."""
    turns = tuple(DraftTurn("customer" if line[0] == "c" else "agent", line[2:]) for line in LINES)
    return Draft(id="t", source="tests", domain="hotel", turns=turns)


def made_by(family: Family, seeds: int = 25) -> list[ErrorPair]:
    """What the family makes of the talk."""
    return [made for seed in range(seeds) if (made := family.make(talk(), Random(seed), POOL))]


def test_every_text_code_has_two_held_out_ideas_at_least() -> None:
    counts = Counter(family.code for family in IDEAS)
    assert len(counts) == 12
    assert min(counts.values()) >= 2
    assert {negative.code for negative in NEGATIVES} == set(counts)


@pytest.mark.parametrize("family", IDEAS, ids=lambda family: family.name)
def test_each_error_has_an_exact_span_and_a_clean_twin(family: Family) -> None:
    found = made_by(family)
    assert found
    for made in found:
        (marked,) = [turn for turn in made.error.turns if turn.marks]
        assert marked.role == "agent"
        assert family.code in {mark.code for mark in marked.marks}
        for mark in marked.marks:
            assert mark.family == family.name
            assert 0 <= mark.start < mark.end <= len(marked.text)
        assert made.twin
        assert not any(turn.marks for turn in made.twin.turns)


@pytest.mark.parametrize(
    "family", [f for f in IDEAS if f.name.startswith(SAME_AGENT)], ids=lambda family: family.name
)
def test_where_history_decides_the_agents_turn_is_the_same_to_the_letter(family: Family) -> None:
    for made in made_by(family):
        assert made.twin
        bad = next(turn.text for turn in made.error.turns if turn.marks)
        (good,) = [turn.text for turn in made.twin.turns if turn.probe == family.code]
        assert bad == good
        assert made.error.turns != made.twin.turns


@pytest.mark.parametrize("name", ["U3.house-figure", "U3.recalled"])
def test_a_wrong_figure_differs_from_the_right_one_in_its_value_only(name: str) -> None:
    family = next(family for family in IDEAS if family.name == name)
    for made in made_by(family):
        assert made.twin
        (index,) = [i for i, turn in enumerate(made.error.turns) if turn.marks]
        bad, good = made.error.turns[index].text, made.twin.turns[index].text
        differing = set(re.findall(r"[\w:.£$]+", bad)) ^ set(re.findall(r"[\w:.£$]+", good))
        assert bad != good
        assert len(differing) == 2
        assert made.error.turns[:index] == made.twin.turns[:index]


@pytest.mark.parametrize("family", [f for f in IDEAS if f.code == "L1"], ids=lambda family: family.name)
def test_a_misspelling_changes_nothing_but_the_marked_letters(family: Family) -> None:
    for made in made_by(family):
        (index,) = [i for i, turn in enumerate(made.error.turns) if turn.marks]
        turn, (mark,) = made.error.turns[index], made.error.turns[index].marks
        right = talk().turns[index].text
        assert right.startswith(turn.text[: mark.start])
        assert right.endswith(turn.text[mark.end :])
        assert turn.text[mark.start : mark.end] not in right.split()


@pytest.mark.parametrize("template", [*grammar.FOREIGN, *grammar.HURRIED])
def test_each_sentence_with_a_slip_has_one_and_a_right_form(template: str) -> None:
    bad, good, start, end = grammar._heldout_forms(template, Random(1))
    assert bad != good
    assert bad[start:end]
    assert not set("{}=>") & set(bad + good)


@pytest.mark.parametrize("negative", NEGATIVES, ids=lambda negative: negative.name)
def test_a_hard_negative_is_clean_and_names_one_turn_of_the_agent(negative: HardNegative) -> None:
    found = [made for seed in range(12) if (made := negative.make(talk(), Random(seed), POOL))]
    assert found
    for made in found:
        assert not any(turn.marks for turn in made.turns)
        (probe,) = [turn for turn in made.turns if turn.probe]
        assert (probe.role, probe.probe) == ("agent", negative.code)


def test_there_are_sixty_wordings_for_each_code_of_text() -> None:
    rude, secret = (
        tuple(tuple(wrong for wrong, _ in idea.pairs) for idea in ideas if idea.use == "heldout")
        for ideas in (tone.IDEAS, security.IDEAS)
    )
    for ideas in (
        rude,
        secret,
        (grammar.FOREIGN, grammar.HURRIED),
        (repetition.CANNED, repetition.PROTESTS, repetition.PRESSES, repetition.CHASES),
        (topic.OTHER_CASE, topic.BULLETINS),
        (resolution.FAREWELLS, resolution.OPEN_CASES, tuple(resolution.REPORTS.values())),
        tuple(template.LINES.values()) + tuple(template.RENDERED.values()),
        (*empathy.DISTRESS_HELDOUT.values(), empathy.INDIFFERENT_HELDOUT, empathy.SYMPATHY_HELDOUT),
        tuple(answers for _, _, answers in scenes.ASPECTS.values()),
        tuple(detail.questions for detail in state.DETAILS.values()),
        tuple(second for _, second, _ in contradiction.FIGURES)
        + tuple(each for claim in contradiction.CLAIMS for each in claim),
    ):
        assert sum(len(set(wordings)) for wordings in ideas) >= 60


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


@pytest.mark.parametrize("made_of", [*IDEAS, *NEGATIVES], ids=lambda made_of: made_of.name)
def test_what_is_held_out_says_no_wording_of_training(made_of: Family | HardNegative) -> None:
    trained, own = texts("train") | texts("dev"), texts("heldout")
    for seed in range(25):
        rng = Recorder(seed)
        made_of.make(talk(), rng, POOL)
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
    assert len(sentences) > 1400
    assert sentences & (texts("train") | texts("dev")) == WRITTEN_TWICE
