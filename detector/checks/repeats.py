"""The same message sent again although nothing called for it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.detector.checks.context import CheckContext, Evidence, Hit, check
from dialint.detector.checks.words import Patterns, read_words
from dialint.detector.dialogue_cache import per_dialogue
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn
from dialint.detector.tool_use import tool_uses

PATTERNS = Patterns("repeats")

MIN_WORDS = 6
SHORT_ANSWER = 4
"""Most content words of a turn that counts as a short answer to a question."""
MAX_BETWEEN = 100
"""Most turns between a text and its repetition; over a longer distance the cause cannot be determined."""

ROUTINE = re.compile(
    r"\b(anything|something) else\b|\b(further|more|additional) (help|assistance|questions)\b"
    r"|\b(have a|enjoy|thank|thanks|welcome|goodbye|bye)\b",
    re.IGNORECASE,
)
_PROPER_NOUN = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+|\b[A-Z](?=[^\WA-Z]*+[A-Z])\w++")
_EMPTY = frozenset(read_words("empty_words")["words"].split())

_CALL = re.compile(r"\A\W*+(?:(?:hello|hi|hey)(?: there)?|(?<= )there)?\W*+", re.IGNORECASE)
"""A turn of a customer who only calls for attention."""


QUESTION = re.compile(r"\?|__")


@check(M3=Evidence(15, 18), languages=("en",))
def same_text_again(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Detects a message that repeats an earlier one of the same side word for word, although the customer's
    turns in between gave no reason for it.

    Justified repetitions are no hits: after a new value, a request, a question or a short answer of
    substance; of a question that has not been answered; short messages, thanks, goodbyes and offers of
    further help.
    """
    sent: dict[str, int] = {}
    first = first_positions(dialogue)
    for index, turn in enumerate(dialogue.turns):
        if turn.role not in JUDGED_ROLES:
            continue
        key = " ".join(words := _words(turn.text))
        if len(words) < MIN_WORDS or ROUTINE.search(turn.text):
            continue
        last = sent.get(key)
        if last is not None and is_uncalled_for(turn.text, dialogue.turns, last, index, first):
            start = len(turn.text) - len(turn.text.lstrip())
            why = "the same words were sent before, and nothing new was said"
            yield Hit(turn.index, start, len(turn.text.rstrip()), why)
        sent[key] = index


@check(M3=Evidence(47, 53), languages=("en",))
def last_message_again(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Detects a message that is the agent's last one word for word, although the customer has spoken in
    between (M3).

    Left alone are short messages, goodbyes, what the customer asked to hear again, and the same answer to a
    new look-up that succeeded.

    On the once-halves of STAR and tau_bench, by one reading of a large language model (2026-11-23): of the
    hits that no other check has 47 of 53 right, .89 (.77 to .96); STAR 26 of 32.
    """
    failed = {use.result_turn for use in tool_uses(dialogue) if use.failed}
    last: str | None = None
    between: list[Turn] = []
    for turn in dialogue.turns:
        if turn.role not in JUDGED_ROLES or not turn.text.strip():
            between.append(turn)
            continue
        key = " ".join(words := _words(turn.text))
        if (
            key == last
            and len(words) >= MIN_WORDS
            and not PATTERNS.farewell.search(turn.text)
            and not PATTERNS.hold.search(turn.text)
            and any(each.role == "customer" and each.text.strip() for each in between)
            and not any(each.role == "customer" and PATTERNS.say_again.search(each.text) for each in between)
            and not any(each.role == "tool" and each.index not in failed for each in between)
        ):
            start = len(turn.text) - len(turn.text.lstrip())
            why = "the agent's last message was sent once more, whatever the customer said to it"
            yield Hit(turn.index, start, len(turn.text.rstrip()), why, "M3")
        last, between = key, []


@per_dialogue
def first_positions(dialogue: Dialogue) -> dict[str, int]:
    """Each word of a dialogue with the position of the turn in which it occurs first."""
    first: dict[str, int] = {}
    for index, turn in enumerate(dialogue.turns):
        for word in _words(turn.text):
            first.setdefault(word, index)
    return first


def is_uncalled_for(
    text: str, turns: tuple[Turn, ...], sent: int, position: int, first: dict[str, int]
) -> bool:
    """Whether the customer's turns between the positions `sent` and `position` give no reason to send the
    text again. `first` is that of `first_positions`."""
    if position - sent > MAX_BETWEEN:
        return False
    between = turns[sent:position]
    customer_text = [turn.text for turn in between if turn.role == "customer"]
    if not customer_text or (QUESTION.search(text) and not PATTERNS.answered.match(customer_text[0])):
        return False
    if any(turn.role in JUDGED_ROLES and QUESTION.search(turn.text) for turn in between[1:]):
        return False  # a "yes" to another question may well call for the same words again
    last = next((turns[i].text for i in range(sent - 1, -1, -1) if turns[i].role == "customer"), "")
    earlier_words = {word for reply in customer_text for word in _words(reply) if first[word] <= sent}
    return not any(_calls_for_more(reply, earlier_words, last) for reply in customer_text)


def _calls_for_more(reply: str, earlier_words: set[str], last: str) -> bool:
    """Whether the customer's turn `reply` asks, wishes or states something new, of which no word was
    `earlier_words` before. Saying once more what was said in the turn before (`last`) does not count: the
    text did not answer it the first time either."""
    words = set(_words(reply)) - _EMPTY
    if _CALL.fullmatch(reply) or (len(words) >= SHORT_ANSWER and words <= set(_words(last))):
        return False
    if PATTERNS.request.search(PATTERNS.polite.sub("", reply)) or 0 < len(words) <= SHORT_ANSWER:
        return True
    values = {result.casefold() for result in (*PATTERNS.value.findall(reply), *_PROPER_NOUN.findall(reply))}
    return bool(values - earlier_words)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
