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

_SENTENCE_END = re.compile(r"(?<=[.!?？])\s|\n")
_LAST_WORDS = 200
"""Characters at the end of a message that its last request stands in."""
PHRASES = Path(__file__).with_name("consent.yaml")


def consent_problem(dialogue: Dialogue, position: int, words: Consent) -> str | None:
    """What is missing of a customer's consent to an act in the turn at `position`: nobody asked, the customer
    had not answered, refused, or only now said what to do. None if nothing is.

    The act needs a message of the agent that asks, and after it one of the customer that does not refuse. A
    customer who orders the act in plain words after a question of the agent has agreed, so the customer's
    words need not be a yes. Who agreed once has not refused by a no to another question.
    """
    packaged = _load_packaged()
    asks, requests = words.asks or packaged.asks, words.requests or packaged.requests
    yes, no = words.yes or packaged.yes, words.no or packaged.no
    offers, agrees = words.offers, words.agrees
    if not words.asks:
        offers, agrees = offers or packaged.offers, agrees or packaged.agrees
    is_asked = waiting = answered = agreed = is_order = False
    question = ""
    for turn in dialogue.turns[:position]:
        if not turn.text.strip():
            continue
        if turn.role in JUDGED_ROLES:
            waiting = _asks(turn.text, asks, requests)
            is_asked, answered = is_asked or waiting, answered and not waiting
            question, is_order = turn.text, False
        elif turn.role == "customer" and is_asked:
            text = plain(turn.text)
            refuses = any(text.startswith(plain(phrase)) for phrase in no)
            agreed = agreed or not (waiting and refuses and not any(plain(phrase) in text for phrase in yes))
            answered = True
            is_order = bool(question and agrees) and not any(plain(phrase) in text for phrase in agrees)
            is_order &= turn.text.rstrip().endswith(("?", "？")) or not _is_specific(
                question, offers, waiting
            )
            question = ""
    if not is_asked:
        return "nobody asked the customer to confirm it"
    if not answered:
        return "the customer had not answered yet"
    if not agreed:
        return "the customer had refused"
    return "the customer was not asked to confirm this order" if is_order else None


def _is_specific(text: str, offers: Sequence[str], asks: bool) -> bool:
    """Whether a message of the agent asks for more than what the customer would like: its end offers help, or
    it has no question and does not ask for consent (`asks`)."""
    end = plain(text[-_LAST_WORDS:])
    is_offer = any(plain(phrase) in end for phrase in offers)
    if asks and not is_offer:
        return True
    questions = (
        sentence for sentence in _SENTENCE_END.split(text) if sentence.rstrip().endswith(("?", "？"))
    )
    return any(not any(plain(phrase) in plain(each) for phrase in offers) for each in questions)


def _asks(text: str, phrases: Sequence[str], requests: Sequence[str]) -> bool:
    """Whether a sentence that is a question or a request has one of the phrases."""
    for sentence in _SENTENCE_END.split(text):
        words = plain(sentence)
        asks = sentence.rstrip().endswith(("?", "？")) or any(plain(word) in words for word in requests)
        if asks and any(plain(phrase) in words for phrase in phrases):
            return True
    return False


@cache
def _load_packaged() -> Consent:
    return Consent.model_validate(read_document(PHRASES, "E_POLICY").value, strict=False)
