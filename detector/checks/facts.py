"""Ids, amounts, dates and times that an agent states, traced to where they can come from.

Sources are the customer's turns, the results of tools, the arguments of calls that succeeded and the
documents of the dialogue; not what an agent said before. Prices and hours that an agent may know by heart are
left alone where no tool returned anything of the kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.detector.checks import values
from dialint.detector.checks.context import CheckContext, Evidence, Hit, check
from dialint.detector.checks.values import StatedAmounts, StatedIds, ValueIndex
from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.detector.tool_use import tool_uses, uses_by_turn

_EXAMPLE = re.compile(
    r"\b(?:example|e\.?g\b|such as|format|formatted|starts? with|sample|like|placeholder|similar to)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]++(?:[.!?](?=\S)[^.!?\n]++)*+[.!?\n]?")
_BULLET = re.compile(r"\A\s*+(?:[-*•–]|\d{1,2}[.)])\s?")
_NOT_OWN = re.compile(
    r"\b(?:total|totals|difference|refund\w*+|fees?|additional|extra|upgrad\w++|passengers?|per|sav\w++|balance"
    r"|charged?|both|combined|sum|layover|duration|more|less|cheaper|instead|original\w*+|from|than|insurance|bags?"
    r"|baggage|if|currently|now|new|before|after|paid|pay)\b",
    re.IGNORECASE,
)
"""The value beside an id may be of something else, or of several things."""
MAX_BEFORE = 1000
"""Characters of a line before a value that may say so."""


@check(I2=Evidence(81, 82), I4=Evidence(8, 12, "suggestion"), languages=("en",))
def unsupported_fact(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Detects an id that stands nowhere in the log (I2), and an amount, a date or a time that follows from
    nothing in it or is not the one that a result gives for the id beside it (I4).

    At most one hit for each turn and code, and one for each value. Silent on dialogues without results of
    tools or documents, unless the log is known to hold them: then ids are traced all the same.

    Read on the once-half of tau_bench (2026-11-23): 18 of 22 right, .82 (.60 to .95); I2 10 of 10, I4 8 of
    12. The four wrong ones, sums over several results, no longer fire. With the log's profile I2 81 of 82.
    """
    uses = tool_uses(dialogue)
    if not (context.log.has_tools or dialogue.sources or any(use.was_run for use in uses)):
        return
    by_result = {use.result_turn: use for use in uses if use.was_run}
    calls = uses_by_turn(dialogue)
    judged = [turn for turn in dialogue.turns if turn.role in JUDGED_ROLES]
    stated = StatedIds(
        match[0]
        for turn in judged
        for sentence in _SENTENCE.finditer(turn.text)
        for match in values.ID.finditer(turn.text, *sentence.span())
        if values.is_id(match[0])
    )
    evidence, returned, reported = ValueIndex(), ValueIndex(), set[str]()
    for source in dialogue.sources:
        stated.add(source)
        evidence.add(source)
        returned.add(source)
    for turn in dialogue.turns:
        if turn.role not in JUDGED_ROLES:
            stated.add(turn.text)
            evidence.add(turn.text)
            if turn.role == "tool":
                returned.add(turn.text)
            if turn.index in by_result:
                evidence.add_result(by_result[turn.index])
            continue
        for use in calls.get(turn.index, ()):
            if not use.failed:
                stated.add(str(use.call.arguments))
                evidence.add(str(use.call.arguments))
        amounts = StatedAmounts([values.cents(match) for match in values.AMOUNT.finditer(turn.text)])
        hits = [
            *_find_untraced(turn.text, stated, evidence, returned, amounts),
            *_find_contradictions(turn.text, evidence, amounts),
        ]
        codes = set[str]()
        for start, end, why, code in sorted(hits):
            value = turn.text[start:end]
            if value not in reported and code not in codes:
                codes.add(code)
                yield Hit(turn.index, start, end, why, code)
            reported.add(value)


def _find_untraced(
    text: str, ids: StatedIds, evidence: ValueIndex, returned: ValueIndex, stated: StatedAmounts
) -> Iterator[tuple[int, int, str, str]]:
    """Start, end, reason and code of each value that can come from nowhere."""
    for sentence in _SENTENCE.finditer(text):
        if _EXAMPLE.search(sentence.group()):
            continue
        span = sentence.span()
        for match in values.ids(text, *span):
            if match.group() not in ids:
                yield *match.span(), f"{match.group()} stands in no earlier turn or tool result", "I2"
        for match in values.counts(text, *span) if returned.amounts else ():
            if not ids.has_whole(match.group()) and not evidence.explains(int(match.group()) * 100, stated):
                yield *match.span(), f"{match.group()} follows from no earlier turn or tool result", "I4"
        if returned.days:
            for match in values.DATE.finditer(text, *span):
                day = values.parse_day(match)
                if day is not None and not evidence.has_day(*day):
                    yield *match.span(), f"{match.group()} stands in no earlier turn or tool result", "I4"
        if returned.times:
            for start, end, minute in values.times(text, *span):
                if minute not in evidence.times:
                    yield start, end, f"{text[start:end]} stands in no earlier turn or tool result", "I4"
        if returned.amounts:
            for match in values.AMOUNT.finditer(text, *span):
                amount = values.cents(match)
                if amount and not evidence.explains(amount, stated):
                    yield *match.span(), f"{match.group()} follows from no earlier turn or tool result", "I4"


def _find_contradictions(
    text: str, evidence: ValueIndex, others: StatedAmounts
) -> Iterator[tuple[int, int, str, str]]:
    """Amounts and times in a stretch that names one thing of a result, which has others."""
    for start, end in _segments(text):
        names = {values.compact(match.group()): match.group() for match in values.ids(text, start, end)}
        record = evidence.records.get(next(iter(names), ""))
        if len(names) != 1 or record is None or text[start:end].rstrip().endswith("?"):
            continue
        name = next(iter(names.values()))
        stated = list(values.times(text, start, end))
        if record.times and len({minute for *_, minute in stated}) <= record.most_times:
            for first, last, minute in stated:
                if minute not in record.times and not _NOT_OWN.search(
                    text, _line_start(text, first, start), last
                ):
                    yield first, last, f"a tool returned another time for {name}", "I4"
        for match in values.AMOUNT.finditer(text, start, end) if record.amounts else ():
            line = _line_start(text, match.start(), start), match.end() + 20
            amount = values.cents(match)
            if (
                record.amounts.isdisjoint(range(amount - 99, amount + 100))
                and not others.lead_to(amount)
                and not _NOT_OWN.search(text, *line)
            ):
                yield *match.span(), f"a tool returned another amount for {name}", "I4"


def _line_start(text: str, position: int, start: int) -> int:
    start = max(start, position - MAX_BEFORE)
    return max(text.rfind("\n", start, position) + 1, start)


def _segments(text: str) -> Iterator[tuple[int, int]]:
    """The stretches of a text that speak of one thing each: a line with the indented list below it, or a
    sentence."""
    lines, position = [], 0
    for line in text.splitlines(keepends=True):
        lines.append((position, line))
        position += len(line)
    index = 0
    while index < len(lines):
        start, head = lines[index]
        index += 1
        end = start + len(head)
        if any(values.ids(head)):
            indent = len(head) - len(head.lstrip())
            while index < len(lines) and _belongs(lines[index][1], indent):
                end = lines[index][0] + len(lines[index][1])
                index += 1
        if end > start + len(head):
            yield start, end
        else:
            yield from (match.span() for match in _SENTENCE.finditer(text, start, end))


def _belongs(line: str, indent: int) -> bool:
    is_deeper = len(line) - len(line.lstrip()) > indent
    return bool(is_deeper and _BULLET.match(line) and line.strip() and not any(values.ids(line)))
