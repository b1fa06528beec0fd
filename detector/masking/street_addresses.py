"""Recognises street addresses, post-office boxes, and postcodes that are named as such.

A city or a country alone is not an address. English, Spanish, French, German and Russian street words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.detector.masking.digit_runs import cue_before
from dialint.detector.masking.lexicon import patterns, word_list
from dialint.detector.masking.spans import Entity, View

PATTERNS = patterns("addresses")

_STREET_FIRST = (PATTERNS.french_street, PATTERNS.swiss_street, PATTERNS.spanish_street)
"""Only where there is a `PATTERNS.street_word`."""
_TOWN_LIKE = re.compile(r"\d{4,5},?\s[A-ZÀ-Þ]|\d[\dA-Z]? ?\d[A-Z]{2}(?!\w)")
_BEFORE_TOWN = (PATTERNS.british_whole, PATTERNS.german_town)
"""Only where there is something like a postcode."""
_WORD_AFTER_COMMA = re.compile(r",\s?([^\W\d_]+)")
_DIGIT = re.compile(r"\d")
_CYRILLIC = re.compile("[а-я]")


def find(view: View, before: str) -> Iterator[Entity]:
    """Street addresses and named postcodes in `view`; `before` is unused."""
    low = view.low
    yield from _number_first(view)
    for match in PATTERNS.postcode.finditer(low):
        yield _entity(low, match.start("value"), match.end("value"))
    if not _DIGIT.search(low):
        return
    forms = _STREET_FIRST if PATTERNS.street_word.search(low) else ()
    for form in (*forms, *(_BEFORE_TOWN if _TOWN_LIKE.search(view.text) else ()), PATTERNS.german_street):
        for match in form.finditer(view.text):
            yield _entity(low, match.start(), match.end())
    if PATTERNS.strong_cue_word.search(low):
        for match in PATTERNS.german_preposition.finditer(view.text):
            if PATTERNS.strong_cue.search(low, max(0, match.start() - 48), match.start()):
                yield _entity(low, match.start(), match.end())
    if _CYRILLIC.search(low):
        for match in PATTERNS.russian_cased.finditer(view.text):
            yield _entity(low, match.start(), match.end())
        for form in (PATTERNS.russian_bare, PATTERNS.flat):
            for match in form.finditer(view.text):
                yield _entity(low, match.start(match.lastindex or 0), match.end(match.lastindex or 0))
    for match in PATTERNS.grid.finditer(low):
        yield _entity(low, match.start(), match.end())
    latin = (PATTERNS.latin, PATTERNS.french) if forms else ()
    for form in (
        *latin,
        PATTERNS.german,
        *((PATTERNS.russian,) if _CYRILLIC.search(low) else ()),
        PATTERNS.box,
    ):
        for match in form.finditer(low):
            rest = view.text[match.start() : match.end()].partition(" ")[2]
            if (
                form is not PATTERNS.latin
                or rest != rest.lower()
                or _is_announced(view, match.start(), sure=False)
            ):
                yield _entity(low, match.start(), match.end())
    for match in PATTERNS.british.finditer(low):
        cue, adjacent = cue_before(view, match.start())
        if view.text[match.start() : match.end()].isupper() and not (cue == "keep" and adjacent):
            yield _entity(low, match.start(), match.end())


def _number_first(view: View) -> Iterator[Entity]:
    """ "221B Baker Street, London NW1 6XE". In lower case only where a word says it is an address."""
    for match in PATTERNS.number_first.finditer(view.low):
        words = match["words"].split()
        if any(
            word.strip(".,") in word_list("no_streets")
            for word in words
            if word.strip(".") not in ("st", "the")
        ):
            continue
        street = view.text[match.start("words") : match.end("suffix")]
        capitals = all(word[0].isupper() or word[0].isdigit() for word in street.split())
        if not capitals and not _is_announced(
            view, match.start(), sure=match["suffix"] in word_list("sure_streets")
        ):
            continue
        tail = PATTERNS.tail.match(view.low, match.end())
        end = tail.end() if tail else match.end()
        if tail and capitals:
            end = _without_plain_words(view, match.end(), end)
        yield _entity(view.low, match.start(), end)


def _is_announced(view: View, start: int, *, sure: bool) -> bool:
    """Whether what stands before a street in lower case says that it is one."""
    floor = max(0, start - 48)
    if PATTERNS.strong_cue.search(view.low, floor, start):
        return True
    return sure and (
        start == 0 or view.low[start - 1] == "\n" or PATTERNS.cue.search(view.low, floor, start) is not None
    )


def _without_plain_words(view: View, start: int, end: int) -> int:
    """`end` moved left until no lower-case word after a comma hangs on to the address."""
    comma = view.text.rfind(",", start, end)
    if comma >= 0 and (word := _WORD_AFTER_COMMA.match(view.text, comma, end)):
        unit = word[1].lower() in ("apt", "apartment", "suite", "ste", "unit", "flat", "floor", "room")
        if word[1][0].islower() and not unit:
            return comma
    return end


def _entity(low: str, start: int, end: int) -> Entity:
    while low[end - 1] in " ,.":
        end -= 1
    return Entity(start, end, "ADDRESS", " ".join(re.findall(r"\w+", low[start:end])))
