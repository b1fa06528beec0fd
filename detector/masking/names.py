"""People's names where people put them: introductions, greetings, signatures, titles, fields, answers.

Not a recogniser of any name anywhere: a name that nothing announces is found only when the same
dialogue announces it elsewhere (`detector.masking.mentions`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from detector.masking.lexicon import COMMON_WORDS, GIVEN_NAMES, NAMES_TOO, NOT_NAMES, PARTICLES, TITLES
from detector.masking.name_cues import ASKED as _ASKED
from detector.masking.name_cues import CUES as _CUES
from detector.masking.name_cues import SIGNED as _SIGNED
from detector.masking.spans import Found
from detector.masking.view import View

MAX_WORDS = 4

_DASHED = re.compile(r"(?:^|\s)[-~]{1,2}\s?(?=[^\W\d_][\w'-]{1,20}\s{0,3}$)")
_FIELD = re.compile(
    r"""["'](?:first_?name|last_?name|full_?name|customer_?name|passenger_?name|sur_?name|"
    r"author_?name)["']\s?:\s?["']([^"'\n<_\d]{2,60})["']"""
)
_HERE = re.compile(
    r"(?:^|[.!?,\n])\s{0,2}([^\W\d_]{2,20}(?:[ ][^\W\d_]{2,20})?) (?:here|speaking|again|hier|"
    r"de nuevo|à nouveau|снова|опять)(?=[\s,.!;-]|$)"
)
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_SPELLED = re.compile(r"[^\W\d_](?:(?:-|\.|\. |, | )[^\W\d_]){2,20}(?![\w'])")
_LEADING = re.compile(
    r"\W{0,3}(?:(?:yes|yeah|yep|sure|ok|okay|hi|hello|of course|certainly|it's|it is|its|the name is|"
    r"name is|that's|that would be|sí|да)[\s,.:!]{1,3}){0,2}"
)
_FORM = re.compile(
    r"\b(?:e-?mail|phone|tel|telephone|mobile|surname|date of birth|dob|birthday)\b[^\n]{0,12}[:=]"
)
_PLACE = re.compile(
    r"\s(?:hotel|restaurant|college|street|road|inn|house|museum|park|guest|lodge|bar|cafe|salon|airport|"
    r"store)\b"
)
_SPEAKING = re.compile(
    r"\s(?:here|speaking|calling|from (?=[a-z])|aus der|du service|de la (?=comp|serv)|из)\b"
)
_SPEAKER = re.compile(r"(?:^|\n)\s{0,3}([^\W\d_]{2,20}(?:[ '-][^\W\d_]{2,20})?)\s?:(?=\s|$)")
"""Who speaks, as a transcript has it: "ANNA: hello"."""
_AFTER_WEAK = re.compile(
    r"\s(?:here|speaking|calling|again|from|with|and i|at|writing|chatting|\()\b|\s?[,.!?;:)\n-]|\s?$"
)

_GAP, _SHORT_GAP = re.compile(r"[\s,:.\"'*(-]{0,4}"), re.compile(r"[ ,]{1,2}")
_CLOSED = re.compile(r"\s?[,.!?\n:;)~-]|(?<!\s)\s*+$")
_SIGNATURE_END = re.compile(r"[.!)\s]{0,3}(?:$|\n|[,|])")
_ANSWER_END = re.compile(r"\s?(?:[.,!?\n;]|$)")
_NEXT_WORD = re.compile(r"\.? (?=\w)")
_SHORT_WORD = re.compile(r"(?:^|\W)\w{1,4}$")


def find(view: View, before: str) -> Iterator[Found]:
    """Announced names in `view`; `before`, the turn before, may have asked for one."""
    if _ASKED.search(before, max(0, len(before) - 160)):
        yield from _answers(view)
    for match in _FIELD.finditer(view.low):
        yield _found(view, match.start(1), match.end(1))
    for match in _CUES.finditer(view.low):
        group = str(match.lastgroup)
        found = _after(view, match.end(), group, view.text[match.start()].isupper())
        if found:
            yield found
    for match in _HERE.finditer(view.low):
        if match[1].split()[0] in GIVEN_NAMES and view.text[match.start(1)].isupper():
            yield _found(view, match.start(1), match.end(1))
    for match in _SPEAKER.finditer(view.low):
        speaker = _words(view, match.start(1), lower=False, most=3)
        if speaker and speaker.end == match.end(1) and _first(view, speaker) in GIVEN_NAMES:
            yield speaker
    for form in (_SIGNED, _DASHED):
        for match in form.finditer(view.low):
            yield from _signature(view, match.end())


def _after(view: View, position: int, group: str, capital: bool) -> Found | None:
    gap = (_SHORT_GAP if group in ("weak", "greeting", "assent") else _GAP).match(view.low, position)
    position = gap.end() if gap else position
    if group in ("mine", "theirs", "bare", "related"):
        return _spelled(view, position) or _stated(view, position, group)
    if group == "title":
        return _titled(view, position, capital)
    if group == "assent":
        return _known(view, position)
    if group == "party":
        return _party(view, position)
    if group == "field":
        return _in_form(view, position)
    if group == "person":
        found = _words(view, position, lower=False, most=3)
        return found if found and _AFTER_WEAK.match(view.low, found.end) else _weak(view, position)
    if group == "greeting" and gap and "," in gap[0]:
        return _known(view, position)
    return _weak(view, position) if group == "weak" else _greeted(view, position)


def _known(view: View, position: int) -> Found | None:
    """A capitalised name that begins with a well-known one and has nothing behind it."""
    found = _words(view, position, lower=False, most=3)
    if not found or _first(view, found) not in GIVEN_NAMES:
        return None
    return found if _AFTER_WEAK.match(view.low, found.end) else None


def _party(view: View, position: int) -> Found | None:
    """After "recipient:": a well-known given name, or two capitalised words and nothing behind them."""
    found = _words(view, position, lower=False, most=3)
    if not found or _first(view, found) in GIVEN_NAMES:
        return found
    return found if " " in view.low[found.start : found.end] and _CLOSED.match(view.low, found.end) else None


def _in_form(view: View, position: int) -> Found | None:
    """After "name:", which things have as well as people: a given name, or a form with other fields."""
    found = _words(view, position, lower=True, most=MAX_WORDS)
    if not found or _first(view, found) in GIVEN_NAMES:
        return found
    around = view.low[max(0, position - 80) : found.start] + view.low[found.end : found.end + 80]
    return found if _FORM.search(around) else None


def _titled(view: View, position: int, capital: bool) -> Found | None:
    """A name after "Mr" or "Dr."; after a title in lower case only "mr", "mrs", "ms" and given names."""
    short = view.low[max(0, position - 6) : position].strip(" .").split(" ")[-1] in ("mr", "mrs", "ms")
    found = _words(view, position, lower=short, most=3)
    return found if found and (capital or short or _first(view, found) in GIVEN_NAMES) else None


def _first(view: View, found: Found) -> str:
    return view.low[found.start : found.end].split()[0]


def _stated(view: View, position: int, group: str) -> Found | None:
    """After "my name is" a name in any case; after "the name is" and the like, where things other than
    names follow as well, a capitalised or a well-known one."""
    found = _words(view, position, lower=group in ("mine", "theirs"), most=MAX_WORDS)
    if not found or _first(view, found) in GIVEN_NAMES:
        return found
    sure = group == "mine" or view.text[found.start].isupper()
    return None if not sure or (_is_verb(view, found) and group in ("mine", "related")) else found


def _is_verb(view: View, found: Found) -> bool:
    """Whether a single word looks like what may follow "my name is" or "my friend" besides a name."""
    word = view.low[found.start : found.end]
    return word.endswith(("ed", "ing", "ly"))


def _spelled(view: View, position: int) -> Found | None:
    """A name in single letters: "K-O-W-A-L-S-K-A"."""
    letters = _SPELLED.match(view.low, position)
    return Found(position, letters.end(), "NAME", re.sub(r"\W", "", letters[0])) if letters else None


def _weak(view: View, position: int) -> Found | None:
    found = _spelled(view, position) or _words(view, position, lower=False, most=3)
    if not found:
        return _known_lower(view, position)
    if _first(view, found) in GIVEN_NAMES:
        return None if _PLACE.match(view.low, found.end) else found
    spelled = view.low[found.start + 1 : found.start + 2] == "-"
    return found if spelled or _SPEAKING.match(view.low, found.end) else None


def _greeted(view: View, position: int) -> Found | None:
    found = _words(view, position, lower=False, most=3)
    if not found:
        return _known_lower(view, position)
    words = view.low[found.start : found.end].split()
    closed = _CLOSED.match(view.low, found.end)
    if words[0] in GIVEN_NAMES:
        return found
    return found if closed and len(words) <= 2 and len(words[0]) > 2 else None


def _known_lower(view: View, position: int) -> Found | None:
    """ "hi sarah," in lower case: a given name that is no common word, with nothing behind it that
    makes it something else."""
    word = _WORD.match(view.low, position)
    if word and word[0] in GIVEN_NAMES - COMMON_WORDS and _AFTER_WEAK.match(view.low, word.end()):
        return _found(view, word.start(), word.end())
    return None


def _signature(view: View, position: int) -> Iterator[Found]:
    found = _words(view, position, lower=False, most=3)
    if found and _SIGNATURE_END.match(view.low, found.end):
        yield found


def _answers(view: View) -> Iterator[Found]:
    """A turn that is nothing but a name, after a turn that asked for one."""
    leading = _LEADING.match(view.low)
    start = leading.end() if leading else 0
    spelled = _spelled(view, start)
    if spelled:
        yield spelled
        return
    found = _words(view, start, lower=True, most=3)
    if found and _ANSWER_END.match(view.low, found.end):
        words = view.low[found.start : found.end].split()
        if view.text[found.start].isupper() or words[0] in GIVEN_NAMES:
            yield found


def _words(view: View, position: int, *, lower: bool, most: int) -> Found | None:
    """The name that begins at `position`: capitalised words, or any that is no common word if `lower`."""
    start = end = position
    count = titles = 0
    while count < most and (word := _WORD.match(view.text, position)):
        low = view.low[word.start() : word.end()]
        if low in TITLES and titles < 2 and count == 0:
            titles += 1
            start = end = position = _past(view, word.end())
            continue
        particle = low in PARTICLES and (count > 0 or word[0][0].isupper())
        if not particle:
            announced = lower and low in NAMES_TOO and word[0][0].isupper()
            if (low in NOT_NAMES and not announced) or not (word[0][0].isupper() or lower):
                break
            if (
                lower
                and word[0][0].islower()
                and (len(low) < 3 or (count and not _may_be_surname(view, start, low)))
            ):
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
    gap = _NEXT_WORD.match(view.text, position)
    if not gap or (
        gap[0].startswith(".") and not _SHORT_WORD.search(view.text[max(0, position - 5) : position])
    ):
        return position
    return gap.end()


def _found(view: View, start: int, end: int) -> Found:
    return Found(start, end, "NAME", " ".join(_WORD.findall(view.low[start:end])))
