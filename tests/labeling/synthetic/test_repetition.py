"""M3: repeats that are wrong, and those of corpora and of hard negatives that are right."""

from __future__ import annotations

from random import Random

import pytest

from dialint.labeling.synthetic import repetition
from dialint.labeling.synthetic.cleaning import repeats_lawfully
from dialint.labeling.synthetic.example_draft import DraftTurn, ExampleDraft, Family, HardNegative, Pool

FAMILIES = [family for family in repetition.FAMILIES if family.use != "heldout"]
NEGATIVES = [negative for negative in repetition.NEGATIVES if negative.use == "train"]
NO = "I am sorry, there is no drill available on that day."
OK = "Your drill is booked and waits at the counter."


def turns(*lines: str) -> tuple[DraftTurn, ...]:
    return tuple(DraftTurn("agent" if line[0] == "a" else "customer", line[2:]) for line in lines)


@pytest.mark.parametrize(
    ("lines", "right"),
    [
        (("c hi", f"a {NO}", "c ok", "a Goodbye then."), None),
        (("c hi", f"a {NO}", "c How about Thursday?", f"a {NO}"), True),
        (("c hi", f"a {NO}", "c I see, thanks.", f"a {NO}"), False),
        (("c hi", f"a {NO}", f"a {NO}"), False),
        (("c hi", f"a {NO}", "c My garden looks like a mess by now anyway", f"a {NO}"), False),
        (("c hi", f"a {OK}", "c And a saw", "a Shall I add a saw?", "c yes, please do", f"a {OK}"), True),
        (("c hi", "a Which day do you need it?", "c Monday", "a Which day do you need it?"), False),
        (("c hi", "a Is there anything else that you need?", "c a saw",
          "a Is there anything else that you need?"), True),
    ],
)  # fmt: skip
def test_what_was_called_for_may_come_again(lines: tuple[str, ...], right: bool | None) -> None:
    assert repeats_lawfully(turns(*lines)) is right


def test_what_a_system_was_asked_anew_may_be_told_in_the_same_words() -> None:
    lines = turns("c hi", f"a {NO}", "c My garden looks like a mess by now", f"a {NO}")
    assert repeats_lawfully(lines, after_lookup={3})
    assert not repeats_lawfully(lines, after_lookup={1})


TALK = ExampleDraft("t", "tests", "tools", turns(
    "c Can I have a drill on Monday?", f"a {NO} We open again on Tuesday.", "c Then on Tuesday.",
    f"a {OK}", "c Great, that suits me.", "a Bring your card, please. The shop closes at six.",
    "c I will.", "a Goodbye, and have a nice day!",
))  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_same_comes_again_and_the_twin_is_clean(family: Family) -> None:
    tries = [family.make(TALK, Random(seed), Pool()) for seed in range(20)]
    assert any(tries)
    for made in filter(None, tries):
        assert made.twin is not None
        assert [turn.probe for turn in made.twin.turns if turn.probe] == ["M3"]
        (bad,) = (turn for turn in made.error.turns if turn.marks)
        assert "M3" in {mark.code for mark in bad.marks}
        assert all((mark.start, mark.end) == (0, len(bad.text)) for mark in bad.marks)


def test_the_customer_asks_for_it_in_the_twin_only() -> None:
    unmoved = next(family for family in repetition.FAMILIES if family.name == "M3.unmoved")
    for seed in range(20):
        made = unmoved.make(TALK, Random(seed), Pool())
        assert made is not None
        assert made.twin is not None
        different = [
            (a, b) for a, b in zip(made.error.turns, made.twin.turns, strict=True) if a.text != b.text
        ]
        assert [(a.role, b.role) for a, b in different] == [("customer", "customer")]


@pytest.mark.parametrize("negative", NEGATIVES, ids=lambda negative: negative.name)
def test_a_lawful_repeat_is_a_probe_without_a_mark(negative: HardNegative) -> None:
    natural = ExampleDraft("n", "tests", "tools", turns(
        "c A drill?", f"a {NO}", "c How about Thursday?", f"a {NO}", "c Bye", "a Goodbye, have a nice day!"
    ))  # fmt: skip
    made = negative.make(natural, Random(2), Pool())
    assert made is not None
    assert not any(turn.marks for turn in made.turns)
    (probed,) = (turn for turn in made.turns if turn.probe)
    assert [turn.text for turn in made.turns].count(probed.text) >= 2
