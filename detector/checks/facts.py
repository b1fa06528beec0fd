"""What an agent states and the log does not hold: ids, amounts, dates, times, and claimed look-ups.

Sources are the customer's turns, the results of tools, the arguments of calls that succeeded and the
documents of the dialogue; not what an agent said before. Prices and hours that an agent may know by heart are
left alone where no tool returned anything of the kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product

from dialint.detector.checks import CheckContext, Evidence, Hit, check, values
from dialint.detector.checks.claims import has_calls, name_words, statements
from dialint.detector.checks.values import AMOUNT, StatedAmounts, StatedIds, ValueIndex, compact
from dialint.detector.checks.words import SENTENCE, WordSearch, patterns
from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.detector.tool_use import tool_uses, uses_by_turn

PATTERNS = patterns("facts")

_BULLET = re.compile(r"\A\s*+(?:[-*•–]|\d{1,2}[.)])\s?")
MAX_PRICED = 6
"""Things whose prices are added up, and prices of one of them."""
MAX_BEFORE = 1000
"""Characters of a line before a value that may say so."""


@check(I2=Evidence(206, 223), I4=Evidence(11, 11), languages=("en",))
def unsupported_fact(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find an id that stands nowhere in the log (I2), and an amount or a time that is not the one that a
    result gives for the id beside it, or a total that is no sum of the prices of what is named (I4).

    At most one hit for each turn and code, and one for each value. Silent on dialogues without results of
    tools, unless the log is known to hold them: then ids are traced all the same. An amount that no figures
    of the log add up to is left alone: on made-up dialogues of others 10 of 11 hits were wrong.

    Read on the once-half of tau_bench (2026-11-23): I2 81 of 82 right; in development dialogues without
    results (`has_calls`) 125 of 141; on the development halves of tau_bench and STAR
    (2026-11-29): I4 9 of 9, totals 2 of 2.
    """
    if not has_calls(dialogue, context):
        return
    uses = tool_uses(dialogue)
    by_result = {use.result_turn: use for use in uses if use.was_run}
    calls = uses_by_turn(dialogue)
    judged = [turn for turn in dialogue.turns if turn.role in JUDGED_ROLES]
    stated = StatedIds(
        match[0]
        for turn in judged
        for sentence in SENTENCE.finditer(turn.text)
        for match in values.ID.finditer(turn.text, *sentence.span())
        if values.is_id(match[0])
    )
    evidence, returned, reported, tried = ValueIndex(), ValueIndex(), set[str](), set[str]()
    for source in dialogue.sources:
        stated.add(source)
        returned.add(source)
    for turn in dialogue.turns:
        if turn.role == "tool":  # what a later result holds was known from elsewhere
            stated.add(turn.text)
    for turn in dialogue.turns:
        if turn.role not in JUDGED_ROLES:
            stated.add(turn.text)
            if turn.role == "tool":
                returned.add(turn.text)
            if turn.index in by_result:
                evidence.add_result(by_result[turn.index])
            continue
        for use in calls.get(turn.index, ()):
            if use.failed:
                tried.update(compact(match[0]) for match in values.ids(str(use.call.arguments)))
            else:
                stated.add(str(use.call.arguments))
        hits = [
            *_find_untraced(turn.text, stated, tried),
            *_find_contradictions(turn.text, evidence),
            *_find_wrong_total(turn.text, evidence, returned),
        ]
        codes = set[str]()
        for start, end, why, code in sorted(hits):
            value = turn.text[start:end]
            if value not in reported and code not in codes:
                codes.add(code)
                yield Hit(turn.index, start, end, why, code)
            reported.add(value)


def _find_untraced(text: str, ids: StatedIds, tried: set[str]) -> Iterator[tuple[int, int, str, str]]:
    """Start, end, reason and code of each id that can come from nowhere. That an id of `tried`, those of
    failed calls, was not found is true: what is wrong with it is `wrong_call`."""
    for sentence in SENTENCE.finditer(text):
        if PATTERNS.example.search(sentence.group()):
            continue
        for match in values.ids(text, *sentence.span()):
            is_told_unknown = compact(match[0]) in tried and PATTERNS.denial.search(sentence[0])
            if match.group() not in ids and not is_told_unknown:
                yield *match.span(), f"{match.group()} stands in no earlier turn or tool result", "I2"


def _find_contradictions(text: str, evidence: ValueIndex) -> Iterator[tuple[int, int, str, str]]:
    """Amounts and times in a stretch that names one thing of a result, which has others."""
    others = StatedAmounts([values.cents(match) for match in AMOUNT.finditer(text)])
    for start, end in _segments(text):
        names = {values.compact(match.group()): match.group() for match in values.ids(text, start, end)}
        record = evidence.records.get(next(iter(names), ""))
        if len(names) != 1 or record is None or text[start:end].rstrip().endswith("?"):
            continue
        name = next(iter(names.values()))
        stated = list(values.times(text, start, end))
        if record.times and len({minute for *_, minute in stated}) <= record.most_times:
            for first, last, minute in stated:
                if minute not in record.times and not PATTERNS.not_own.search(
                    text, _line_start(text, first, start), last
                ):
                    yield first, last, f"a tool returned another time for {name}", "I4"
        for match in values.AMOUNT.finditer(text, start, end) if record.amounts else ():
            line = _line_start(text, match.start(), start), match.end() + 20
            amount = values.cents(match)
            if (
                record.amounts.isdisjoint(range(amount - 99, amount + 100))
                and not others.lead_to(amount)
                and not PATTERNS.not_own.search(text, *line)
            ):
                yield *match.span(), f"a tool returned another amount for {name}", "I4"


def _find_wrong_total(
    text: str, evidence: ValueIndex, returned: ValueIndex
) -> Iterator[tuple[int, int, str, str]]:
    """A total, the only amount of a message, that no result holds and no sum of prices of what is named."""
    found = list(AMOUNT.finditer(text))
    if len(found) != 1 or not PATTERNS.total.search(text, max(0, found[0].start() - 60), found[0].start()):
        return
    total = values.cents(found[0])
    names = dict.fromkeys(values.compact(match[0]) for match in values.ids(text))
    prices = [record.amounts for name in names if (record := evidence.records.get(name)) and record.amounts]
    if not 2 <= len(prices) <= MAX_PRICED or any(len(each) > MAX_PRICED for each in prices):
        return
    sums = {n * sum(choice) for choice in product(*prices) for n in range(1, 10)}
    if total not in sums | returned.amounts:
        yield *found[0].span(), "it is no sum of the prices that tools returned for what is named", "I4"


def _line_start(text: str, position: int, start: int) -> int:
    start = max(start, position - MAX_BEFORE)
    return max(text.rfind("\n", start, position) + 1, start)


def _segments(text: str) -> Iterator[tuple[int, int]]:
    """Yield the stretches of a text that speak of one thing each: a line with the indented list below it, or
    a sentence."""
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
            yield from (match.span() for match in SENTENCE.finditer(text, start, end))


def _belongs(line: str, indent: int) -> bool:
    is_deeper = len(line) - len(line.lstrip()) > indent
    return bool(is_deeper and _BULLET.match(line) and line.strip() and not any(values.ids(line)))


_STATES = (
    "pendin", "delive", "proces", "shippe", "cancel", "confir", "active", "in sto", "out of", "availa",
    "unavai",
)  # fmt: skip
_HELPERS = frozenset(["think", "calculate", "calc", "transfer", "escalate", "respond", "say", "handoff"])
"""Words in the names of tools that look nothing up."""


@check(I2=Evidence(315, 344), languages=("en",))
def claims_undone_lookup(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find an agent who says that something was found, checked or verified in a system, or tells what a
    record holds, although no tool has returned anything by then (I2).

    At most one hit for each turn. Silent on dialogues with documents, and where neither the dialogue nor the
    log holds calls of tools: the look-ups may be unlogged. After look-ups that failed, a sentence that
    tells so is none.

    Read on the once-half of tau_bench (2026-11-23): 114 of 119 right, .96 (.90 to .99); in development
    dialogues without results (`has_calls`) 195 of 219, and most others are R3 to the readers.
    Things found, orders at hand and accounts that are seen (2026-11-30) 6 of 6.
    """
    uses = tool_uses(dialogue)
    if dialogue.sources or not has_calls(dialogue, context):
        return
    answered = [
        use.result_turn
        for use in uses
        if use.result_turn is not None and not use.failed and _HELPERS.isdisjoint(name_words(use.call.name))
    ]
    first = min(answered, default=None)
    first_call = min((use.turn for use in uses if use.was_run), default=None)
    until = [turn for turn in dialogue.turns if first is None or turn.index <= first]
    spoken = [turn.text for turn in until if turn.role in JUDGED_ROLES]
    sentences = (text[start:end] for text in spoken for start, end in statements(text))
    known = _Known(compact(match[0]) for words in sentences for match in AMOUNT.finditer(words))
    for turn in until:
        if turn.role in ("customer", "system"):
            known.add(turn.text)
        if turn.role not in JUDGED_ROLES:
            continue
        has_tried = first_call is not None and first_call < turn.index
        for start, end in statements(turn.text):
            words = turn.text[start:end]
            why = None if words.endswith("?") else _invention(words, known)
            if why is not None and not (has_tried and PATTERNS.denial.search(words)):
                yield Hit(turn.index, start, end, f"{why}, but no tool had returned anything", "I2")
                break


class _Known:
    """The states and the `amounts` that the turns of the customer and of systems hold."""

    def __init__(self, amounts: Iterable[str]) -> None:
        self.states: set[str] = set()
        """Their first six letters."""
        self.amounts = WordSearch(amounts)
        self._last = self._last_digits = ""

    def add(self, text: str) -> None:
        lower = f"{self._last} {text.casefold()}"
        self.states.update(state for state in _STATES if state in lower)
        digits = self._last_digits + compact(text)
        self.amounts.add(digits)
        self._last, self._last_digits = lower[-5:], digits[max(0, len(digits) - self.amounts.longest) :]


def _invention(words: str, known: _Known) -> str | None:
    """Return what a sentence tells of a system, beyond what the customer and the system's turns hold; None if
    nothing."""
    match = PATTERNS.lookup.search(words)
    if match is not None and not PATTERNS.no_claim.search(words, 0, match.end()):
        return "a look-up is claimed"
    match = PATTERNS.seen.search(words)
    if match is not None and not PATTERNS.no_claim.search(words, 0, match.end()):
        return "a record is described"
    match = PATTERNS.status.search(words)
    if match is not None and not PATTERNS.no_claim.search(words):
        state = (match["state"] or match["named"] or match["listed"]).casefold()
        if state[:6] not in known.states:
            return "a status is told"
    if PATTERNS.of_record.search(words) and not PATTERNS.no_claim.search(words):
        for amount in AMOUNT.finditer(words):
            if compact(amount.group()) not in known.amounts:
                return "an amount is told"
    return None
