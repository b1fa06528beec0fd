"""Questions for what a look-up has returned, or for what the customer gave and a call took."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf
from operator import itemgetter

from pydantic import JsonValue

from dialint.detector.checks.context import CheckContext, Evidence, Hit, check
from dialint.detector.checks.values import MAX_DEPTH, compact
from dialint.detector.dialogue_cache import WordSearch
from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.detector.tool_use import tool_uses


@dataclass(frozen=True)
class _Item:
    """A thing that agents ask for: its words, the keys of its value in calls and results, and whether a
    customer can have several."""

    words: str
    keys: str
    is_many: bool = False


_ITEMS = {
    "email": _Item(r"e-?mail(?: address)?", r"e_?mail(?:_?address)?"),
    "zip code": _Item(r"(?:zip|postal) ?code|postcode", r"zip(?:_?code)?|postal_?code|postcode"),
    "order number": _Item(r"order (?:number|id|#)", r"order_?(?:id|number|no)", True),
    "booking number": _Item(
        r"(?:reservation|booking|confirmation) (?:number|id|code|#)",
        r"(?:reservation|booking|confirmation)_?(?:id|number|code)",
        True,
    ),
    "user id": _Item(
        r"(?:user|customer|account|member) ?(?:id|number)|username",
        r"(?:user|customer|account|member)_?(?:id|number)|username",
    ),
    "phone number": _Item(r"(?:phone|telephone|mobile) number", r"(?:phone|telephone|mobile)(?:_?number)?"),
    "last name": _Item(r"(?:full|last) name", r"(?:full|last)_?name"),
}
_ASK = (
    r"(?:(?:could|can|may|would|will) (?:you|i|we)\b[^.?!\n]{0,60}?"
    r"\b(?:provide|give|tell|share|send|have|get|let me know)"
    r"|please (?:provide|give|tell|share|send|let me know)|what(?:['’]s| is| are)"
    r"|i(?:['’]ll| will| also| just)? need)"
    r"\b[^.?!\n]{0,70}?\b(?:your|the|an?)\s(?:[\w-]{1,20}\s){0,2}?"
)
_QUESTIONS = {
    name: re.compile(rf"\b{_ASK}(?:{item.words})\b", re.IGNORECASE) for name, item in _ITEMS.items()
}
_KEYS = {name: re.compile(item.keys, re.IGNORECASE) for name, item in _ITEMS.items()}
_OTHER_VALUE = re.compile(
    r"\b(?:confirm|verify|verification|correct|double[- ]check|re-?enter|new|another|other|others|different"
    r"|valid|second|next|each|any|updated|which|or|either|alternative|additional|original|if|once|again|security|authenticat\w*+"
    r"|passengers?|recipient|friend|all|both|following|more)\b",
    re.IGNORECASE,
)
"""The question may be for another value, for an alternative or for a confirmation."""
_MORE = re.compile(
    r"\b(?:also|another|other|more|else|too|second|next|different|both|as well)\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"[^.!?\n]++(?:[.!?](?=\S)[^.!?\n]++)*+[.!?\n]?")


@check(U2=Evidence(6, 9, "suggestion"), languages=("en",))
def asks_for_known(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Detects an agent who asks for a value that the customer gave and a call took with success, or that a
    look-up returned as the only one of its kind (U2).

    Questions for a number of which there may be several are left alone when the customer has spoken of
    something more. At most one hit for each turn; silent on dialogues without results of tools.

    Read on the once-half of tau_bench (2026-11-23): 6 of 9 right, .67 (.30 to .93), so a suggestion. The
    wrong ones asked for authentication or for another order; two of the three no longer fire.
    """
    given = {name: _Given(name, dialogue) for name in _ITEMS}
    returns = [use.result_turn for use in tool_uses(dialogue) if not use.failed]
    first: float = min((index for index in returns if index is not None), default=inf)
    for turn in dialogue.turns:
        if turn.role not in JUDGED_ROLES:
            continue
        for match in _SENTENCE.finditer(turn.text) if first < turn.index else ():
            sentence = match.group()
            if _OTHER_VALUE.search(sentence):
                continue
            names = (name for name, question in _QUESTIONS.items() if question.search(sentence))
            why = next(filter(None, (given[name].before(turn.index) for name in names)), None)
            if why is not None:
                start = match.start() + len(sentence) - len(sentence.lstrip())
                yield Hit(turn.index, start, match.start() + len(sentence.rstrip()), why, "U2")
                break


class _Given:
    """Where the values of one thing that agents ask for stand, in the order in which they became known."""

    def __init__(self, name: str, dialogue: Dialogue) -> None:
        self._name = name
        self._dialogue = dialogue
        self._accepted, self._returned = _Values(), _Values()

    def before(self, turn: int) -> str | None:
        """Where the value stands before the turn of this index; None if nowhere, or if another may be
        meant."""
        is_many = _ITEMS[self._name].is_many
        if is_many and self._more_from < turn:
            return None
        while self._events and self._events[-1][0] < turn:
            _, order, accepted, returned = self._events.pop()
            for value, why in accepted:
                self._accepted.add(order, value, why)
            for value, why in returned:
                self._returned.add(order, value, why)
        if is_many:
            return self._accepted.why if len(self._accepted) == 1 else None
        return self._accepted.why or (self._returned.why if len(self._returned) == 1 else None)

    @cached_property
    def _more_from(self) -> float:
        """Index of the first turn in which the customer speaks of something more."""
        customer = (turn for turn in self._dialogue.turns if turn.role == "customer")
        return next((turn.index for turn in customer if _MORE.search(turn.text)), inf)

    @cached_property
    def _events(self) -> list[tuple[int, int, list[tuple[str, str]], list[tuple[str, str]]]]:
        """The turn of a result, the number of its call, the values that the customer had given to it and
        those that it returned, each with where it stands; the latest turn first."""
        uses = [use for use in tool_uses(self._dialogue) if not use.failed and use.result_turn is not None]
        keys, name = _KEYS[self._name], self._name
        arguments = [list(_values(use.call.arguments, keys)) for use in uses]
        stated = WordSearch(value for values in arguments for value in values)
        for turn in self._dialogue.turns:
            if turn.role == "customer":
                stated.add(compact(turn.text), turn.index)
        events = []
        for order, (use, values) in enumerate(zip(uses, arguments, strict=True)):
            givers = ((value, stated.first(value)) for value in values)
            accepted = [
                (value, f"the customer gave the {name} in turn {giver}, and '{use.call.name}' took it")
                for value, giver in givers
                if giver is not None and giver < use.turn
            ]
            why = f"'{use.call.name}' had returned the {name}"
            returned = [(value, why) for value in _values(use.value, keys)]
            if use.result_turn is not None:
                events.append((use.result_turn, order, accepted, returned))
        return sorted(events, key=itemgetter(0), reverse=True)


class _Values:
    """Values by the calls that they stand in, which are added in any order."""

    def __init__(self) -> None:
        self._first: tuple[int, str] | None = None
        self._last: dict[str, tuple[int, str]] = {}

    def add(self, order: int, value: str, why: str) -> None:
        if self._first is None or order < self._first[0]:
            self._first = order, value
        if value not in self._last or order >= self._last[value][0]:
            self._last[value] = order, why

    def __len__(self) -> int:
        return len(self._last)

    @property
    def why(self) -> str | None:
        """Where the value of the earliest call stands: in the latest one that has it."""
        return None if self._first is None else self._last[self._first[1]][1]


def _values(value: JsonValue, key: re.Pattern[str], depth: int = 0) -> Iterator[str]:
    """The compact values under a key, at any depth that a result is read to."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for each in value:
            yield from _values(each, key, depth + 1)
    elif isinstance(value, dict):
        for name, each in value.items():
            if not key.fullmatch(name):
                yield from _values(each, key, depth + 1)
            elif isinstance(each, str | int) and compact(str(each)):
                yield compact(str(each))
