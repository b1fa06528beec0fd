"""Recognises street addresses, post-office boxes, and postcodes that are named as such.

A city or a country alone is not an address. English, Spanish, French, German and Russian street words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.detector.masking.digit_runs import cue_before
from dialint.detector.masking.spans import Entity, View, words

_SUFFIX = (
    r"street|str|st|avenue|ave|av|road|rd|lane|ln|drive|dr|boulevard|blvd|court|ct|place|pl|square|sq|"
    r"terrace|ter|way|close|crescent|cres|parkway|pkwy|highway|hwy|circle|cir|trail|trl|alley|row|grove|"
    r"gardens|mews|walk|hill|quay|broadway|turnpike|loop|plaza|rise|green|view|heights|esplanade|parade"
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
    "seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|oh|zero"
)
_NUMBER_FIRST = re.compile(
    r"(?<![\w.$€£#/-])(?P<number>(?:(?:flat|apt|apartment|unit|"
    r"suite)\s?\w{1,5},?\s)?(?:\d{1,5}(?:-\d{1,5})?(?:\s?[a-z])?|(?:\d\s){1,4}\d(?:\s?[a-z])?)|"
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
    r"(?<!\w)(?:[^\W\d_][\w-]{1,30}(?:straße|strasse|str\.|weg|platz|allee|gasse|ring|damm|ufer|straat|laan|"
    r"gracht|plein)|[^\W\d_][\w-]{1,20}\s(?:straße|strasse|str\.|allee|platz))\s\d{1,4}\s?[a-z]?(?!\w|"
    r"[:.]\d)(?:,\s?\d{5}(?:\s[^\W\d_]\w{2,20})?)?"
)
_UPPER = "[A-ZÀ-ÖØ-ÞĀĆČŁŚŠŻŽ]"
_HOUSE = r"\d{1,4}(?:\s?[a-zA-Z])?(?:\s?[/-]\s?\d{1,4}){0,3}(?![\w:]|[.,]\d)"
_TOWN = (
    rf",?\s(?:(?:D|A|CH|F|B|L)-\s?)?\d{{4,5}},?\s{_UPPER}[\w'.-]{{1,24}}+(?:[ -](?:(?:am|an|der|im|ob|bei|"
    rf"sur|en|la|le|de|du|des|les|del|y)[ -]){{0,2}}{_UPPER}[\w'.-]{{1,24}}+){{0,2}}"
)
"""A postcode and the town behind it."""
_GERMAN_WORDS = (
    rf"(?:(?:Am|Im|An der|An den|An dem|Auf der|Auf dem|In der|In den|Unter den|Unter der|Zum|Zur|"
    rf"Hinter der|Hinter dem|Vor dem|Beim|Alte[rs]?|Neue[rs]?|Obere[rs]?|Untere[rs]?|Große[rs]?|Kleine[rs]?|"
    rf"Hohe[rs]?|Lange[rs]?)\s)?(?!(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Januar|Februar|März|"
    rf"April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|January|February|March|June|July|"
    rf"October|December|No|Nr|Nummer|Zimmer|Raum|Room|Order|Line|Bestellung|Rechnung|Artikel|Seite|Flug|"
    rf"Gate|Punkt|Version|Filiale|Kunde|Vertrag)(?!\w)){_UPPER}[\w.-]{{2,30}}+(?:[ "
    rf"-]{_UPPER}[\w.-]{{1,24}}+){{0,2}}"
)
_GERMAN_TOWN = re.compile(
    rf"(?<!\w)(?:{_GERMAN_WORDS}|[Ss]tr(?:aße|asse|\.)\s(?:des|der|"
    rf"von)\s(?:\d{{1,2}}\.\s)?{_UPPER}\w{{2,24}}+)\s{_HOUSE}(?!,?\s(?:19|20)\d\d,?\s){_TOWN}"
)
"""A street of any name: the postcode and town behind it make it sure."""
_GERMAN_PREPOSITION = re.compile(
    rf"(?<!\w)(?:Am|Im|An der|An den|Auf der|Auf dem|In der|In den|Unter den|Zum|Zur|Hinter der|Hinter dem|"
    rf"Vor dem|Beim)\s{_UPPER}\w{{2,24}}+\s{_HOUSE}"
)
_GERMAN_STREET = re.compile(
    rf"(?<!\w)(?:{_UPPER}[\w-]{{1,30}}(?:straße|strasse|str\.|gasse|allee|weg|ring|damm|ufer|platz|steig|"
    rf"graben|promenade)|"
    rf"{_UPPER}[\w-]{{1,20}}\s(?:Straße|Strasse|Str\.|Allee|Platz|Weg|Gasse|Ring|Damm|Ufer|Promenade)|"
    rf"Stra(?:ß|ss)e\s(?:des|der|von)\s(?:\d{{1,2}}\.\s)?{_UPPER}\w{{2,24}}+)\s{_HOUSE}"
    rf"(?:,?\s(?:Stiege|Top|Tür|Whg\.?|Wohnung|Haus|Hinterhaus)\s\w{{1,4}})?(?:{_TOWN})?"
)
_ARTICLE = r"(?:de|du|des|la|le|les|aux?|en|sur|et|sous)"
_PROPER = rf"(?:[dl]')?{_UPPER}[\w'.-]{{0,24}}+"
_FRENCH_NAME = (
    rf"(?:\s{_ARTICLE}(?=\s)){{0,3}}+\s{_PROPER}(?:(?:\s{_ARTICLE}(?=\s)){{0,2}}+\s{_PROPER}){{0,4}}"
)
_FRENCH_TYPE = (
    r"(?:[Rr]ue|[Aa]v(?:enue|\.)|[Bb](?:oulevar)?d\.?|[Pp]l(?:ace|\.)|[Cc]hemin|[Cc]h\.|[Aa]llées?|"
    r"[Ii]mpasse|[Qq]uai|[Rr]oute|[Rr]te|[Cc]ours|[Ss]quare|[Pp]assage|[Ff]aubourg|[Rr]uelle|[Ss]entier|"
    r"[Ee]splanade|[Pp]romenade|[Mm]ontée|[Vv]oie|[Cc]ité|[Tt]raverse)"
)
_FRENCH_STREET = re.compile(
    rf"(?<![\w.])(?:(?:[Rr]ésidence|[Rr]és\.|[Ii]mmeuble|[Ll]otissement|[Hh]ameau){_FRENCH_NAME},?\s"
    r"(?:(?:[Bb]ât|[Bb]âtiment|[Aa]ppt?|[Aa]ppartement|[Ee]sc|[Ee]ntrée)\.?\s\w{1,4},?\s){0,3})?"
    rf"\d{{1,4}}(?:\s?(?:bis|ter|quater|[A-D]))?,?\s{_FRENCH_TYPE}{_FRENCH_NAME}(?:{_TOWN})?"
)
_SWISS_STREET = re.compile(
    rf"(?<!\w)(?:{_FRENCH_TYPE}|[Vv]ia(?:le)?|[Pp]iazza){_FRENCH_NAME}\s{_HOUSE}{_TOWN}"
)
_SPANISH_STREET = re.compile(
    r"(?<!\w)(?:[Cc]alle|[Cc]/|[Aa]venida|[Aa]vda?\.?|[Aa]v\.|[Pp]laza|[Pp]za\.?|[Pp]aseo|[Pp]º|[Cc]amino|"
    r"[Cc]arretera|[Cc]tra\.?|[Rr]onda|[Tt]ravesía|[Gg]lorieta|[Cc]alzada|[Jj]irón|[Jj]r\.|[Pp]asaje|"
    r"[Dd]iagonal|[Uu]rb(?:anización|\.)|[Bb]ulevar|[Cc]allejón|[Aa]lameda|"
    rf"[Rr]ambla|[Cc]arrera)\s?(?:(?:de|del|la|las|los|el|y)\s){{0,3}}{_UPPER}[\w'.-]{{0,24}}+(?:\s(?:(?:de|"
    rf"del|la|las|los|el|y)\s){{0,3}}{_UPPER}[\w'.-]{{0,24}}+){{0,4}},?\s(?:n[º°o]\.?\s?|núm(?:ero|\.)\s?|"
    rf"#\s?)?"
    r"\d{1,5}[a-zA-Z]?(?![\w:]|[.,]\d)(?:,?\s(?:piso|puerta|esc\.?|bloque|portal|dpto\.?|depto\.?|apto\.?|"
    r"int\.?|\d{1,2}[º°ª])(?:\s?\w{1,3}(?!\w))?){0,4}"
    rf"(?:,\s(?:[Cc]ol\.|[Cc]olonia|"
    rf"[Bb]arrio)\s{_UPPER}[\w'.-]{{1,24}}+(?:\s{_UPPER}[\w'.-]{{1,24}}+){{0,2}})?(?:{_TOWN}|"
    rf",?\s\d{{5}}(?!\w)|,\s{_UPPER}[\w'-]{{2,24}}+(?:\s(?:de\s)?{_UPPER}[\w'-]{{2,24}}+)?)?"
)
_GRID = re.compile(
    r"(?<!\w)(?:calle|carrera|cra|kr|cl|transversal|diagonal|avenida|av)\.?\s\d{1,3}\s?[a-z]?(?:\s(?:bis|"
    r"sur|norte|este))?\s?(?:#|n[oº°]\.?)\s?\d{1,3}\s?[a-z]?\s?-\s?\d{1,3}(?!\w)(?:,\s[^\W\d_]{3,20})?"
)
"""Streets by number: "Carrera 15 # 93-47, Bogotá"."""
_BRITISH_WHOLE = re.compile(
    rf"(?<![\w.])\d{{1,4}}[a-zA-Z]?,?\s{_UPPER}[\w'-]{{1,24}}+(?:\s{_UPPER}[\w'-]{{1,24}}+){{0,3}}(?:,\s{_UPPER}[\w'-]{{1,24}}+"
    rf"(?:\s{_UPPER}[\w'-]{{1,24}}+){{0,2}}?){{1,3}},?\s[A-Z]{{1,2}}\d[\dA-Z]?\s?\d[A-Z]{{2}}(?!\w)"
)
_STREET_WORD = re.compile(
    r"(?<!\w)(?:rue|av(?:enue|enida|da)?|b(?:oulevar)?d|pl(?:ace|aza)?|chemin|ch|allées?|impasse|quai|route|"
    r"rte|cours|square|passage|faubourg|ruelle|sentier|esplanade|promenade|montée|voie|cité|traverse|via|"
    r"viale|piazza|calle|c/|pza|paseo|pº|camino|carretera|ctra|ronda|travesía|glorieta|calzada|jirón|jr|"
    r"pasaje|diagonal|urb(?:anización)?|bulevar|callejón|alameda|rambla|carrera|rua|ulica|ul)(?![^\W\d_])"
)
_STREET_FIRST = (_FRENCH_STREET, _SWISS_STREET, _SPANISH_STREET)
"""Only where there is a `_STREET_WORD`."""
_TOWN_LIKE = re.compile(r"\d{4,5},?\s[A-ZÀ-Þ]|\d[\dA-Z]? ?\d[A-Z]{2}(?!\w)")
_BEFORE_TOWN = (_BRITISH_WHOLE, _GERMAN_TOWN)
"""Only where there is something like a postcode."""
_STRONG_CUE_WORD = re.compile("adress|anschrift|wohn|liefer|schick|zustell|umgezogen|zieh")
_RUSSIAN_UPPER = r"[А-ЯЁ][а-яё]{1,20}+(?:-[А-ЯЁа-яё]{1,20}+){0,3}"
_RUSSIAN_TYPE = (
    r"(?:[Уу]л\.?|[Уу]лиц[аеуы]|[Пп]росп(?:\.|ект[еау]?)?|[Пп]р-к?т[а-я]?|[Пп]р\.|[Пп]ер\.|[Пп]ереул(?:ок|"
    r"ке)|[Бб]ульваре?|[Бб]-р|[Бб]ул\.|ш\.|[Шш]оссе|[Нн]аб\.|[Нн]абережн(?:ая|ой)|[Пп]л\.|[Пп]лощад[ьи]|"
    r"[Пп]роезде?|[Пп]р-д|[Тт]упик[е]?|[Аа]лле[яе]|[Мм]кр(?:н|\.)?|[Мм]икрорайон|[Лл]иния|[Кк]вартал|"
    r"[Пп]ос\.|[Сс]ело|[Дд]ер\.|СНТ)(?![а-яё])"
)
_RUSSIAN_TOWN = rf"(?:(?:г\.\s?|гор\.\s?|город\s|пос\.\s?|с\.\s?){_RUSSIAN_UPPER}|{_RUSSIAN_UPPER}(?=,)|СПб)"
_RUSSIAN_HOUSE = (
    r"(?:д\.?|дом)?\s?\d{1,4}(?:[/-]\d{1,4})?(?:(?:[а-яА-Я]|\s[А-Я])(?!\w))?(?![\w:]|[.,]\d)"
    r"(?:,?\s?(?:(?:корпус|корп|к)\.?\s?\d{1,3}|(?:строение|стр|литера|лит)\.?\s?\w{1,3})(?!\w))?"
    r"(?:,?\s?(?:кв|квартира|оф|офис|пом|комн)\.?\s?\d{1,5})?(?:,?\s?(?:под|подъезд|эт|этаж)\.?\s?\d{1,2})?"
)
_RUSSIAN_NAME = r"(?:\d{1,3}(?:-?[а-я]{1,2})?(?=\s)|[А-ЯЁа-яё][а-яё.-]{0,24}+)"
_RUSSIAN_CASED = re.compile(
    rf"(?<!\w)(?:\d{{6}},?\s)?(?:{_RUSSIAN_UPPER}\s(?:обл\.|область|край|"
    rf"респ\.),?\s)?(?:{_RUSSIAN_TOWN},\s){{0,2}}(?:{_RUSSIAN_TYPE}\s?{_RUSSIAN_NAME}(?:\s{_RUSSIAN_NAME})"
    rf"{{0,2}}?|[А-ЯЁ][а-яё-]{{2,24}}(?:ий|ый|ой|ая|ое|ом|ского|"
    rf"ском)\s{_RUSSIAN_TYPE}),?\s?{_RUSSIAN_HOUSE}(?:,\s(?:г\.\s?)?{_RUSSIAN_UPPER})?"
)
_RUSSIAN_BARE = re.compile(
    rf"(?:живу|проживаю|адрес\w{{0,2}}|привезите|доставьте|доставк\w|отправ\w{{2,5}})(?: доставки)?(?: на|"
    rf" по адресу| в)?:?\s(?P<value>(?:{_RUSSIAN_TOWN},?\s)?{_RUSSIAN_UPPER},?\s{_RUSSIAN_HOUSE})"
)
_FLAT = re.compile(
    r"(?<!\w)(?:д\.?|дом)\s?\d{1,4}[а-я]?,?\s(?:(?:к|корп|корпус|стр)\.?\s?\d{1,3},?\s)?(?:кв\.?|"
    r"квартира)\s?\d{1,5}(?!\w)"
)
_RUSSIAN = re.compile(
    r"(?<!\w)(?:ул\.?|улица|улице|улицы|проспект|проспекте|пр-т|пр\.|пер\.|переулок|переулке|бульвар|бул\.|"
    r"шоссе|наб\.|площадь|пл\.)\s(?:(?:\d{1,4}(?:-[^\W\d_]{1,24}+)?|[^\W\d_](?:[^\W\d]|"
    r"[.-]){0,24}+)\s?+){1,3}?,?\s?(?:д\.?|дом)?\s?\d{1,4}(?:/\d{1,3})?[а-я]?(?![\w])(?:,?\s?(?:к\.?|"
    r"корп\.?|корпус|стр\.?)\s?\d{1,3})?(?:,?\s?(?:кв\.?|квартира|оф\.?|офис)\s?\d{1,5})?"
)
_BOX = re.compile(
    r"(?<!\w)(?:p\.?\s?o\.?\s?box|post office box|postfach|apartado(?: de correos)?)\s#?\d{1,7}(?!\w)"
)
_POSTCODE = re.compile(
    r"(?<!\w)(?:post\s?code|postal code|zip(?:\s?code)?|código postal|codigo postal|plz|postleitzahl|"
    r"code postal|c\.?p\.(?=\s?\d)|почтовый индекс|индекс)(?:[\s:,]{1,2}(?:is|was|for|of|it|it's|es|ist|my|"
    r"the|delivery|billing|on|file|here|there|"
    r"-)\b)*[\s:,\"'-]{1,4}(?:is\s)?(?P<value>(?:[a-z\d]\s){4,6}[a-z\d]|"
    rf"(?:(?:{_NUMBER_WORD})[\s,-]{{1,2}}){{4,5}}(?:{_NUMBER_WORD})|"
    r"[a-z]{1,2}\d[\da-z]?\s?\d[a-z]{2}|\d{5}(?:-\d{4})?|\d{6}|\d{4}\s?[a-z]{2}|\d{4}|"
    r"[a-z]\d[a-z]\s?\d[a-z]\d)(?!\w)"
)
_BRITISH = re.compile(r"(?<![\w-])[a-z]{1,2}\d[\da-z]? \d[abd-hjlnp-uw-z]{2}(?![\w-])")
_STRONG_CUE = re.compile(
    r"(?:address|live|living|lives|resid\w{1,12}|ship\w{0,12}|deliver\w{0,12}|moved|moving|billing|located|"
    r"house|home|send (?:it|them)|pick\w{0,12} (?:me|it|us|her|him) up|i'm at|i am at|we're at|we are at|"
    r"drop it|adresse|anschrift|wohn\w{0,3}|liefer\w{0,7}|schick\w{0,4}|zustell\w{0,4}|umgezogen|"
    r"zieh\w{0,4})\b[^.!?\n]{0,24}$"
)
_CUE = re.compile(r"(?:sent?|from|to|at|is|near)\b[^.!?\n]{0,12}$")
_WORD_AFTER_COMMA = re.compile(r",\s?([^\W\d_]+)")
_DIGIT = re.compile(r"\d")
_CYRILLIC = re.compile("[а-я]")
_STRANGERS = words(
    "minute minutes min mins mile miles hour hours day days week weeks month months year years km meter "
    "meters feet yard yards block blocks star stars the of for in on and or to items item people person "
    "guests nights rooms adults is are was pm am percent times pieces units tickets out down from into "
    "across next first more per off about this that my your a an with gb mb inch inches dollars euros "
    "pounds st nd rd th by at ways way called movie show film song named if when then than please i we you"
)


def find(view: View, before: str) -> Iterator[Entity]:
    """Street addresses and named postcodes in `view`; `before` is unused."""
    low = view.low
    yield from _number_first(view)
    for match in _POSTCODE.finditer(low):
        yield _entity(low, match.start("value"), match.end("value"))
    if not _DIGIT.search(low):
        return
    forms = _STREET_FIRST if _STREET_WORD.search(low) else ()
    for form in (*forms, *(_BEFORE_TOWN if _TOWN_LIKE.search(view.text) else ()), _GERMAN_STREET):
        for match in form.finditer(view.text):
            yield _entity(low, match.start(), match.end())
    if _STRONG_CUE_WORD.search(low):
        for match in _GERMAN_PREPOSITION.finditer(view.text):
            if _STRONG_CUE.search(low, max(0, match.start() - 48), match.start()):
                yield _entity(low, match.start(), match.end())
    if _CYRILLIC.search(low):
        for match in _RUSSIAN_CASED.finditer(view.text):
            yield _entity(low, match.start(), match.end())
        for form in (_RUSSIAN_BARE, _FLAT):
            for match in form.finditer(view.text):
                yield _entity(low, match.start(match.lastindex or 0), match.end(match.lastindex or 0))
    for match in _GRID.finditer(low):
        yield _entity(low, match.start(), match.end())
    latin = (_LATIN, _FRENCH) if forms else ()
    for form in (*latin, _GERMAN, *((_RUSSIAN,) if _CYRILLIC.search(low) else ()), _BOX):
        for match in form.finditer(low):
            rest = view.text[match.start() : match.end()].partition(" ")[2]
            if form is not _LATIN or rest != rest.lower() or _is_announced(view, match.start(), sure=False):
                yield _entity(low, match.start(), match.end())
    for match in _BRITISH.finditer(low):
        cue, adjacent = cue_before(view, match.start())
        if view.text[match.start() : match.end()].isupper() and not (cue == "keep" and adjacent):
            yield _entity(low, match.start(), match.end())


def _number_first(view: View) -> Iterator[Entity]:
    """ "221B Baker Street, London NW1 6XE". In lower case only where a word says it is an address."""
    for match in _NUMBER_FIRST.finditer(view.low):
        words = match["words"].split()
        if any(word.strip(".,") in _STRANGERS for word in words if word.strip(".") not in ("st", "the")):
            continue
        street = view.text[match.start("words") : match.end("suffix")]
        capitals = all(word[0].isupper() or word[0].isdigit() for word in street.split())
        if not capitals and not _is_announced(view, match.start(), sure=match["suffix"] in _SURE):
            continue
        tail = _TAIL.match(view.low, match.end())
        end = tail.end() if tail else match.end()
        if tail and capitals:
            end = _without_plain_words(view, match.end(), end)
        yield _entity(view.low, match.start(), end)


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


def _entity(low: str, start: int, end: int) -> Entity:
    while low[end - 1] in " ,.":
        end -= 1
    return Entity(start, end, "ADDRESS", " ".join(re.findall(r"\w+", low[start:end])))
