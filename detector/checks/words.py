"""The words of checks: `english.yaml`, `phrase_lists.yaml` and `turns.yaml` are files for linguists."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate
from typing import Any

from dialint.detector.yaml_document import Patterns, read_packaged, read_section

_ENGLISH = "checks/english.yaml"


def read_words(section: str) -> dict[str, Any]:
    """Return a section of `english.yaml`: patterns, lists or tables of words, by their names."""
    return read_section(_ENGLISH, section)


def patterns(section: str, **parts: str) -> Patterns:
    """Return the patterns of a section of `english.yaml`."""
    return Patterns(_ENGLISH, section, **parts)


SENTENCE = re.compile(
    r"[^.!?\n]++(?:(?:[.!?](?=\S)|(?<=\b[DM]r)\.|(?<=\bMrs)\.|(?<=\bMs)\.)[^.!?\n]++)*+[.!?\n]?"
)
"""A sentence with its end mark and outer blanks; a mark within a word or number ends none, nor a title's."""


def trim(text: str, start: int = 0, end: int | None = None) -> tuple[int, int]:
    """Return start and end of a stretch of a text without outer blanks."""
    words = text[start:end]
    return start + len(words) - len(words.lstrip()), start + len(words.rstrip())


def fold(text: str) -> str:
    """Return a text in lower case, without accents."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return plain if plain.isascii() else "".join(c for c in plain if not unicodedata.combining(c))


_STATEMENT = re.compile(
    r"[^.!?\n]++(?:\.(?=\w|\s(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)[a-z]*\b)[^.!?\n]++)*+[.!?\n]?"
)
_CONTENT = re.compile(r"\"content\":\s?\"")
_CONTENT_END = re.compile(r"\"\s?\}")


def statements(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each sentence, without outer blanks; of the text of a raw call its content."""
    for sentence in _STATEMENT.finditer(text):
        start, words = sentence.start(), sentence.group()
        if (content := _CONTENT.search(words)) is not None:
            start, words = start + content.end(), words[content.end() :].partition('"')[0]
        elif '"' in words and (end := _CONTENT_END.search(words)) is not None:
            words = words[: end.start()]
        if words.strip():
            yield trim(text, start, start + len(words))


NEAR_COPY = 0.8
"""Least Jaccard similarity of the character trigrams of two texts of which one is a near-copy."""
_WORD = re.compile(r"\w++(?:['’]\w++)*+")
_SENTENCES = re.compile(r"[^.!?\n]*+(?:[.!?]++(?!\s|\Z)[^.!?\n]*+)*+[.!?]*+")


RECENT = 256
"""Texts whose words and phrases are cached: checks search the same turn for many lists."""


@lru_cache(RECENT)
def split_words(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, digits included, ’ as '."""
    return tuple(_WORD.findall(text.casefold().replace("’", "'")))


def sentences(text: str) -> list[str]:
    """Return the sentences of a text with their end marks; a mark within a word or number ends none."""
    return [part.strip() for part in _SENTENCES.findall(text) if part.strip()]


@cache
def _phrase_lists() -> dict[str, frozenset[tuple[str, ...]]]:
    english, by_language = map(read_packaged, ("checks/phrase_lists.yaml", "checks/turns.yaml"))
    lists: dict[str, set[tuple[str, ...]]] = {}
    for document in (english, *by_language.values()):
        for name, phrases in document.items():
            lists.setdefault(name, set()).update(map(split_words, phrases))
    return {name: frozenset(phrases) for name, phrases in lists.items()}


@cache
def _phrases_by_word(name: str) -> dict[str, list[tuple[str, ...]]]:
    """Return the phrases of a list by their first words, the longest first."""
    phrases: dict[str, list[tuple[str, ...]]] = {}
    for phrase in sorted(_phrase_lists()[name], key=len, reverse=True):
        phrases.setdefault(phrase[0], []).append(phrase)
    return phrases


def words_of(name: str) -> frozenset[str]:
    """Return the list `name` in `phrase_lists.yaml`, each phrase with blanks between its words."""
    return frozenset(" ".join(phrase) for phrase in _phrase_lists()[name])


@lru_cache(4 * RECENT)
def find_phrases(text: str, name: str) -> tuple[tuple[int, str], ...]:
    """Return the phrases of the list `name` in a text, whole words only, each with the position of
    its first word."""
    phrases = _phrases_by_word(name)
    split = split_words(text)
    matches = []
    for start, word in enumerate(split):
        for phrase in phrases.get(word, ()):
            if split[start : start + len(phrase)] == phrase:
                matches.append((start, " ".join(phrase)))
                break
    return tuple(matches)


def has_phrase(text: str, name: str) -> bool:
    """Return whether a text has a phrase of the list `name`."""
    return bool(find_phrases(text, name))


@lru_cache(RECENT)
def content(text: str) -> frozenset[str]:
    """Return the first letters of the words that carry content, so that "refund" and "refunded" are one."""
    empty = {word for _, word in find_phrases(text, "empty_words")}
    return frozenset(word[:5] for word in split_words(text) if len(word) > 2 and word not in empty)


def are_near(a: frozenset[str], b: frozenset[str]) -> bool:
    """Return whether two sets of `trigrams` are those of near-copies."""
    if min(len(a), len(b)) < NEAR_COPY * max(len(a), len(b)):
        return False
    shared = len(a & b)
    return shared >= NEAR_COPY * (len(a) + len(b) - shared) > 0


def is_slip(one: str, other: str) -> bool:
    """Return whether two texts of a length differ in one sign, or in two that changed places."""
    places = [n for n in range(len(one)) if one[n] != other[n]] if len(one) == len(other) else []
    if len(places) == 2:
        first, last = places
        return last == first + 1 and one[first : last + 1] == other[last] + other[first]
    return len(places) == 1


def trigrams(text: str) -> frozenset[str]:
    """Return the three letters from each position of a text's words with one blank between."""
    joined = " ".join(split_words(text))
    return frozenset(joined[start : start + 3] for start in range(len(joined) - 2))


def any_between(positions: Sequence[int], start: int, end: int) -> bool:
    """Return whether one of the positions, which are sorted, lies in ``[start, end)``."""
    place = bisect_left(positions, start)
    return place < len(positions) and positions[place] < end


class Spans:
    """Stretches ``[start, end)`` of a text, in any order, and a search for those that overlap another."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(spans)
        self._starts = [start for start, _ in ordered]
        self._ends = list(accumulate((end for _, end in ordered), max))

    def overlap(self, start: int, end: int) -> bool:
        """Return whether one of the spans has a position in ``[start, end)``."""
        before = bisect_left(self._starts, end)
        return before > 0 and self._ends[before - 1] > start


class WordSearch:
    """A search for some `words` in texts, also as parts of longer words. Texts are added one after another,
    and each is read once. A word of more than `MAX_LETTERS` has no match."""

    MAX_LETTERS = 128
    _PREFIX = 5

    def __init__(self, words: Iterable[str]) -> None:
        self._first: dict[str, int] = {}
        self._words: dict[int, dict[str, dict[int, set[str]]]] = {}  # by size of prefix, prefix, length
        self.longest = 0
        for word in words:
            if 0 < len(word) <= self.MAX_LETTERS:
                size = min(self._PREFIX, len(word))
                lengths = self._words.setdefault(size, {}).setdefault(word[:size], {})
                lengths.setdefault(len(word), set()).add(word)
                self.longest = max(self.longest, len(word))

    def add(self, text: str, place: int = 0) -> None:
        """Reads one more text, whose words stand at `place`."""
        self._first.setdefault("", place)
        for size, prefixes in self._words.items():
            for start in range(len(text) - size + 1):
                for length, words in prefixes.get(text[start : start + size], {}).items():
                    if (word := text[start : start + length]) in words:
                        self._first.setdefault(word, place)

    def first(self, word: str) -> int | None:
        """Return the place of the first text with a word, None without any."""
        return self._first.get(word)

    def __contains__(self, word: str) -> bool:
        return word in self._first
