"""Statements of an agent that contradict the results he has just received: a state, a yes or no, a count, a
number.

A statement is compared with the results between the customer's last turns only, where all of them agree: a
value that any result, document or turn of another side has is no error here. Amounts, dates and times are
read in `dialint.detector.checks.facts` and `dialint.detector.checks.figures`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from pydantic import JsonValue

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.calls import may_write
from dialint.detector.checks.values import DIGIT_NAMES, compact, fields_of, name_words, objects_of
from dialint.detector.checks.words import patterns, read_words, statements
from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.detector.tool_use import ToolUse, tool_uses

PATTERNS = patterns("results")

_STAGES = {
    word: stage for stage, words in enumerate(read_words("stages").values()) for word in words.split(", ")
}
"""The stage of each word for a state, in the order in which things pass them."""
_STAGE = re.compile(rf"\b(?:{'|'.join(sorted(_STAGES, key=len, reverse=True))})\b", re.IGNORECASE)
_STATE_END = re.compile(r"\s-\s|[:,;]")
_NUMBERS = {name: n for n, name in enumerate(DIGIT_NAMES)}
_COUNT = rf"(?P<n>\d{{1,3}}|{'|'.join(_NUMBERS)})"
_DIGITS = re.compile(r"\d++")
MAX_DIGITS = 10
_DOLLARS = re.compile(r"\$(\d[\d,]{0,9}(?:\.\d\d)?)")
_LISTED = re.compile(r"(?<!\s)\s*+:\s*+\w++")
_TOKEN = re.compile(r"\b[A-Za-z]{0,4}\d[A-Za-z\d-]{0,12}\b")
MAX_KEYS = 60
"""Keys of the results, and things with a price, beyond which no sentence is compared with them."""
MAX_OTHERS = 20
"""Most other customers whose records are compared, and personal values of each."""
MAX_PERSONAL = 200
"""Characters of a personal value."""
MAX_REFUNDS = 8
"""Last refunds of which all sums are computed."""


@check(I1=Evidence(1, 1), I4=Evidence(5, 5), languages=("en",))
def contradicts_result(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a sentence that contradicts the last results before it: the first of a turn. Results from before a
    tool changed something no longer count.

    On the 5,029 dialogues with results of tau_bench and STAR (2026-11-30) it has six hits, which are right.
    """
    by_result = {use.result_turn: use for use in tool_uses(dialogue) if use.was_run and not use.failed}
    uses: list[ToolUse] = []
    results, is_new = _Results([]), False
    stated = set[str]().union(*map(_tokens, dialogue.sources))
    for turn in dialogue.turns:
        is_new = is_new or (turn.role == "customer" and bool(turn.text.strip()))
        if turn.index in by_result:
            use = by_result[turn.index]
            is_write, is_empty = may_write(use.call.name), use.value in ([], {})
            uses = [*([] if is_new or is_write else uses), *(() if is_write and is_empty else [use])]
            results, is_new = _Results(uses), False
        if turn.role not in JUDGED_ROLES:
            stated.update(_tokens(turn.text))
        elif turn.text.strip() and uses:
            for start, end in statements(turn.text):
                words = turn.text[start:end]
                if results.is_empty and (is_new or PATTERNS.denied.search(words)):
                    break
                if words.endswith("?"):
                    continue
                reason_and_code = results.contradict_state(words)
                if reason_and_code is None and PATTERNS.no_claim.search(words) is None:
                    reason_and_code = results.contradict(words, stated)
                if reason_and_code is not None:
                    yield Hit(turn.index, start, end, *reason_and_code)
                    break


@check(I1=Evidence(5, 5), languages=("en",))
def wrong_level(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a sentence that gives the customer another level than the only one in any result: the first of a
    turn.

    Of five hits in tau_bench (2026-11-30) two are listed by readers who knew no finding, three were read: all
    right.
    """
    fields = (field for use in tool_uses(dialogue) if not use.failed for field in fields_of(use.value))
    levels = [value for key, value in fields if PATTERNS.level_key.fullmatch(" ".join(name_words(key)))]
    level = levels[0] if levels and all(each == levels[0] for each in levels) else None
    if not isinstance(level, str) or PATTERNS.level.fullmatch(f"your {level} status") is None:
        return
    for turn in dialogue.turns:
        for start, end in statements(turn.text) if turn.role in JUDGED_ROLES else ():
            words = turn.text[start:end]
            match = None if words.endswith("?") else PATTERNS.level.search(words)
            if (
                match is not None
                and match["level"].casefold() != level.casefold()
                and not PATTERNS.unsure.search(words, 0, match.end())
                and not PATTERNS.other_time.search(words, match.end())
                and _name_pattern(level).search(words) is None
            ):
                yield Hit(turn.index, start, end, f"the tool returned {level}", "I1")
                break


@check(I1=Evidence(4, 4), I4=Evidence(8, 8), languages=("en",))
def wrong_stock(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a thing offered by its id that the last result with it calls unavailable, where no order holds it
    (I1); and more available things counted than the last list has (I4). One hit a turn.

    All hits there are, in tau_bench (2026-11-30), were read by the rule's author: all right; the eight counts
    are of one product.
    """
    by_result = {use.result_turn: use.value for use in tool_uses(dialogue) if use.was_run and not use.failed}
    stock, held, counts = dict[str, bool](), set[str](), list[bool]()
    for turn in dialogue.turns:
        if turn.index in by_result:
            listed = list[bool]()
            for key, each in objects_of(by_result[turn.index]):
                ids = {
                    key,
                    *(
                        value
                        for name, value in each.items()
                        if name.endswith("id") and isinstance(value, str)
                    ),
                }
                if isinstance(is_available := each.get("available"), bool):
                    stock.update(dict.fromkeys(ids - {""}, is_available))
                    listed.append(is_available)
                else:
                    held |= ids
            counts = listed or counts
        is_held = PATTERNS.held.search(turn.text) is not None
        for start, end in statements(turn.text) if turn.role in JUDGED_ROLES and stock else ():
            words = turn.text[start:end]
            count = PATTERNS.available_count.search(words)
            if PATTERNS.no_offer.search(words, 0, len(words) if count is None else count.end()):
                continue
            ids = {match[0] for match in _TOKEN.finditer(words)} - held
            if not is_held and any(stock.get(id) is False for id in ids):
                yield Hit(turn.index, start, end, "the tool returned that it is not available", "I1")
                break
            if count is not None and sum(counts) < int(count["n"]) <= len(counts):
                why = f"the tool returned {sum(counts)} that are available"
                yield Hit(turn.index, start, end, why, "I4")
                break


@check(I4=Evidence(16, 16), languages=("en",))
def wrong_refund(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find the amount of a refund that was just made and that no refunds of the results add up to.

    All hits there are, in tau_bench (2026-11-30), were read by the rule's author: all right.
    """
    by_result = {use.result_turn: use for use in tool_uses(dialogue) if use.was_run and not use.failed}
    refunds, is_made = list[float](), False
    for turn in dialogue.turns:
        if turn.role == "customer" and turn.text.strip():
            is_made = False
        if (use := by_result.get(turn.index)) is not None:
            new = [*_refunds(use.value)]
            refunds = [*refunds, *(each for each in new if each not in refunds)][-MAX_REFUNDS:]
            is_made = is_made or (may_write(use.call.name) and bool(new))
        for start, end in statements(turn.text) if turn.role in JUDGED_ROLES and is_made else ():
            match = PATTERNS.refund.search(turn.text, start, end)
            if match is None or PATTERNS.no_claim.search(turn.text, start, match.start()):
                continue
            amount, sums = float((match["after"] or match["before"]).replace(",", "")), {0.0}
            for each in refunds:
                sums |= {each + other for other in sums}
            words = turn.text[start:end]
            told = {float(each.replace(",", "")) for each in _DOLLARS.findall(words)}
            told = told if PATTERNS.deducted.search(words) else set()
            in_cents = {each / 100 for each in sums if each % 1 == 0}
            if told.isdisjoint(sums - {0.0}) and all(abs(amount - each) >= 1 for each in sums | in_cents):
                yield Hit(turn.index, start, end, f"the tool refunded {refunds[-1]:g}")
                break


def _refunds(value: JsonValue) -> Iterator[float]:
    """Yield the amounts of a result that are refunds by a field of theirs, or negative."""
    for _, each in objects_of(value):
        amount = each.get("amount")
        if isinstance(amount, int | float) and (amount < 0 or "refund" in each.values()):
            yield abs(float(amount))


def _tokens(text: str) -> set[str]:
    return {compact(match[0]) for match in _TOKEN.finditer(text)}.union(_DIGITS.findall(text))


@dataclass
class _Results:
    """The results of one exchange."""

    uses: list[ToolUse]

    @cached_property
    def is_empty(self) -> bool:
        """True if all of them are empty."""
        return all(use.value in ([], {}) for use in self.uses)

    @cached_property
    def fields(self) -> dict[str, list[JsonValue]]:
        """The values by the words of their keys, at any depth; none of results with more than `MAX_KEYS`."""
        fields: dict[str, list[JsonValue]] = {}
        for name, value in (field for use in self.uses for field in fields_of(use.value)):
            fields.setdefault(" ".join(name_words(name)), []).append(value)
            if len(fields) > MAX_KEYS:
                return {}
        return fields

    @cached_property
    def compact_values(self) -> dict[str, set[str]]:
        """The texts among the values, compact, by the words of their keys."""
        return {
            key: {compact(value) for value in values if isinstance(value, str)}
            for key, values in self.fields.items()
        }

    @cached_property
    def single(self) -> dict[str, JsonValue]:
        """The values of the fields whose values are all the same."""
        return {key: values[0] for key, values in self.fields.items() if all(v == values[0] for v in values)}

    @cached_property
    def shapes(self) -> dict[str, set[str]]:
        """The shapes of the codes in each field whose name may stand beside them."""
        shapes = {
            key: {_shape(each) for each in values if isinstance(each, str) and _TOKEN.fullmatch(each)}
            for key, values in self.fields.items()
            if len(key) > 2 and not PATTERNS.day_key.search(key)
        }
        return {key: each for key, each in shapes.items() if each}

    @cached_property
    def quantities(self) -> dict[str, str]:
        """The first quantity of each unit in the texts."""
        quantities: dict[str, str] = {}
        for use in self.uses:
            for match in PATTERNS.quantity.finditer(use.result or ""):
                quantities.setdefault(_unit(match), match[0])
        return quantities

    @cached_property
    def prices(self) -> dict[str, float]:
        """The prices of the last list, by the first text of each thing."""
        prices: dict[str, float] = {}
        value = self.uses[-1].value
        for each in value if isinstance(value, list) and len(value) <= MAX_KEYS else ():
            if isinstance(each, dict) and isinstance(price := each.get("price"), int | float):
                name = next((own for own in each.values() if isinstance(own, str)), None)
                if name is not None:
                    prices[name] = price
        return prices

    def contradict_state(self, words: str) -> tuple[str, str] | None:
        """Return the reason and the code, if a sentence claims a later state than the only one returned.
        Where payments have a state of their own, it is compared with sentences about payments alone."""
        states = {
            key: value
            for key, value in self.single.items()
            if key.split()[-1:] in (["status"], ["state"]) and isinstance(value, str)
        }
        of_payments = {key for key in states if PATTERNS.payment.search(key) or "payment" in key}
        is_payment = PATTERNS.payment.search(words) is not None
        for key, value in states.items():
            if of_payments and (key in of_payments) is not is_payment:
                continue
            if (why := self._other_state(words, value)) is not None:
                return why, "I1"
        return None

    def contradict(self, words: str, stated: set[str]) -> tuple[str, str] | None:
        """Return the reason and the code, if a sentence contradicts the results. `stated` are the numbers and
        codes that anybody but the agent has stated."""
        if self.is_empty:
            return ("the results were empty", "I1") if PATTERNS.exists.search(words) else None
        for key, value in self.single.items():
            if isinstance(value, bool):
                why, code = _other_answer(words, key, value), "I1"
            elif isinstance(value, list):
                why, code = _other_count(words, key, value, stated), "I4"
            else:
                continue
            if why is not None:
                return why, code
        for key, shapes in self.shapes.items():
            match = _token_pattern(key).search(words)
            if (
                match
                and _shape(match["token"]) in shapes
                and compact(match["token"]) not in stated
                and self.compact_values[key].isdisjoint(_tokens(words))
            ):
                return f"the tool returned another {key}", "I4"
        matches = list(PATTERNS.quantity.finditer(words))
        numbers = [int(n) for n in _DIGITS.findall(words) if len(n) < MAX_DIGITS]
        for match in matches:
            other = self.quantities.get(_unit(match))
            if other is not None and match["n"] not in stated and not _follows(match, other, numbers):
                return f"the tool returned {other}", "I4"
        if len(self.prices) > 1 and PATTERNS.cheapest.search(words) and not PATTERNS.compared.search(words):
            names = [name for name in self.prices if _name_pattern(name).search(words)]
            if len(names) == 1 and self.prices[names[0]] > min(self.prices.values()):
                return "the tool returned a lower price for another", "I1"
        return None

    def _other_state(self, words: str, state: str) -> str | None:
        """Return why a sentence claims a later stage than the result has."""
        match = PATTERNS.is_state.search(words)
        stage = None if match is None else _STAGE.match(words, match.end())
        before = _STAGES.get(_STATE_END.split(state.replace("_", " "))[0].strip().casefold())
        if match is None or stage is None or before is None or _STAGES[stage[0].casefold()] <= before:
            return None
        end = PATTERNS.clause_end.search(words, stage.end())
        if PATTERNS.no_claim.search(words, 0, end.start() if end else len(words)):
            return None
        if any(stage[0].casefold() in (use.result or "").casefold() for use in self.uses):
            return None
        if PATTERNS.notice.search(words, 0, match.start()):
            return None
        if stage[0].casefold().startswith("paid") and PATTERNS.payment.search(words) is None:
            return None
        return f"told as {stage[0]}, and the tool returned {state}"


def _unit(match: re.Match[str]) -> str:
    return match["unit"].casefold().rstrip("s")


def _other_answer(words: str, key: str, value: bool) -> str | None:
    """Return why a sentence affirms what the result denies, or denies what it affirms."""
    name = PATTERNS.key_prefix.sub("", key)
    match = _name_pattern(name).search(words) if len(name) > 3 else None
    if match is None or PATTERNS.result_key.fullmatch(name):
        return None
    # A denial of what is affirmed must stand in its own clause.
    before = PATTERNS.clause_end.split(words[: match.start()])[-1] if value else words
    if (listed := _LISTED.match(words, match.end())) is not None:
        before = listed[0]
    is_denied = PATTERNS.denied.search(before) is not None
    return f"the tool returned {str(value).lower()} for {key}" if is_denied is value else None


@lru_cache(maxsize=1024)
def _name_pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)


def _follows(match: re.Match[str], other: str, numbers: list[int]) -> bool:
    """Return whether a quantity is of something else than a returned one of its unit, which its sentence has,
    too, or comes of that and another of the sentence's numbers."""
    n, returned = int(match["n"]), int(_DIGITS.findall(other)[0])
    others = [*numbers]
    others.remove(n)
    return returned in others or any(n in (abs(returned - each), returned + each) for each in others)


def _other_count(words: str, key: str, value: list[JsonValue], stated: set[str]) -> str | None:
    """Return why a sentence has another number of things than the list of the result, and than anybody but
    the agent has stated, in all its counts of them."""
    match = _count_pattern(key).search(words)
    if match is None or str(_count(match)) in stated:
        return None
    counts = [_count(each) for each in _any_count_pattern(key).finditer(words)]
    return None if len(value) in {*counts, sum(counts)} else f"the tool returned {len(value)} {key}"


def _count(match: re.Match[str]) -> int:
    return _NUMBERS.get(match["n"].casefold()) or int(match["n"])


@lru_cache(maxsize=1024)
def _count_pattern(name: str) -> re.Pattern[str]:
    return PATTERNS.compile(rf"(?&counts){_COUNT} {re.escape(name.removesuffix('s'))}s?\b(?&all)")


@lru_cache(maxsize=1024)
def _any_count_pattern(name: str) -> re.Pattern[str]:
    return PATTERNS.compile(rf"(?i)\b{_COUNT} {re.escape(name.removesuffix('s'))}s?\b")


@lru_cache(maxsize=1024)
def _token_pattern(name: str) -> re.Pattern[str]:
    return PATTERNS.compile(rf"\b{re.escape(name)}(?&named)(?P<token>{_TOKEN.pattern})(?![:.%]\d)")


def _shape(value: str) -> str:
    return re.sub(r"[a-z]", "A", re.sub(r"\d", "9", compact(value)))


@check(V1=Evidence())
def tells_of_another(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find the mail address, phone number, address, date of birth or card of another customer than the
    one whose id the first result with such an id holds: from the first result with another id, of which the
    customer has stated nothing.

    A suggestion: no hit in 636 dialogues of tau_bench (its development half, 2026-11-29), so tried on made-up
    dialogues alone.
    """
    by_result = {use.result_turn: use.value for use in tool_uses(dialogue) if use.was_run and not use.failed}
    owner: str | None = None
    own, others = set[str](), dict[str, frozenset[str]]()
    stated = [*dialogue.sources]
    for turn in dialogue.turns:
        if turn.role in JUDGED_ROLES:
            lower = turn.text.casefold()
            foreign = {value for values in others.values() for value in values if value in lower} - own
            for value in sorted(foreign):
                if (match := _name_pattern(value).search(turn.text)) is not None:
                    why = "this is of another customer than the one who was looked up first"
                    yield Hit(turn.index, *match.span(), why)
                    break
            continue
        if turn.role == "customer":
            stated.append(turn.text)
            for other, personal in list(others.items()):
                if _names(turn.text, other, personal):
                    del others[other]
        record = by_result.get(turn.index)
        id, values = _personal(record) if isinstance(record, dict) else (None, frozenset[str]())
        owner = owner or id
        if id is None or id == owner:
            own |= values
        elif len(others) < MAX_OTHERS and id not in others and not _names("\n".join(stated), id, values):
            others[id] = values


def _names(text: str, id: str, values: Iterable[str]) -> bool:
    """Return whether a text has the id of a record's customer, or one of the personal values."""
    lower = text.casefold()
    return any(value in lower for value in (id, *values))


def _personal(record: dict[str, JsonValue]) -> tuple[str | None, frozenset[str]]:
    """Return the customer's id of a result, and the personal values in it, in lower case."""
    id: str | None = None
    values = set[str]()
    for name, value in fields_of(record):
        key = "_".join(name_words(name))
        for each in value if isinstance(value, list) else (value,):
            if not isinstance(each, str):
                continue
            if PATTERNS.owner_key.fullmatch(key):
                id = id or each.casefold()
            elif 5 < len(each) < MAX_PERSONAL and len(values) < MAX_OTHERS:
                values.update([each.casefold()] if PATTERNS.personal_key.fullmatch(key) else ())
    return id, frozenset(values)
