"""Exact checks: what they must find and, as important, what they must leave alone."""

from __future__ import annotations

import pytest
from languages_corpus import dialogues

from dialint.detector.checks import CheckContext
from dialint.detector.checks.phrases import asks_secret, insult
from dialint.detector.checks.slots import unfilled_placeholder
from dialint.detector.log_profile import profile_log
from dialint.detector.records import Dialogue, Turn


@pytest.mark.parametrize("language", ["de", "es", "fr", "ru"])
def test_no_correct_dialogue_holds_an_insult_or_asks_a_secret(language: str) -> None:
    for one in dialogues(language, 30):
        assert [*insult(one), *asks_secret(one)] == []


def test_the_logs_own_masking_is_no_unfilled_slot() -> None:
    def log(text: str) -> Dialogue:
        turns = (
            Turn(index=0, role="customer", text=text),
            Turn(index=1, role="agent", text="Hi <<client 4>>!"),
        )
        return Dialogue(id=text, turns=turns)

    profile = profile_log([log("I am <<client 1>>"), log("<<client 2>> here")])
    assert profile.masking == ("<<client>>",)
    plain = log("Hello")
    assert [hit.turn for hit in unfilled_placeholder(plain)] == [1]
    assert list(unfilled_placeholder(plain, CheckContext(profile))) == []
