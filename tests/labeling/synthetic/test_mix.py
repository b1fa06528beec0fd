"""The mixer: what becomes of a clean draft."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from dialint.labeling.synthetic.example_draft import (
    DraftTurn,
    ErrorPair,
    ExampleDraft,
    Family,
    HardNegative,
    Pool,
    clean_turn,
    error_turn,
)
from dialint.labeling.synthetic.families import Mixer

DRAFT = ExampleDraft(
    id="d", source="tests", domain="bank", turns=(DraftTurn("customer", "Hi"), DraftTurn("agent", "Hello."))
)


def rude(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair:
    return ErrorPair(
        draft.with_turn(1, error_turn("Get lost.", "T1.rude", "T1")),
        draft.with_turn(1, clean_turn("agent", "Hi.", "T1")),
    )


def slipped(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    indexes = [i for i, turn in enumerate(draft.turns) if turn.role == "agent" and not turn.touched]
    return ErrorPair(draft.with_turn(indexes[0], error_turn("Helo.", "L1.slip", "L1"))) if indexes else None


def curt(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft:
    return draft.with_turn(1, clean_turn("agent", "Yes.", "T1"))


RUDE = Family("T1", "T1.rude", rude)
CURT = HardNegative("T1", "T1.not-curt", curt)
MIXER = Mixer([RUDE], Pool(), share=1.0, negatives=[CURT], hard=1.0)


def test_an_error_comes_with_its_twin_under_one_pair() -> None:
    error, twin = MIXER.examples(DRAFT, Random(0), "train", "0~")
    assert error.pair == twin.pair == "d~0~T1.rude"
    assert [label.code for label in error.labels] == ["T1"]
    assert twin.labels == ()
    assert twin.dialogue.metadata["probes"] == [{"turn": 1, "code": "T1"}]


def test_a_hard_negative_is_clean_named_and_counted() -> None:
    mixer = replace(MIXER, share=0.0, counts=type(MIXER.counts)())
    (made,) = mixer.examples(DRAFT, Random(0), "train", "0~")
    assert made.dialogue.id == "d~0~T1.not-curt"
    assert made.labels == ()
    assert made.pair is None
    assert made.dialogue.metadata["probes"] == [{"turn": 1, "code": "T1"}]
    assert mixer.counts == {"T1.not-curt": 1}


def test_errors_of_language_may_stand_densely_and_are_counted_apart() -> None:
    slip = Family("L1", "L1.slip", slipped)
    mixer = Mixer([RUDE, slip], Pool(), share=0.0, dense=1.0)
    two = replace(DRAFT, turns=DRAFT.turns * 2)
    made = [mixer.examples(two, Random(seed), "train")[0] for seed in range(20)]
    assert {label.code for example in made for label in example.labels} == {"L1"}
    assert {example.pair for example in made} == {None}
    assert max(len(example.labels) for example in made) > 1
    assert mixer.dense_counts == {"L1.slip": sum(len(example.labels) for example in made)}
    assert not mixer.counts
