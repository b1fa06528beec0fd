"""Calls that change something with another value than was agreed: a day, a time, a count, a number, an option
of a list. In any language; the words are in `english.yaml`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from datetime import date
from functools import lru_cache
from itertools import groupby
from operator import attrgetter

from pydantic import JsonValue

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.calls import is_refused, locate_call, may_write, names_write, only_reads
from dialint.detector.checks.quantities import (
    ISO,
    Field,
    Kind,
    StatedQuantities,
    by_kind,
    count_of,
    day_of_year,
    fields,
    is_stated,
    plain,
    quantities,
    result_fields,
    show,
)
from dialint.detector.checks.values import fields_of, objects_of
from dialint.detector.checks.words import fold, has_phrase, patterns, sentences, words_of
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn
from dialint.detector.tool_use import ToolUse, exchanges, parse_result, uses_by_turn

PATTERNS = patterns("agreement")
_TOKEN = re.compile(r"[^\W_]++")
KINDS = ("day", "time", "clock", "minutes", "days", "months")
"""Kinds of quantities that a call and the messages about it share, beside counts."""


@check(P3=Evidence(4, 4, "suggestion"))
def other_than_agreed(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a call that changes something with another day, time, span, count or number than was agreed: one
    that the customer did not state and the agent does not report, where what both state is not in it; or
    with another option of a tool's list than the only one whose own words the customer's last message holds,
    or the agent's proposal before it (P3).

    A suggestion: all hits in tau_bench and STAR (2026-11-30) are four numbers of guests, right.
    """
    uses = uses_by_turn(dialogue)
    if not uses:
        return
    talk, results = _Talk(dialogue.sources), result_fields(dialogue)
    for exchange in exchanges(dialogue):
        last = {use.call.name: turn.index for turn in exchange for use in uses.get(turn.index, ())}
        for place, turn in enumerate(exchange):
            own = uses.get(turn.index, ())
            changes = [
                n for n, use in enumerate(own) if last[use.call.name] == turn.index and _changes(use)
            ]  # earlier attempts do not count
            if changes:
                after = [each.text for each in exchange[place + 1 :] if each.role in JUDGED_ROLES]
                report = " ".join(after)[:MAX_SINCE]
                sent = [field for use in own for field in fields(use.call.arguments)]
                got = [field for use in own for field in results.get(use.result_turn or -1, ())]
                act = by_kind([*sent, *got])
            for n in changes:
                why = (
                    talk.other_quantity(own[n], act, report)
                    or talk.other_option(own[n], report)
                    or talk.other_alternative(own[n])
                )
                if why is not None:
                    yield Hit(*locate_call(turn, n), f"'{own[n].call.name}' was called with {why}", "P3")
            talk.add(turn, own, results.get(turn.index, ()))


def _changes(use: ToolUse) -> bool:
    """Return whether a call has changed something, by its name, its arguments and its result: one without a
    word of an act in its name that returns a list is a look-up."""
    if not may_write(use.call.name) or is_refused(use) or only_reads(use):
        return False
    has_list = any(isinstance(each, list) for _, value in objects_of(use.value) for each in value.values())
    return not (has_list or isinstance(use.value, list)) or names_write(use.call.name)


class _Talk:
    """The messages, calls and results of a dialogue so far."""

    def __init__(self, sources: Sequence[str]) -> None:
        self.stated = StatedQuantities(sources)
        self._by_customer = dict[Kind, set[int]]()
        self._reply = self._proposal = self._spoken = ""
        self._last = dict[Kind, tuple[str, str]]()
        self._is_relative = False
        self._lists, self._fresh = list[list[JsonValue]](), list[list[JsonValue]]()
        self._sent = dict[tuple[str, frozenset[str], Kind], set[int]]()

    def add(self, turn: Turn, uses: Sequence[ToolUse], results: Sequence[Field]) -> None:
        """Adds a turn, its calls, and the quantities of the results in it."""
        if turn.role == "customer" and turn.text.strip():
            self._reply, self._proposal, self._spoken = turn.text, self._spoken, ""
            self._lists, self._fresh = self._fresh, []
            self._add_since(turn.text)
            self._is_relative = self._is_relative or PATTERNS.relative_day.search(fold(turn.text)) is not None
            for kind, values in quantities(turn.text).items():
                self._by_customer.setdefault(kind, set()).update(values)
                self._last["count" if kind.startswith("count") else kind] = self._last[kind] = (turn.text, "")
        elif turn.role in JUDGED_ROLES:
            self._spoken = f"{self._spoken} {turn.text}"[-MAX_SINCE:]
            self._add_since(turn.text)
        if turn.role == "tool":
            self.stated.add_fields(results)
            self._fresh += _lists_of(parse_result(turn.text))
        self.stated.add(turn.text)
        for use in uses:
            for field in _sent_by(use):
                self._sent.setdefault(_place(use, field), set()).add(field.value)

    def _add_since(self, text: str) -> None:
        self._last = {
            kind: (last, f"{since} {text}"[-MAX_SINCE:]) for kind, (last, since) in self._last.items()
        }

    def other_quantity(self, use: ToolUse, elsewhere: Mapping[Kind, Set[int]], after: str) -> str | None:
        """Return a quantity of one of a turn's calls and the one that was agreed in its place, which stands
        in none of them and of their results; None if they agree."""
        own, reported = _sent_by(use), quantities(after)
        for kind, sent in groupby(sorted(own, key=attrgetter("kind")), key=attrgetter("kind")):
            wishes = self._wishes_of(kind)
            agreed = {n for n in _of(kind, reported) & wishes if not is_stated(Field(kind, n), elsewhere)}
            odd = {
                field.value
                for field in sent
                if not is_stated(field, reported)
                and field.value not in self._by_customer.get(kind, ())
                and not (kind == "number" and field.value in self.stated.of(kind))
                and not (kind == "money" and self.stated.explains(kind, field.value, elsewhere))
                and not (kind in _QUANTITY and field.value == 1)
            }
            text = fold(f"{self._reply} {after} {use.call.arguments}")
            if kind == "day" and _is_next(agreed | odd) and PATTERNS.midnight.search(text):
                continue
            if kind in ("time", "clock") and any(zone in text for zone in ("tz", "timezone", "time_zone")):
                continue
            is_alike = abs(len(str(max(agreed, default=0))) - len(str(max(odd, default=0)))) <= 1
            if len(agreed) == 1 and len(odd) == 1 and (kind != "number" or is_alike):
                return f"{show(kind, odd.pop())}; agreed was {show(kind, agreed.pop())}"
        why = self._other_than_before(use, own) or self._other_count(own, elsewhere)
        if why is None and names_write(use.call.name):
            days = _weekdays(str(use.call.arguments))
            why = self._other_day(own, days) or self._other_amount(own, elsewhere)
        return why

    def _other_count(self, own: Sequence[Field], elsewhere: Mapping[Kind, Set[int]]) -> str | None:
        """Return a count that is not the customer's last of the same thing, and that nobody has stated since;
        a bare quantity may be of all that his last message counts."""
        for field in own:
            is_one_of_many = sum(each.kind == field.kind for each in own) > 1
            if not field.kind.startswith("count") or field.value > MAX_COUNT or is_one_of_many:
                continue
            is_bare = field.kind in _QUANTITY
            text, since = self._last.get("count" if is_bare else field.kind, ("", ""))
            if is_bare and text != self._reply:
                continue
            counts = _of(field.kind, quantities(text))
            if (
                len(counts) != 1
                or (is_bare and field.value == 1)
                or (not is_bare and PATTERNS.part.search(fold(text)))
            ):
                continue
            count = next(iter(counts))
            numbers = {n // 100 for n in _numbers(f"{text} . {since or self._proposal}")} | {count}
            is_explained = field.value in {0, count + 1, *numbers} or any(
                field.value in (one + other, one - other, one * other)
                for one in numbers
                for other in numbers - {one}
            )
            if not is_explained and not is_stated(Field(field.kind, count), elsewhere):
                return f"{field.value}; the customer's last words were {count}"
        return None

    def _other_day(self, own: Sequence[Field], weekdays: Set[Token]) -> str | None:
        """Return a day that nobody had stated and that follows from none, where the last messages have the
        only one that a call leaves out, at most `MAX_DAYS` from it."""
        if PATTERNS.midnight.search(fold(self._reply)):
            return None
        days = {field for field in own if field.kind == "day"}
        odd = [field for field in days if not self.stated.explains("day", field.value, {})]
        talk = _tokens(f"{self._reply} {self._proposal}")
        if len(odd) != 1 or self._is_relative or not weekdays.isdisjoint(talk):
            return None
        reply, proposal = quantities(self._reply), quantities(self._proposal)
        sent = {field.value for field in days}
        left = set(reply.get("day") or proposal.get("day") or ()) - sent
        if not left and sent & self._by_customer.get("day", set()):
            left = self._by_customer["day"] - sent
        is_end = PATTERNS.other_day_key.search("_".join(sorted(odd[0].stems)))
        if len(left) != 1 or is_end or (reply.get("weekday") and not reply.get("day")):
            return None
        other, value = left.pop(), odd[0].value
        is_near = abs(day_of_year(other) - day_of_year(value)) <= MAX_DAYS
        return f"{show('day', value)}; named was {show('day', other)}" if is_near else None

    def _other_amount(self, own: Sequence[Field], elsewhere: Mapping[Kind, Set[int]]) -> str | None:
        """Return an amount that follows from nothing, where the customer stated another that no call has."""
        if PATTERNS.other_amount.search(fold(self._last.get("money", ("", ""))[0])):
            return None
        for field in own:
            if (
                field.kind == "money"
                and field.value
                and not self.stated.explains("money", field.value, elsewhere)
            ):
                wishes = self._by_customer.get("money", ())
                others = {n for n in wishes if not is_stated(Field("money", n), elsewhere)}
                if others:
                    near = min(others, key=lambda n: abs(n - field.value))
                    return f"{show('money', field.value)}; the customer named {show('money', near)}"
        return None

    def other_alternative(self, use: ToolUse) -> str | None:
        """Return a word of a call that the agent had offered beside another, which the customer chose; None
        if there is none."""
        if PATTERNS.denied.search(fold(self._reply)):
            return None
        reply, question = {*_plain_words(self._reply)}, fold(sentences(self._proposal.strip() or "?")[-1])
        alternatives = PATTERNS.alternative.split(question)
        if len(reply) > MAX_REPLY or not question.endswith("?") or len(alternatives) < 2:
            return None
        parts = [{word for word in _plain_words(part) if len(word) > 3} - _EMPTY for part in alternatives]
        sent = {word for text in _texts(use) for word in _plain_words(text) if word.isalpha()}
        chosen = [part & reply for part in parts if part & reply]
        used = [part & sent for part in parts if part & sent and not part & reply]
        is_odd = len(chosen) == len(used) == 1 and chosen[0].isdisjoint(sent) and used[0].isdisjoint(reply)
        return f"{' '.join(sorted(used[0]))}; chosen was {' '.join(sorted(chosen[0]))}" if is_odd else None

    def _wishes_of(self, kind: Kind) -> set[int]:
        """Return what the customer stated, or the agent in the proposal that he answered."""
        wishes = (self._by_customer, quantities(self._reply), quantities(self._proposal))
        return {n for wish in wishes for n in _of(kind, wish)}

    def _other_than_before(self, use: ToolUse, own: Sequence[Field]) -> str | None:
        """Return a number of a call that stands nowhere, where an earlier call had a stated one in its
        place."""
        for field in own:
            before = self._sent.get(_place(use, field), set[int]())
            if field.kind.startswith("count") and len(before) == 1 and field.value not in {0, *before}:
                n = next(iter(before))
                numbers = self.stated.of("number")
                if field.value * 100 not in numbers and n * 100 in numbers:
                    return f"{field.value}; before it was {n}"
        return None

    def other_option(self, use: ToolUse, after: str) -> str | None:
        """Return the option of a tool's list that a call takes and the one that was chosen, None if it takes
        that one or nothing was chosen."""
        reply, proposal = _tokens(self._reply), _tokens(self._proposal)
        if PATTERNS.denied.search(fold(self._reply)):
            return None
        is_yes = has_phrase(self._reply, "agrees") or PATTERNS.assent.search(fold(self._reply))
        sent = _texts(use)
        for options in self._lists:
            used = [n for n, option in enumerate(options) if any(_has(option, each) for each in sent)]
            if len(used) != 1:
                continue
            own = _own_tokens(options)
            for words in (reply, proposal) if is_yes else (reply,):
                chosen = [n for n, tokens in enumerate(own) if tokens & words]
                if used[0] in chosen or len(chosen) > 1:
                    break
                if chosen and not own[used[0]] & _tokens(after):
                    return f"{_short(options[used[0]])}; chosen was {_short(options[chosen[0]])}"
        return None


def _is_next(days: Set[int]) -> bool:
    """Return whether two days follow one another."""
    ordinals = sorted(map(day_of_year, days))
    return len(ordinals) == 2 and ordinals[1] - ordinals[0] == 1


def _numbers(text: str) -> set[int]:
    """Return the numbers of a text in hundredths, but those of times."""
    values = quantities(text)
    hours = {minute // 60 for kind in ("time", "clock") for minute in values.get(kind, ())}
    return {*values.get("number", ())} - {n * 100 for hour in hours for n in (hour, hour % 12 or 12)}


_EMPTY = words_of("empty_words")
MAX_REPLY = 3
"""Words of a customer's message that chooses."""
MAX_SINCE = 2000
"""Characters of the messages since that are read, the last ones."""
MAX_DAYS = 7
"""Most days between a stated day and one that is a slip of it."""
MAX_COUNT = 500
"""Largest value that is a count, not the number of a thing."""


def _place(use: ToolUse, field: Field) -> tuple[str, frozenset[str], Kind]:
    """Return the place of a field among all calls; a bare quantity is one of things of its tool."""
    return use.call.name if field.kind in _QUANTITY else "", field.stems, field.kind


def _sent_by(use: ToolUse) -> list[Field]:
    """Return the quantities of a call that may be agreed: of numbers those of two digits or more in a text
    which holds nothing else that is read, such as an address."""
    numbers = set[int]()
    for _, value in fields_of(use.call.arguments):
        values = quantities(value) if isinstance(value, str) else {}
        if values.keys().isdisjoint(KINDS):
            numbers.update(n for n in values.get("number", ()) if n >= 1000 and n % 100 == 0)
    return [
        field
        for field in fields(use.call.arguments)
        if field.kind in (*KINDS, "money")
        or field.kind.startswith("count")
        or (field.kind == "number" and field.value in numbers)
    ]


def _of(kind: Kind, values: Mapping[Kind, Collection[int]]) -> set[int]:
    """Return the quantities of a kind; of a bare quantity the counts of all things."""
    names = [each for each in values if each.startswith("count")] if kind in _QUANTITY else [kind]
    return {value for name in names for value in values.get(name, ())}


_QUANTITY = {
    count_of(word) for word in ("qty", "quantity", "count", "anzahl", "menge", "cantidad", "quantite")
}


def _plain_words(text: str) -> list[str]:
    return _TOKEN.findall(fold(text))


def _texts(use: ToolUse) -> list[str]:
    """Return the texts and the whole numbers of a call, those of a list each."""
    values = (value for _, value in fields_of(use.call.arguments))
    single = (each for value in values for each in (value if isinstance(value, list) else (value,)))
    return [str(each) for each in single if isinstance(each, str | int) and not isinstance(each, bool)]


MAX_OPTIONS = 12
"""Options of a list that a customer chooses from."""


def _lists_of(value: JsonValue) -> list[list[JsonValue]]:
    """Return the lists of options in a result: of texts, or of objects."""
    lists = [value] if isinstance(value, list) else []
    for _, each in objects_of(value):
        lists += [field for field in each.values() if isinstance(field, list)]
    return [each for each in lists if 2 <= len(each) <= MAX_OPTIONS]


def _has(option: JsonValue, value: str) -> bool:
    """Return whether an option is a value, or has it as a field."""
    if isinstance(option, dict):
        return any(str(field) == value for field in option.values() if isinstance(field, str | int))
    return str(option) == value


Token = str | tuple[Kind, int]


@lru_cache(64)
def _tokens(text: str) -> frozenset[Token]:
    """Return the words of a text that may identify an option, and its days, weekdays and times."""
    words: set[Token] = {
        word
        for word in _TOKEN.findall(plain(text))
        if not word.isdigit() and (len(word) > 2 or any(map(str.isdigit, word))) and word not in _EMPTY
    }
    for kind, values in quantities(text).items():
        if kind == "day":
            words.update(("day of month", value % 100) for value in values)
        elif kind in ("time", "clock", "hour"):
            words.update(("time", value % 720) for value in values)
        elif kind in ("weekday", "day of month"):
            words.update((kind, value) for value in values)
        elif kind == "money" or kind == "number":
            words.update(("number", value) for value in values if value > 3100)
    return frozenset(words)


def _own_tokens(options: list[JsonValue]) -> list[frozenset[Token]]:
    """Return the tokens of each option that no other has; of a date its weekday, too."""
    all_tokens = list[frozenset[Token]]()
    for option in options:
        values = option.values() if isinstance(option, dict) else (option,)
        text = "; ".join(str(value) for value in values if isinstance(value, str | int | float))
        all_tokens.append(_tokens(text) | _weekdays(text))
    n_options = Counter(token for tokens in all_tokens for token in tokens)
    return [frozenset(token for token in tokens if n_options[token] == 1) for tokens in all_tokens]


def _weekdays(text: str) -> set[Token]:
    days = set[Token]()
    for match in ISO.finditer(text):
        with suppress(ValueError):
            days.add(("weekday", date.fromisoformat(match[0]).weekday()))
    return days


def _short(option: JsonValue) -> str:
    """Return an option in few signs."""
    text = json.dumps(option, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"
