"""Exact checks: errors that need no model. Each is named, and its findings say so in their reason.

A release says which check serves which code and how often it was right. Checks read the text as it
came in, before masking, so that a mask's placeholder is never taken for an unfilled one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from detector.records import JUDGED_ROLES, Dialogue


@dataclass(frozen=True)
class Hit:
    """Where a check found something: offsets into the turn's text, end exclusive, and why."""

    turn: int
    start: int
    end: int
    why: str


_WORD = (
    r"(?:first|last|full|given|family|customer|client|guest|user|agent|advisor|company|brand|product|order|ticket|"
    r"case|account|tracking|invoice|booking|reference|ref|amount|price|date|day|time|city|address|email|phone|"
    r"number|name|title|link|url|id|no|nr|code|status|delivery|refund|policy|plan|item|here|your|insert|the|of)"
)
_WORDS = rf"{_WORD}(?:[ _.-]?{_WORD}){{0,4}}"
_UNFILLED = re.compile(
    rf"\{{\{{?\s*[a-z_][\w. |-]{{0,40}}\}}\}}?"  # {first_name}, {{ticket.id}}
    rf"|<<\s*[a-z_][\w. -]{{0,40}}>>"  # <<order_id>>
    rf"|<{_WORDS}>"  # <customer name>
    rf"|\[\s*{_WORDS}\s*\]"  # [Customer Name]
    rf"|%{_WORDS}%|%%{_WORDS}%%"  # %FIRSTNAME%
    rf"|\$\{{?{_WORD}[._]{_WORDS}\}}?"  # $customer.name
    rf"|\binsert {_WORDS} here\b",  # INSERT DATE HERE
    re.IGNORECASE,
)
_REDACTED = re.compile(r"\[\s*(?:[A-Z]+_\d+|name|email|phone|number|address|date|url|link)\s*\]")


def unfilled_placeholder(dialogue: Dialogue) -> Iterator[Hit]:
    """A template's slot that nobody filled.

    Lower-case or numbered brackets such as ``[name]`` or ``[EMAIL_1]`` are how logs are redacted and do
    not count; nor do blanks of underscores, which quizzes and forms hold (49 of 82 hits in STAR and
    MultiWOZ, 2026-11-20), nor what the customer himself speaks of.
    """
    spoken_of = " ".join(turn.text for turn in dialogue.turns if turn.role == "customer")
    for turn in dialogue.turns:
        if turn.role not in JUDGED_ROLES:
            continue
        for match in _UNFILLED.finditer(turn.text):
            if not _REDACTED.fullmatch(match.group()) and match.group() not in spoken_of:
                yield Hit(turn.index, match.start(), match.end(), "a template's slot was left unfilled")
                break


MIN_WORDS = 6
_ROUTINE = re.compile(
    r"\b(anything|something) else\b|\b(further|more|additional) (help|assistance|questions)\b"
    r"|\b(have a|enjoy|thank|thanks|welcome|goodbye|bye)\b",
    re.IGNORECASE,
)


def same_text_again(dialogue: Dialogue) -> Iterator[Hit]:
    """An earlier message of the same side word for word, after the customer has spoken in between.
    Short messages, thanks, goodbyes and offers of further help may repeat."""
    seen: dict[str, int] = {}
    customer_turns = 0
    for turn in dialogue.turns:
        if turn.role == "customer":
            customer_turns += 1
        if turn.role not in JUDGED_ROLES:
            continue
        words = re.findall(r"\w+", turn.text.casefold())
        key = " ".join(words)
        if len(words) >= MIN_WORDS and not _ROUTINE.search(turn.text):
            if key in seen and customer_turns > seen[key]:
                start = len(turn.text) - len(turn.text.lstrip())
                yield Hit(turn.index, start, len(turn.text.rstrip()), "the same words were sent before")
            seen.setdefault(key, customer_turns)


CHECKS: dict[str, Callable[[Dialogue], Iterator[Hit]]] = {
    "unfilled_placeholder": unfilled_placeholder,
    "same_text_again": same_text_again,
}
"""Every check by the name a release uses."""
