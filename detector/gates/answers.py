"""Gates of the codes that accuse a turn as an answer: of its tone (T1, T2), of passing over a question (C1),
of another subject (U5), of closing too early (R1)."""

from __future__ import annotations

from dialint.detector.gates.suspicion import (
    GateResult,
    Suspicion,
    dropped,
    find_phrases,
    finding,
    has_phrase,
    sentences,
    split_words,
    suggestion,
)
from dialint.detector.records import JUDGED_ROLES

MIN_OWN_WORDS = 4
"""Least words with content of a turn of another subject."""
MAX_CLOSING_WORDS = 25


def reproaches(suspicion: Suspicion) -> GateResult:
    """T1 must see words of reproach, scorn or dismissal that are not quoted from the customer."""
    customer_text = " ".join(turn.text.casefold() for turn in suspicion.customer_turns)
    for _, phrase in find_phrases(suspicion.turn.text, "reproaches"):
        if phrase not in customer_text:
            return finding(f"“{phrase}” is said to the customer")
    if has_phrase(suspicion.turn.text, "courtesies"):
        return dropped("no words of reproach beside courtesies")
    return suggestion("no words that are plainly a reproach")


def passes_over_distress(suspicion: Suspicion) -> GateResult:
    """T2 must see stated distress in the customer's turns since the agent last spoke, or in the one before,
    and no word that acknowledges it. Distress in words that no list holds is a suggestion."""
    if has_phrase(suspicion.turn.text, "acknowledges"):
        return dropped("the turn acknowledges it")
    recent = suspicion.customer_before or suspicion.customer_turns[-1:]
    for turn in recent:
        for _, phrase in find_phrases(turn.text, "distress"):
            return finding(f"the customer said “{phrase}” in turn {turn.index}")
    return suggestion("distress in no listed words")


def skips_question(suspicion: Suspicion) -> GateResult:
    """C1 must see a question or request in the customer's latest turns, and a turn that is a courtesy alone;
    one that shares no word with it and neither asks nor defers is a suggestion."""
    questions = [
        sentence
        for turn in suspicion.customer_before
        for sentence in sentences(turn.text)
        if "?" in sentence or has_phrase(sentence, "requests")
    ]
    if not questions:
        return GateResult("inapplicable", "the customer asked nothing")
    text = suspicion.turn.text
    if "?" in text or has_phrase(text, "defers"):
        return dropped("the turn asks or defers")
    own = _content(text)
    if has_phrase(text, "closings") and not own - _content(" ".join(questions)) - _closing_words(text):
        return finding("a courtesy alone after a question")
    if (
        own
        and not own & _content(" ".join(questions))
        and not any(word.isdigit() for word in split_words(text))
    ):
        return suggestion("no word of the question in the answer")
    return dropped("the turn takes up words of the question")


def shares_no_words(suspicion: Suspicion) -> GateResult:
    """U5 must see a turn none of whose words with content was said, called or found before; as other words
    may still fit, that is a suggestion."""
    own = _content(suspicion.turn.text) - _closing_words(suspicion.turn.text)
    if len(own) < MIN_OWN_WORDS:
        return dropped("too few words for a subject")
    turns = suspicion.dialogue.turns[: suspicion.position]
    earlier = {stem for turn in turns for stem in _content(f"{turn.text} {turn.tool_calls or ''}")}
    if own & earlier:
        return dropped("the turn takes up words said before")
    if not any(turn.role == "customer" and len(_content(turn.text)) >= MIN_OWN_WORDS for turn in turns):
        return dropped("no subject was brought up yet")
    return suggestion("no word of the turn was said before")


def closes_with_open_question(suspicion: Suspicion) -> GateResult:
    """R1 must see the last turn of an agent, which takes leave, and a question or request in the customer's
    last turns before it that the turn does not answer; no customer takes leave or thanks afterwards."""
    after = suspicion.dialogue.turns[suspicion.position + 1 :]
    if any(turn.role in JUDGED_ROLES and turn.text.strip() for turn in after):
        return dropped("the agent says more afterwards")
    if not has_phrase(suspicion.turn.text, "closings"):
        return dropped("the turn takes no leave")
    if any(turn.role == "customer" and has_phrase(turn.text, "customer_closings") for turn in after):
        return dropped("the customer takes leave afterwards")
    before = suspicion.customer_before
    question = next((turn for turn in before if "?" in turn.text), None)
    if question is None and not any(has_phrase(turn.text, "requests") for turn in before):
        return dropped("the customer asked nothing last")
    if before and has_phrase(before[-1].text, "customer_closings") and question is None:
        return dropped("the customer takes leave himself")
    if question is None:
        return suggestion("a request stands last before the leave")
    text = suspicion.turn.text
    if len(split_words(text)) > MAX_CLOSING_WORDS or has_phrase(text, "promises"):
        return suggestion("the leave may hold the answer")
    return finding(f"the question of turn {question.index} stands open")


def _content(text: str) -> set[str]:
    """The first letters of the words that carry content, so that "refund" and "refunded" are one."""
    empty = {word for _, word in find_phrases(text, "empty_words")}
    return {word[:5] for word in split_words(text) if len(word) > 2 and word not in empty}


def _closing_words(text: str) -> set[str]:
    return {word[:5] for _, phrase in find_phrases(text, "closings") for word in phrase.split()}
