"""Placeholders of a template that were not filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.detector.checks.context import (
    CheckContext,
    Evidence,
    GateInput,
    GateResult,
    Hit,
    check,
    dropped,
    finding,
    first_position,
    first_positions,
    suggestion,
)
from dialint.detector.checks.words import (
    Spans,
    has_phrase,
    patterns,
    sentences,
    split_words,
    words_of,
)
from dialint.detector.log_profile import find_marks, is_bare_mask, mark_kind
from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.detector.tool_use import per_dialogue

PATTERNS = patterns("slots")

_SLOT_MARKS = "{}<>[]%$ "

_SENTENCE_ENDS = re.compile(r"[.!?](?=\s)|\n")
EXPLAINED = 200
"""Characters before a slot in which its sentence may explain it."""


def unfilled_slots(text: str) -> Iterator[re.Match[str]]:
    """Yield the slots of a text, of whatever origin."""
    return PATTERNS.unfilled.finditer(text)


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


FIELD_WORDS = 5
"""Most words of a slot in brackets."""
_CALL = re.compile(r"\A[\s*`]*+(?:json\b)?\s*+[{\[]|\"(?:name|arguments)\"\s{0,3}:|\[action:")
_PLAIN = re.compile(r"[^\W\d_][\w '’-]{1,60}+")
_PATH = re.compile(r"[->→＞/]|[^\x00-\x7f]")
_LETTERS = re.compile(r"[^\W\d_]")


_first_marks = per_dialogue(
    lambda dialogue: first_positions(dialogue, lambda text: (mark_kind(mark[0]) for mark in find_marks(text)))
)


_code_from = per_dialogue(lambda dialogue: first_position(dialogue, speaks_of_code))


def raw_slot(suspicion: GateInput) -> GateResult:
    """M2 must see a slot of a template in the turn: none of the log's own masking, none that the customer
    speaks of, none that the sentence explains as a form to fill in, no menu path and no link."""
    text, log = suspicion.turn.text, suspicion.log
    spoken_of = _first_marks(suspicion.dialogue)
    if _code_from(suspicion.dialogue) < suspicion.position:
        return dropped("the customer speaks of code or templates")
    why, unsure = "no slot of a template in the turn", False
    for mark, is_slot in _slots(text):
        slot = mark[0]
        before = sentences(text[max(0, mark.start() - EXPLAINED) : mark.start()])
        if log.is_masking(slot) or is_bare_mask(slot, text):
            why = "the marks are the log's own masking or a known one"
        elif spoken_of.get(mark_kind(slot), suspicion.position) < suspicion.position:
            why = "the customer speaks of the same slot"
        elif before and has_phrase(before[-1], "explains_slot"):
            why = "the slot is explained to the customer as a form"
        elif is_no_slot(text, mark) or '"' in slot or _PATH.search(slot[1:-1]):
            why = "the marks are a link, a path or data"
        elif is_slot:
            return finding(f"the slot “{slot}” is raw")
        elif slot[0] in "{%" and _LETTERS.search(slot):
            unsure = True
    if unsure:
        return suggestion("the turn has marks of an unknown kind")
    return dropped("a raw call of a tool, not a slot" if _CALL.search(text) else why)


def _slots(text: str) -> Iterator[tuple[re.Match[str], bool]]:
    """Yield what may be a slot, and whether its form says so: the name of a field."""
    certain = [*unfilled_slots(text), *PATTERNS.field.finditer(text)]
    for match in certain:
        yield match, True
    spans = Spans(match.span() for match in certain)
    for match in find_marks(text):
        if not spans.overlap(*match.span()):
            yield match, _names_field(match[0])


def _names_field(mark: str) -> bool:
    """Return whether words in brackets end with the name of a field or are joined by underscores: ``[order
    details]``, ``{shoe_size}``."""
    inner = mark.strip("[]<>{}%#")
    if has_phrase(inner, "stage_directions") or len(inner.split()) > FIELD_WORDS:
        return False
    return _PLAIN.fullmatch(inner) is not None and (
        ("_" in inner.strip("_") and " " not in inner) or split_words(inner)[-1] in words_of("field_words")
    )
