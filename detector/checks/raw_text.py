"""Text that only a machine reads, sent to the customer: raw calls, reasoning, unfilled placeholders."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.words import patterns
from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.detector.tool_use import per_dialogue

PATTERNS = patterns("raw_text")

_SLOT_MARKS = "{}<>[]%$ "

_SENTENCE_ENDS = re.compile(r"[.!?](?=\s)|\n")
EXPLAINED = 200
"""Characters before a slot in which its sentence may explain it."""


def speaks_of_code(text: str) -> bool:
    """Return whether a customer writes about code or templates, so that slots are the topic."""
    return "{" in text or PATTERNS.of_code.search(text) is not None


def is_no_slot(text: str, match: re.Match[str]) -> bool:
    """Return whether the context of a match shows a button, a link, a tag, or a part of a path or of code, or
    its sentence explains the placeholder."""
    before = text[max(0, match.start() - EXPLAINED) : match.start()]
    after = text[match.end() : match.end() + EXPLAINED]
    sentence = _SENTENCE_ENDS.split(before)[-1]
    return (
        PATTERNS.no_slot.fullmatch(match[0]) is not None
        or after[:1] in ("(", "/", "=", "`")
        or before[-1:] in ("/", "=", "\\", "`")
        or before.rpartition(" ")[2].startswith("http")
        or PATTERNS.explained_after.match(after) is not None
        or PATTERNS.explains.search(sentence) is not None
        or (match[0][0] == "[" and PATTERNS.chooses.search(sentence) is not None)
    )


@check(M2=Evidence(estimate=0.846))
def unfilled_placeholder(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a placeholder of a template that was not filled in.

    Lower-case or numbered brackets such as ``[name]`` or ``[EMAIL_1]`` are redactions of logs and do not
    count; nor do blanks of underscores, which quizzes and forms hold (49 of 82 hits in STAR and
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


@check(L4=Evidence(30, 30))
def raw_tool_call(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find the text of a tool call, or of a bot's reasoning, that was sent to the customer (L4).

    It is jargon to him. A bot that sends such text does so repeatedly: that is one error, in the first of the
    turns. Silent as `raw_texts` is.

    Read on the once-half of tau_bench (2026-11-23): 30 of 30 right, 1.0 (.88 to 1); no hit in STAR, MultiWOZ,
    SGD, taskmaster4, stc3 and dbdc3.
    """
    hits = raw_texts(dialogue)
    if hits:
        later = f", and such text in {len(hits) - 1} later turns" if len(hits) > 1 else ""
        yield replace(hits[0], why=f"{hits[0].why}{later}")


@per_dialogue
def raw_texts(dialogue: Dialogue) -> Sequence[Hit]:
    """Return a hit for every turn with text that only a machine reads; none where a customer sent such
    text or spoke of calls first, as a developer may."""
    hits = list[Hit]()
    for turn in dialogue.turns:
        if turn.role == "customer" and (
            PATTERNS.call.search(turn.text) or (not hits and PATTERNS.developer.search(turn.text))
        ):
            break
        if turn.role not in JUDGED_ROLES:
            continue
        end = len(turn.text.rstrip())
        if (call := PATTERNS.call.search(turn.text)) is not None:
            start, why = call.start(), "a tool call was sent as text"
        elif (reasoning := PATTERNS.reasoning.match(turn.text)) is not None:
            start, why = reasoning.start(), "the bot's reasoning was sent as text"
        elif (stage := PATTERNS.stage.search(turn.text)) is not None:
            (start, end), why = stage.span(), "a stage direction or another's turn was sent as text"
        else:
            continue
        hits.append(Hit(turn.index, start, end, why, "L4"))
    return hits


@check(M3=Evidence(estimate=0.923))
def raw_text_again(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find raw text (`raw_texts`) that was sent before in the same words (M3): it answers nothing,
    whatever the customer wrote in between.

    On the development half of the natural set (2026-11-23): 11 of 11 right, all in tau_bench."""
    texts = {turn.index: " ".join(turn.text.split()) for turn in dialogue.turns}
    sent: dict[str, int] = {}
    for hit in raw_texts(dialogue):
        text = texts[hit.turn]
        if text in sent:
            yield replace(hit, why=f"the raw text of turn {sent[text]} was sent again", code="M3")
        sent.setdefault(text, hit.turn)
