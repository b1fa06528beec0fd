"""Recognises e-mail addresses, plain or obfuscated (``anna (at) example dot com``).

Every search starts at an at-sign or a word for it and reads a bounded window around it, so that the cost is
linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.detector.masking.lexicon import patterns, word_list
from dialint.detector.masking.spans import Entity, View

PATTERNS = patterns("emails")

MAX_LOCAL = 64
MAX_DOMAIN = 120

_PLAIN_DOMAIN = re.compile(r"(?:[^\W_][\w-]{0,63}+(?<=[^\W_])\.){1,6}[^\W\d_]{2,24}(?![\w@])")
_AT_SIGN = re.compile("@|%40")
"""As typed, and as in the address of a page."""
_LOCAL_CHARS = frozenset("!#$%&'*+-./=?^_`{|}~")

_LETTERS = re.compile(r"(?:(?<=[\s:,;(])|^)\w(?:[\s-]\w){2,30}$")
_SIGNS = (
    (PATTERNS.dot, "."),
    (PATTERNS.underscore, "_"),
    (PATTERNS.dash, "-"),
    (re.compile(r"\splus\s"), "+"),
    (re.compile(r"[\s\[\](){}<>*|]"), ""),
)
"""Words written for signs, in the order in which they are replaced."""
_INITIALS = re.compile(r"(?:(?<![^\s:,;(])[b-hj-z]\s){1,3}$")
_HANDLE = re.compile(r"(?<![^\W_])[^\W\d_](?=[\w.]{2,63}+$)[\w.]{0,62}[\d_.]\w{1,62}+$")


def find(view: View, before: str) -> Iterator[Entity]:
    """E-mail addresses in `view`; `before`, the turn before, may request one."""
    low = view.low
    if "@" not in low and "%40" not in low and not _may_be_spelled(low):
        return
    for match in _AT_SIGN.finditer(low):
        result = _plain(low, match)
        if result:
            yield result
    position = 0
    for match in PATTERNS.at.finditer(low):
        result = _obfuscated_entity(low, match, before) if match.start() >= position else None
        if result:
            position = result.end
            yield result


def _may_be_spelled(low: str) -> bool:
    return any(word in low for word in ("at", "arroba", "arobas", "соба", "ät", "affe"))


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
    cued = bool(PATTERNS.cue.search(low, max(0, match.start() - 80), match.start())) or bool(
        PATTERNS.cue.search(before[-120:])
    )
    cued = cued or _HANDLE.search(low, window_start, match.start()) is not None
    domain_end = _domain_end(low, match.end(), bracketed, cued)
    if domain_end is None or (match[0] == " at " and " point " in low[match.end() : domain_end]):
        return None
    left = low[window_start : match.start()]
    local = _LETTERS.search(left) or PATTERNS.local.search(left)
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
    domain = PATTERNS.spaced_domain.match(low, position, position + MAX_DOMAIN)
    provider = PATTERNS.provider.match(low, position)
    if domain and (bracketed or domain[1] not in word_list("no_domains")):
        end = _last_tld(low, domain)
        if end and (bracketed or cued or provider or PATTERNS.spelled_dot.search(low, domain.start(2), end)):
            return end
    return provider.end() if provider and (bracketed or cued) and len(provider[0]) > 4 else None


def _last_tld(low: str, domain: re.Match[str]) -> int | None:
    """The end of the longest run of labels that ends in a known top-level domain, or that contains no
    space."""
    best = None
    for part in PATTERNS.dotted_label.finditer(domain[2]):
        if _is_tld(part[1], part[0]):
            best = domain.start(2) + part.end()
    return best


def _is_tld(label: str, dotted: str) -> bool:
    """Whether `label` is a top-level domain: a known one, any word right after a dot, two letters after
    "dot"."""
    if label in word_list("top_level_domains") or not label.isalpha():
        return label in word_list("top_level_domains")
    return not any(char.isspace() for char in dotted) or (
        len(label) == 2 and bool(PATTERNS.spelled_dot.search(dotted))
    )


def _plainly(text: str) -> str:
    """`text` with words for dots and dashes replaced by the signs, so that spellings of one address are
    equal."""
    for words_for_it, sign in _SIGNS:
        text = words_for_it.sub(sign, text)
    return text
