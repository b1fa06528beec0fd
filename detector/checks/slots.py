"""Placeholders of a template that were not filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.words import patterns
from dialint.detector.records import JUDGED_ROLES, Dialogue

PATTERNS = patterns("slots")

_SLOT_MARKS = "{}<>[]%$ "

_SENTENCE_ENDS = re.compile(r"[.!?](?=\s)|\n")
EXPLAINED = 200
"""Characters before a slot in which its sentence may explain it."""


def speaks_of_code(text: str) -> bool:
    """Return whether a customer's matter is code or templates, so that slots are what is talked about."""
    return "{" in text or PATTERNS.of_code.search(text) is not None


def is_no_slot(text: str, match: re.Match[str]) -> bool:
    """Return whether the place of a match shows that it is a button, a link, a tag, a part of a path or of
    code, or that its sentence explains what is to stand there."""
    before = text[max(0, match.start() - EXPLAINED) : match.start()]
    after = text[match.end() : match.end() + EXPLAINED]
    sentence = _SENTENCE_ENDS.split(before)[-1]
    return (
        PATTERNS.no_slot.fullmatch(match[0]) is not None
        or after[:1] in ("(", "/", "=", "`")
        or before[-1:] in ("/", "=", "\\", "`")
        or before.rpartition(" ")[2].startswith("http")
        or PATTERNS.named_after.match(after) is not None
        or PATTERNS.explains.search(sentence) is not None
        or (match[0][0] == "[" and PATTERNS.chooses.search(sentence) is not None)
    )


@check(M2=Evidence(estimate=0.846))
def unfilled_placeholder(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a placeholder of a template that was not filled in.

    Lower-case or numbered brackets such as ``[name]`` or ``[EMAIL_1]`` are how logs are redacted and do
    not count; nor do blanks of underscores, which quizzes and forms hold (49 of 82 hits in STAR and
    MultiWOZ, 2026-11-20), nor what the customer himself speaks of, nor a mark of the log's own masking, nor
    what is no slot: a button, a link, a tag, a part of a path, and what the sentence explains.
    """
    spoken_of = {
        match[0].strip(_SLOT_MARKS)
        for turn in dialogue.turns
        if turn.role == "customer"
        for match in PATTERNS.unfilled.finditer(turn.text)
    }
    is_of_code = False
    for turn in dialogue.turns:
        is_of_code = is_of_code or (turn.role == "customer" and speaks_of_code(turn.text))
        if turn.role not in JUDGED_ROLES or is_of_code:
            continue
        for match in PATTERNS.unfilled.finditer(turn.text):
            if not (
                PATTERNS.redacted.fullmatch(match[0])
                or match[0].strip(_SLOT_MARKS) in spoken_of
                or context.log.is_masking(match[0])
                or is_no_slot(turn.text, match)
            ):
                yield Hit(turn.index, match.start(), match.end(), "a template's slot was left unfilled")
                break
