"""Questions for what the customer has just stated, or for what a look-up has returned (U2).

A question is compared with a value only if both have a plain form: "what day?" with "for Friday". A rule
cannot tell which of several days, places or people is meant, so values are searched in the last turns of the
customer alone, and a word of change, of failure or of another matter ends the search.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf
from operator import itemgetter

from pydantic import JsonValue

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.values import compact, fields_of
from dialint.detector.checks.words import SENTENCE, WordSearch, patterns, read_words, trim
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn
from dialint.detector.tool_use import per_dialogue, tool_uses

PATTERNS = patterns("questions")

_ESTIMATED = frozenset(
    {"order number", "day", "time", "number of people", "area", "price range", "length of the stay"}
)
"""Values of which a customer may be unsure."""
MAX_ANSWERS = 2
"""Turns of the customer, counted back from the question, that may hold the value."""


@dataclass(frozen=True)
class _Slot:
    """A value that agents ask for, by patterns: the question, the value as customers state it unasked, the
    value as they answer the same question, and words beside which another value is meant."""

    question: re.Pattern[str]
    stated: re.Pattern[str]
    answer: re.Pattern[str] | None = None
    elsewhere: re.Pattern[str] | None = None
    max_answers: int = MAX_ANSWERS


def _slot(row: Mapping[str, str]) -> _Slot:
    patterns = {name: PATTERNS.compile(text) for name, text in row.items() if name != "max_answers"}
    return _Slot(**patterns, max_answers=int(row.get("max_answers", MAX_ANSWERS)))


SLOTS = {name: _slot(row) for name, row in read_words("slots_asked").items()}


@check(U2=Evidence(32, 37), M3=Evidence(17, 19), languages=("en",))
def asks_for_given(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find an agent who asks for a value that the customer gave in one of the last turns (U2; in the words of
    an earlier turn M3): at most one hit a turn. Questions that confirm, and those after a failure, a change
    or a finished matter, are left alone.

    Read on half of 15,300 dialogues of STAR, MultiWOZ, SGD and taskmaster4 (2026-11-23): 29 of 34 right, .85
    (.69 to .95). Of the five wrong ones those with a day ruled out or a place withdrawn no longer fire.
    M3 in 2,664 dialogues read whole: 17 of 19 (2026-11-30). Booking numbers and names in lower case: 3 of 3.
    """
    answers = _Answers(dialogue)
    for position, turn in enumerate(dialogue.turns):
        if turn.role not in JUDGED_ROLES or PATTERNS.failure.search(turn.text):
            continue
        for match in SENTENCE.finditer(turn.text):
            sentence = match[0]
            if PATTERNS.other_request.search(sentence) or PATTERNS.narrower.search(sentence):
                continue
            why = next(
                (
                    why
                    for name, slot in SLOTS.items()
                    if slot.question.search(sentence) and (why := answers.find(name, position, sentence))
                ),
                None,
            )
            if why is not None:
                yield Hit(turn.index, *trim(turn.text, *match.span()), why, _code(dialogue, turn))
                break


@per_dialogue
def _sent_again(dialogue: Dialogue) -> frozenset[int]:
    """Return the indices of the agent's turns in the words of an earlier one."""
    first: dict[str, int] = {}
    turns = [turn for turn in dialogue.turns if turn.role in JUDGED_ROLES]
    texts = {turn.index: " ".join(turn.text.casefold().split()) for turn in turns}
    return frozenset(index for index, text in texts.items() if first.setdefault(text, index) != index)


def _code(dialogue: Dialogue, turn: Turn) -> str:
    """Return the code of a needless question: M3 in the words of an earlier turn, else U2."""
    return "M3" if turn.index in _sent_again(dialogue) else "U2"


@dataclass(frozen=True)
class _Reply:
    """A customer's turn with respect to one slot: the value in it, whether another one may be meant, whether
    he is unsure of it, whether he speaks of a change, the days of the week in it, and its last words, which
    are read together with the question."""

    value: re.Match[str] | None
    is_elsewhere: bool
    is_unsure: bool
    is_change: bool
    weekdays: frozenset[str]
    end: str


class _Answers:
    """The values that the customer stated in the last turns before a question."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._turns = dialogue.turns
        self._replies: dict[tuple[str, int], _Reply] = {}
        self._customer: list[int] = []
        self._failures: list[int] = []
        self._done: list[int] = []
        self._questions: list[int | None] = []  # by position, the agent's last turn before it
        last = None
        for position, turn in enumerate(dialogue.turns):
            self._questions.append(last)
            if not turn.text.strip():
                continue
            if turn.role == "customer":
                self._customer.append(position)
            elif turn.role in JUDGED_ROLES:
                last = position
                if PATTERNS.failure.search(turn.text):
                    self._failures.append(position)
                elif PATTERNS.done.search(turn.text):
                    self._done.append(position)

    def find(self, name: str, position: int, question: str) -> str | None:
        """Return in which turn the customer stated the value; None if nowhere, or if another may be meant."""
        slot = SLOTS[name]
        since = max(_last(self._failures, position), _last(self._done, position) if name != "name" else -1)
        end = bisect_left(self._customer, position)
        for place in reversed(self._customer[max(0, end - slot.max_answers) : end]):
            if place < since:
                return None
            reply = self._reply(name, place)
            if reply.is_elsewhere or (slot.elsewhere and slot.elsewhere.search(f"{reply.end} {question}")):
                return None
            is_unsure = reply.is_unsure and name in _ESTIMATED
            if is_unsure or (name != "name" and _is_of_other_day(reply, question)):
                return None
            if reply.value is not None:
                is_read_back = reply.value[0].split()[-1].casefold() in question.casefold()
                index = self._turns[place].index
                return None if is_read_back else f"the customer gave the {name} in turn {index}"
            if name != "name" and reply.is_change:
                return None
        return None

    def _reply(self, name: str, place: int) -> _Reply:
        if (name, place) not in self._replies:
            slot, text, question = SLOTS[name], self._turns[place].text, self._questions[place]
            value = slot.stated.search(text)
            if (
                value is None
                and slot.answer
                and question is not None
                and slot.question.search(self._turns[question].text)
            ):
                value = slot.answer.search(text)
            is_elsewhere = slot.elsewhere is not None and slot.elsewhere.search(text) is not None
            is_change, end = PATTERNS.change.search(text) is not None, " ".join(text.rsplit(None, 2)[-2:])
            is_unsure = PATTERNS.unsure.search(text) is not None
            days = _weekdays(text)
            self._replies[name, place] = _Reply(value, is_elsewhere, is_unsure, is_change, days, end)
        return self._replies[name, place]


def _is_of_other_day(reply: _Reply, question: str) -> bool:
    """Return whether a question is about one of several days of the customer's turn."""
    return len(reply.weekdays) > 1 and not reply.weekdays.isdisjoint(_weekdays(question))


def _weekdays(text: str) -> frozenset[str]:
    return frozenset(each[0].casefold() for each in _WEEKDAY.finditer(text))


_WEEKDAY = re.compile(PATTERNS.weekday.pattern, re.IGNORECASE)


def _last(positions: list[int], before: int) -> int:
    """Return the last of the positions before another, -1 without any."""
    place = bisect_left(positions, before)
    return positions[place - 1] if place else -1


_ITEMS = read_words("items_asked")
"""The values in calls and results that agents ask for, by name."""
_QUESTIONS = {
    name: re.compile(rf"\b{PATTERNS.ask.pattern}(?:{item['words']})\b", re.IGNORECASE)
    for name, item in _ITEMS.items()
}
_KEYS = {name: re.compile(item["keys"], re.IGNORECASE) for name, item in _ITEMS.items()}


@check(U2=Evidence(6, 9, "suggestion"), languages=("en",))
def asks_for_known(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find an agent who asks for a value that the customer gave and a call took with success, or that a
    look-up returned as the only one of its kind (U2).

    Questions for a number of which there may be several are left alone when the customer has spoken of
    something more. At most one hit for each turn; silent on dialogues without results of tools.

    Read on the once-half of tau_bench (2026-11-23): 6 of 9 right, .67 (.30 to .93), so a suggestion. The
    wrong ones asked for authentication or for another order; two of the three no longer fire.
    """
    values = {name: _Values(name, dialogue) for name in _ITEMS}
    returns = [use.result_turn for use in tool_uses(dialogue) if not use.failed]
    first: float = min((index for index in returns if index is not None), default=inf)
    for turn in dialogue.turns:
        if turn.role not in JUDGED_ROLES:
            continue
        for match in SENTENCE.finditer(turn.text) if first < turn.index else ():
            sentence = match.group()
            if PATTERNS.other_value.search(sentence) or PATTERNS.narrower.search(sentence):
                continue
            names = (name for name, question in _QUESTIONS.items() if question.search(sentence))
            why = next(filter(None, (values[name].before(turn.index) for name in names)), None)
            if why is not None:
                yield Hit(turn.index, *trim(turn.text, *match.span()), why, "U2")
                break


@check(U2=Evidence(15, 15), M3=Evidence(2, 2), languages=("en",))
def insists_on_number(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find an agent who asks for the number of an order or a booking that the customer does not have, though
    the customer was identified and a tool of the log, which lists them, was not called (U2; M3 as above).

    Read on the development half of tau_bench (2026-11-29): 15 of 15 right.
    """
    uses = [use for use in tool_uses(dialogue) if not use.failed and use.result_turn is not None]
    results = (use.result_turn for use in uses if PATTERNS.finds_user.search(use.call.name))
    identified = min((turn for turn in results if turn is not None), default=None)
    if identified is None or not context.log.listing_tools or context.log.is_partial:
        return
    listed = min((use.turn for use in uses if use.call.name in context.log.listing_tools), default=inf)
    is_lacking = False
    for turn in dialogue.turns:
        if turn.index > listed:
            return
        if turn.role == "customer":
            is_lacking = is_lacking or PATTERNS.lacks_number.search(turn.text) is not None
        if turn.role not in JUDGED_ROLES or not is_lacking or turn.index < identified:
            continue
        for match in SENTENCE.finditer(turn.text):
            sentence = match[0]
            if PATTERNS.finds_it.search(sentence):
                continue
            if any(_QUESTIONS[name].search(sentence) for name in ("order number", "booking number")):
                why = f"the customer lacks it, and '{context.log.listing_tools[0]}' was not called"
                yield Hit(turn.index, *trim(turn.text, *match.span()), why, _code(dialogue, turn))
                break


class _Values:
    """The places of the values of one thing that agents ask for, in the order in which they were stated."""

    def __init__(self, name: str, dialogue: Dialogue) -> None:
        self._name = name
        self._dialogue = dialogue
        self._accepted, self._returned = dict[str, str](), dict[str, str]()  # the earliest value first

    def before(self, turn: int) -> str | None:
        """Return where the value stands before the turn of this index; None if nowhere, or if another may be
        meant."""
        is_many = "several" in _ITEMS[self._name]
        if is_many and self._more_from < turn:
            return None
        while self._events and self._events[-1][0] < turn:
            _, accepted, returned = self._events.pop()
            self._accepted.update(accepted)
            self._returned.update(returned)
        values = self._accepted if self._accepted or is_many else self._returned
        is_sure = len(values) == 1 or (values is self._accepted and not is_many)
        return next(iter(values.values()), None) if is_sure else None

    @cached_property
    def _more_from(self) -> float:
        """The index of the first turn in which the customer speaks of something more."""
        customer = (turn for turn in self._dialogue.turns if turn.role == "customer")
        return next((turn.index for turn in customer if PATTERNS.more.search(turn.text)), inf)

    @cached_property
    def _events(self) -> list[tuple[int, list[tuple[str, str]], list[tuple[str, str]]]]:
        """For each result its turn, the values that the customer had stated for its call, and those that it
        returned, each with its place in words; the latest turn first."""
        uses = [use for use in tool_uses(self._dialogue) if not use.failed and use.result_turn is not None]
        keys, name = _KEYS[self._name], self._name
        arguments = [list(_values(use.call.arguments, keys)) for use in uses]
        stated = WordSearch(value for values in arguments for value in values)
        for turn in self._dialogue.turns:
            if turn.role == "customer":
                stated.add(compact(turn.text), turn.index)
        events = []
        for use, values in zip(uses, arguments, strict=True):
            givers = ((value, stated.first(value)) for value in values)
            accepted = [
                (value, f"the customer gave the {name} in turn {giver}, and '{use.call.name}' took it")
                for value, giver in givers
                if giver is not None and giver < use.turn
            ]
            why = f"'{use.call.name}' had returned the {name}"
            returned = [(value, why) for value in _values(use.value, keys)]
            if use.result_turn is not None:
                events.append((use.result_turn, accepted, returned))
        return sorted(events, key=itemgetter(0), reverse=True)


def _values(value: JsonValue, key: re.Pattern[str]) -> Iterator[str]:
    """Yield the compact values under a key."""
    for name, each in fields_of(value):
        if isinstance(each, str | int) and key.fullmatch(name) and compact(str(each)):
            yield compact(str(each))
