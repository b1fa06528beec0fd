"""The same error again is an error again, whatever the model makes of words that were said before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st
from marked_dialogues import dialogue

from dialint.detector.interface import DetectorConfig
from dialint.detector.pipeline import ReleaseDetector, load_detector
from dialint.detector.records import Dialogue, ToolCall, Turn
from dialint.detector.scanner import TurnScores, _copies, find_similar_later
from dialint.detector.taxonomy import load_taxonomy

CARD = "To continue, please send me your full card number and the CVV on the back."
SLOT = "Dear {customer_name}, we have received your request."
ROUTINE = "Thank you, is there anything else that I can do for you?"


@pytest.fixture(scope="module")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> ReleaseDetector:
    """Random weights that are told of history: every score depends on every word of the dialogue."""
    folder = tmp_path_factory.mktemp("release") / "r"
    info = tiny.release_info(render=tiny.render_config(history=True))
    tiny.write_release(folder, info=info)
    return load_detector(DetectorConfig(release=folder, precision="fp32", threads=1))


@pytest.fixture(scope="module")
def embedded() -> ReleaseDetector:
    return load_detector(DetectorConfig(threads=1))


def scan(detector: ReleaseDetector, *turns: tuple[str, str]) -> dict[int, TurnScores]:
    (scores,) = detector.scanner.scan([dialogue(*turns)])
    assert isinstance(scores, tuple)
    return {turn.turn: turn for turn in scores}


words = st.lists(st.integers(0, 30).map("w{}".format), min_size=1, max_size=6).map(" ".join)
turn = st.tuples(st.sampled_from(["customer", "agent"]), words)


@settings(max_examples=30)
@given(before=st.lists(turn, max_size=8), again=words, after=st.lists(turn, max_size=3), end=st.booleans())
def test_a_turn_sent_again_changes_no_score_of_it_and_has_the_same(
    random_model: ReleaseDetector,
    before: list[tuple[str, str]],
    again: str,
    after: list[tuple[str, str]],
    end: bool,
) -> None:
    turns = [*before, ("agent", again), *after]
    place = len(before)
    spoken = [*turns, ("customer", "w3")] if end else turns
    alone, both = scan(random_model, *spoken), scan(random_model, *spoken, ("agent", again))
    columns = [random_model.info.head_codes.index(code) for code in ("L1", "T1")]
    first = min(i for i, (role, text) in enumerate(turns) if role == "agent" and text == again)
    for index in {first, place, len(spoken)}:
        np.testing.assert_allclose(both[index].scores[columns], alone[place].scores[columns], atol=1e-4)
        np.testing.assert_allclose(both[index].spans[:, columns], alone[place].spans[:, columns], atol=1e-4)


@pytest.mark.parametrize(("text", "code"), [(CARD, "V2"), (SLOT, "M2")])
def test_each_of_many_occurrences_is_found(embedded: ReleaseDetector, text: str, code: str) -> None:
    replies = ("Is that really needed?", "I'd rather not.", "Why?", "Hm, let me think about it.")
    turns: list[tuple[str, str]] = [("customer", "Hi, I would like to change my booking to Friday.")]
    for place in range(17):
        turns += [("agent", text), ("customer", replies[place % 4])]
    (verdict,) = embedded.verdicts([dialogue(*turns)])
    reported = (*verdict.findings, *verdict.suggestions)
    by_turn = {finding.turn: finding for finding in reported if finding.code == code}
    assert sorted(by_turn) == [i for i, (role, _) in enumerate(turns) if role == "agent"]
    for index, finding in by_turn.items():
        assert turns[index][1][finding.start : finding.end] == finding.quote


def test_the_same_request_in_other_words_is_found_again(embedded: ReleaseDetector) -> None:
    texts = (
        CARD,
        "Please send the full card number and the CVV, then I can go on.",
        "I need the card number and CVV from the back, please.",
    )
    turns = [("customer", "Hi, I would like to change my booking to Friday.")]
    for text in texts:
        turns += [("agent", text), ("customer", "Is that really needed?")]
    (verdict,) = embedded.verdicts([dialogue(*turns)])
    assert {finding.turn for finding in verdict.findings if finding.code == "V2"} == {1, 3, 5}


def test_the_same_words_beside_another_call_are_no_copy_where_calls_are_read() -> None:
    turns = tuple(
        Turn(index=n, role="agent", text="Let me check.", tool_calls=(ToolCall(name=name, arguments={}),))
        for n, name in enumerate(("find", "find", "cancel"))
    )
    talk = Dialogue(id="d", turns=turns)
    assert _copies(talk, True) == {1: 0}
    assert _copies(talk, False) == {1: 0, 2: 0}


def test_a_right_sentence_may_be_said_often(embedded: ReleaseDetector) -> None:
    turns = [("customer", "Hi, I would like to change my booking to Friday.")]
    for _ in range(8):
        turns += [("agent", ROUTINE), ("customer", "Yes, please change the room as well.")]
    (verdict,) = embedded.verdicts([dialogue(*turns)])
    free = {code for code, entry in load_taxonomy(None).codes.items() if entry.context_free}
    assert not [finding for finding in verdict.findings if finding.code in free]


def test_only_turns_after_a_suspect_one_are_similar() -> None:
    turns = [
        Turn(index=3 * i, role="agent", text=text)
        for i, text in enumerate(["send your card number", "hello there", "your card number", "hold on"])
    ]
    assert find_similar_later(turns, {0}) == {6}
    assert find_similar_later(turns, {6}) == set()
    assert find_similar_later(turns, set()) == set()


def test_the_small_release_is_on_the_same_footing(tmp_path: Path) -> None:
    """A release that is not told of history has nothing to score once more, and copies count all the same."""
    folder = tiny.write_release(tmp_path / "r")
    detector = load_detector(DetectorConfig(release=folder, precision="fp32", threads=1))
    scores = scan(detector, ("agent", "w1 w2"), ("customer", "w9"), ("agent", "w1 w2"))
    np.testing.assert_allclose(scores[0].scores[:2], scores[2].scores[:2], atol=1e-6)
