"""Questions for what a look-up has returned, or for what the customer gave and a call took."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from dialint.detector.checks.context import NO_CONTEXT, CheckContext, Hit
from dialint.detector.checks.values import MAX_DEPTH, compact
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn
from dialint.detector.tool_use import ToolUse, parse_result, tool_uses


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


def asks_for_known(dialogue: Dialogue, context: CheckContext = NO_CONTEXT) -> Iterator[Hit]:
    """Detects an agent who asks for a value that the customer gave and a call took with success, or that a
    look-up returned as the only one of its kind (U2).

    Questions for a number of which there may be several are left alone when the customer has spoken of
    something more. At most one hit for each turn; silent on dialogues without results of tools.

    Read on the once-half of tau_bench (2026-11-23): 6 of 9 right, .67 (.30 to .93), so a suggestion. The
    wrong ones asked for authentication or for another order; two of the three no longer fire.
    """
    uses = [use for use in tool_uses(dialogue) if not use.failed]
    for position, turn in enumerate(dialogue.turns):
        if turn.role not in JUDGED_ROLES:
            continue
        before = [use for use in uses if use.result_turn is not None and use.result_turn < turn.index]
        for match in _SENTENCE.finditer(turn.text) if before else ():
            sentence = match.group()
            if _OTHER_VALUE.search(sentence):
                continue
            names = (name for name, question in _QUESTIONS.items() if question.search(sentence))
            why = next(
                filter(None, (_find_value(name, before, dialogue.turns[:position]) for name in names)), None
            )
            if why is not None:
                start = match.start() + len(sentence) - len(sentence.lstrip())
                yield Hit(turn.index, start, match.start() + len(sentence.rstrip()), why, "U2")
                break


def _find_value(name: str, uses: Sequence[ToolUse], turns: Sequence[Turn]) -> str | None:
    """Where the value that is asked for stands; None if nowhere, or if another may be meant."""
    customer = [turn for turn in turns if turn.role == "customer"]
    if _ITEMS[name].is_many and any(_MORE.search(turn.text) for turn in customer):
        return None
    accepted, returned = dict[str, str](), dict[str, str]()
    for use in uses:
        for value in _values(use.call.arguments, _KEYS[name]):
            giver = next((turn.index for turn in customer if value in compact(turn.text)), None)
            if giver is not None and giver < use.turn:
                accepted[value] = (
                    f"the customer gave the {name} in turn {giver}, and '{use.call.name}' took it"
                )
        for value in _values(parse_result(use.result or ""), _KEYS[name]):
            returned[value] = f"'{use.call.name}' had returned the {name}"
    if _ITEMS[name].is_many:
        return next(iter(accepted.values())) if len(accepted) == 1 else None
    return next(iter(accepted.values()), None) or (
        next(iter(returned.values())) if len(returned) == 1 else None
    )


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
