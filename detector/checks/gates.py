"""Gates of the codes that accuse a turn as an answer, and the table of all gates.

The codes: its tone (T1, T2), passing over a question (C1), asking for what was given (U2), another subject
(U5), closing too early (R1).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter

from dialint.detector.checks.calls import shows_machine_text, tools_are_logged
from dialint.detector.checks.context import (
    Gate,
    GateInput,
    GateResult,
    dropped,
    finding,
    first_position,
    suggestion,
)
from dialint.detector.checks.repeats import repeats_itself
from dialint.detector.checks.slots import raw_slot
from dialint.detector.checks.spelling import odd_word
from dialint.detector.checks.words import (
    any_between,
    are_near,
    content,
    find_phrases,
    has_phrase,
    patterns,
    read_words,
    sentences,
    split_words,
    trigrams,
)
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn
from dialint.detector.tool_use import per_dialogue

MIN_OWN_WORDS = 4
"""Least words with content of a turn of another subject."""
MAX_CLOSING_WORDS = 25


def reproaches(suspicion: GateInput) -> GateResult:
    """T1 must see words of reproach: the exact check `insult` finds those that are plainly one."""
    if has_phrase(suspicion.turn.text, "courtesies"):
        return dropped("no words of reproach beside courtesies")
    return suggestion("no words that are plainly a reproach")


def asks_for_secret(suspicion: GateInput) -> GateResult:
    """V2 must see the request that the exact check `asks_secret` finds."""
    return dropped("no secret is asked for")


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
        return dropped("the customer asked nothing")
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
    """Return the words with content of a dialogue, with the position of the turn where each occurs first."""
    first: dict[str, int] = {}
    for position, turn in enumerate(dialogue.turns):
        for stem in content(f"{turn.text} {turn.tool_calls or ''}"):
            first.setdefault(stem, position)
    return first


_subject_from = per_dialogue(
    lambda dialogue: first_position(dialogue, lambda text: len(content(text)) >= MIN_OWN_WORDS)
)


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
    """Return the position of the last turn in which an agent speaks, -1 without any."""
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


@dataclass(frozen=True)
class _Detail:
    """A detail that agents ask for: the list of its names in `phrases.yaml`, the shape of its values, and
    whether one dialogue has a single one."""

    names: str
    value: re.Pattern[str]
    is_single: bool = True


_DETAILS = tuple(
    _Detail(names, patterns("details").compile(row["value"]), "several" not in row)
    for names, row in read_words("details").items()
)


def asks_for_what_was_given(suspicion: GateInput) -> GateResult:
    """U2 must see a request for a detail (a name, an e-mail address, a number, a day, ...) and its value in
    an earlier turn of the customer: said as such, or as the answer to the same question. Reading a value
    back, asking for another one, and asking after a failed search count as none."""
    asking = [
        sentence
        for sentence in sentences(suspicion.turn.text)
        if "?" in sentence or has_phrase(sentence, "asks_detail") or has_phrase(sentence, "hand_over")
    ]
    if not asking:
        return dropped("nothing is asked")
    text = " ".join(asking)
    if has_phrase(suspicion.turn.text, "asks_otherwise"):
        return dropped("another value, a check or a failed search is the reason to ask")
    given = _given(suspicion.dialogue)
    for detail in _DETAILS:
        if not has_phrase(text, detail.names):
            continue
        values = given.values(detail)
        n_values = bisect_left(values, suspicion.position, key=itemgetter(0))
        if not n_values:
            continue
        place, value = values[n_values - 1]
        if split_words(value)[-1] in split_words(suspicion.turn.text) and detail.names != "detail_name":
            return dropped("the value is read back")
        if given.has_failed(place, suspicion.position):
            return dropped("a tool did not find the value")
        why = f"asked for in spite of turn {suspicion.dialogue.turns[place].index} of the customer"
        is_answered = detail.is_single or given.was_answered(place, suspicion)
        return finding(why) if is_answered else suggestion(why)
    return dropped("no earlier turn of the customer holds what is asked")


def _is_name(text: str) -> bool:
    text = next(iter(sentences(text)), "")
    return 1 <= len(text.split()) <= 3 and all(
        word[0].isupper() and word.strip(".,!").isalpha() for word in text.split()
    )


class _Given:
    """The details that the customer gave, and what tools did with them."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._turns = dialogue.turns
        self._values: dict[str, list[tuple[int, str]]] = {}
        self._trigrams: dict[int, frozenset[str]] = {}
        self._asked: list[int | None] = []  # by position, the agent's last turn before it
        self._failures: list[int] = []
        self._of_tools: list[int] = []
        last = None
        for position, turn in enumerate(dialogue.turns):
            self._asked.append(last)
            if turn.role in JUDGED_ROLES and turn.text.strip():
                last = position
            if turn.role in ("tool", "system") and (
                turn.tool_error or "not found" in turn.text.casefold() or "rror" in turn.text[:40]
            ):
                self._failures.append(position)
            if turn.role == "tool" or turn.tool_calls:
                self._of_tools.append(position)

    def values(self, detail: _Detail) -> list[tuple[int, str]]:
        """Return the positions of the customer's turns that hold a detail, with its value: stated with the
        detail's name, or in answer to a question for it."""
        if detail.names not in self._values:
            turns = enumerate(self._turns)
            values = [(n, self._find_value(n, turn, detail)) for n, turn in turns if turn.role == "customer"]
            self._values[detail.names] = [(n, value) for n, value in values if value is not None]
        return self._values[detail.names]

    def _find_value(self, position: int, turn: Turn, detail: _Detail) -> str | None:
        match = detail.value.search(turn.text)
        if match is None:
            is_name = (
                detail.names == "detail_name" and self._is_answer(position, detail) and _is_name(turn.text)
            )
            return turn.text if is_name else None
        is_clear = detail.names in ("detail_name", "detail_email") or not detail.is_single
        if is_clear or has_phrase(turn.text, detail.names) or self._is_answer(position, detail):
            return match[0]
        return None

    def _is_answer(self, position: int, detail: _Detail) -> bool:
        asked = self._asked[position]
        return asked is not None and has_phrase(self._turns[asked].text, detail.names)

    def has_failed(self, place: int, position: int) -> bool:
        """Return whether a tool failed between two turns."""
        return any_between(self._failures, place + 1, position)

    def was_answered(self, place: int, suspicion: GateInput) -> bool:
        """Return whether the turn at `place` stands next after the same question, and no tool was called
        since."""
        asked = self._asked[place]
        if asked is None or any_between(self._of_tools, place, suspicion.position):
            return False
        if asked not in self._trigrams:
            self._trigrams[asked] = trigrams(self._turns[asked].text)
        return are_near(self._trigrams[asked], trigrams(suspicion.turn.text))


_given = per_dialogue(lambda dialogue: _Given(dialogue))


_SERVED: tuple[tuple[Gate, str], ...] = (
    (raw_slot, "M2"),
    (repeats_itself, "M3"),
    (odd_word, "L1"),
    (asks_for_secret, "V2"),
    (asks_for_what_was_given, "U2"),
    (passes_over_distress, "T2"),
    (reproaches, "T1"),
    (skips_question, "C1"),
    (shares_no_words, "U5"),
    (closes_with_open_question, "R1"),
    (tools_are_logged, "I2 I4 P1 P2 P3 R2 R3"),
    (shows_machine_text, "L4"),
)
GATES: dict[str, Gate] = {gate.__name__: gate for gate, _ in _SERVED}
"""Every gate by the name a release uses."""
GATE_OF_CODE = {code: gate.__name__ for gate, codes in _SERVED for code in codes.split()}
"""The gate of each code of the built-in taxonomy that has one."""
