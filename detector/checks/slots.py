"""Placeholders of a template that were not filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.detector.checks.context import CheckContext, Evidence, Hit, check
from dialint.detector.checks.words import Patterns
from dialint.detector.records import JUDGED_ROLES, Dialogue

PATTERNS = Patterns("slots")

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

_SLOT_MARKS = "{}<>[]%$ "

_NO_SLOT = re.compile(
    r"\[\s*(?:no|details|information|list|model|plan|status|title|item|here)\s*\]"  # buttons and headings
    r"|<(?:code|link|title|address|time|tool_calls?|tool_response|function_calls?)>"  # tags
    r"|%user(?:name)?%",
    re.IGNORECASE,
)
_SENTENCE_ENDS = re.compile(r"[.!?](?=\s)|\n")
EXPLAINED = 200
"""Characters before a slot in which its sentence may explain it."""


def unfilled_slots(text: str) -> Iterator[re.Match[str]]:
    """The slots of a text, of whatever origin."""
    return _UNFILLED.finditer(text)


def speaks_of_code(text: str) -> bool:
    """Whether a customer's matter is code or templates, so that slots are what is talked about."""
    return "{" in text or PATTERNS.of_code.search(text) is not None


def is_no_slot(text: str, match: re.Match[str]) -> bool:
    """Whether the place of a match shows that it is a button, a link, a tag, a part of a path or of code, or
    that its sentence explains what is to stand there."""
    before = text[max(0, match.start() - EXPLAINED) : match.start()]
    after = text[match.end() : match.end() + EXPLAINED]
    sentence = _SENTENCE_ENDS.split(before)[-1]
    return (
        _NO_SLOT.fullmatch(match[0]) is not None
        or after[:1] in ("(", "/", "=", "`")
        or before[-1:] in ("/", "=", "\\", "`")
        or before.rpartition(" ")[2].startswith("http")
        or PATTERNS.named_after.match(after) is not None
        or PATTERNS.explains.search(sentence) is not None
        or (match[0][0] == "[" and PATTERNS.chooses.search(sentence) is not None)
    )


@check(M2=Evidence(estimate=0.846))
def unfilled_placeholder(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Detects a placeholder of a template that was not filled in.

    Lower-case or numbered brackets such as ``[name]`` or ``[EMAIL_1]`` are how logs are redacted and do
    not count; nor do blanks of underscores, which quizzes and forms hold (49 of 82 hits in STAR and
    MultiWOZ, 2026-11-20), nor what the customer himself speaks of, nor a mark of the log's own masking, nor
    what is no slot: a button, a link, a tag, a part of a path, and what the sentence explains.
    """
    spoken_of = {
        match[0].strip(_SLOT_MARKS)
        for turn in dialogue.turns
        if turn.role == "customer"
        for match in _UNFILLED.finditer(turn.text)
    }
    is_of_code = False
    for turn in dialogue.turns:
        is_of_code = is_of_code or (turn.role == "customer" and speaks_of_code(turn.text))
        if turn.role not in JUDGED_ROLES or is_of_code:
            continue
        for match in _UNFILLED.finditer(turn.text):
            if not (
                PATTERNS.redacted.fullmatch(match[0])
                or match[0].strip(_SLOT_MARKS) in spoken_of
                or context.log.is_masking(match[0])
                or is_no_slot(turn.text, match)
            ):
                yield Hit(turn.index, match.start(), match.end(), "a template's slot was left unfilled")
                break
