"""People's names where people put them: introductions, greetings, signatures, titles, fields, answers.

Not a recogniser of any name anywhere: a name that nothing announces is found only when the same
dialogue announces it elsewhere (`detector.masking.mentions`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from detector.masking.lexicon import GIVEN_NAMES, NOT_NAMES, PARTICLES, TITLES
from detector.masking.spans import Found
from detector.masking.view import View

MAX_WORDS = 4

_STRONG = (
    r"(?:my|her|his|the|your|full|first|last|middle|maiden|family|customer|passenger|guest|patient|given)"
    r"(?: (?:own|full|first|last|middle|maiden|family|legal|real|actual|given|user))? ?(?:sur)?names? (?:is|was|would be|it's|should be|reads|'s)|"
    r"(?:my|the|last|first|full) name's|surname(?: is|:)|(?:sur)?name(?: on (?:the |my )?[\w ]{1,24}?)? is|"
    r"(?:first |last |full |customer |contact |account |cardholder |card ?holder )?name ?[:=-]|(?:cardholder|account holder|"
    r"passenger|recipient|addressee|customer|guest|patient)(?: name)?:|account holder is|"
    r"under (?:the )?name(?: of)?|in the name(?: of)?|(?:they|you can|please|just|friends|people) call me|(?<!never )(?<!not )call me|go by|"
    r"me llamo|mi nombre(?: completo)? es|mi apellido es|le atiende|le habla|soy|se llama|a nombre de|"
    r"меня зовут|моё имя|мое имя|моя фамилия|на имя|зовут|ich heiße|mein name ist|je m'appelle|mon nom est|mi chiamo|"
    r"nazywam się|mam na imię|meu nome é|ik heet|mijn naam is"
)
_WEAK = (
    r"this is|i am|i'm|im|it's|it is|here is|here's|that's|speaking (?:to|with)|spoke (?:to|with)|talk(?:ing|ed)? (?:to|with)|"
    r"chatt?(?:ing|ed)? with|spoken (?:to|with)|colleague|coworker|manager|supervisor|agent|representative|rep|wife|husband|son|daughter|"
    r"sister|brother|mother|father|friend|boyfriend|girlfriend|partner|roommate|assistant|advisor|on behalf of|attn:?|"
    r"reservation (?:for|under)|booking (?:for|under)|appointment (?:for|with|under)|account (?:for|of)|signed by|it was|"
    r"это|говорит|вас беспокоит|habla|aquí|hier ist|hier spricht|ich bin|je suis|c'est|sono|meet|named|by"
)
_GREETING = (
    r"hi|hello|hey|dear|hiya|good (?:morning|afternoon|evening|day)|greetings|welcome|welcome back|thanks|thank you|thank you so much|"
    r"thank you very much|thanks so much|thanks again|thanks a lot|many thanks|sorry|goodbye|bye|ok|okay|sure|yes|great|perfect|"
    r"pleasure|appreciate it|cheers|morning|evening|nice to meet you|"
    r"hola|buenos días|buenas tardes|buenas noches|buenas|estimad[oa]|querid[oa]|gracias|saludos|"
    r"здравствуйте|добрый день|доброе утро|добрый вечер|привет|уважаем\w+|дорог\w+|спасибо|"
    r"hallo|guten tag|guten morgen|liebe|lieber|sehr geehrte[rs]?|danke|bonjour|bonsoir|cher|chère|merci|ciao|buongiorno|dzień dobry|cześć|olá"
)
_CLOSING = (
    r"(?:best|kind|warm|kindest|warmest)? ?regards|best wishes|best|sincerely|yours (?:sincerely|truly|faithfully)|"
    r"sincerely yours|cheers|thanks|thank you|many thanks|thanks in advance|respectfully|warmly|cordially|take care|"
    r"signed|sent by|all the best|yours|saludos|un saludo|atentamente|saludos cordiales|gracias|с уважением|"
    r"mit freundlichen grüßen|viele grüße|liebe grüße|mfg|cordialement|bien à vous|pozdrawiam"
)
_TITLE = r"mr|mrs|ms|miss|mx|dr|prof|professor|doctor|sir|madam|señora|señor|señorita|sra|sr|herr|frau|monsieur|madame|mme|pan|pani|г-н|г-жа|господин|госпожа|доктор"

_CUES = re.compile(
    rf"(?<![\w'])(?:(?P<strong>{_STRONG})|(?P<title>(?:{_TITLE})\.?)|(?P<weak>{_WEAK})|(?P<greeting>{_GREETING}))(?![\w])"
    r"(?=[^\w\n]{0,3}\s?\w)"
)
_SIGNED = re.compile(rf"(?:^|[\n.!?,;] ?)\s{{0,3}}(?:(?:{_CLOSING})\s?(?:[,.!-]{{1,2}}\s{{0,3}}\n?|\n)\s{{0,3}}|(?<=\n)\s?(?:[-~]{{1,2}}|xo|love,)\s?)(?=\w)")
_SIGNED_INLINE = re.compile(r"\s[-~]{1,2}\s?(?=[^\W\d_][\w'-]{1,20}\s{0,3}$)")
_FIELD = re.compile(
    r"""["'](?:first_?name|last_?name|full_?name|customer_?name|passenger_?name|sur_?name|author_?name)["']\s?:\s?["']([^"'\n]{2,60})["']"""
)
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_SPELLED = re.compile(r"[^\W\d_](?:(?:-|\.|\. |, | )[^\W\d_]){2,20}(?![\w'])")
_ASKED = re.compile(
    r"(?:your|full|first|last|whose|account|caller|the|a|and|sur|under what|under which|guest|patient|passenger) ?name|who (?:am i|is this|do i)|"
    r"имя|как вас зовут|фамили|se llama|su nombre|tu nombre|ihr name|votre nom"
)
_LEADING = re.compile(r"\W{0,3}(?:(?:yes|yeah|yep|sure|ok|okay|hi|hello|of course|certainly|it's|it is|its|the name is|name is|that's|that would be|sí|да)[\s,.:!]{1,3}){0,2}")
_AFTER_WEAK = re.compile(r"\s(?:here|speaking|calling|again|from|with|and i|at|writing|chatting|\()\b|\s?[,.!?;:)\n-]|\s?$")


def find(view: View, before: str) -> Iterator[Found]:
    """Announced names in `view`; `before`, the turn before, may have asked for one."""
    if _ASKED.search(before, max(0, len(before) - 160)):
        yield from _answers(view)
    for match in _FIELD.finditer(view.low):
        yield _found(view, match.start(1), match.end(1))
    for match in _CUES.finditer(view.low):
        group = str(match.lastgroup)
        found = _after(view, match.end(), group)
        if found:
            yield found
    for form in (_SIGNED, _SIGNED_INLINE):
        for match in form.finditer(view.low):
            yield from _signature(view, match.end())


def _after(view: View, position: int, group: str) -> Found | None:
    gap = re.compile(r"[\s,:.\"'(-]{0,3}" if group in ("strong", "title") else r"[ ,]{1,2}").match(view.low, position)
    position = gap.end() if gap else position
    if group == "strong":
        return _strong(view, position)
    if group == "title":
        lower = view.low[:position].rstrip(" .").endswith(("mr", "mrs", "ms"))
        return _words(view, position, lower=lower, most=3)
    return _weak(view, position) if group == "weak" else _greeted(view, position)


def _strong(view: View, position: int) -> Found | None:
    spelled = _SPELLED.match(view.low, position)
    if spelled:
        return Found(position, spelled.end(), "NAME", re.sub(r"[^\w]", "", spelled[0]))
    return _words(view, position, lower=True, most=MAX_WORDS)


def _weak(view: View, position: int) -> Found | None:
    found = _words(view, position, lower=False, most=3)
    if not found:
        return None
    first = view.low[found.start : found.end].split()[0]
    known = first in GIVEN_NAMES
    several = " " in view.low[found.start : found.end]
    if not _AFTER_WEAK.match(view.low, found.end):
        return found if known else None
    here = re.compile(r"\s(?:here|speaking|calling)\b").match(view.low, found.end)
    return found if known or here or (several and first in GIVEN_NAMES) else None


def _greeted(view: View, position: int) -> Found | None:
    found = _words(view, position, lower=False, most=3)
    if not found:
        return _known_lower(view, position)
    words = view.low[found.start : found.end].split()
    closed = re.compile(r"\s?[,.!?\n:;)~-]|\s*$").match(view.low, found.end)
    if words[0] in GIVEN_NAMES:
        return found
    return found if closed and len(words) <= 2 and len(words[0]) > 2 else None


def _known_lower(view: View, position: int) -> Found | None:
    """ "hi sarah," in lower case: only a well-known given name that closes the greeting."""
    word = _WORD.match(view.low, position)
    if word and word[0] in GIVEN_NAMES and re.compile(r"\s?[,.!?\n]|\s*$").match(view.low, word.end()):
        return _found(view, word.start(), word.end())
    return None


def _signature(view: View, position: int) -> Iterator[Found]:
    found = _words(view, position, lower=False, most=3)
    if found and re.compile(r"[.!)\s]{0,3}(?:$|\n|[,|])").match(view.low, found.end):
        yield found


def _answers(view: View) -> Iterator[Found]:
    """A turn that is nothing but a name, after a turn that asked for one."""
    leading = _LEADING.match(view.low)
    start = leading.end() if leading else 0
    spelled = _SPELLED.match(view.low, start)
    if spelled:
        yield Found(start, spelled.end(), "NAME", re.sub(r"[^\w]", "", spelled[0]))
        return
    found = _words(view, start, lower=True, most=3)
    if found and re.compile(r"\s?(?:[.,!?\n;]|$)").match(view.low, found.end):
        words = view.low[found.start : found.end].split()
        if view.text[found.start].isupper() or words[0] in GIVEN_NAMES:
            yield found


def _words(view: View, position: int, *, lower: bool, most: int) -> Found | None:
    """The name that begins at `position`: capitalised words, or any that is no common word if `lower`."""
    start = end = position
    count = 0
    while count < most and (word := _WORD.match(view.text, position)):
        low = view.low[word.start() : word.end()]
        if low in TITLES and count == 0:
            start = end = position = _past(view, word.end())
            continue
        particle = low in PARTICLES and (count > 0 or word[0][0].isupper())
        if not particle:
            if low in NOT_NAMES or not (word[0][0].isupper() or lower):
                break
            if lower and word[0][0].islower() and (len(low) < 3 or (count and not _may_be_surname(view, start, low))):
                break
            end = word.end()
        count += 1
        position = _past(view, word.end())
        if position == word.end():
            break
    if end == start:
        return None
    return _found(view, start, end)


def _may_be_surname(view: View, start: int, low: str) -> bool:
    """A second lower-case word counts where the first one is lower-case too."""
    return view.text[start].islower()


def _past(view: View, position: int) -> int:
    """Past one space, or a full stop and a space after an initial or a title."""
    gap = re.compile(r"\.? (?=\w)").match(view.text, position)
    if not gap or (gap[0].startswith(".") and not re.compile(r"(?:^|\W)\w{1,4}$").search(view.text[max(0, position - 5) : position])):
        return position
    return gap.end()


def _found(view: View, start: int, end: int) -> Found:
    return Found(start, end, "NAME", " ".join(_WORD.findall(view.low[start:end])))
