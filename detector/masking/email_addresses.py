"""Recognises e-mail addresses, plain or obfuscated (``anna (at) example dot com``).

Every search starts at an at-sign or a word for it and reads a bounded window around it, so that the cost is
linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.detector.masking.spans import Entity, View, words

MAX_LOCAL = 64
MAX_DOMAIN = 120

_PLAIN_DOMAIN = re.compile(r"(?:[^\W_][\w-]{0,63}+(?<=[^\W_])\.){1,6}[^\W\d_]{2,24}(?![\w@])")
_AT_SIGN = re.compile("@|%40")
"""As typed, and as in the address of a page."""
_LOCAL_CHARS = frozenset("!#$%&'*+-./=?^_`{|}~")

_OPEN, _CLOSE = r"\s?[\[({<*|]\s?", r"\s?[\])}>*|]\s?"
_AT = re.compile(
    rf"{_OPEN}(?:at|@|ät|arroba|arobase|arobas|собака|собачка|klammeraffe|affenschwanz){_CLOSE}|"
    rf"(?<=[\w.])\s(?:at the rate(?: of)?|at|arroba|arobase|arobas|собака|собачка|ät|klammeraffe|"
    rf"affenschwanz|at sign|at-zeichen)\s|\s?@\s?"
    r"|(?<=\w)[_-](?:at|AT)[_-]"
)
_DOT = (
    rf"(?:{_OPEN}(?:dot|\.|punto|точка|punkt|point){_CLOSE}|\s(?:dot|punto|точка|punkt|point)\s|"
    r"\s\.\s?|\.\s?|[_-]dot[_-])"
)
_LABEL = r"[^\W_]{1,42}+(?:(?![_-]dot[_-])[_-]{1,3}+[^\W_]{1,42}+){0,8}+"
"""A label of a domain or a local part; possessive, so that a text is split into labels in one way only."""
_SPACED_DOMAIN = re.compile(rf"({_LABEL}(?:\s(?:dash|hyphen)\s{_LABEL})?)((?:{_DOT}{_LABEL}){{1,4}})")
_DOTTED_LABEL = re.compile(rf"{_DOT}({_LABEL})")
_SPELLED_DOT = re.compile(rf"{_OPEN}|\b(?:dot|punto|точка|punkt|point)\b|\s\.")
_JOINT = (
    rf"(?:{_DOT}|\s(?:underscore|dash|hyphen|minus|plus|gui[oó]n bajo|guion|guión|tiret bas|tiret|"
    rf"bindestrich|unterstrich|"
    r"дефис|тире|минус|нижнее подч[её]ркивание|barra baja)\s|\+)"
)
_LOCAL = re.compile(rf"(?:(?<=[\s:,;(\"'])|^){_LABEL}(?:{_JOINT}{_LABEL}){{0,4}}+$")
_LETTERS = re.compile(r"(?:(?<=[\s:,;(])|^)\w(?:[\s-]\w){2,30}$")
_SIGNS = (
    (re.compile(_DOT), "."),
    (
        re.compile(
            r"\s(?:underscore|gui[oó]n bajo|barra baja|tiret bas|unterstrich|нижнее подч[её]ркивание)\s"
        ),
        "_",
    ),
    (re.compile(r"\s(?:dash|hyphen|minus|guion|guión|tiret|bindestrich|дефис|тире|минус)\s"), "-"),
    (re.compile(r"\splus\s"), "+"),
    (re.compile(r"[\s\[\](){}<>*|]"), ""),
)
"""Words written for signs, in the order in which they are replaced."""
_PROVIDER = re.compile(
    r"(?:g\s?mail|google\s?mail|yahoo|hot\s?mail|outlook|i\s?cloud|proton(?:\s?mail)?|gmx|web|aol|yandex|"
    r"mail|live|msn|me|fastmail|zoho|rambler|posteo|t-online|freenet|laposte|orange|wanadoo|bluewin|яндекс|"
    r"мейл|майл|рамблер|bk|inbox)\b"
)
_TLD = words(
    "com org net edu gov info biz io co uk de fr es it nl pl ru eu us ca au br mx ch at be se no dk fi ie "
    "pt cz jp "
    "cn in nz za me dev app test example invalid ua by kz tr gr hu ro mx ar cl co pe lu li su рф ру ком бай"
)
_CUE = re.compile(
    r"(?:e-?mails?|e-?mail address|mail|correo|почт\w*|адрес|inbox|write to|reach me|contact me)\b"
)
_INITIALS = re.compile(r"(?:(?<![^\s:,;(])[b-hj-z]\s){1,3}$")
_HANDLE = re.compile(r"(?<![^\W_])[^\W\d_](?=[\w.]{2,63}+$)[\w.]{0,62}[\d_.]\w{1,62}+$")
_VERBS = words(
    "look looked looking shop shopped shopping buy bought order ordered ordering was is are were be been am "
    "me us him her them it you work works worked working available sold found see seen check checked sign "
    "signed login visit here there stay stayed arrive arrived start starts started end ends back up down "
    "out in on online and or not price prices page site website store deal deals account item listed live "
    "that this"
)

_NO_DOMAINS = words("the a an my your our their this that his her its noon home work")
"""What stands before "dot com" where somebody speaks of sites."""


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
    for match in _AT.finditer(low):
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
    cued = bool(_CUE.search(low, max(0, match.start() - 80), match.start())) or bool(
        _CUE.search(before[-120:])
    )
    cued = cued or _HANDLE.search(low, window_start, match.start()) is not None
    domain_end = _domain_end(low, match.end(), bracketed, cued)
    if domain_end is None or (match[0] == " at " and " point " in low[match.end() : domain_end]):
        return None
    left = low[window_start : match.start()]
    local = _LETTERS.search(left) or _LOCAL.search(left)
    if not local:
        return None
    if not bracketed and local[0] in _VERBS:
        return None
    start = window_start + local.start()
    initials = _INITIALS.search(low, max(0, start - 8), start)
    start = initials.start() if initials else start
    key = f"{_plainly(low[start : match.start()])}@{_plainly(low[match.end() : domain_end])}"
    return Entity(start, domain_end, "EMAIL", key)


def _domain_end(low: str, position: int, bracketed: bool, cued: bool) -> int | None:
    """The end of the domain at `position`, if there is one and the context confirms it."""
    domain = _SPACED_DOMAIN.match(low, position, position + MAX_DOMAIN)
    provider = _PROVIDER.match(low, position)
    if domain and (bracketed or domain[1] not in _NO_DOMAINS):
        end = _last_tld(low, domain)
        if end and (bracketed or cued or provider or _SPELLED_DOT.search(low, domain.start(2), end)):
            return end
    return provider.end() if provider and (bracketed or cued) and len(provider[0]) > 4 else None


def _last_tld(low: str, domain: re.Match[str]) -> int | None:
    """The end of the longest run of labels that ends in a known top-level domain, or that contains no
    space."""
    best = None
    for part in _DOTTED_LABEL.finditer(domain[2]):
        if _is_tld(part[1], part[0]):
            best = domain.start(2) + part.end()
    return best


def _is_tld(label: str, dotted: str) -> bool:
    """Whether `label` is a top-level domain: a known one, any word right after a dot, two letters after
    "dot"."""
    if label in _TLD or not label.isalpha():
        return label in _TLD
    return not any(char.isspace() for char in dotted) or (
        len(label) == 2 and bool(_SPELLED_DOT.search(dotted))
    )


def _plainly(text: str) -> str:
    """`text` with words for dots and dashes replaced by the signs, so that spellings of one address are
    equal."""
    for words_for_it, sign in _SIGNS:
        text = words_for_it.sub(sign, text)
    return text
