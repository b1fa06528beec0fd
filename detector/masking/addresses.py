"""Recognises e-mail addresses, plain or obfuscated (``anna (at) example dot com``), street addresses,
post-office boxes, and postcodes that are named as such.

A city or a country alone is not an address. English, Spanish, French, German and Russian street words. Every
search for an e-mail address starts at an at-sign or a word for it and reads a bounded window around it, so
that the cost is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.detector.masking.digit_runs import cue_before
from dialint.detector.masking.lexicon import patterns, word_list
from dialint.detector.masking.spans import Entity, View

EMAILS = patterns("emails")

MAX_LOCAL = 64
MAX_DOMAIN = 120

_PLAIN_DOMAIN = re.compile(r"(?:[^\W_][\w-]{0,63}+(?<=[^\W_])\.){1,6}[^\W\d_]{2,24}(?![\w@])")
_AT_SIGN = re.compile("@|%40")
"""As typed, and as encoded in URLs."""
_AT_WORDS = ("@", "%40", "at", "arroba", "arobas", "соба", "ät", "affe")
"""One of which stands in any text with an e-mail address: a cheap test before the search."""
_LOCAL_CHARS = frozenset("!#$%&'*+-./=?^_`{|}~")

_LETTERS = re.compile(r"(?:(?<=[\s:,;(])|^)\w(?:[\s-]\w){2,30}$")
_SIGNS = (
    (EMAILS.dot, "."),
    (EMAILS.underscore, "_"),
    (EMAILS.dash, "-"),
    (re.compile(r"\splus\s"), "+"),
    (re.compile(r"[\s\[\](){}<>*|]"), ""),
)
"""Words for signs, in the order in which they are replaced."""
_INITIALS = re.compile(r"(?:(?<![^\s:,;(])[b-hj-z]\s){1,3}$")
_HANDLE = re.compile(r"(?<![^\W_])[^\W\d_](?=[\w.]{2,63}+$)[\w.]{0,62}[\d_.]\w{1,62}+$")


def find_emails(view: View, before: str) -> Iterator[Entity]:
    """E-mail addresses in `view`; `before`, the turn before, may request one."""
    low = view.low
    if not any(sign in low for sign in _AT_WORDS):
        return
    for match in _AT_SIGN.finditer(low):
        result = _plain(low, match)
        if result:
            yield result
    position = 0
    for match in EMAILS.at.finditer(low):
        result = _obfuscated_entity(low, match, before) if match.start() >= position else None
        if result:
            position = result.end
            yield result


def _plain(low: str, match: re.Match[str]) -> Entity | None:
    start = at = match.start()
    floor = max(0, at - MAX_LOCAL)
    while start > floor and (low[start - 1].isalnum() or low[start - 1] in _LOCAL_CHARS):
        start -= 1
    if match[0] == "%40":
        start = max(start, low.rfind("=", start, at) + 1, low.rfind("&", start, at) + 1)
    while start < at and low[start] in "!#$%&'*/=?^`{|}~.-":
        start += 1
    domain = _PLAIN_DOMAIN.match(low, match.end(), match.end() + MAX_DOMAIN)
    if not domain or start == at:
        return None
    return Entity(start, domain.end(), "EMAIL", low[start : domain.end()].replace("%40", "@"))


def _obfuscated_entity(low: str, match: re.Match[str], before: str) -> Entity | None:
    window_start = max(0, match.start() - MAX_LOCAL)
    bracketed = not match[0].replace("the rate", "").replace(" of", "").strip().isalpha()
    cued = bool(EMAILS.cue.search(low, max(0, match.start() - 80), match.start())) or bool(
        EMAILS.cue.search(before[-120:])
    )
    cued = cued or _HANDLE.search(low, window_start, match.start()) is not None
    domain_end = _domain_end(low, match.end(), bracketed, cued)
    if domain_end is None or (match[0] == " at " and " point " in low[match.end() : domain_end]):
        return None
    left = low[window_start : match.start()]
    local = _LETTERS.search(left) or EMAILS.local.search(left)
    if not local:
        return None
    if not bracketed and local[0] in word_list("verbs_before_at"):
        return None
    start = window_start + local.start()
    initials = _INITIALS.search(low, max(0, start - 8), start)
    start = initials.start() if initials else start
    key = f"{_plainly(low[start : match.start()])}@{_plainly(low[match.end() : domain_end])}"
    return Entity(start, domain_end, "EMAIL", key)


def _domain_end(low: str, position: int, bracketed: bool, cued: bool) -> int | None:
    """The end of the domain at `position`, if there is one and the context confirms it."""
    domain = EMAILS.spaced_domain.match(low, position, position + MAX_DOMAIN)
    provider = EMAILS.provider.match(low, position)
    if domain and (bracketed or domain[1] not in word_list("no_domains")):
        end = _last_tld(low, domain)
        if end and (bracketed or cued or provider or EMAILS.spelled_dot.search(low, domain.start(2), end)):
            return end
    return provider.end() if provider and (bracketed or cued) and len(provider[0]) > 4 else None


def _last_tld(low: str, domain: re.Match[str]) -> int | None:
    """The end of the longest run of labels that ends in a known top-level domain, or that contains no
    space."""
    best = None
    for part in EMAILS.dotted_label.finditer(domain[2]):
        if _is_tld(part[1], part[0]):
            best = domain.start(2) + part.end()
    return best


def _is_tld(label: str, dotted: str) -> bool:
    """Returns whether `label` is a top-level domain: a known one, any word right after a dot, or two letters
    after "dot"."""
    if label in word_list("top_level_domains") or not label.isalpha():
        return label in word_list("top_level_domains")
    return not any(char.isspace() for char in dotted) or (
        len(label) == 2 and bool(EMAILS.spelled_dot.search(dotted))
    )


def _plainly(text: str) -> str:
    """Replaces words for dots and dashes by the signs, so that spellings of one address are equal."""
    for words_for_it, sign in _SIGNS:
        text = words_for_it.sub(sign, text)
    return text


STREETS = patterns("addresses")

_STREET_FIRST = (STREETS.french_street, STREETS.swiss_street, STREETS.spanish_street)
"""Only where there is a `STREETS.street_word`."""
_TOWN_LIKE = re.compile(r"\d{4,5},?\s[A-ZÀ-Þ]|\d[\dA-Z]? ?\d[A-Z]{2}(?!\w)")
_BEFORE_TOWN = (STREETS.british_whole, STREETS.german_town)
"""Only where there is something like a postcode."""
_WORD_AFTER_COMMA = re.compile(r",\s?([^\W\d_]+)")
_DIGIT = re.compile(r"\d")
_CYRILLIC = re.compile("[а-я]")


def find_streets(view: View, before: str) -> Iterator[Entity]:
    """Street addresses and named postcodes in `view`; `before` is unused."""
    low = view.low
    yield from _number_first(view)
    for match in STREETS.postcode.finditer(low):
        yield _entity(low, match.start("value"), match.end("value"))
    if not _DIGIT.search(low):
        return
    forms = _STREET_FIRST if STREETS.street_word.search(low) else ()
    for form in (*forms, *(_BEFORE_TOWN if _TOWN_LIKE.search(view.text) else ()), STREETS.german_street):
        for match in form.finditer(view.text):
            yield _entity(low, match.start(), match.end())
    if STREETS.strong_cue_word.search(low):
        for match in STREETS.german_preposition.finditer(view.text):
            if STREETS.strong_cue.search(low, max(0, match.start() - 48), match.start()):
                yield _entity(low, match.start(), match.end())
    if _CYRILLIC.search(low):
        for match in STREETS.russian_cased.finditer(view.text):
            yield _entity(low, match.start(), match.end())
        for form in (STREETS.russian_bare, STREETS.flat):
            for match in form.finditer(view.text):
                yield _entity(low, match.start(match.lastindex or 0), match.end(match.lastindex or 0))
    for match in STREETS.grid.finditer(low):
        yield _entity(low, match.start(), match.end())
    latin = (STREETS.latin, STREETS.french) if forms else ()
    russian = (STREETS.russian,) if _CYRILLIC.search(low) else ()
    for form in (*latin, STREETS.german, *russian, STREETS.box):
        for match in form.finditer(low):
            rest = view.text[match.start() : match.end()].partition(" ")[2]
            is_certain = form is not STREETS.latin or rest != rest.lower()
            if is_certain or _is_announced(view, match.start(), sure=False):
                yield _entity(low, match.start(), match.end())
    for match in STREETS.british.finditer(low):
        cue, adjacent = cue_before(view, match.start())
        if view.text[match.start() : match.end()].isupper() and not (cue == "keep" and adjacent):
            yield _entity(low, match.start(), match.end())


def _number_first(view: View) -> Iterator[Entity]:
    """ "221B Baker Street, London NW1 6XE". In lower case only where a word says it is an address."""
    for match in STREETS.number_first.finditer(view.low):
        words = match["words"].split()
        names = {word.strip(".,") for word in words if word.strip(".") not in ("st", "the")}
        if names & word_list("no_streets"):
            continue
        street = view.text[match.start("words") : match.end("suffix")]
        capitals = all(word[0].isupper() or word[0].isdigit() for word in street.split())
        sure = match["suffix"] in word_list("sure_streets")
        if not capitals and not _is_announced(view, match.start(), sure=sure):
            continue
        tail = STREETS.tail.match(view.low, match.end())
        end = tail.end() if tail else match.end()
        if tail and capitals:
            end = _without_plain_words(view, match.end(), end)
        yield _entity(view.low, match.start(), end)


def _is_announced(view: View, start: int, *, sure: bool) -> bool:
    """Returns whether the words before a street in lower case mark it as one."""
    floor = max(0, start - 48)
    begins = start == 0 or view.low[start - 1] == "\n"
    is_cued = sure and (begins or STREETS.cue.search(view.low, floor, start))
    return bool(is_cued or STREETS.strong_cue.search(view.low, floor, start))


def _without_plain_words(view: View, start: int, end: int) -> int:
    """Moves `end` left, before a lower-case word after a comma that does not belong to the address."""
    comma = view.text.rfind(",", start, end)
    if comma >= 0 and (word := _WORD_AFTER_COMMA.match(view.text, comma, end)):
        unit = word[1].lower() in ("apt", "apartment", "suite", "ste", "unit", "flat", "floor", "room")
        if word[1][0].islower() and not unit:
            return comma
    return end


def _entity(low: str, start: int, end: int) -> Entity:
    end = start + len(low[start:end].rstrip(" ,."))
    return Entity(start, end, "ADDRESS", " ".join(re.findall(r"\w+", low[start:end])))
