"""Where people live: street addresses, post-office boxes, postcodes that are named as such.

A city or a country alone is not an address. English, Spanish, French, German and Russian street words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from detector.masking.context import cue_before
from detector.masking.lexicon import words
from detector.masking.spans import Found
from detector.masking.view import View

_SUFFIX = (
    r"street|str|st|avenue|ave|av|road|rd|lane|ln|drive|dr|boulevard|blvd|court|ct|place|pl|square|sq|"
    r"terrace|ter|way|"
    r"close|crescent|cres|parkway|pkwy|highway|hwy|circle|cir|trail|trl|alley|row|grove|gardens|mews|walk|"
    r"hill|quay|"
    r"broadway|turnpike|loop|plaza|rise|green|view|heights|esplanade|parade"
)
_SURE = words("street avenue ave road rd lane boulevard blvd terrace crescent parkway drive court highway")
_UNIT = (
    r"(?:(?:[\s,]{1,3}(?:apt|apartment|suite|ste|unit|flat|floor|fl|room|rm|no)\b\.?\s?#?|[\s,]{1,3}#\s?)"
    r"[\w-]{1,6}(?!\w))?"
)
_PLACE = (
    r"(?:,?\s(?:nw|ne|sw|se|[nesw])\b\.?)?"
    + _UNIT
    + r"(?:,\s?[^\W\d_](?:[^\W\d_]|[.'-]){1,20}(?!\w)(?:\s[^\W\d_](?:[^\W\d_]|[.'-]){1,20}(?!\w)){0,2})?"
    r"(?:,?\s(?:[a-z]{2}[\s,]{1,2})?(?:\d{5}(?:-\d{4})?|[a-z]{1,2}\d[\da-z]?\s?\d[a-z]{2})(?!\w))?"
)
_NUMBER_WORD = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|"
    "seventeen|"
    "eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|oh|zero"
)
_NUMBER_FIRST = re.compile(
    r"(?<![\w.$€£#/-])(?P<number>(?:(?:flat|apt|apartment|unit|"
    r"suite)\s?\w{1,5},?\s)?(?:\d{1,5}(?:-\d{1,5})?(?:\s?[a-z])?|"
    r"(?:\d\s){1,4}\d(?:\s?[a-z])?)|"
    rf"(?:(?:{_NUMBER_WORD})[\s-]){{0,4}}(?:{_NUMBER_WORD})) ?,?\s"
    r"(?P<words>(?:(?!\d{1,25}\s)[^\W_][\w.'-]{0,24}\s){1,4}?)"
    rf"(?P<suffix>{_SUFFIX})\b\.?(?!')(?:\s(?:{_SUFFIX})\b\.?)*"
)
_TAIL = re.compile(_PLACE)
_LATIN = re.compile(
    r"(?<!\w)(?:calle|avenida|avda\.?|plaza|paseo|carrera|c/|via|viale|rue|rua|ulica|ul\.)\s"
    r"(?:[^\W\d_][\w.'-]{0,20}[\s,]{1,2}){1,5}(?:n[º°o]\.?\s?|no\.?\s|número\s)?\d{1,4}[a-z]?(?!\w|[:.]\d)"
    r"(?:,\s?\d{1,2}[º°ªa-z]{0,3}\b(?:\s[a-z]\b)?)?(?:,?\s\d{5}(?!\w))?(?:\s[^\W\d_]\w{2,20})?"
)
_FRENCH = re.compile(
    r"(?<![\w.])\d{1,4}(?:\s?(?:bis|ter))?,?\s(?:rue|avenue|boulevard|place|chemin|allée|impasse|quai)\s"
    r"(?:de\sla\s|de\sl'|d[eu]s?\s|d'|la\s|"
    r"l')?[^\W\d_][\w'-]*+(?:\s[^\W\d_][\w'-]*+){0,2}?(?:,?\s\d{5}(?:\s[^\W\d_][\w-]++)?|(?=[\s,.!?]|$))"
)
_GERMAN = re.compile(
    r"(?<!\w)(?:[^\W\d_][\w-]{1,30}(?:straße|strasse|str\.|weg|platz|allee|gasse|ring|damm|ufer|straat|"
    r"laan|gracht|plein)|"
    r"[^\W\d_][\w-]{1,20}\s(?:straße|strasse|str\.|allee|platz))\s\d{1,4}\s?[a-z]?(?!\w|[:.]\d)"
    r"(?:,\s?\d{5}(?:\s[^\W\d_]\w{2,20})?)?"
)
_RUSSIAN = re.compile(
    r"(?<!\w)(?:ул\.?|улица|улице|улицы|проспект|проспекте|пр-т|пр\.|пер\.|переулок|переулке|бульвар|"
    r"бул\.|шоссе|наб\.|площадь|пл\.)\s"
    r"(?:(?:\d{1,4}(?:-[^\W\d_]{1,24}+)?|[^\W\d_](?:[^\W\d]|[.-]){0,24}+)\s?+){1,3}?,?\s?(?:д\.?|дом)?\s?\d{1,4}(?:/\d{1,3})?[а-я]?(?![\w])"
    r"(?:,?\s?(?:к\.?|корп\.?|корпус|стр\.?)\s?\d{1,3})?(?:,?\s?(?:кв\.?|квартира|оф\.?|офис)\s?\d{1,5})?"
)
_BOX = re.compile(
    r"(?<!\w)(?:p\.?\s?o\.?\s?box|post office box|postfach|apartado(?: de correos)?)\s#?\d{1,7}(?!\w)"
)
_POSTCODE = re.compile(
    r"(?<!\w)(?:post\s?code|postal code|zip(?:\s?code)?|código postal|codigo postal|plz|postleitzahl|"
    r"почтовый индекс|индекс)"
    r"(?:[\s:,]{1,2}(?:is|was|for|of|it|it's|es|ist|my|the|delivery|billing|on|file|here|there|"
    r"-)\b)*[\s:,\"'-]{1,4}(?:is\s)?"
    r"(?P<value>(?:[a-z\d]\s){4,6}[a-z\d]|"
    rf"(?:(?:{_NUMBER_WORD})[\s,-]{{1,2}}){{4,5}}(?:{_NUMBER_WORD})|"
    r"[a-z]{1,2}\d[\da-z]?\s?\d[a-z]{2}|\d{5}(?:-\d{4})?|\d{6}|\d{4}\s?[a-z]{2}|"
    r"[a-z]\d[a-z]\s?\d[a-z]\d)(?!\w)"
)
_BRITISH = re.compile(r"(?<![\w-])[a-z]{1,2}\d[\da-z]? \d[abd-hjlnp-uw-z]{2}(?![\w-])")
_STRONG_CUE = re.compile(
    r"(?:address|live|living|lives|resid\w{1,12}|ship\w{0,12}|deliver\w{0,12}|moved|moving|billing|located|house|home|"
    r"send (?:it|them)|"
    r"pick\w{0,12} (?:me|it|us|her|him) up|i'm at|i am at|we're at|we are at|drop it)\b[^.!?\n]{0,24}$"
)
_CUE = re.compile(r"(?:sent?|from|to|at|is|near)\b[^.!?\n]{0,12}$")
_WORD_AFTER_COMMA = re.compile(r",\s?([^\W\d_]+)")
_DIGIT = re.compile(r"\d")
_STRANGERS = words(
    "minute minutes min mins mile miles hour hours day days week weeks month months year years km meter "
    "meters feet yard "
    "yards block blocks star stars the of for in on and or to items item people person guests nights "
    "rooms adults is are "
    "was pm am percent times pieces units tickets out down from into across next first more per off about "
    "this that my "
    "your a an with gb mb inch inches dollars euros pounds st nd rd th by at ways way called movie show "
    "film song named if when then than please i we you"
)


def find(view: View, before: str) -> Iterator[Found]:
    """Street addresses and named postcodes in `view`; `before` is not asked."""
    low = view.low
    yield from _number_first(view)
    for match in _POSTCODE.finditer(low):
        yield _found(low, match.start("value"), match.end("value"))
    if not _DIGIT.search(low):
        return
    for form in (_LATIN, _FRENCH, _GERMAN, _RUSSIAN, _BOX):
        for match in form.finditer(low):
            named = view.text[match.start() : match.end()].partition(" ")[2]
            if form is not _LATIN or named != named.lower() or _is_announced(view, match.start(), sure=False):
                yield _found(low, match.start(), match.end())
    for match in _BRITISH.finditer(low):
        cue, adjacent = cue_before(view, match.start())
        if view.text[match.start() : match.end()].isupper() and not (cue == "keep" and adjacent):
            yield _found(low, match.start(), match.end())


def _number_first(view: View) -> Iterator[Found]:
    """ "221B Baker Street, London NW1 6XE". In lower case only where a word says it is an address."""
    for match in _NUMBER_FIRST.finditer(view.low):
        words = match["words"].split()
        if any(word.strip(".,") in _STRANGERS for word in words if word.strip(".") not in ("st", "the")):
            continue
        named = view.text[match.start("words") : match.end("suffix")]
        capitals = all(word[0].isupper() or word[0].isdigit() for word in named.split())
        if not capitals and not _is_announced(view, match.start(), sure=match["suffix"] in _SURE):
            continue
        tail = _TAIL.match(view.low, match.end())
        end = tail.end() if tail else match.end()
        if tail and capitals:
            end = _without_plain_words(view, match.end(), end)
        yield _found(view.low, match.start(), end)


def _is_announced(view: View, start: int, *, sure: bool) -> bool:
    """Whether what stands before a street in lower case says that it is one."""
    floor = max(0, start - 48)
    if _STRONG_CUE.search(view.low, floor, start):
        return True
    return sure and (
        start == 0 or view.low[start - 1] == "\n" or _CUE.search(view.low, floor, start) is not None
    )


def _without_plain_words(view: View, start: int, end: int) -> int:
    """`end` moved left until no lower-case word after a comma hangs on to the address."""
    comma = view.text.rfind(",", start, end)
    if comma >= 0 and (word := _WORD_AFTER_COMMA.match(view.text, comma, end)):
        unit = word[1].lower() in ("apt", "apartment", "suite", "ste", "unit", "flat", "floor", "room")
        if word[1][0].islower() and not unit:
            return comma
    return end


def _found(low: str, start: int, end: int) -> Found:
    while low[end - 1] in " ,.":
        end -= 1
    return Found(start, end, "ADDRESS", " ".join(re.findall(r"\w+", low[start:end])))
