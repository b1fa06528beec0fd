"""Whether a customer agreed to an act before an agent did it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from dialint.detector.policy.format import Consent
from dialint.detector.policy.values import plain
from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.detector.yaml_document import read_document

_SENTENCE = re.compile(r"[^.!?？\n]++[.!?？\n]?+")
_REQUESTS = (
    " please ",
    " confirm ",
    " let me know ",
    " need your ",
    " need you ",
    " if you ",
    " just reply ",
    " yes ",
)
PHRASES = Path(__file__).with_name("consent.yaml")


def consent_problem(dialogue: Dialogue, position: int, words: Consent) -> str | None:
    """What is missing of a customer's consent to an act in the turn at `position`: nobody asked, or the
    customer refused. None if nothing is.

    The act needs a message of the agent that asks, and after it a customer's message that does not refuse.
    A customer who orders the act in plain words after a question of the agent has agreed, so the customer's
    words need not be a yes.
    """
    packaged = _packaged()
    asks = words.asks or packaged.asks
    no = words.no or packaged.no
    asked = False
    answer: str | None = None
    for turn in dialogue.turns[:position]:
        text = plain(turn.text)
        if turn.role in JUDGED_ROLES and text.strip():
            if _asks(turn.text, asks):
                asked, answer = True, None
        elif turn.role == "customer" and text.strip():
            answer = turn.text if asked else None
    if not asked:
        return "nobody asked the customer to confirm it"
    if answer is None:
        return "the customer had not answered yet"
    text = plain(answer)
    if any(text.startswith(plain(phrase)) for phrase in no) and not any(
        plain(phrase) in text for phrase in words.yes or packaged.yes
    ):
        return "the customer had refused"
    return None


def _asks(text: str, phrases: Sequence[str]) -> bool:
    """Whether a sentence that is a question or a request has one of the phrases."""
    for sentence in _SENTENCE.findall(text):
        words = plain(sentence)
        requests = sentence.rstrip().endswith("?") or any(word in words for word in _REQUESTS)
        if requests and any(plain(phrase) in words for phrase in phrases):
            return True
    return False


@cache
def _packaged() -> Consent:
    document = read_document(PHRASES, "E_POLICY")
    return Consent.model_validate(document.value, strict=False)
