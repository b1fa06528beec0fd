"""Rude words and unheard distress: the mark covers what was made, and the twin has the same form."""

import re
from random import Random

import pytest

from dialint.labeling.synthetic import empathy, security, tone
from dialint.labeling.synthetic.draft import Draft, DraftTurn, ErrorPair, Family, HardNegative, Pool
from dialint.labeling.synthetic.phrases import Grammar, normalize_spaces

FAMILIES = [family for family in (*tone.FAMILIES, *empathy.FAMILIES) if family.use != "heldout"]
NEGATIVES = [negative for negative in (*tone.NEGATIVES, *empathy.NEGATIVES) if negative.use != "heldout"]
RUDE, RUDE_DEV = ([idea for idea in tone.IDEAS if idea.use == use] for use in ("train", "dev"))
ALL_TRADES = (
    "parcel order refund stock shop bank card price account plan sim router computer meter hotel flight train restaurant"
    " clinic insurance car taxi passport booking cinema rain mother London form he Monday"
)
"""A dialogue that any wording fits."""

RIDE = Draft(
    id="ride",
    source="hand",
    domain=ALL_TRADES,
    turns=(
        DraftTurn("customer", "Hello, I need a ride to the airport on Friday."),
        DraftTurn("agent", "Happy to help. May I have your name, please?"),
        DraftTurn("customer", "It's Robin Vale."),
        DraftTurn("agent", "From where will you leave?"),
        DraftTurn("customer", "The old mill, at nine."),
        DraftTurn("agent", "A driver can be there at nine. Shall I book it?"),
    ),
)
SEEDS = range(40)
T1 = [family for family in FAMILIES if family.code == "T1"]
T2 = [family for family in FAMILIES if family.code == "T2"]


def made(family: Family, seed: int, draft: Draft = RIDE) -> ErrorPair:
    result = family.make(draft, Random(seed), Pool())
    assert result is not None
    return result


def marks(draft: Draft) -> list[tuple[DraftTurn, str, str]]:
    return [
        (turn, mark.family, turn.text[mark.start : mark.end]) for turn in draft.turns for mark in turn.marks
    ]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_one_agent_turn_is_marked_and_the_twin_has_no_mark(family: Family) -> None:
    for seed in SEEDS:
        result = made(family, seed)
        ((turn, name, words),) = marks(result.error)
        assert turn.role == "agent"
        assert name == family.name
        assert words == words.strip() != ""
        assert result.twin is not None
        assert marks(result.twin) == []
        assert [t.text for t in result.twin.turns] != [t.text for t in result.error.turns]
        assert [t.role for t in result.twin.turns] == [t.role for t in result.error.turns]
        labels = result.error.to_example("train").labels
        assert [label.code for label in labels] == [family.code]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_seed_makes_the_same_thing_again(family: Family) -> None:
    assert made(family, 7) == made(family, 7)
    assert len({marks(made(family, seed).error)[0][2] for seed in SEEDS}) > 5


@pytest.mark.parametrize(
    "family", [family for family in T1 if family.name != "T1.bark"], ids=lambda f: f.name
)
def test_rude_words_are_added_to_a_turn_or_stand_instead_of_it(family: Family) -> None:
    for seed in SEEDS:
        result = made(family, seed)
        (index,) = (i for i, turn in enumerate(result.error.turns) if turn.marks)
        turn = result.error.turns[index]
        (mark,) = turn.marks
        if len(result.error.turns) > len(RIDE.turns):  # a turn of its own, with the customer's reply
            assert (*result.error.turns[:index], *result.error.turns[index + 2 :]) == RIDE.turns
            continue
        rest = (turn.text[: mark.start] + " " + turn.text[mark.end :]).split()
        assert rest in ([], RIDE.turns[index].text.split())
        others = [t for i, t in enumerate(result.error.turns) if i != index]
        assert others == [t for i, t in enumerate(RIDE.turns) if i != index]


def test_words_stand_instead_of_an_answer_only_where_the_customer_asked_nothing() -> None:
    asked = RIDE.with_turn(0, DraftTurn("customer", "Can I have a ride?")).with_turn(
        2, DraftTurn("customer", "Robin, why?")
    )
    asked = asked.with_turn(4, DraftTurn("customer", "The mill, can he?"))
    for seed in range(60):
        result = made(T1[0], seed, asked)
        ((turn, _, words),) = marks(result.error)
        assert turn.text != words or len(result.error.turns) > len(asked.turns)
    assert any(turn.text == words for seed in SEEDS for turn, _, words in marks(made(T1[0], seed).error))


def test_the_bark_replaces_the_question_and_keeps_the_rest() -> None:
    (bark,) = (family for family in T1 if family.name == "T1.bark")
    for seed in SEEDS:
        result = made(bark, seed)
        ((turn, _, words),) = marks(result.error)
        assert turn.text == f"Happy to help. {words}"
        assert "name" in words.lower()
    assert bark.make(RIDE.with_turn(1, DraftTurn("agent", "Happy to help.")), Random(1), Pool()) is None


@pytest.mark.parametrize("family", T2, ids=lambda family: family.name)
def test_unheard_distress_differs_from_its_twin_on_one_side_only(family: Family) -> None:
    sides = set()
    for seed in SEEDS:
        result = made(family, seed)
        (index,) = (i for i, turn in enumerate(result.error.turns) if turn.marks)
        (mark,) = result.error.turns[index].marks
        assert (mark.start, mark.end) == (0, len(result.error.turns[index].text))
        assert RIDE.turns[index - 1].text in result.error.turns[index - 1].text
        assert result.error.turns[index - 1].text != RIDE.turns[index - 1].text
        assert result.twin is not None
        same_told = result.twin.turns[index - 1] == result.error.turns[index - 1]
        same_reply = result.twin.turns[index].text == result.error.turns[index].text
        assert same_told != same_reply
        sides.add(same_told)
    assert sides == {True, False}


def test_a_reply_that_shows_sympathy_already_is_left_alone() -> None:
    kind = RIDE
    for index in (1, 3, 5):
        kind = kind.with_turn(index, DraftTurn("agent", "I'm sorry to hear that. Where are you?"))
    upset = RIDE.with_turn(0, DraftTurn("customer", "I'm so upset, my mother is in hospital."))
    for family in T2:
        assert family.make(kind, Random(3), Pool()) is None
        assert family.make(upset, Random(3), Pool()) is None


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_turns_that_another_family_changed_are_left_alone(family: Family) -> None:
    taken = RIDE
    for index in (1, 3, 5):
        turn = RIDE.turns[index]
        taken = taken.with_turn(index, DraftTurn(turn.role, turn.text, touched=True))
    assert family.make(taken, Random(1), Pool()) is None
    result = made(family, 1)
    (index,) = (i for i, turn in enumerate(result.error.turns) if turn.marks)
    assert result.error.turns[index].touched
    assert result.twin is not None
    assert result.twin.turns[index].touched


def test_words_are_lower_case_in_a_lower_case_turn() -> None:
    low = Draft("low", "hand", "ride", tuple(DraftTurn(t.role, t.text.lower()) for t in RIDE.turns))
    for family in T1:
        for seed in range(15):
            result = made(family, seed, low)
            for turn in (*result.error.turns, *(result.twin.turns if result.twin else ())):
                assert turn.text == turn.text.lower()


@pytest.mark.parametrize(("families", "least"), [(T1, 1000), (T2, 600)], ids=["T1", "T2"])
def test_there_are_many_surface_forms(families: list[Family], least: int) -> None:
    trained = [family for family in families if family.use == "train"]
    forms: set[str] = set()
    for seed in range(160):
        for family in trained:
            result = made(family, seed)
            (index,) = (i for i, turn in enumerate(result.error.turns) if turn.marks)
            turn = result.error.turns[index]
            (mark,) = turn.marks
            customer_text = result.error.turns[index - 1].text
            forms.add(
                customer_text if family.code == "T2" else turn.text[mark.start : mark.end].lower().rstrip(".")
            )
    assert len(forms) >= least


def test_dev_has_ideas_and_sentences_of_its_own() -> None:
    held_out = {family.name for family in FAMILIES if family.use != "train"}
    assert {name for name in held_out if name.startswith("T1")} == {f"T1.{idea.name}" for idea in RUDE_DEV}
    assert {name for name in held_out if name.startswith("T2")} == {
        f"T2.{kind.name}" for kind in empathy.DEV_KINDS
    }
    trained = {template for idea in RUDE for pair in idea.pairs for template in pair}
    held = {template for idea in RUDE_DEV for pair in idea.pairs for template in pair}
    assert not trained & held
    for trained_part, held_part in (
        (
            {s for kind in empathy.KINDS for s in kind.complaints},
            {s for kind in empathy.DEV_KINDS for s in kind.complaints},
        ),
        (
            {s for kind in empathy.KINDS for s in kind.sympathies},
            {s for kind in empathy.DEV_KINDS for s in kind.sympathies},
        ),
        (set(empathy.VOICE.sympathies), set(empathy.DEV_VOICE.sympathies)),
        (set(empathy.VOICE.indifferent), set(empathy.DEV_VOICE.indifferent)),
    ):
        assert trained_part
        assert held_part
        assert not trained_part & held_part


def every(template: str, slots: Grammar) -> set[str]:
    """All surface forms of a template, in lower case and without the last stop."""
    done, todo = set(), [template]
    while todo:
        text = todo.pop()
        if rule := re.search(r"@([a-z]+)", text):
            todo += [text[: rule.start()] + word + text[rule.end() :] for word in slots[rule[1]]]
        elif choice := re.search(r"\(([^()]*)\)", text):
            todo += [text[: choice.start()] + word + text[choice.end() :] for word in choice[1].split("|")]
        else:
            done.add(normalize_spaces(text).lower().rstrip(".!?"))
    return done


def test_no_courteous_or_lawful_wording_is_also_a_wrong_one_nor_is_one_of_dev_trained() -> None:
    ideas = [idea for idea in (*tone.IDEAS, *security.IDEAS) if idea.use != "heldout"]
    wrong: dict[bool, set[str]] = {True: set(), False: set()}
    right: set[str] = set()
    for idea in ideas:
        for bad, good in idea.pairs:
            wrong[idea.use != "train"] |= every(bad, idea.slots)
            right |= every(good, idea.slots)
    assert not (wrong[True] | wrong[False]) & right
    assert not wrong[True] & wrong[False]
    assert len(wrong[False]) > 10_000


@pytest.mark.parametrize("negative", NEGATIVES, ids=lambda negative: negative.name)
def test_what_only_looks_rude_or_cold_is_clean_and_loses_none_of_the_agents_words(
    negative: HardNegative,
) -> None:
    drafts = [negative.make(RIDE, Random(seed), Pool()) for seed in SEEDS]
    assert drafts == [negative.make(RIDE, Random(seed), Pool()) for seed in SEEDS]
    for draft in drafts:
        assert draft is not None
        assert marks(draft) == []
        assert [turn.probe for turn in draft.turns if turn.probe] == [negative.code]
        text = " ".join(turn.text for turn in draft.turns).lower()
        for turn in RIDE.turns:  # an insertion may stand between two sentences of a turn
            assert all(part.lower().rstrip(".") in text for part in re.split(r"(?<=[.?!]) ", turn.text))
    assert len({" ".join(turn.text for turn in draft.turns) for draft in drafts if draft}) > 10


def test_no_curt_or_firm_sentence_is_taught_as_a_rude_one() -> None:
    rude_forms = {form for idea in RUDE for bad, _ in idea.pairs for form in every(bad, idea.slots)}
    for text in (*tone.CURT, *tone.FIRM, *tone.CORRECTING, *tone.OWN_FAULT):
        assert not every(text, {}) & rude_forms


def test_there_are_three_hundred_rude_templates_of_different_build() -> None:
    wrong = [bad for idea in RUDE for bad, _ in idea.pairs]
    assert len(set(wrong)) == len(wrong) >= 400
