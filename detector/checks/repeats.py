"""The same message sent again although nothing called for it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from operator import itemgetter

from dialint.detector.checks.context import (
    CheckContext,
    Evidence,
    GateInput,
    GateResult,
    Hit,
    check,
    dropped,
    finding,
    suggestion,
)
from dialint.detector.checks.words import (
    any_between,
    are_near,
    has_phrase,
    patterns,
    read_words,
    sentences,
    split_words,
    trigrams,
    words_of,
)
from dialint.detector.log_profile import words
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn
from dialint.detector.tool_use import per_dialogue, tool_uses

PATTERNS = patterns("repeats")

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
    """Find a message that repeats an earlier one of the same side word for word, although the customer's
    turns in between gave no reason for it.

    Justified repetitions are no hits: after a new value, a request, a question or a short answer of
    substance; of a question that has not been answered; short messages, thanks, goodbyes and offers of
    further help.
    """
    sent: dict[str, int] = {}
    first = _first_word_positions(dialogue)
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
    """Find a message that is the agent's last one word for word, although the customer has spoken in between
    (M3).

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
def _first_word_positions(dialogue: Dialogue) -> dict[str, int]:
    """Return each word of a dialogue with the position of the turn in which it occurs first."""
    first: dict[str, int] = {}
    for index, turn in enumerate(dialogue.turns):
        for word in _words(turn.text):
            first.setdefault(word, index)
    return first


def is_uncalled_for(
    text: str, turns: tuple[Turn, ...], sent: int, position: int, first: dict[str, int]
) -> bool:
    """Return whether the customer's turns between the positions `sent` and `position` give no reason to send
    the text again. `first` is that of `_first_word_positions`."""
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
    """Return whether the customer's turn `reply` asks, wishes or states something new, of which no word was
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


MAX_COMPARED = 100
"""Different texts with the same values that a text is compared with."""
_VALUE_WORD = re.compile(r"\b(?=[^\W\d]*+\d)\w++")


def repeats_itself(suspicion: GateInput) -> GateResult:
    """M3 must see a near-copy of an earlier turn of the agent with the same values, no result of a tool and
    no call in between that was not there before, and no reason in the customer's words to say it again."""
    turns, position, turn = suspicion.dialogue.turns, suspicion.position, suspicion.turn
    if len(words(turn.text)) < MIN_WORDS or ROUTINE.search(turn.text):
        return dropped("a short or routine text may be said again")
    spoken = _spoken(suspicion.dialogue)
    n_copies, last = spoken.find_copies(position)
    if not n_copies:
        return dropped("no earlier turn is a near-copy")
    if not any_between(spoken.customer, last, position):
        return dropped("the customer said nothing in between")
    if any_between(spoken.new_evidence, last + 1, position):
        return dropped("a new call or result stands in between")
    why = f"a near-copy of turn {turns[last].index}, and nothing new in between"
    if is_uncalled_for(turn.text, turns, last, position, _first_word_positions(suspicion.dialogue)):
        return finding(why)
    if "?" in turn.text or has_phrase(turn.text, "asks_detail"):
        return dropped("a request of the agent that was not met")
    customer = suspicion.customer_before
    if customer.asks_again and (n_copies == 1 or any_between(spoken.evidence, last + 1, position)):
        return dropped("the customer asks to hear it again, or to try again")
    if n_copies > 1:
        return finding(f"{why}; it was sent {n_copies} times before")
    if customer.words.intersection(words(turn.text)) - words_of("empty_words"):
        return suggestion(f"{why} but a request that it may answer")
    return finding(f"{why} but what it does not answer")


class _Spoken:
    """What the agents of a dialogue said before, and between which turns something happened: the positions of
    turns of the customer with words, of calls and results, and of those of the latter that are new."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._turns = dialogue.turns
        self._positions: dict[tuple[frozenset[str], str], list[int]] = {}  # by values and words
        self._texts: dict[frozenset[str], list[tuple[int, str]]] = {}  # by values; the first position of each
        self._trigrams: dict[str, frozenset[str]] = {}
        self._keys: dict[int, tuple[frozenset[str], str]] = {}
        self.customer, self.evidence, self.new_evidence = list[int](), list[int](), list[int]()
        known: set[str] = set()
        for position, turn in enumerate(dialogue.turns):
            if turn.role in JUDGED_ROLES:
                key = values, text = frozenset(_values(turn.text)), " ".join(split_words(turn.text))
                if key not in self._positions:
                    self._texts.setdefault(values, []).append((position, text))
                    self._trigrams.setdefault(text, trigrams(turn.text))
                self._positions.setdefault(key, []).append(position)
                self._keys[position] = key
            elif turn.role == "customer" and turn.text.strip():
                self.customer.append(position)
            evidence = _evidence(turn)
            self.evidence += [position] if evidence else []
            self.new_evidence += [position] if evidence - known else []
            known |= evidence

    def find_copies(self, position: int) -> tuple[int, int]:
        """Return how many earlier turns the turn at `position` is a near-copy of, and the position of the
        last one; of other texts with the same values the last `MAX_COMPARED` are compared."""
        values, own = self._keys[position]
        texts = self._texts[values]
        n_texts = bisect_left(texts, position, key=itemgetter(0))
        n_copies, last = 0, -1
        for other in {own, *(text for _, text in texts[max(0, n_texts - MAX_COMPARED) : n_texts])}:
            positions = self._positions[values, other]
            n_before = bisect_left(positions, position)
            if n_before and are_near(self._trigrams[other], self._trigrams[own]):
                n_copies, last = n_copies + n_before, max(last, positions[n_before - 1])
        return n_copies, last


_spoken = per_dialogue(lambda dialogue: _Spoken(dialogue))


def _values(text: str) -> set[str]:
    """Numbers, codes and, after the first word of a sentence, capitalised words."""
    names = {
        word
        for sentence in sentences(text)
        for word in sentence.split()[1:]
        if word[:1].isupper() and word[1:2].islower()
    }
    return {*_VALUE_WORD.findall(text), *(name.strip(",.!?'\"") for name in names)}


def _evidence(turn: Turn) -> set[str]:
    """Calls and results in a turn, in a comparable form; a log may hold them as a system's turns of JSON."""
    evidence = {f"{call.name} {call.arguments}" for call in turn.tool_calls}
    if turn.role == "tool" or (turn.role == "system" and turn.text.lstrip()[:1] in "{["):
        evidence.add(turn.text)
    return evidence
