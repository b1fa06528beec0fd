"""Ids in texts, the objects and fields of results, and the words of names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from pydantic import JsonValue

from dialint.detector.checks.words import WordSearch, fold, patterns, read_words

PATTERNS = patterns("values")

ID = re.compile(
    r"(?<![\w$€£@/:])(?<![\w.]-)(?<!\w\.)"
    r"(?:#\s?[A-Za-z]{0,4}\d[A-Za-z0-9]{3,20}"
    r"|(?=[A-Za-z_]{0,30}\d)(?=\d{0,30}[A-Za-z_])[A-Za-z0-9]{1,20}(?:_[A-Za-z0-9]{1,20}){0,4}"
    r"|\d{6,20})(?![\w@/]|[.:-]\w)"
)
MAX_DEPTH = 32
"""Objects of a result that are nested deeper are not read."""
_DAY = re.compile(r"((?:19|20)\d\d)-(\d\d)-(\d\d)")
_OWN_DIGITS = 5
"""Fewest digits that identify an id."""
_PHONE_DIGITS = 7
DIGIT_NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_NAME_WORD = re.compile(r"[A-Z]{1,20}(?![a-z])|[A-Z]?[a-z]++|\d++")
_DIGITS = {name: str(digit) for digit, name in enumerate(DIGIT_NAMES)} | {"oh": "0"}


def compact(text: str) -> str:
    """Return the letters and digits of a text in lower case."""
    return re.sub(r"[^0-9a-z]", "", text.casefold())


@lru_cache(maxsize=4096)
def name_words(name: str) -> tuple[str, ...]:
    """Return the words of a tool's name in lower case, from snake, kebab or camel case."""
    return tuple(word.casefold() for word in _NAME_WORD.findall(name))


def objects_of(value: JsonValue, key: str = "", depth: int = 0) -> Iterator[tuple[str, dict[str, JsonValue]]]:
    """Yield all objects in a result with the key that each stands under, as deep as one is read."""
    if isinstance(value, dict):
        yield key, value
    if depth <= MAX_DEPTH and isinstance(value, dict | list):
        for name, each in value.items() if isinstance(value, dict) else ((key, each) for each in value):
            yield from objects_of(each, name, depth + 1)


def fields_of(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield name and value of the fields of all objects in a result, as deep as one is read."""
    for _, each in objects_of(value):
        yield from each.items()


def is_id(word: str) -> bool:
    """Return whether a word that `ID` matches looks like an id: three digits or more, or a code in
    capitals."""
    plain = compact(word)
    if word.startswith("#"):
        return len(plain) >= 5
    if plain.isdigit():
        return len(plain) >= 6
    if PATTERNS.unit.fullmatch(word):
        return False
    return len(plain) >= 5 and (sum(map(str.isdigit, plain)) >= 3 or word.isupper())


def ids(text: str, start: int = 0, end: int | None = None) -> Iterator[re.Match[str]]:
    """Yield the ids in a stretch of a text, without counts and numbers that the company publishes."""
    matches = ID.finditer(text, start, len(text) if end is None else end)
    return (
        match
        for match in matches
        if is_id(match.group())
        and not (match[0].isdigit() and PATTERNS.counted.match(text, match.end()))
        and not PATTERNS.published.search(text, max(start, match.start() - 60), match.start())
    )


class StatedIds:
    """A search for some ids in the texts added so far, also as parts of longer ones; or for their digits,
    where their other signs are a prefix or a country code."""

    def __init__(self, ids: Iterable[str]) -> None:
        self._forms = {word: (compact(word), *_digit_forms(word)) for word in ids}
        self._search = WordSearch(form for forms in self._forms.values() for form in forms)

    def add(self, text: str) -> None:
        """Adds a text, and the numbers that it spells out."""
        if self._forms:
            self._search.add(compact(text))
            if PATTERNS.spelt.search(text) is not None:
                self._search.add(
                    compact(PATTERNS.spelt.sub(lambda match: _DIGITS.get(match[0].casefold(), ""), text))
                )
            if PATTERNS.spelt.search(text) is not None or PATTERNS.single_signs.search(text) is not None:
                for joined in _spoken(text):
                    self._search.add(joined)

    def has_whole(self, word: str) -> bool:
        """Return whether the letters and digits of an id stand in a text."""
        return compact(word) in self._search

    def __contains__(self, word: str) -> bool:
        return any(form in self._search for form in self._forms[word])


def _spoken(text: str) -> set[str]:
    """Return the signs that the words of a text stand for, with tens and ones as one number and as two: the
    first letter of a word ("oscar"), a number, the same sign twice ("double four")."""
    signs, apart = list[str](), list[str]()
    n_times = 1
    for word in _WORD.findall(PATTERNS.as_in.sub(" ", fold(text))):
        if word in _TIMES:
            n_times = _TIMES[word]
            continue
        number = _DIGITS.get(word) or _NUMBERS.get(word) or (word if word.isdigit() else word[0])
        is_one = len(number) == 1 and number.isdigit() and number != "0"
        if is_one and signs and _TENS.fullmatch(signs[-1]):
            signs[-1] = signs[-1][0] + number
        else:
            signs.append(number * n_times)
        apart.append(number * n_times)
        n_times = 1
    return {"".join(signs), "".join(apart)}


_WORD = re.compile(r"[a-z]++|\d++")
_TENS = re.compile(r"[2-9]0")
_TIMES = {"double": 2, "triple": 3, "treble": 3}
_NUMBERS = {word: str(n) for n, words in read_words("number_words").items() for word in words.split()}


def _digit_forms(word: str) -> Iterator[str]:
    """Yield the digits of an id that stand for it: its longest run, or the end of a number of telephone; of a
    day all orders of its parts."""
    if (day := _DAY.fullmatch(word)) is not None:
        year, month, of_month = day.groups()
        for one, other in ((month, of_month), (of_month, month)):
            for each in (f"{one}{other}", f"{int(one)}{int(other)}"):
                yield from (f"{each}{year}", f"{each}{year[2:]}")
        return
    plain = compact(word)
    run = max(re.findall(r"\d++", plain), key=len, default="")
    if len(run) >= _OWN_DIGITS:
        ends = (run[n:] for n in range(1, 4) if len(run) - n >= _PHONE_DIGITS)
        yield from ends if plain.isdigit() else (run,)
