"""The words that say so: whole ones, from the tokens that speak up."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dialint.detector.scanner import TurnScores, evidence_span

LOUD, QUIET = 3.0, -6.0


def quoted(text: str, loud: str) -> str:
    """The evidence in `text` if the model's tokens are words and signs, and those that lie in `loud` speak."""
    offsets = tuple(match.span() for match in re.finditer(r"[^\W_]+|[^\w\s]", text))
    first = text.index(loud)
    spans = np.array(
        [[LOUD if first <= a and b <= first + len(loud) else QUIET] for a, b in offsets], np.float32
    )
    start, end = evidence_span(TurnScores(1, np.zeros(1, np.float32), offsets, spans), 0, text)
    return text[start:end]


@pytest.mark.parametrize(
    ("text", "loud", "visible"),
    [
        (
            "Sure. I'd need your PIN as well, then we're done.",
            ". I'd need your PIN as well, then we'",
            "I'd need your PIN as well, then we're",
        ),
        ("Hi, I'm the bot.", "'m the", "I'm the"),
        ("Get lost!", "Get lost!", "Get lost!"),
        ("Your PIN?", "PIN", "PIN"),
        ("the customers’ data", "customers", "customers"),
    ],
)
def test_evidence_is_whole_words_without_the_stop_before(text: str, loud: str, visible: str) -> None:
    assert quoted(text, loud) == visible


def test_tokens_that_say_nothing_leave_the_whole_turn() -> None:
    turn = TurnScores(1, np.zeros(1, np.float32), ((1, 3),), np.full((1, 1), QUIET, np.float32))
    assert evidence_span(turn, 0, " hm ") == (1, 3)
