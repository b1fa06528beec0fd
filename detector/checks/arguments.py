"""Arguments of calls that are a slip: a day, a count or a part of personal data that nobody had named, where
the customer named exactly one other. Read in any language; the words are data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from functools import lru_cache
from itertools import pairwise

from pydantic import JsonValue

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.calls import locate_call
from dialint.detector.checks.claims import may_write, name_words
from dialint.detector.checks.values import fields_of
from dialint.detector.checks.words import fold, patterns, read_words
from dialint.detector.records import JUDGED_ROLES, Dialogue, Role
from dialint.detector.tool_use import uses_by_turn

_TOKEN = re.compile(r"[^\W_]++")
_DIGITS = re.compile(r"\d++")
_ISO = re.compile(r"(?<!\d)(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)(?!\d)")
_MONTHS: dict[str, int] = {
    fold(prefix): n for n, names in enumerate(read_words("months"), 1) for prefix in names.split()
}
PATTERNS = patterns("arguments", month=rf"(?:{'|'.join(_MONTHS)})[^\W\d_]{{0,7}}+")
_WEEKDAYS: list[set[str]] = [set(names.split()) for names in read_words("weekday_names")]
_COUNTS: dict[str, int] = {word: int(n) for word, n in read_words("number_words").items()} | {"one": 1}
_KINDS: dict[str, str] = {
    word: kind for kind, words in read_words("counted_words").items() for word in words.split()
}
MAX_TOKEN = 20
"""Letters of a token that slips are looked for in."""
MIN_TOKEN, MIN_DIGITS = 4, 6
"""Letters, and digits, of a token that is known without the token beside it."""
MIN_CODE = 4
"""Digits of a code."""


@check(P3=Evidence(14, 14))
def miscopied_argument(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a call with a day, a number of things or a part of personal data which nobody had named, where the
    customer, or the agent's last proposal to him, named exactly one other (P3). One hit for each argument.

    A day counts only in calls that write, one digit or one day off the one named, where nobody speaks of days
    but by their dates; a name is left alone where the log has it in more dialogues than the customer's, who
    may have misspelt it.

    Read in all of tau_bench and STAR (2026-11-30), on which these limits were set: 14 of 14 right, two
    of them counts, none a day; no hit in 150 dialogues that were written to be clean.
    """
    uses = uses_by_turn(dialogue)
    if not uses:
        return
    stated, reported = _Stated(context.log.word_dialogues), set[tuple[str, str, str]]()
    for text in dialogue.sources:
        stated.add(text, "system")
    for turn in dialogue.turns:
        for number, use in enumerate(uses.get(turn.index, ())):
            slips = [
                (key, value, other)
                for key, value in fields_of(use.call.arguments)
                for other in (stated.other_token(key, value), stated.other_count(key, value))
                if other is not None
            ]
            if may_write(use.call.name):
                slips += stated.other_day(use.call.arguments)
            for key, value, other in slips:
                place = (use.call.name, key, str(value))
                if place not in reported:
                    reported.add(place)
                    why = f"'{use.call.name}' was called with {value} for {key}; named was {other}"
                    yield Hit(*locate_call(turn, number), why, "P3")
        stated.add(turn.text, turn.role)
        for use in uses.get(turn.index, ()):
            stated.add(str(use.call.arguments), "tool")


class _Stated:
    """What was named so far, read when it is asked for."""

    def __init__(self, usual: Mapping[str, int]) -> None:
        self._usual = usual
        self._unread = list[tuple[str, Role]]()
        self._tokens, self._runs = set[str](), set[str]()
        self._named, self._near = list[str](), dict[str, set[str]]()
        self._pairs = set[tuple[str, str]]()
        self._days = self._asked = self._last = frozenset[tuple[int, int]]()
        self._is_relative = self._is_changed = False
        self._counts: dict[str, set[int]] = {}
        self._numbers = set[int]()

    def add(self, text: str, role: Role) -> None:
        """Take up a text."""
        self._unread.append((text, role))

    def _read(self) -> None:
        for text, role in self._unread:
            self._read_text(text, role)
        self._unread.clear()

    def _read_text(self, text: str, role: Role) -> None:
        folded = fold(text)
        tokens = _TOKEN.findall(folded)
        if role == "customer" and tokens:
            self._last = _days(folded)
            self._days |= self._last
            self._is_changed = self._is_changed or PATTERNS.other_count.search(folded) is not None
            self._named.extend(tokens)
            self._pairs.update(pairwise(tokens))
            for number, words in _counts(folded):
                for word in words:
                    self._counts.setdefault(_kind(word), set()).add(number)
        elif role in JUDGED_ROLES and tokens:
            self._asked = _days(folded)
        if role != "tool":
            self._is_relative = self._is_relative or PATTERNS.relative_day.search(folded) is not None
            self._numbers.update(number for number, _ in _counts(folded))
        self._tokens.update(tokens)
        self._runs.update(run.lstrip("0") for run in _DIGITS.findall(folded))

    def other_day(self, arguments: dict[str, JsonValue]) -> Iterator[tuple[str, str, str]]:
        """Yield key, day and the only other one named, where a call has a single day that nobody named."""
        dates = [(key, match) for key, value in fields_of(arguments) for match in _ISO.finditer(str(value))]
        if len(dates) != 1 or PATTERNS.other_day_key.search(dates[0][0]):
            return
        self._read()
        key, match = dates[0]
        month, day = int(match["month"]), int(match["day"])
        named = self._asked | self._last
        named = named if len(named) == 1 else self._days
        if len(named) != 1 or self._is_relative or str(day) in self._runs:
            return
        other = next(iter(named))
        if other[0] != month or not (abs(other[1] - day) == 1 or _is_slip(str(day), str(other[1]))):
            return
        try:
            weekday = date(int(match["year"]), month, day).weekday()
        except ValueError:
            return
        if self._tokens.isdisjoint(_WEEKDAYS[weekday]):
            yield key, match[0], "{}-{:02}-{:02}".format(match["year"], *other)

    def other_count(self, key: str, value: JsonValue) -> str | None:
        """Return the only number that the customer named of what an argument counts, if nobody named that of
        the argument."""
        words = [word for word in name_words(key) if not PATTERNS.number_word.fullmatch(word)]
        if not words or not (words[-1].endswith("s") or words[-1] in _KINDS) or isinstance(value, bool):
            return None
        if PATTERNS.unit_word.fullmatch(words[-1]):
            return None
        self._read()
        named = self._counts.get(_kind(words[-1]), set())
        if not isinstance(value, int) or len(named) != 1 or self._is_changed:
            return None
        other = next(iter(named))
        return None if value in self._numbers | {0, other, other + 1} else str(other)

    def other_token(self, key: str, value: JsonValue) -> str | None:
        """Return the customer's only token that differs by one sign, or by two that changed places, from one
        which stands nowhere: in personal data any, elsewhere a code, or one with a digit between two words of
        his."""
        is_personal = PATTERNS.personal_key.fullmatch("_".join(name_words(key))) is not None
        if not isinstance(value, str | int if is_personal else str) or isinstance(value, bool):
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
            if other in tokens or self._usual.get(token, 0) > self._usual.get(other, 0):
                continue
            beside = [
                *((tokens[n - 1], other) for _ in tokens[:n][-1:]),
                *((other, each) for each in tokens[n + 1 : n + 2]),
            ]
            is_long = len(token) >= (MIN_DIGITS if token.isdigit() else MIN_TOKEN)
            n_beside = len(self._pairs.intersection(beside))
            if is_personal or n_digits >= MIN_CODE:
                if is_long or n_beside:
                    return other
            elif n_beside > 1:
                return other
        return None


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


@lru_cache(maxsize=256)
def _days(text: str) -> frozenset[tuple[int, int]]:
    """Return month and day of each date in a text in lower case; of 3/4 both readings."""
    days = {(int(match["month"]), int(match["day"])) for match in _ISO.finditer(text)}
    for match in PATTERNS.day.finditer(_ISO.sub(" ", text)):
        if match["first"]:
            first, second = int(match["first"]), int(match["second"])
            days |= {(first, second), (second, first)}
        else:
            month = _MONTHS[(match["name"] or match["name_before"])[:3]]
            days.add((month, int(match["number"] or match["number_after"])))
    return frozenset((month, day) for month, day in days if 1 <= month <= 12 and 1 <= day <= 31)


@lru_cache(maxsize=256)
def _counts(text: str) -> list[tuple[int, tuple[str, ...]]]:
    """Return the counts in a text in lower case, each with the two words after it."""
    return [
        (_COUNTS.get(match["n"]) or int(match["n"]), tuple(filter(None, (match["word"], match["next"]))))
        for match in PATTERNS.count.finditer(text)
    ]


def _kind(word: str) -> str:
    return _KINDS.get(word, word.removesuffix("s"))
