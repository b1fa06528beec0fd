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


def consent_problems(dialogue: Dialogue, words: Consent) -> list[str | None]:
    """What is missing of a customer's consent to an act, by the position of the turn it is done in: nobody
    asked, the customer had not answered, refused, or only now said what to do. None if nothing is.

    The act needs a message of the agent that asks, and after it one of the customer that does not refuse. A
    customer who orders the act in plain words after a question of the agent has agreed, so the customer's
    words need not be a yes. Who agreed once has not refused by a no to another question.
    """
    packaged = _load_packaged()
    asks, requests = _plain_all(words.asks or packaged.asks), _plain_all(words.requests or packaged.requests)
    yes, no = _plain_all(words.yes or packaged.yes), _plain_all(words.no or packaged.no)
    own = words if words.asks else packaged
    offers, agrees = _plain_all(words.offers or own.offers), _plain_all(words.agrees or own.agrees)
    is_asked = waiting = answered = agreed = is_order = False
    question = ""
    problems: list[str | None] = []
    for turn in dialogue.turns:
        problems.append(_problem(is_asked, answered, agreed, is_order))
        if not turn.text.strip():
            continue
        if turn.role in JUDGED_ROLES:
            waiting = _asks(turn.text, asks, requests)
            is_asked, answered = is_asked or waiting, answered and not waiting
            question, is_order = turn.text, False
        elif turn.role == "customer" and is_asked:
            text = plain(turn.text)
            agreed = agreed or not (waiting and text.startswith(no) and not _has(text, yes))
            answered = True
            is_order = bool(question and agrees) and not _has(text, agrees)
            is_order &= turn.text.rstrip().endswith(("?", "？")) or not _is_specific(
                question, offers, waiting
            )
            question = ""
    return problems


def _problem(is_asked: bool, answered: bool, agreed: bool, is_order: bool) -> str | None:
    if not is_asked:
        return "nobody asked the customer to confirm it"
    if not answered:
        return "the customer had not answered yet"
    if not agreed:
        return "the customer had refused"
    return "the customer was not asked to confirm this order" if is_order else None


def _plain_all(phrases: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(plain, phrases))


def _has(text: str, phrases: Sequence[str]) -> bool:
    """Whether a plain text has one of the plain phrases."""
    return any(phrase in text for phrase in phrases)


def _is_specific(text: str, offers: Sequence[str], asks: bool) -> bool:
    """Whether a message of the agent asks for more than what the customer would like: its end offers help, or
    it has no question and does not ask for consent (`asks`)."""
    end = plain(text[-_LAST_WORDS:])
    if asks and not _has(end, offers):
        return True
    questions = (
        sentence for sentence in _SENTENCE_END.split(text) if sentence.rstrip().endswith(("?", "？"))
    )
    return any(not _has(plain(each), offers) for each in questions)


def _asks(text: str, phrases: Sequence[str], requests: Sequence[str]) -> bool:
    """Whether a sentence that is a question or a request has one of the phrases."""
    for sentence in _SENTENCE_END.split(text):
        words = plain(sentence)
        asks = sentence.rstrip().endswith(("?", "？")) or _has(words, requests)
        if asks and _has(words, phrases):
            return True
    return False


@cache
def _load_packaged() -> Consent:
    return Consent.model_validate(read_document(PHRASES, "E_POLICY").value, strict=False)
