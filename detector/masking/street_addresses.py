"""Where people live: street addresses, post-office boxes, postcodes that are named as such.

A city or a country alone is not an address. English, Spanish, French, German and Russian street words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from detector.masking.context import cue_before
from detector.masking.spans import Found
from detector.masking.view import View

_SUFFIX = (
    r"street|str|st|avenue|ave|av|road|rd|lane|ln|drive|dr|boulevard|blvd|court|ct|place|pl|square|sq|terrace|ter|way|"
    r"close|crescent|cres|parkway|pkwy|highway|hwy|circle|cir|trail|trl|alley|row|grove|gardens|mews|walk|hill|quay|"
    r"broadway|turnpike|loop|plaza|rise|green|view|heights|esplanade|parade"
)
_SURE = frozenset("street avenue ave road rd lane boulevard blvd terrace crescent parkway drive court highway".split())
_UNIT = (
    r"(?:(?:[\s,]{1,3}(?:apt|apartment|suite|ste|unit|flat|floor|fl|room|rm|no)\b\.?\s?#?|[\s,]{1,3}#\s?)[\w-]{1,6}(?!\w))?"
)
_PLACE = (
    r"(?:,?\s(?:nw|ne|sw|se|[nesw])\b\.?)?" + _UNIT + r"(?:,\s?[^\W\d_][\w.'-]{1,20}(?:\s[^\W\d_][\w.'-]{1,20}){0,2})?"
    r"(?:,?\s(?:[a-z]{2}[\s,]{1,2})?(?:\d{5}(?:-\d{4})?|[a-z]{1,2}\d[\da-z]?\s?\d[a-z]{2})(?!\w))?"
)
_NUMBER_FIRST = re.compile(
    r"(?<![\w.$€£#/-])(?P<number>\d{1,5}(?:-\d{1,5})?[a-z]?)(?:\s?,)?\s(?P<words>(?:(?!\d+\s)[^\W_][\w.'-]{0,24}\s){0,4}?)"
    rf"(?P<suffix>{_SUFFIX})\b\.?(?!')"
)
_TAIL = re.compile(_PLACE)
_LATIN = re.compile(
    r"(?<!\w)(?:calle|avenida|avda\.?|plaza|paseo|carrera|c/|via|rue|boulevard|place|rua|ulica|ul\.)\s"
    r"(?:[^\W\d_][\w.'-]{0,20}[\s,]{1,2}){1,5}(?:n[º°o]\.?\s?|no\.?\s|número\s)?\d{1,4}[a-z]?(?!\w|[:.]\d)"
    r"(?:,\s?\d{1,2}[º°ªa-z]{0,3}\b(?:\s[a-z]\b)?)?(?:,?\s\d{5}(?!\w))?(?:\s[^\W\d_]\w{2,20})?"
)
_FRENCH = re.compile(
    r"(?<![\w.])\d{1,4}(?:\s?(?:bis|ter))?,?\s(?:rue|avenue|boulevard|place|chemin|allée|impasse|quai)\s"
    r"(?:d[eu]s?\s|de\sla\s|de\sl'|d'|la\s|l')?[^\W\d_][\w'-]*(?:[\s-][^\W\d_][\w'-]*){0,2}?(?:,?\s\d{5}(?:\s[^\W\d_][\w-]+)?|(?=[\s,.!?]|$))"
)
_GERMAN = re.compile(
    r"(?<!\w)(?:[^\W\d_][\w-]{1,30}(?:straße|strasse|str\.|weg|platz|allee|gasse|ring|damm|ufer)|"
    r"[^\W\d_][\w-]{1,20}\s(?:straße|strasse|str\.|allee|platz))\s\d{1,4}\s?[a-z]?(?!\w|[:.]\d)"
    r"(?:,\s?\d{5}(?:\s[^\W\d_]\w{2,20})?)?"
)
_RUSSIAN = re.compile(
    r"(?<!\w)(?:ул\.?|улица|улице|улицы|проспект|проспекте|пр-т|пр\.|пер\.|переулок|переулке|бульвар|бул\.|шоссе|наб\.|площадь|пл\.)\s"
    r"(?:[^\W_][\w.-]{0,24}\s?){1,3}?,?\s?(?:д\.?|дом)?\s?\d{1,4}(?:/\d{1,3})?[а-я]?(?![\w])"
    r"(?:,?\s?(?:к\.?|корп\.?|корпус|стр\.?)\s?\d{1,3})?(?:,?\s?(?:кв\.?|квартира|оф\.?|офис)\s?\d{1,5})?"
)
_BOX = re.compile(r"(?<!\w)(?:p\.?\s?o\.?\s?box|post office box|postfach|apartado(?: de correos)?)\s#?\d{1,7}(?!\w)")
_POSTCODE = re.compile(
    r"(?<!\w)(?:post\s?code|postal code|zip(?:\s?code)?|código postal|codigo postal|plz|postleitzahl|почтовый индекс|индекс)"
    r"(?:[\s:,]{1,2}(?:is|was|for|of|it|it's|es|ist|my|the|delivery|billing|on|file|here|there|-)\b)*[\s:,-]{1,3}(?:is\s)?"
    r"(?P<value>[a-z]{1,2}\d[\da-z]?\s?\d[a-z]{2}|\d{5}(?:-\d{4})?|\d{6}|\d{4}\s?[a-z]{2}|[a-z]\d[a-z]\s?\d[a-z]\d)(?!\w)"
)
_BRITISH = re.compile(r"(?<![\w-])[a-z]{1,2}\d[\da-z]? \d[abd-hjlnp-uw-z]{2}(?![\w-])")
_CUE = re.compile(
    r"(?:address|live|living|reside|residing|ship|shipping|deliver\w*|send|sent|moved?|moving|billing|home|located|lives|"
    r"house|pick\w* (?:me|it|us) up|from|to|at|is)\b[^.!?\n]{0,30}$"
)
_STRANGERS = frozenset(
    "minute minutes min mins mile miles hour hours day days week weeks month months year years km meter meters feet yard "
    "yards block blocks star stars the of for in on and or to items item people person guests nights rooms adults is are "
    "was pm am percent times pieces units tickets out down from into across next first more per off about this that my "
    "your a an with gb mb inch inches dollars euros pounds st nd rd th by at ways way if when then than please i we you".split()
)


def find(view: View, before: str) -> Iterator[Found]:
    """Street addresses and named postcodes in `view`; `before` is not asked."""
    low = view.low
    if not any(char.isdigit() for char in low):
        return
    yield from _number_first(view)
    for form in (_LATIN, _FRENCH, _GERMAN, _RUSSIAN, _BOX):
        for match in form.finditer(low):
            yield _found(low, match.start(), match.end())
    for match in _POSTCODE.finditer(low):
        yield _found(low, match.start("value"), match.end("value"))
    for match in _BRITISH.finditer(low):
        cue, adjacent = cue_before(view, match.start())
        if view.text[match.start() : match.end()].isupper() and not (cue == "keep" and adjacent):
            yield _found(low, match.start(), match.end())


def _number_first(view: View) -> Iterator[Found]:
    """ "221B Baker Street, London NW1 6XE". In lower case only where a word says it is an address."""
    for match in _NUMBER_FIRST.finditer(view.low):
        words = match["words"].split()
        suffix = match["suffix"]
        if not words and suffix != "broadway":
            continue
        if any(word.strip(".,") in _STRANGERS for word in words if word.strip(".") not in ("st", "the")):
            continue
        named = view.text[match.start("words") : match.end("suffix")]
        capitals = all(word[0].isupper() or word[0].isdigit() for word in named.split())
        cued = _CUE.search(view.low, max(0, match.start() - 48), match.start()) is not None
        alone = match.start() == 0 or view.low[match.start() - 1] == "\n"
        if not (capitals or (suffix in _SURE and (cued or alone))):
            continue
        tail = _TAIL.match(view.low, match.end())
        end = tail.end() if tail else match.end()
        if tail and capitals:
            end = _without_plain_words(view, match.end(), end)
        yield _found(view.low, match.start(), end)


def _without_plain_words(view: View, start: int, end: int) -> int:
    """`end` moved left until no lower-case word after a comma hangs on to the address."""
    comma = view.text.rfind(",", start, end)
    if comma >= 0 and (word := re.match(r",\s?([^\W\d_]+)", view.text[comma:end])):
        unit = word[1].lower() in ("apt", "apartment", "suite", "ste", "unit", "flat", "floor", "room")
        if word[1][0].islower() and not unit:
            return comma
    return end


def _found(low: str, start: int, end: int) -> Found:
    while low[end - 1] in " ,.":
        end -= 1
    return Found(start, end, "ADDRESS", " ".join(re.findall(r"\w+", low[start:end])))
