"""Simulated people: their annotations follow from the true labels, their skill and the seed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialint.detector.records import Dialogue, Finding, Label, Turn, Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.simulation.people import (
    KEEP_PROBABILITY,
    LABELERS,
    MAX_WORD_SHIFT,
    Beta,
    Person,
    SkillProfile,
    TrueLabels,
    _word_offsets,
)

CODES = load_taxonomy().codes
REQUESTED_CODES = (CODES["L1"], CODES["C1"])
EXACT = SkillProfile(Beta(1, 1), Beta(1, 1), severity=1.0, boundary_accuracy=1.0)
TEXT = "You have to recieve the parcel first."


def dialogue(name: str = "d", text: str = TEXT) -> Dialogue:
    texts = (("customer", "Hello?"), ("agent", text), ("customer", "And?"), ("agent", "One moment."))
    return Dialogue(
        id=name,
        turns=tuple(Turn(index=n, role=role, text=text) for n, (role, text) in enumerate(texts)),  # type: ignore[arg-type]
    )


def label(code: str = "L1", turn: int = 1, start: int | None = 12, end: int | None = 19) -> Label:
    return Label(
        dialogue_id="d", turn=turn, code=code, probability=1.0, method="author", start=start, end=end
    )


TRUTH: TrueLabels = {(1, "L1"): label()}


def person(sensitivity: float = 1.0, specificity: float = 1.0, profile: SkillProfile = EXACT) -> Person:
    return Person("p", profile, sensitivity, specificity)


def test_a_perfect_person_annotates_exactly_the_true_errors() -> None:
    (finding,) = person().annotate(dialogue(), TRUTH, REQUESTED_CODES, seed=1)
    assert (finding.code, finding.turn, finding.quote) == ("L1", 1, "recieve")
    assert finding.severity == CODES["L1"].severity
    assert person(0.0).annotate(dialogue(), TRUTH, REQUESTED_CODES, seed=1) == ()


def test_a_code_of_the_dialogue_scope_is_one_question() -> None:
    whole = next(code for code in CODES.values() if code.scope == "dialogue")
    (wrong,) = person(specificity=0.0).annotate(dialogue(), {}, (whole,), seed=1)
    assert wrong.turn == 3
    (right,) = person().annotate(dialogue(), {(1, whole.code): label(whole.code)}, (whole,), seed=1)
    assert right.turn == 1


def test_the_same_seed_gives_the_same_person_and_the_same_answers() -> None:
    one, other = Person.sample("p", LABELERS, 1), Person.sample("p", LABELERS, 1)
    assert one == other != Person.sample("p", LABELERS, 2)
    assert one.sensitivity != Person.sample("q", LABELERS, 1).sensitivity
    unskilled = person(0.5, 0.5, LABELERS)
    answers = [unskilled.annotate(dialogue(), TRUTH, REQUESTED_CODES, seed) for seed in (1, 1, 2)]
    assert answers[0] == answers[1] != answers[2]
    assert unskilled.answer_seconds(dialogue(), 1) == unskilled.answer_seconds(dialogue(), 1) > 30


@given(st.text(min_size=1).filter(str.strip), st.data())
def test_evidence_lies_in_the_text_and_near_the_true_span(text: str, data: st.DataObject) -> None:
    words = _word_offsets(text)
    assert "".join(text[start:end] for start, end in words) == "".join(text.split())
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    seed = data.draw(st.integers(0, 99))
    truth = {(1, "L1"): label(start=words[first][0], end=words[last][1])}
    unskilled = SkillProfile(Beta(1, 1), Beta(1, 1), severity=0.5, boundary_accuracy=0.3)
    findings = person(1.0, 1.0, unskilled).annotate(dialogue(text=text), truth, (CODES["L1"],), seed)
    assert findings[0].quote == text[findings[0].start : findings[0].end]
    starts, ends = [start for start, _ in words], [end for _, end in words]
    near = {abs(starts.index(findings[0].start) - first), abs(ends.index(findings[0].end) - last)}
    assert max(near) <= MAX_WORD_SHIFT + last - first
    assert findings[0].severity in CODES["L1"].severities


def test_a_displayed_finding_is_left_unchanged_or_corrected() -> None:
    displayed = Finding(
        code="L1", turn=1, severity="S4", probability=0.6, quote="to recieve", start=9, end=19, reason="r"
    )
    findings = []
    for n in range(1000):
        verdict = Verdict(
            dialogue_id=str(n),
            release="r",
            taxonomy="1",
            status="scored",
            quality=90.0,
            findings=(displayed,),
        )
        findings += person().annotate(dialogue(str(n)), TRUTH, (CODES["L1"],), 1, verdict)
    unchanged = [one for one in findings if one.start == 9]
    assert len(findings) == 1000
    assert len(unchanged) / 1000 == pytest.approx(KEEP_PROBABILITY, abs=0.05)
    assert {one.probability for one in findings} == {1.0}
    elsewhere = displayed.model_copy(update={"start": 0, "end": 3, "quote": "You"})
    seen = verdict.model_copy(update={"findings": (elsewhere,)})
    for n in range(20):
        (own,) = person().annotate(dialogue(str(n)), TRUTH, (CODES["L1"],), 1, seen)
        assert own.quote == "recieve"
