"""Gates of the codes that accuse a turn as an answer: of its tone (T1, T2), of passing over a question (C1),
of another subject (U5), of closing too early (R1)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from itertools import accumulate

from dialint.detector.dialogue_cache import per_dialogue
from dialint.detector.gates.suspicion import (
    GateInput,
    GateResult,
    content,
    dropped,
    find_phrases,
    finding,
    first_position,
    has_phrase,
    split_words,
    suggestion,
)
from dialint.detector.records import JUDGED_ROLES, Dialogue

MIN_OWN_WORDS = 4
"""Least words with content of a turn of another subject."""
MAX_CLOSING_WORDS = 25


class _CustomerText:
    """What the customer has said, in lower case and with blanks between his turns."""

    def __init__(self, dialogue: Dialogue) -> None:
        texts = [
            (n, turn.text.casefold()) for n, turn in enumerate(dialogue.turns) if turn.role == "customer"
        ]
        self._text = " ".join(text for _, text in texts)
        self._positions = [position for position, _ in texts]
        self._ends = list(accumulate((len(text) + 1 for _, text in texts), initial=-1))
        self._first: dict[str, int] = {}

    def has(self, phrase: str, position: int) -> bool:
        """Whether a phrase stands in the turns before a position."""
        if phrase not in self._first:
            start = self._text.find(phrase)
            self._first[phrase] = len(self._text) + 1 if start < 0 else start + len(phrase)
        return self._first[phrase] <= self._ends[bisect_left(self._positions, position)]


@per_dialogue
def _customer_text(dialogue: Dialogue) -> _CustomerText:
    return _CustomerText(dialogue)


def reproaches(suspicion: GateInput) -> GateResult:
    """T1 must see words of reproach, scorn or dismissal that are not quoted from the customer."""
    customer = _customer_text(suspicion.dialogue)
    for _, phrase in find_phrases(suspicion.turn.text, "reproaches"):
        if not customer.has(phrase, suspicion.position):
            return finding(f"“{phrase}” is said to the customer")
    if has_phrase(suspicion.turn.text, "courtesies"):
        return dropped("no words of reproach beside courtesies")
    return suggestion("no words that are plainly a reproach")


def passes_over_distress(suspicion: GateInput) -> GateResult:
    """T2 must see stated distress in the customer's turns since the agent last spoke, or in the one before,
    and no word that acknowledges it. Distress in words that no list holds is a suggestion."""
    if has_phrase(suspicion.turn.text, "acknowledges"):
        return dropped("the turn acknowledges it")
    if (distress := suspicion.customer_before.find("distress")) is not None:
        return finding(f"the customer said “{distress[1]}” in turn {distress[0].index}")
    return suggestion("distress in no listed words")


def skips_question(suspicion: GateInput) -> GateResult:
    """C1 must see a question or request in the customer's latest turns, and a turn that is a courtesy alone;
    one that shares no word with it and neither asks nor defers is a suggestion."""
    questions = suspicion.customer_before.questions
    if not questions:
        return GateResult("inapplicable", "the customer asked nothing")
    text = suspicion.turn.text
    if "?" in text or has_phrase(text, "defers"):
        return dropped("the turn asks or defers")
    own = content(text)
    asked = suspicion.customer_before.question_content
    if has_phrase(text, "closings") and not own - asked - _closing_words(text):
        return finding("a courtesy alone after a question")
    if own and not own & asked and not any(word.isdigit() for word in split_words(text)):
        return suggestion("no word of the question in the answer")
    return dropped("the turn takes up words of the question")


@per_dialogue
def _first_content(dialogue: Dialogue) -> Mapping[str, int]:
    """The words with content of a dialogue, with the position of the turn where each occurs first."""
    first: dict[str, int] = {}
    for position, turn in enumerate(dialogue.turns):
        for stem in content(f"{turn.text} {turn.tool_calls or ''}"):
            first.setdefault(stem, position)
    return first


@per_dialogue
def _subject_from(dialogue: Dialogue) -> float:
    return first_position(dialogue, lambda text: len(content(text)) >= MIN_OWN_WORDS)


def shares_no_words(suspicion: GateInput) -> GateResult:
    """U5 must see a turn none of whose words with content was said, called or found before; as other words
    may still fit, that is a suggestion."""
    own = content(suspicion.turn.text) - _closing_words(suspicion.turn.text)
    if len(own) < MIN_OWN_WORDS:
        return dropped("too few words for a subject")
    first = _first_content(suspicion.dialogue)
    if any(first.get(stem, suspicion.position) < suspicion.position for stem in own):
        return dropped("the turn takes up words said before")
    if _subject_from(suspicion.dialogue) >= suspicion.position:
        return dropped("no subject was brought up yet")
    return suggestion("no word of the turn was said before")


@per_dialogue
def _last_spoken(dialogue: Dialogue) -> int:
    """The position of the last turn in which an agent speaks, -1 without any."""
    spoken = (n for n, turn in enumerate(dialogue.turns) if turn.role in JUDGED_ROLES and turn.text.strip())
    return max(spoken, default=-1)


def closes_with_open_question(suspicion: GateInput) -> GateResult:
    """R1 must see the last turn of an agent, which takes leave, and a question or request in the customer's
    last turns before it that the turn does not answer; no customer takes leave or thanks afterwards."""
    if suspicion.position < _last_spoken(suspicion.dialogue):
        return dropped("the agent says more afterwards")
    if not has_phrase(suspicion.turn.text, "closings"):
        return dropped("the turn takes no leave")
    after = suspicion.dialogue.turns[suspicion.position + 1 :]
    if any(turn.role == "customer" and has_phrase(turn.text, "customer_closings") for turn in after):
        return dropped("the customer takes leave afterwards")
    before = suspicion.customer_before
    question = next((turn for turn in before.turns if "?" in turn.text), None)
    if question is None and before.find("requests") is None:
        return dropped("the customer asked nothing last")
    if question is None and has_phrase(before.turns[-1].text, "customer_closings"):
        return dropped("the customer takes leave himself")
    if question is None:
        return suggestion("a request stands last before the leave")
    text = suspicion.turn.text
    if len(split_words(text)) > MAX_CLOSING_WORDS or has_phrase(text, "promises"):
        return suggestion("the leave may hold the answer")
    return finding(f"the question of turn {question.index} stands open")


def _closing_words(text: str) -> set[str]:
    return {word[:5] for _, phrase in find_phrases(text, "closings") for word in phrase.split()}
