"""Recognises names of people in introductions, greetings, signatures, titles, form fields and answers.

A name without such a phrase is recognised by its form: a listed given name followed by a surname, a Russian
patronymic, a listed given name in an address; or if the same dialogue introduces it elsewhere
(`dialint.detector.masking.dialogue`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.detector.masking.lexicon import (
    CUES,
    GIVEN_NAMES,
    NAMES_TOO,
    NOT_NAMES,
    PARTICLES,
    PLACES,
    THINGS_TOO,
    TITLES,
    is_patronymic,
    is_surname,
    patterns,
    word_list,
)
from dialint.detector.masking.spans import BLANK, Entity, View

PATTERNS = patterns("names", blank=BLANK)
MAX_WORDS = 4

_DASHED = re.compile(r"(?:^|\s)[-~]{1,2}\s?(?=[^\W\d_][\w'-]{1,20}\s{0,3}$)")
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_SPELLED = re.compile(r"[^\W\d_](?:(?:-|\.|\. |, | )[^\W\d_]){2,20}(?![\w'])")
_ACCENT = re.compile("[à-ɏḀ-ỿ](?<![äöüß])")
"""A letter with an accent, none of those that German words for things have."""
_SPEAKER = re.compile(
    r"(?:^|\n)\s{0,3}(?:[^\W\d_]{2,12} \()?([^\W\d_]{2,20}(?:[ '-][^\W\d_]{2,20})?)\)?\s?:(?=\s|$)"
)
"""The speaker of a line of a transcript: "ANNA: hello"."""

_CAPITALISED = re.compile(
    r"(?<![\w@.&/-])(?<!\w')(?![a-zа-я])[^\W\d_][^\W\d_]{1,24}(?:-[^\W\d_]{2,24}){0,2}(?![\w@/&]|-\w|\.\w)"
)
_WORD_BEFORE = re.compile(r"(?<![^\W_])([^\W\d_]{1,20}) $")
_TWO_SENTENCES = re.compile(r"\w{2}\. |'s\s")
_COMMA_AFTER = re.compile(r"\s?(?:[,!]|\.?\s{0,3}$)")
_ADDRESSING = re.compile(r"(?:^|[.!?\n]\s|, )$")
_CAPITAL_AFTER = re.compile(r"['-]?\s?(?![a-zа-яё])[^\W\d_]")
_DOT_GAP, _GAP = re.compile(r"[\s,:.\"'*(-]{0,4}"), re.compile(r"[ ,:\"'*(-]{0,4}")
_SHORT_GAP = re.compile(r"[ ,]{1,2}")
_GAPS = dict.fromkeys(("weak", "greeting", "assent"), _SHORT_GAP) | dict.fromkeys(("related", "person"), _GAP)
_CLOSED = re.compile(r"\s?[,.!?\n:;)~-]|(?<!\s)\s*+$")
_SENTENCE_BREAK = re.compile(r"\w\s?[.!][ .!]*$")
_SIGNATURE_END = re.compile(r"[.!)\s]{0,3}(?:$|\n|[,|])")
_ANSWER_END = re.compile(r"\s?(?:[.,!?\n;]|$)")
_NEXT_WORD = re.compile(r"\.? (?=\w)")
_NEXT_LOWERCASE = re.compile(r" ([a-zà-ÿа-яё]+(?:['-][a-zà-ÿа-яё]+)*)(?![\w@])")
_PLAIN_TITLES = ("señor", "sr", "monsieur", "madame", "mme", "mlle", "господин", "госпож", "граждан", "г-")
"""Titles that are no other words, even in lower case."""


def find(view: View, before: str) -> Iterator[Entity]:
    """Names in `view`; `before`, the turn before, may request one."""
    if CUES.name_request.search(before, max(0, len(before) - 160)):
        yield from _answers(view)
    if "name" in view.low:
        for match in PATTERNS.field.finditer(view.low):
            if (name := match[1].strip()) in NAMES_TOO or name not in NOT_NAMES:
                yield _entity(view, match.start(1), match.end(1))
    for cue in CUES.cue.finditer(view.low):
        result = _name_after_cue(view, cue.end(), str(cue.lastgroup), view.text[cue.start()].isupper())
        if result:
            yield result
    for match in PATTERNS.here.finditer(view.low):
        result = _words(view, match.start(1), lower=False, most=3)
        if result and result.end == match.end(1) and (match["sure"] or _is_sure(view, result)):
            yield result
    for match in _SPEAKER.finditer(view.low) if ":" in view.low else ():
        speaker = _words(view, match.start(1), lower=False, most=3)
        if speaker and speaker.end == match.end(1) and _is_sure(view, speaker):
            yield speaker
    for form in (CUES.signature, _DASHED) if "-" in view.low or "~" in view.low else (CUES.signature,):
        for match in form.finditer(view.low):
            yield from _signature(view, match)
    yield from _unannounced_names(view)


def _unannounced_names(view: View) -> Iterator[Entity]:
    """Names without a cue: given and family name, patronymics, given names of people addressed."""
    end = 0
    for word in _CAPITALISED.finditer(view.text):
        low = view.low[word.start() : word.end()]
        is_given_name = low in GIVEN_NAMES or low.partition("-")[0] in GIVEN_NAMES
        if word.start() < end or low in TITLES or not (is_given_name or is_patronymic(low)):
            continue
        result = _full_name(view, word.start()) if is_given_name else _with_patronymic(view, word.start())
        if result is None and is_given_name and low not in THINGS_TOO and _is_addressed(view, word):
            result = _entity(view, word.start(), word.end())
        if result:
            end = result.end
            yield result


def _full_name(view: View, start: int) -> Entity | None:
    """The given name at `start` with the family name after it, or before it as in Russian."""
    result = _words(view, start, lower=False, most=MAX_WORDS)
    if (
        not result
        or _is_place(view, result)
        or PATTERNS.work.match(view.low, result.end)
        or _TWO_SENTENCES.search(view.low, result.start, result.end)
    ):
        return None
    before = _WORD_BEFORE.search(view.text, max(0, start - 24), start)
    if before and before[1][0].isupper() and (low := before[1].lower()) not in NOT_NAMES:
        if "а" <= low[0] <= "я" and is_surname(low):
            return _entity(view, before.start(1), result.end)
        return None
    words = _WORD.findall(view.low[result.start : result.end])
    first, last = words[0], words[-1]
    sure = len(words) > 1 and (first not in THINGS_TOO or is_surname(last))
    return result if sure and len(last) > 1 and last not in PARTICLES and last not in PLACES else None


def _with_patronymic(view: View, start: int) -> Entity | None:
    """The patronymic at `start` with the capitalised words right before it."""
    first, end = start, _WORD.match(view.text, start)
    for _ in range(2):
        before = _WORD_BEFORE.search(view.text, max(0, first - 24), first)
        if not before or not before[1][0].isupper() or before[1].lower() in NOT_NAMES:
            break
        first = before.start(1)
    return _entity(view, first, end.end()) if end and first < start else None


def _is_addressed(view: View, word: re.Match[str]) -> bool:
    """Returns whether the context of a given name addresses or mentions a person: "Anna, ...", "ask Anna
    to"."""
    if PATTERNS.place.match(view.low, word.end()):
        return False
    if _COMMA_AFTER.match(view.text, word.end()) and _ADDRESSING.search(
        view.text, max(0, word.start() - 4), word.start()
    ):
        return True
    before = _WORD_BEFORE.search(view.low, max(0, word.start() - 16), word.start())
    near = before is not None and (
        before[1] in word_list("words_before_people")
        or PATTERNS.next_name.search(view.low, max(0, word.start() - 8), word.start())
    )
    crossing = before is not None and before[1] == "from" and view.low.startswith(" and ", word.end())
    return bool(near) and not crossing and not _CAPITAL_AFTER.match(view.text, word.end())


def _is_place(view: View, result: Entity) -> bool:
    """Returns whether a candidate contains or precedes a word for a place."""
    return bool(
        PATTERNS.place.search(view.low, result.start, result.end)
        or PATTERNS.place.match(view.low, result.end)
    )


def _is_sure(view: View, result: Entity) -> bool:
    """Returns whether a candidate is certainly a name: a listed one, or a patronymic."""
    words = _WORD.findall(view.low, result.start, result.end)
    return not _is_place(view, result) and (
        words[0] in GIVEN_NAMES
        or words[0].partition("-")[0] in GIVEN_NAMES
        or any(is_patronymic(word) or is_surname(word) for word in words)
        or words[0].startswith(("o'", "mc", "d'"))
    )


def _name_after_cue(view: View, position: int, group: str, capital: bool) -> Entity | None:
    gap = _GAPS.get(group, _DOT_GAP).match(view.low, position)
    position = gap.end() if gap else position
    if group in ("mine", "theirs", "bare", "related"):
        return _spelled_name(view, position) or _stated_name(view, position, group)
    if group == "title":
        return _name_after_title(view, position, capital)
    if group == "assent":
        return _listed_name(view, position)
    if group == "party":
        return _name_of_party(view, position)
    if group == "field":
        return _in_form(view, position)
    if group == "person":
        result = _words(view, position, lower=False, most=3)
        if result and PATTERNS.after_weak.match(view.low, result.end):
            return result
    if group in ("person", "weak"):
        return _name_after_weak_cue(view, position)
    is_apart = group == "greeting" and gap and "," in gap[0]
    return _listed_name(view, position) if is_apart else _name_after_greeting(view, position)


def _listed_name(view: View, position: int) -> Entity | None:
    """A capitalised name that begins with a listed one, with nothing after it that contradicts."""
    result = _words(view, position, lower=False, most=3)
    is_name = result and _is_sure(view, result) and PATTERNS.after_weak.match(view.low, result.end)
    return result if is_name else None


def _name_of_party(view: View, position: int) -> Entity | None:
    """After "recipient:": a listed given name, or two capitalised words and nothing after them."""
    result = _words(view, position, lower=False, most=3)
    if not result or _is_sure(view, result):
        return result
    is_name = " " in view.low[result.start : result.end] and _CLOSED.match(view.low, result.end)
    return result if is_name else None


def _in_form(view: View, position: int) -> Entity | None:
    """After "name:", which may be that of a thing: a listed name, one with an accent, or any in a form with
    other personal fields."""
    result = _words(view, position, lower=True, most=MAX_WORDS)
    if not result or _is_sure(view, result):
        return result
    if view.text[result.start].isupper() and _ACCENT.search(view.low, result.start, result.end):
        is_thing = PATTERNS.thing_name.search(view.low, max(0, position - 24), position)
        is_thing = is_thing or PATTERNS.place.search(f" {view.low[result.start : result.end]}")
        return None if is_thing else result
    around = view.low[max(0, position - 80) : result.start] + view.low[result.end : result.end + 80]
    return result if PATTERNS.form.search(around) else None


def _name_after_title(view: View, position: int, capital: bool) -> Entity | None:
    """A name after "Mr" or "Dr."; after a lower-case title that may be another word ("don", "miss") only
    listed names."""
    if PATTERNS.brand.search(view.low, max(0, position - 12), position + 16):
        return None
    title = view.low[max(0, position - 12) : position].strip(" .").split(" ")[-1]
    short = title in ("mr", "mrs", "ms")
    result = _words(view, position, lower=short, most=3)
    is_title = capital or short or title.startswith(_PLAIN_TITLES)
    return result if result and (is_title or _is_sure(view, result)) else None


def _stated_name(view: View, position: int, group: str) -> Entity | None:
    """After "my name is" a name in any case; after "the name is" and the like, which other things may follow,
    a capitalised or a listed one."""
    result = _words(view, position, lower=group in ("mine", "theirs"), most=MAX_WORDS)
    if not result or _is_sure(view, result):
        return result
    sure = group == "mine" or view.text[result.start].isupper()
    is_verb = view.low[result.start : result.end].endswith(("ed", "ing", "ly"))  # or an adverb
    return None if not sure or (is_verb and group in ("mine", "related")) else result


def _spelled_name(view: View, position: int) -> Entity | None:
    """A name in single letters: "K-O-W-A-L-S-K-A"."""
    letters = _SPELLED.match(view.low, position)
    return Entity(position, letters.end(), "NAME", re.sub(r"\W", "", letters[0])) if letters else None


def _name_after_weak_cue(view: View, position: int) -> Entity | None:
    result = _spelled_name(view, position) or _words(view, position, lower=False, most=3)
    if not result:
        return None if view.low[position : position + 1] >= "а" else _lowercase_given_name(view, position)
    if _WORD.findall(view.low, result.start, result.end)[0] in GIVEN_NAMES or (
        _is_sure(view, result) and PATTERNS.after_weak.match(view.low, result.end)
    ):
        return None if PATTERNS.place.match(view.low, result.end) else result
    spelled = view.low[result.start + 1 : result.start + 2] == "-"
    return result if spelled or PATTERNS.speaking.match(view.low, result.end) else None


def _name_after_greeting(view: View, position: int) -> Entity | None:
    result = _words(view, position, lower=False, most=3)
    if not result:
        return _lowercase_given_name(view, position)
    if _is_sure(view, result):
        return result
    first = _WORD.match(view.low, result.start)
    is_short = len(view.low[result.start : result.end].split()) <= 2 and _CLOSED.match(view.low, result.end)
    return result if is_short and first and len(first[0]) > 2 else None


def _lowercase_given_name(view: View, position: int) -> Entity | None:
    """A lower-case given name that is no common word, as in "hi sarah,": alone before a word that may follow
    a name, or with the family name that follows: "i'm jane doe btw"."""
    word = _WORD.match(view.low, position)
    if not word or word[0] not in GIVEN_NAMES or word[0] in THINGS_TOO:
        return None
    if PATTERNS.place.match(view.low, word.end()):
        return None
    family = _NEXT_LOWERCASE.match(view.text, word.end())
    if PATTERNS.after_weak.match(view.low, word.end()) or (family and family[1] in NOT_NAMES):
        return _entity(view, word.start(), word.end())
    is_name = family and len(family[1]) > 2 and not PATTERNS.place.match(view.low, family.end())
    return _entity(view, word.start(), family.end()) if family and is_name else None


def _signature(view: View, match: re.Match[str]) -> Iterator[Entity]:
    result = _words(view, match.end(), lower=False, most=3)
    ends = result and _SIGNATURE_END.match(view.low, result.end)
    if result and ends and (_is_sure(view, result) or not _SENTENCE_BREAK.search(match[0])):
        yield result


def _answers(view: View) -> Iterator[Entity]:
    """The name in a turn that is only a name, after a turn that requested one."""
    leading = PATTERNS.leading.match(view.low)
    start = leading.end() if leading else 0
    spelled = _spelled_name(view, start)
    if spelled:
        yield spelled
        return
    result = _words(view, start, lower=True, most=3)
    if result and _ANSWER_END.match(view.low, result.end):
        words = view.low[result.start : result.end].split()
        if view.text[result.start].isupper() or words[0] in GIVEN_NAMES:
            yield result


def _words(view: View, position: int, *, lower: bool, most: int) -> Entity | None:
    """The name at `position`: capitalised words, or with `lower` any that are no common words."""
    start = end = position
    count = titles = 0
    while count < most and (word := _WORD.match(view.text, position)):
        low = view.low[word.start() : word.end()]
        if view.text[word.end() : word.end() + 1].isdigit():
            break  # a code
        if low in TITLES and titles < 2 and count == 0:
            titles += 1
            start = end = position = _skip_gap(view, word.end())
            continue
        particle = low in PARTICLES and (count > 0 or word[0][0].isupper())
        if not particle:
            announced = lower and low in NAMES_TOO and word[0][0].isupper()
            if (low in NOT_NAMES and not announced) or not (word[0][0].isupper() or lower):
                break
            is_further = count and not view.text[start].islower()
            if lower and word[0][0].islower() and (len(low) < 3 or is_further):
                break  # a further lower-case word counts only if the first one is lower-case too
            end = word.end()
        count += 1
        position = _skip_gap(view, word.end())
        if position == word.end():
            break
    if end == start:
        return None
    initials = PATTERNS.initials.match(view.text, end)
    return _entity(view, start, initials.end() if initials else end)


def _skip_gap(view: View, position: int) -> int:
    """The position after one space, or after a full stop and a space that follow an initial or a title."""
    gap = _NEXT_WORD.match(view.text, position)
    if (
        gap
        and gap[0][0] == "."
        and not PATTERNS.short_word.search(view.text[max(0, position - 5) : position])
    ):
        return position
    return gap.end() if gap else position


def _entity(view: View, start: int, end: int) -> Entity:
    return Entity(start, end, "NAME", " ".join(_WORD.findall(view.low[start:end])))
