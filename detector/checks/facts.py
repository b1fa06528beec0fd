"""Statements of an agent without a source in the log: ids, amounts, dates, times, and claimed look-ups.

Sources are the customer's turns, the results of tools, the arguments of calls that succeeded and the
documents of the dialogue; not what an agent said before. Prices and hours that an agent may know by heart are
ignored where no tool returned anything of the kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from itertools import product

from pydantic import JsonValue

from dialint.detector.checks import CheckContext, Evidence, Hit, check, values
from dialint.detector.checks.claims import has_calls
from dialint.detector.checks.quantities import (
    Kind,
    StatedQuantities,
    by_kind,
    fields,
    find_quantities,
    is_made_of,
    quantities,
    same_time,
)
from dialint.detector.checks.values import StatedIds, compact, name_words, objects_of
from dialint.detector.checks.words import SENTENCE, patterns, statements
from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.detector.tool_use import tool_uses, uses_by_turn

PATTERNS = patterns("facts")

_BULLET = re.compile(r"\A\s*+(?:[-*•–]|\d{1,2}[.)])\s?")
_KEY_ENDS = ("_id", "number", "code", "Id", "ID")
"""Ends of the names of fields that hold the id of their object."""
_PART = re.compile(r"[a-z]++|\d++")
MAX_PARTS = 8
"""Most amounts of a message of which all sums are computed."""
MAX_PRICED = 6
"""Things whose prices are added up, and prices of one of them."""
MAX_FIGURES = 12
"""Numbers of all results of which sums are computed."""
MAX_BEFORE = 1000
"""Characters of a line before a value that may say so."""


@check(I2=Evidence(206, 223), I4=Evidence(11, 11), languages=("en",))
def unsupported_fact(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find an id that stands nowhere in the log (I2), and an amount or a time that is not the one that a
    result gives for the id beside it, or a total that is no sum of the prices of the things with an id (I4).

    At most one hit for each turn and code, and one for each value. Silent on dialogues without results of
    tools, unless the log has them elsewhere: then ids are traced all the same. An amount that no figures
    of the log add up to is ignored: on made-up dialogues of others 10 of 11 hits were wrong.

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
    objects, returned = dict[str, list[Json]](), StatedQuantities(dialogue.sources)
    reported, tried, parts = set[str](), set[str](), set[str]()
    for source in dialogue.sources:
        stated.add(source)
    for turn in dialogue.turns:
        if turn.role == "tool":  # what a later result holds was known from elsewhere
            stated.add(turn.text)
            parts |= _parts(turn.text)
    for turn in dialogue.turns:
        if turn.role not in JUDGED_ROLES:
            stated.add(turn.text)
            if turn.role == "tool":
                returned.add(turn.text)
            if turn.index in by_result:
                for id, own in _objects_by_id(by_result[turn.index].value):
                    objects.setdefault(id, []).append(own)
            continue
        for use in calls.get(turn.index, ()):
            if use.failed:
                tried.update(compact(match[0]) for match in values.ids(str(use.call.arguments)))
            else:
                stated.add(str(use.call.arguments))
        own_ids = {id for match in values.ids(turn.text) if (id := compact(match[0])) in objects}
        records = {id: by_kind(field for own in objects[id] for field in fields(own)) for id in own_ids}
        hits = [*_find_untraced(turn.text, stated, tried, parts)]
        if records:
            hits += _find_contradictions(turn.text, records)
            hits += _find_wrong_total(turn.text, records, returned)
        codes = set[str]()
        for start, end, why, code in sorted(hits):
            value = turn.text[start:end]
            if value not in reported and code not in codes:
                codes.add(code)
                yield Hit(turn.index, start, end, why, code)
            reported.add(value)


def _find_untraced(
    text: str, ids: StatedIds, tried: set[str], parts: set[str]
) -> Iterator[tuple[int, int, str, str]]:
    """Yield start, end, reason and code of each id without a source, but not where a sentence says of an id
    of a failed call, in `tried`, that it does not exist: that is true, and the error `wrong_call`. An id may
    be put together of `parts` of results: a carrier and the number of its flight."""
    for sentence in SENTENCE.finditer(text):
        if PATTERNS.example.search(sentence.group()):
            continue
        for match in values.ids(text, *sentence.span()):
            is_denied = compact(match[0]) in tried and PATTERNS.denial.search(sentence[0])
            is_made = _parts(match[0]) <= parts
            if match.group() not in ids and not is_denied and not is_made:
                yield *match.span(), f"{match.group()} stands in no earlier turn or tool result", "I2"


def _parts(text: str) -> set[str]:
    """Return the runs of letters and of digits of a text, without leading zeros."""
    return {each.lstrip("0") for each in _PART.findall(text.casefold())}


Json = dict[str, JsonValue]
Records = Mapping[str, Mapping[Kind, Set[int]]]
"""The quantities that results give for things, by their compact ids."""


def _objects_by_id(value: JsonValue) -> Iterator[tuple[str, Json]]:
    """Yield the texts and the prices of each object of a result with the compact id of the object."""
    for key, each in objects_of(value):
        names = (name for name, id in each.items() if name == "id" or name.endswith(_KEY_ENDS))
        own = next((id for name in names if isinstance(id := each[name], str)), "")
        fields = {
            name: field
            for name, field in each.items()
            if isinstance(field, str) or PATTERNS.price_name.search(name)
        }
        yield from ((compact(id), fields) for id in {own, key} - {""})


def _find_contradictions(text: str, records: Records) -> Iterator[tuple[int, int, str, str]]:
    """Yield amounts and times in a stretch with one id of a result, for which the result has others."""
    located = list(find_quantities(text))
    amounts = {value for kind, value, _ in located if kind == "money"}
    for start, end in _segments(text):
        names = {compact(match[0]): match[0] for match in values.ids(text, start, end)}
        record = records.get(id := next(iter(names), ""), {})
        if len(names) != 1 or text[start:end].rstrip().endswith("?"):
            continue
        times = {*record.get("time", ()), *record.get("clock", ())}
        own = [each for each in located if start <= each[2][0] < end]
        own_times = {value for kind, value, _ in own if kind in ("time", "clock")}
        for kind, value, (first, last) in own:
            if kind == "money":
                prices = record.get(kind, ())
                is_other = prices and all(abs(value - price) >= 100 for price in prices)
                is_other = is_other and not is_made_of(value, sorted(amounts - {value})[:MAX_PARTS])
            else:
                is_time = kind in ("time", "clock") and times and len(own_times) <= len(times)
                is_other = is_time and not same_time(kind, value, record)
            line = max(text.rfind("\n", start, first) + 1, start, first - MAX_BEFORE)
            if is_other and not PATTERNS.not_own.search(text, line, last + 20 * (kind == "money")):
                what = "amount" if kind == "money" else "time"
                yield first, last, f"a tool returned another {what} for {names[id]}", "I4"


def _find_wrong_total(
    text: str, records: Records, returned: StatedQuantities
) -> Iterator[tuple[int, int, str, str]]:
    """Yield a total, the only amount of a message, that is in no result and no sum of prices of the ids."""
    totals = [(total, place) for kind, total, place in find_quantities(text) if kind == "money"]
    names = dict.fromkeys(compact(match[0]) for match in values.ids(text))
    prices = [amounts for name in names if (amounts := records.get(name, {}).get("money"))]
    if (
        len(totals) != 1
        or not 2 <= len(prices) <= MAX_PRICED
        or any(len(each) > MAX_PRICED for each in prices)
    ):
        return
    total, (start, end) = totals[0]
    sums = {n * sum(choice) for choice in product(*prices) for n in range(1, 10)}
    is_total = PATTERNS.total.search(text, max(0, start - 60), start) and not PATTERNS.beside.search(text)
    figures = {*returned.of("number")} if len(returned.of("number")) <= MAX_FIGURES else set[int]()
    if is_total and total not in sums and not returned.has_amount(total) and not is_made_of(total, figures):
        yield start, end, "it is no sum of the prices that tools returned for what is named", "I4"


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
    """Find an agent who claims that something was found, checked or verified in a system, or states the
    content of a record, although no tool has returned anything by then (I2).

    At most one hit for each turn. Silent on dialogues with documents, and where neither the dialogue nor the
    log holds calls of tools: the look-ups may be unlogged. After look-ups that failed, a sentence that
    reports this is no error, nor is an amount that a later result has.

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
    stated = StatedQuantities([use.result or "" for use in uses])
    states, shown, said = set[str](), set[str](), ""
    for turn in until:
        if turn.role in ("customer", "system"):
            stated.add(turn.text)
            said += turn.text.casefold()
            own_states = {state for state in _STATES if state in turn.text.casefold()}
            shown |= own_states if turn.role == "system" else set()
            states |= own_states
        if turn.role not in JUDGED_ROLES:
            continue
        has_tried = first_call is not None and first_call < turn.index
        for start, end in statements(turn.text):
            words = turn.text[start:end]
            why = None if words.endswith("?") else _invention(words, stated, states, shown, said)
            if why is not None and not (has_tried and PATTERNS.denial.search(words)):
                yield Hit(turn.index, start, end, f"{why}, but no tool had returned anything", "I2")
                break


def _invention(
    words: str, stated: StatedQuantities, states: Set[str], shown: Set[str], said: str
) -> str | None:
    """Return what a sentence claims from a system beyond the customer's and the system's turns; None if
    nothing."""
    match = PATTERNS.lookup.search(words)
    if match is not None and not PATTERNS.no_claim.search(words, 0, match.end()):
        return "a look-up is claimed"
    match = PATTERNS.seen.search(words)
    if match is not None and not PATTERNS.no_claim.search(words, 0, match.end()):
        own = match[0].casefold().partition("you have ")[2]
        is_stated = (own and f"have {own}" in said) or any(state in words.casefold() for state in shown)
        return None if is_stated else "a record is described"
    match = PATTERNS.status.search(words)
    if match is not None and not PATTERNS.no_claim.search(words):
        state = (match["state"] or match["named"] or match["listed"]).casefold()
        if state[:6] not in states:
            return "a status is told"
    if PATTERNS.of_record.search(words) and not PATTERNS.no_claim.search(words):
        amounts = quantities(words).get("money", ())
        return None if all(map(stated.has_amount, amounts)) else "an amount is told"
    return None
