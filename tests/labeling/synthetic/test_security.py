"""Asks for secrets: the mark covers the ask, the twin asks for what is lawful in the same form."""

from random import Random

import pytest

from dialint.labeling.synthetic import security
from dialint.labeling.synthetic.draft import Draft, DraftTurn, ErrorPair, Family, HardNegative, Pool
from dialint.labeling.synthetic.phrases import count_forms
from dialint.labeling.synthetic.wordings import Wordings

FAMILIES = [family for family in security.FAMILIES if family.use != "heldout"]
NEGATIVES = [negative for negative in security.NEGATIVES if negative.use != "heldout"]
IDEAS, DEV_IDEAS = ([idea for idea in security.IDEAS if idea.use == use] for use in ("train", "dev"))
ALL_TRADES = (
    "parcel order refund stock shop bank card price account plan sim router computer meter hotel flight train restaurant"
    " clinic insurance car taxi passport booking cinema rain mother London form he Monday"
)
"""A dialogue that any wording fits."""

ORDER = Draft(
    id="order",
    source="hand",
    domain=ALL_TRADES,
    turns=(
        DraftTurn("customer", "My parcel never came."),
        DraftTurn("agent", "Let me look into it. One moment."),
        DraftTurn("customer", "Sure, thanks."),
        DraftTurn("agent", "It is on its way to you."),
    ),
)
SEEDS = range(40)


def made(family: Family, seed: int, draft: Draft = ORDER) -> ErrorPair:
    result = family.make(draft, Random(seed), Pool())
    assert result is not None
    return result


def asked(draft: Draft) -> list[tuple[DraftTurn, str]]:
    return [(turn, turn.text[mark.start : mark.end]) for turn in draft.turns for mark in turn.marks]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_one_agent_turn_is_marked_and_the_twin_has_no_mark(family: Family) -> None:
    for seed in SEEDS:
        result = made(family, seed)
        ((turn, words),) = asked(result.error)
        assert turn.role == "agent"
        assert turn.touched
        assert words == words.strip() != ""
        assert result.twin is not None
        assert asked(result.twin) == []
        assert [t.role for t in result.twin.turns] == [t.role for t in result.error.turns]
        (label,) = result.error.to_example("train").labels
        assert (label.code, label.method) == ("V2", f"inject:{family.name}")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_nothing_else_of_the_dialogue_changes(family: Family) -> None:
    lengths = set()
    for seed in SEEDS:
        result = made(family, seed)
        assert result.twin is not None
        lengths.add(len(result.error.turns))
        (index,) = (i for i, turn in enumerate(result.error.turns) if turn.marks)
        if len(result.error.turns) == len(ORDER.turns) + 2:
            assert (*result.error.turns[:index], *result.error.turns[index + 2 :]) == ORDER.turns
            assert result.error.turns[index + 1].role == "customer"
            assert result.error.turns[index + 1] == result.twin.turns[index + 1]
        else:
            turn = result.error.turns[index]
            (mark,) = turn.marks
            rest = (turn.text[: mark.start] + " " + turn.text[mark.end :]).split()
            assert rest in ([], ORDER.turns[index].text.split())
    assert lengths == {4, 6}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_seed_makes_the_same_thing_again(family: Family) -> None:
    assert made(family, 11) == made(family, 11)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_turns_that_another_family_changed_are_left_alone(family: Family) -> None:
    taken = ORDER
    for index in (1, 3):
        taken = taken.with_turn(index, DraftTurn("agent", ORDER.turns[index].text, touched=True))
    assert all(family.make(taken, Random(seed), Pool()) is None for seed in range(10))


@pytest.mark.parametrize("dev", [False, True], ids=["train", "dev"])
def test_there_are_many_surface_forms(dev: bool) -> None:
    seen = {
        asked(made(family, seed).error)[0][1].lower().rstrip(".")
        for family in FAMILIES
        if (family.use != "train") == dev
        for seed in range(120)
    }
    assert len(seen) >= (80 if dev else 400)
    for idea in DEV_IDEAS if dev else IDEAS[:8]:
        written = {**idea.slots, "say": tuple(wrong for wrong, _ in idea.pairs)}
        assert count_forms(written) >= (50 if dev else 200), idea.name


def test_there_are_two_hundred_templates_of_different_build() -> None:
    wrong = [bad for idea in IDEAS for bad, _ in idea.pairs]
    assert len(set(wrong)) == len(wrong) >= 200


def test_dev_has_ideas_and_sentences_of_its_own() -> None:
    held_out = {family.name for family in FAMILIES if family.use != "train"}
    assert held_out == {f"V2.{idea.name}" for idea in DEV_IDEAS}
    trained = {template for idea in IDEAS for pair in idea.pairs for template in pair}
    held = {template for idea in DEV_IDEAS for pair in idea.pairs for template in pair}
    assert not trained & held
    slots = [
        {text for rule in Wordings(f"{folder}/security").grammar("slots").values() for text in rule}
        for folder in ("train", "dev")
    ]
    assert not slots[0] & slots[1]


@pytest.mark.parametrize("negative", NEGATIVES, ids=lambda negative: negative.name)
def test_talk_of_cards_codes_and_secrets_that_asks_for_none_is_clean(negative: HardNegative) -> None:
    for seed in SEEDS:
        draft = negative.make(ORDER, Random(seed), Pool())
        assert draft is not None
        assert asked(draft) == []
        assert [turn.probe for turn in draft.turns if turn.probe] == ["V2"]
        assert draft == negative.make(ORDER, Random(seed), Pool())
