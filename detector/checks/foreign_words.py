"""Words of another language in an English turn, which are no misspelt English: "Con mucho gusto!".

Dictionaries and counts: pyspellchecker, which brings them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

LANGUAGES = ("es", "fr", "it", "de")
"""Those asked, the smallest dictionary first; German takes .5 s to read."""
USUAL = 10_000
"""Count of a word that is usual in its language."""
FEWER = 5
"""How many times as often as in English a word must be used in another language to stand for it."""

NEARBY = 200
"""Characters on either side of a word in which its sentence is read."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_SENTENCE = re.compile(r"[^.!?\n]+")


@cache
def _counts(language: str) -> Mapping[str, int]:
    from spellchecker import SpellChecker

    counts: Mapping[str, int] = SpellChecker(language=language, distance=1).word_frequency.dictionary
    return counts


def is_foreign(text: str, start: int, word: str) -> bool:
    """Whether `word`, at offset `start` of the text, is right in another language that its neighbours speak,
    that its letters are of, or that its whole sentence is in."""
    lower = word.casefold()
    begin = max(0, start - NEARBY)
    near = text[begin : start + len(word) + NEARBY]
    sentence = next(match for match in _SENTENCE.finditer(near) if start - begin < match.end())
    begin += sentence.start()
    words = [(match.start() + begin, match[0].casefold()) for match in _WORD.finditer(sentence[0])]
    place = next((n for n, (at, each) in enumerate(words) if at + len(each) > start), 0)
    beside = [each for _, each in words[max(0, place - 1) : place + 2] if each != lower]
    for language in LANGUAGES:
        counts = _counts(language)
        if lower not in counts:
            continue
        if not lower.isascii() or (len(words) == 1 and counts[lower] >= USUAL):
            return True
        english = _counts("en")
        if any(_is_usual(each, counts) for each in beside if each in counts) or (
            _is_usual(lower, counts) and any(each in counts and each not in english for each in beside)
        ):
            return True
    return False


def _is_usual(word: str, counts: Mapping[str, int]) -> bool:
    """Whether the language with these counts uses a word often, and English seldom."""
    return counts[word] >= USUAL and counts[word] > FEWER * _counts("en").get(word, 0)
