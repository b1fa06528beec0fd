"""Arguments of calls that are a slip: a day, a count or a part of personal data that nobody had named, where
the customer named exactly one other. Read in any language; the words are data."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import lru_cache
from itertools import groupby, pairwise
from operator import attrgetter

from pydantic import JsonValue

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.calls import locate_call
from dialint.detector.checks.claims import is_refused, may_write, name_words, names_write, only_reads
from dialint.detector.checks.figures import Known, by_kind, is_told
from dialint.detector.checks.quantities import Field, Kind, count_of, fields, plain, quantities, show
from dialint.detector.checks.values import fields_of, objects_of
from dialint.detector.checks.words import fold, has_phrase, patterns, words_of
from dialint.detector.records import JUDGED_ROLES, Dialogue, Role, Turn
from dialint.detector.tool_use import ToolUse, parse_result, uses_by_turn

_TOKEN = re.compile(r"[^\W_]++")
_DIGITS = re.compile(r"\d++")
_ISO = re.compile(r"(?<!\d)(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)(?!\d)")
PATTERNS = patterns("arguments")
MAX_TOKEN = 20
"""Letters of a token that slips are looked for in."""
MIN_TOKEN, MIN_DIGITS = 4, 6
"""Letters, and digits, of a token that is known without the token beside it."""
MIN_CODE = 4
"""Digits of a code."""


@check(P3=Evidence(14, 14))
def miscopied_argument(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a call with a part of personal data or a code which nobody had named, one sign off the only one of
    the customer's that is near; a name is left alone where the log has it in more dialogues than the
    customer's, who may have misspelt it. One hit for each argument.

    Read in all of tau_bench and STAR (2026-11-30), on which the limits were set: 12 of 12 right, names and
    mail addresses and an account; no hit in 150 dialogues that were written to be clean.
    """
    uses = uses_by_turn(dialogue)
    if not uses:
        return
    stated, reported = _Tokens(context.log.word_dialogues), set[tuple[str, str, str]]()
    for text in dialogue.sources:
        stated.add(text, "system")
    for turn in dialogue.turns:
        for number, use in enumerate(uses.get(turn.index, ())):
            for key, value in fields_of(use.call.arguments):
                other, place = stated.other(key, value), (use.call.name, key, str(value))
                if other is not None and place not in reported:
                    reported.add(place)
                    why = f"'{use.call.name}' was called with {value} for {key}; named was {other}"
                    yield Hit(*locate_call(turn, number), why, "P3")
        stated.add(turn.text, turn.role)
        for use in uses.get(turn.index, ()):
            stated.add(str(use.call.arguments), "tool")


class _Tokens:
    """The tokens that were named so far, read when they are asked for."""

    def __init__(self, usual: Mapping[str, int]) -> None:
        self._usual = usual
        self._unread = list[tuple[str, Role]]()
        self._tokens = set[str]()
        self._named, self._near = list[str](), dict[str, set[str]]()
        self._pairs = set[tuple[str, str]]()
        self._before, self._after = dict[tuple[str, ...], set[str]](), dict[tuple[str, ...], set[str]]()

    def add(self, text: str, role: Role) -> None:
        """Take up a text."""
        self._unread.append((text, role))

    def _read(self) -> None:
        for text, role in self._unread:
            tokens = _TOKEN.findall(fold(text))
            if role == "customer":
                self._named.extend(tokens)
                self._pairs.update(pairwise(tokens))
                for first, second, third in zip(tokens, tokens[1:], tokens[2:]):
                    if first.isdigit():
                        self._before.setdefault((second, third), set()).add(first)
                    if third.isdigit():
                        self._after.setdefault((first, second), set()).add(third)
            self._tokens.update(tokens)
        self._unread.clear()

    def other(self, key: str, value: JsonValue) -> str | None:
        """Return the customer's only token that differs by one sign, or by two that changed places, from one
        which stands nowhere: in personal data any, elsewhere a code, or one with a digit between two words of
        his; or his only number beside two of its words."""
        is_personal = PATTERNS.personal_key.fullmatch("_".join(name_words(key))) is not None
        if not isinstance(value, str | int if is_personal else str) or isinstance(value, bool):
            return None
        if "(" in str(value):  # no value, but a formula
            return None
        self._read()
        tokens = _TOKEN.findall(fold(_ISO.sub(" ", str(value))))
        for n, token in enumerate(tokens):
            if token in self._tokens or len(token) > MAX_TOKEN:
                continue
            n_digits = sum(map(str.isdigit, token))
            if not (is_personal or n_digits):
                continue
            for named in self._named:
                for form in _near_forms(named):
                    self._near.setdefault(form, set()).add(named)
            self._named.clear()
            near = {other for form in _near_forms(token) for other in self._near.get(form, ())}
            near = {other for other in near if _is_slip(token, other)}
            other = next(iter(near)) if len(near) == 1 else token
            if other not in tokens and self._usual.get(token, 0) <= self._usual.get(other, 0):
                is_long = len(token) >= (MIN_DIGITS if token.isdigit() else MIN_TOKEN)
                n_beside = self._n_beside(tokens, n, other)
                if (is_long or n_beside) if is_personal or n_digits >= MIN_CODE else n_beside > 1:
                    return other
            if token.isdigit() and (number := self._number_between(tokens, n)) is not None:
                return number
        return None

    def _n_beside(self, tokens: Sequence[str], n: int, other: str) -> int:
        """Return on how many sides of a token its neighbour is the customer's beside another one."""
        before, after = tokens[:n][-1:], tokens[n + 1 : n + 2]
        return len(self._pairs.intersection([(each, other) for each in before] + [(other, each) for each in after]))

    def _number_between(self, tokens: Sequence[str], n: int) -> str | None:
        """Return the customer's only number after the two tokens before one of an argument, or before the two
        after it."""
        pairs = [tuple(tokens[n - 2 : n])] if n > 1 else []
        numbers = {each for pair in pairs for each in self._after.get(pair, ())}
        numbers |= self._before.get(tuple(tokens[n + 1 : n + 3]), set())
        return next(iter(numbers)) if len(numbers) == 1 and numbers.isdisjoint(tokens) else None


def _near_forms(token: str) -> set[str]:
    """Return a token, and without each of its signs: tokens with one sign of difference share such a form."""
    if not 1 < len(token) <= MAX_TOKEN:
        return set()
    return {token, *(token[:n] + token[n + 1 :] for n in range(len(token)))}


def _is_slip(token: str, other: str) -> bool:
    """Return whether two tokens differ by one sign or by two that changed places, but for endings and other
    spellings of a vowel."""
    if token.isdigit() is not other.isdigit():
        return False
    if len(token) == len(other):
        places = [n for n in range(len(token)) if token[n] != other[n]]
        is_near = len(places) == 1 or (
            len(places) == 2
            and places[1] == places[0] + 1
            and token[places[0]] == other[places[1]]
            and token[places[1]] == other[places[0]]
        )
    else:
        short, long = sorted((token, other), key=len)
        is_near = any(long[:n] + long[n + 1 :] == short for n in range(len(long)))
    if not is_near or token.isdigit() or (len(token) >= MIN_TOKEN and _DIGITS.search(token)):
        return is_near
    plain = [PATTERNS.vowel.sub(r"\1", each) for each in (token, other)]
    return token[0] == other[0] and token[-1] == other[-1] and plain[0] != plain[1]


KINDS = ("day", "time", "clock", "minutes", "days", "months")
"""Kinds of quantities that a call and what is told of it share, beside counts."""


@check(P3=Evidence())
def other_than_agreed(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a call that changes something with another day, time, span, count or number than was agreed: one that
    the customer did not name and the agent does not tell, where what both tell has no place in it; or with another
    option of a tool's list than the only one whose own words the customer's last message holds, or the agent's
    proposal before it (P3).

    A suggestion: not read on real dialogues.
    """
    uses = uses_by_turn(dialogue)
    if not uses:
        return
    talk, after, last = _Talk(), _told_after(dialogue), _last_uses(dialogue)
    for text in dialogue.sources:
        talk.known.add(text)
    for turn in dialogue.turns:
        own = uses.get(turn.index, ())
        for number, use in enumerate(own):
            if id(use) in last and _changes(use):
                told = after.get(turn.index, "")
                why = talk.other_quantity(use, own, told) or talk.other_option(use, told)
                if why is not None:
                    yield Hit(*locate_call(turn, number), f"'{use.call.name}' was called with {why}", "P3")
        talk.add(turn, own)


def _changes(use: ToolUse) -> bool:
    """Return whether a call has changed something, by its name, its arguments and its result: one that is named
    after no act and returns a list of things has looked them up."""
    if not may_write(use.call.name) or is_refused(use) or only_reads(use):
        return False
    has_list = any(isinstance(each, list) for _, value in objects_of(use.value) for each in value.values())
    return not (has_list or isinstance(use.value, list)) or names_write(use.call.name)


def _told_after(dialogue: Dialogue) -> dict[int, str]:
    """Return what the agent says after the calls of a turn and before the customer speaks, by the turn."""
    after, waiting = dict[int, str](), list[int]()
    for turn in dialogue.turns:
        if turn.role == "customer" and turn.text.strip():
            waiting = []
        elif turn.role in JUDGED_ROLES:
            for index in waiting:
                after[index] = f"{after.get(index, '')} {turn.text}"
            waiting += [turn.index] if turn.tool_calls else []
    return after


def _last_uses(dialogue: Dialogue) -> set[int]:
    """Return the identities of the calls of which none of the same tool follows in a later turn before the
    customer speaks: what was tried before them is given up."""
    uses, last = uses_by_turn(dialogue), dict[str, Sequence[ToolUse]]()
    found = set[int]()
    for turn in dialogue.turns:
        if turn.role == "customer" and turn.text.strip():
            found.update(id(use) for own in last.values() for use in own)
            last = {}
        by_name: dict[str, list[ToolUse]] = {}
        for use in uses.get(turn.index, ()):
            by_name.setdefault(use.call.name, []).append(use)
        last |= by_name
    return found.union(id(use) for own in last.values() for use in own)


class _Talk:
    """What was said and returned so far."""

    def __init__(self) -> None:
        self.known = Known()
        self._named = dict[Kind, set[int]]()
        self._reply = self._proposal = self._spoken = ""
        self._last = dict[Kind, tuple[str, str]]()
        self._is_relative = False
        self._lists, self._fresh = list[list[JsonValue]](), list[list[JsonValue]]()
        self._sent = dict[tuple[frozenset[str], Kind], set[int]]()

    def add(self, turn: Turn, uses: Sequence[ToolUse]) -> None:
        """Take up a turn and its calls."""
        if turn.role == "customer" and turn.text.strip():
            self._reply, self._proposal, self._spoken = turn.text, self._spoken, ""
            self._lists, self._fresh = self._fresh, []
            self._last = {kind: (text, f"{since} {turn.text}") for kind, (text, since) in self._last.items()}
            self._is_relative = self._is_relative or PATTERNS.relative_day.search(fold(turn.text)) is not None
            for kind, values in quantities(turn.text).items():
                self._named.setdefault(kind, set()).update(values)
                self._last["count" if kind.startswith("count") else kind] = self._last[kind] = (turn.text, "")
        elif turn.role in JUDGED_ROLES:
            self._spoken = f"{self._spoken} {turn.text}"
            self._last = {kind: (text, f"{since} {turn.text}") for kind, (text, since) in self._last.items()}
        if turn.role == "tool":
            value = parse_result(turn.text)
            self.known.add_fields([*fields(value)])
            self._fresh += _lists_of(value)
        self.known.add(turn.text)
        for field in (field for use in uses for field in _sent_by(use)):
            self._sent.setdefault((field.stems, field.kind), set()).add(field.value)

    def other_quantity(self, use: ToolUse, uses: Sequence[ToolUse], after: str) -> str | None:
        """Return a quantity of one of a turn's calls and the one that was agreed in its place, None if they
        agree."""
        own, told = _sent_by(use), quantities(after)
        elsewhere = by_kind(field for each in uses for v in (each.value, each.call.arguments) for field in fields(v))
        for kind, sent in groupby(sorted(own, key=attrgetter("kind")), key=attrgetter("kind")):
            named = self._named_of(kind)
            agreed = {n for n in _of(kind, told) & named if not is_told(Field(frozenset(), kind, n), elsewhere)}
            odd = {
                field.value
                for field in sent
                if not is_told(field, told)
                and not (field.value in self._named.get(kind, ()))
                and not (kind == "number" and self.known.has(kind, field.value))
                and not (kind in _QUANTITY and field.value == 1)
            }
            if len(agreed) == 1 and len(odd) == 1 and (kind != "number" or _are_alike(*agreed, *odd)):
                return f"{show(kind, odd.pop())}; agreed was {show(kind, agreed.pop())}"
        return self._other_than_before(own) or self._other_count(own, elsewhere) or self._other_day(own)

    def _other_count(self, own: Sequence[Field], elsewhere: Mapping[Kind, Collection[int]]) -> str | None:
        """Return a count that is not the customer's last of the same thing, and that nobody has named since; a
        bare quantity may be of all that his last message counts."""
        for field in own:
            is_one_of_many = sum(each.kind == field.kind for each in own) > 1
            if not field.kind.startswith("count") or field.value > MAX_COUNT or is_one_of_many:
                continue
            is_bare = field.kind in _QUANTITY
            text, since = self._last.get("count" if is_bare else field.kind, ("", ""))
            if is_bare and text != self._reply:
                continue
            counts = _of(field.kind, quantities(text))
            numbers = quantities(f"{text} . {since or self._proposal}").get("number", ())
            if len(counts) != 1 or field.value in {0, *counts} or field.value * 100 in numbers:
                continue
            if (is_bare and field.value == 1) or is_told(Field(frozenset(), field.kind, next(iter(counts))), elsewhere):
                continue
            return f"{field.value}; the customer's last words were {next(iter(counts))}"
        return None

    def _other_day(self, own: Sequence[Field]) -> str | None:
        """Return a day that nobody had named and that follows from none, where the last words have the only
        one that a call leaves out, or the customer one month that is not its own."""
        days = {field for field in own if field.kind == "day"}
        odd = [field for field in days if not self.known.explains("day", field.value, {})]
        if len(odd) != 1 or self._is_relative or PATTERNS.other_day_key.search("_".join(sorted(odd[0].stems))):
            return None
        reply, proposal = quantities(self._reply), quantities(self._proposal)
        named = set(reply.get("day", ())) or set(proposal.get("day", ()))
        left = named - {field.value for field in days}
        if len(left) == 1 and not (reply.get("weekday") and not reply.get("day")):
            return f"{show('day', odd[0].value)}; named was {show('day', left.pop())}"
        return None

    def _named_of(self, kind: Kind) -> set[int]:
        """Return what the customer named, or the agent in the proposal that he answered."""
        wishes = (self._named, quantities(self._reply), quantities(self._proposal))
        return {n for wish in wishes for n in _of(kind, wish)}

    def _other_than_before(self, own: Sequence[Field]) -> str | None:
        """Return a number of a call that stands nowhere, where an earlier call had a known one in its place."""
        for field in own:
            before = self._sent.get((field.stems, field.kind), set[int]())
            if field.kind.startswith("count") and len(before) == 1 and field.value not in before:
                n = next(iter(before))
                if not self.known.has("number", field.value * 100) and self.known.has("number", n * 100):
                    return f"{field.value}; before it was {n}"
        return None

    def other_option(self, use: ToolUse, after: str) -> str | None:
        """Return the option of a tool's list that a call takes and the one that was chosen, None if it takes
        that one or nothing was chosen."""
        reply, proposal = _tokens(self._reply), _tokens(self._proposal)
        if PATTERNS.denied.search(fold(self._reply)):
            return None
        is_yes = has_phrase(self._reply, "agrees") or PATTERNS.assent.search(fold(self._reply))
        sent = [each for _, value in fields_of(use.call.arguments) for each in _texts(value)]
        for options in self._lists:
            taken = [n for n, option in enumerate(options) if any(_has(option, each) for each in sent)]
            if len(taken) != 1:
                continue
            own = _own_tokens(options)
            for words in (reply, proposal) if is_yes else (reply,):
                chosen = [n for n, tokens in enumerate(own) if tokens & words]
                if taken[0] in chosen or len(chosen) > 1:
                    break
                if chosen and not own[taken[0]] & _tokens(after):
                    return f"{_short(options[taken[0]])}; chosen was {_short(options[chosen[0]])}"
        return None


MAX_COUNT = 500
"""Largest count that is no number of something."""


def _sent_by(use: ToolUse) -> list[Field]:
    """Return the quantities of a call that may be agreed: of numbers those of two digits or more in a text which
    holds nothing else that is read, such as an address."""
    numbers = set[int]()
    for _, value in fields_of(use.call.arguments):
        found = quantities(value) if isinstance(value, str) else {}
        if found.keys().isdisjoint(KINDS):
            numbers.update(n for n in found.get("number", ()) if n >= 1000 and n % 100 == 0)
    return [
        field
        for field in fields(use.call.arguments)
        if field.kind in KINDS or field.kind.startswith("count") or (field.kind == "number" and field.value in numbers)
    ]


def _are_alike(one: int, other: int) -> bool:
    """Return whether two numbers have as many digits, or one more."""
    return abs(len(str(one)) - len(str(other))) <= 1


def _of(kind: Kind, found: Mapping[Kind, Collection[int]]) -> set[int]:
    """Return the quantities of a kind; of a bare quantity the counts of all things."""
    names = [each for each in found if each.startswith("count")] if kind in _QUANTITY else [kind]
    return {value for name in names for value in found.get(name, ())}


_QUANTITY = {count_of(word) for word in ("qty", "quantity", "count", "anzahl", "menge", "cantidad", "quantite")}


def _texts(value: JsonValue) -> list[str]:
    """Return a text or a whole number as texts, those of a list each."""
    values = value if isinstance(value, list) else [value]
    return [str(each) for each in values if isinstance(each, str | int) and not isinstance(each, bool)]


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
    """Return the words of a text, and its days, weekdays and times."""
    words: set[Token] = {word for word in _TOKEN.findall(plain(text)) if len(word) > 2 and not word.isdigit()}
    words -= words_of("empty_words")
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
    texts = [_text_of(option) for option in options]
    found = [_tokens(text) | _weekdays(text) for text in texts]
    n_options = Counter(token for tokens in found for token in tokens)
    return [frozenset(token for token in tokens if n_options[token] == 1) for tokens in found]


def _text_of(option: JsonValue) -> str:
    """Return the own fields of an option as a text."""
    values = option.values() if isinstance(option, dict) else (option,)
    return "; ".join(str(value) for value in values if isinstance(value, str | int | float))


def _weekdays(text: str) -> set[Token]:
    days = set[Token]()
    for match in _ISO.finditer(text):
        with suppress(ValueError):
            day = date(int(match["year"]), int(match["month"]), int(match["day"]))
            days.add(("weekday", day.weekday()))
    return days


def _short(option: JsonValue) -> str:
    """Return an option in few signs."""
    text = json.dumps(option, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"
