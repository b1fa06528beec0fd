"""Placeholders of a template that were not filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.detector.checks.context import NO_CONTEXT, CheckContext, Hit
from dialint.detector.records import JUDGED_ROLES, Dialogue

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
    rf"|\binsert {_WORDS} here\b"  # INSERT DATE HERE
    r"|\[\s?(?:insert|to be (?:provided|filled|added)|list of)\b[^\]\n]{0,60}\]"  # [Insert the label]
    r"|\[(?:[a-z]{1,20}[ _]){0,4}(?:details|information|list|model)(?: go here)?\]"  # [order details]
    r"|<[a-z]{1,20}(?:_[a-z]{1,20}){1,5}>"  # <price_list>
    r"|(?<![\w/])#(?:[a-z]{1,20}_){1,4}id\b"  # #user_order_id
    r"|\bREPLACE_WITH_\w{1,40}"
    r"|\"\s\+\s[a-z_]{3,30}(?=\s\+|\})",  # "..." + calculated_date + "..."
    re.IGNORECASE,
)
_REDACTED = re.compile(r"\[\s*(?:[A-Z]+_\d+|name|email|phone|number|address|date|url|link)\s*\]")

_SLOT_MARKS = "{}<>[]%$ "


def unfilled_slots(text: str) -> Iterator[re.Match[str]]:
    """The slots of a text, of whatever origin."""
    return _UNFILLED.finditer(text)


def unfilled_placeholder(dialogue: Dialogue, context: CheckContext = NO_CONTEXT) -> Iterator[Hit]:
    """Detects a placeholder of a template that was not filled in.

    Lower-case or numbered brackets such as ``[name]`` or ``[EMAIL_1]`` are how logs are redacted and do
    not count; nor do blanks of underscores, which quizzes and forms hold (49 of 82 hits in STAR and
    MultiWOZ, 2026-11-20), nor what the customer himself speaks of, nor a mark of the log's own masking.
    """
    spoken_of = {
        match[0].strip(_SLOT_MARKS)
        for turn in dialogue.turns
        if turn.role == "customer"
        for match in _UNFILLED.finditer(turn.text)
    }
    for turn in dialogue.turns:
        if turn.role not in JUDGED_ROLES:
            continue
        for match in _UNFILLED.finditer(turn.text):
            if not (
                _REDACTED.fullmatch(match[0])
                or match[0].strip(_SLOT_MARKS) in spoken_of
                or context.log.is_masking(match[0])
            ):
                yield Hit(turn.index, match.start(), match.end(), "a template's slot was left unfilled")
                break
