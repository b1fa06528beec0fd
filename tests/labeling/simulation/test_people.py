"""People who do not exist: what they find follows from the truth, their skill and the seed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialint.detector.records import Dialogue, Finding, Label, Turn, Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.simulation.people import (
    KEEPS,
    LABELERS,
    WORDS_OFF,
    Beta,
    Group,
    Person,
    Truth,
    _words,
    shapes_of,
)

CODES = load_taxonomy().codes
ASKED = (CODES["L1"], CODES["C1"])
SHARP = Group(Beta(1, 1), Beta(1, 1), severity=1.0, steady=1.0)
TEXT = "You have to recieve the parcel first."


def dialogue(name: str = "d", text: str = TEXT) -> Dialogue:
    said = (("customer", "Hello?"), ("agent", text), ("customer", "And?"), ("agent", "One moment."))
    return Dialogue(
        id=name,
        turns=tuple(Turn(index=n, role=role, text=text) for n, (role, text) in enumerate(said)),  # type: ignore[arg-type]
    )


def label(code: str = "L1", turn: int = 1, start: int | None = 12, end: int | None = 19) -> Label:
    return Label(
        dialogue_id="d", turn=turn, code=code, probability=1.0, method="author", start=start, end=end
    )


TRUTH: Truth = {(1, "L1"): label()}


def person(sensitivity: float = 1.0, specificity: float = 1.0, group: Group = SHARP) -> Person:
    return Person("p", group, sensitivity, specificity)


def test_who_never_errs_finds_what_is_there_and_no_more() -> None:
    (found,) = person().finds(dialogue(), TRUTH, ASKED, seed=1)
    assert (found.code, found.turn, found.quote) == ("L1", 1, "recieve")
    assert found.severity == CODES["L1"].severity
    assert person(0.0).finds(dialogue(), TRUTH, ASKED, seed=1) == ()


def test_who_accuses_everybody_finds_every_code_in_every_agent_turn() -> None:
    found = person(specificity=0.0).finds(dialogue(), {}, ASKED, seed=1)
    assert [(one.turn, one.code) for one in found] == [(1, "L1"), (3, "L1"), (1, "C1"), (3, "C1")]


def test_a_code_of_a_dialogue_is_one_question() -> None:
    whole = next(code for code in CODES.values() if code.scope == "dialogue")
    (wrong,) = person(specificity=0.0).finds(dialogue(), {}, (whole,), seed=1)
    assert wrong.turn == 3
    (right,) = person().finds(dialogue(), {(1, whole.code): label(whole.code)}, (whole,), seed=1)
    assert right.turn == 1


def test_shares_are_those_of_the_person() -> None:
    """2,000 dialogues: the 99.9 % interval of 0.7 is 0.034 wide either way, that of 0.05 0.016."""
    one = person(0.7, 0.95)
    found = [one.finds(dialogue(str(n)), TRUTH, (CODES["L1"],), seed=1) for n in range(2000)]
    hits = sum(any(each.turn == 1 for each in each_found) for each_found in found)
    wrong = sum(any(each.turn == 3 for each in each_found) for each_found in found)
    assert hits / 2000 == pytest.approx(0.7, abs=0.034)
    assert wrong / 2000 == pytest.approx(0.05, abs=0.016)


def test_the_same_seed_gives_the_same_person_and_the_same_answers() -> None:
    one, other = Person.drawn("p", LABELERS, 1), Person.drawn("p", LABELERS, 1)
    assert one == other != Person.drawn("p", LABELERS, 2)
    assert one.sensitivity != Person.drawn("q", LABELERS, 1).sensitivity
    blunt = person(0.5, 0.5, LABELERS)
    answers = [blunt.finds(dialogue(), TRUTH, ASKED, seed) for seed in (1, 1, 2)]
    assert answers[0] == answers[1] != answers[2]
    assert blunt.seconds(dialogue(), 1) == blunt.seconds(dialogue(), 1) > 30


@given(st.text(min_size=1).filter(str.strip), st.data())
def test_evidence_lies_in_the_text_and_not_far_from_where_it_should(text: str, data: st.DataObject) -> None:
    words = _words(text)
    assert "".join(text[start:end] for start, end in words) == "".join(text.split())
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    seed = data.draw(st.integers(0, 99))
    truth = {(1, "L1"): label(start=words[first][0], end=words[last][1])}
    blunt = Group(Beta(1, 1), Beta(1, 1), severity=0.5, steady=0.3)
    found = person(1.0, 1.0, blunt).finds(dialogue(text=text), truth, (CODES["L1"],), seed)
    assert found[0].quote == text[found[0].start : found[0].end]
    starts, ends = [start for start, _ in words], [end for _, end in words]
    near = {abs(starts.index(found[0].start) - first), abs(ends.index(found[0].end) - last)}
    assert max(near) <= WORDS_OFF + last - first
    assert found[0].severity in CODES["L1"].severities


def test_a_finding_in_view_is_left_as_it_is_or_put_right() -> None:
    theirs = Finding(
        code="L1", turn=1, severity="S4", probability=0.6, quote="to recieve", start=9, end=19, reason="r"
    )
    found = []
    for n in range(1000):
        verdict = Verdict(
            dialogue_id=str(n), release="r", taxonomy="1", status="scored", quality=90.0, findings=(theirs,)
        )
        found += person().finds(dialogue(str(n)), TRUTH, (CODES["L1"],), 1, verdict)
    kept = [one for one in found if one.start == 9]
    assert len(found) == 1000
    assert len(kept) / 1000 == pytest.approx(KEEPS, abs=0.05)
    assert {one.probability for one in found} == {1.0}
    elsewhere = theirs.model_copy(update={"start": 0, "end": 3, "quote": "You"})
    seen = verdict.model_copy(update={"findings": (elsewhere,)})
    for n in range(20):
        (own,) = person().finds(dialogue(str(n)), TRUTH, (CODES["L1"],), 1, seen)
        assert own.quote == "recieve"


def test_an_invented_error_has_evidence_like_a_true_one() -> None:
    """As many words as the true errors of its code have, its ends as unsteady."""
    shapes = shapes_of([(dialogue(), {(1, "L1"): label(start=12, end=24)})])
    assert shapes == {"L1": [2]}
    inventing = person(specificity=0.0)
    lengths, places = set(), set()
    for n in range(60):
        for one in inventing.finds(dialogue(str(n)), {}, (CODES["L1"],), 1, None, shapes):
            lengths.add(len(one.quote.split()))
            places.add(one.start)
    assert lengths == {2}
    assert len(places) > 3
    blunt = person(0.0, 0.0, Group(Beta(1, 1), Beta(1, 1), severity=1.0, steady=0.0))
    moved = [
        one.finds(dialogue(str(n)), {}, (CODES["L1"],), 1, None, shapes) for one in [blunt] for n in range(60)
    ]
    assert {len(one.quote.split()) for found in moved for one in found} - {2}
    whole = shapes_of([(dialogue(), {(1, "L1"): label(start=None, end=None)})])
    assert inventing.finds(dialogue(), {}, (CODES["L1"],), 1, None, whole)[0].quote == TEXT
