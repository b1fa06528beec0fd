"""Gates of the codes that the text of the turn itself proves: raw slots (M2), repeated text (M3), odd words
(L1)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.detector.checks.foreign_words import is_foreign
from dialint.detector.checks.placeholders import is_no_slot, speaks_of_code, unfilled_slots
from dialint.detector.checks.repeats import MIN_WORDS, ROUTINE, first_positions, is_uncalled_for
from dialint.detector.checks.spelling import speller
from dialint.detector.gates.suspicion import (
    GateResult,
    Suspicion,
    dropped,
    finding,
    has_phrase,
    is_near_copy,
    sentences,
    split_words,
    suggestion,
    words_of,
)
from dialint.detector.log_profile import find_marks, mark_kind, words
from dialint.detector.records import JUDGED_ROLES, Turn

FIELD_WORDS = 5
"""Most words of a slot in brackets."""
EXPLAINED = 200
"""Characters before a slot in which the sentence may explain it."""
RARE = 2
"""Most dialogues of a log in which an odd word may occur."""

_FIELD = re.compile(
    r"(?<![\w/\\])[A-Z]{2,20}(?:_[A-Z]{2,20}){0,3}_(?:NAME|ID|NUMBER|DATE|EMAIL|ADDRESS|TOTAL|AMOUNT|PRICE)(?![\w\\])"
    r"|(?<!\w)#[a-z]{2,20}(?:_[a-z]{2,20}){1,3}(?!\w)"  # #shoe_size
    r"|\{\d{1,2}\}|\bNaN\b|\[object Object\]|#REF!|#N/A|<<<[^<>\n]{1,60}>>>"
    r"|(?i:(?<=\bdear )|(?<=\bhello )|(?<=\bhi )|(?<=\bis )|(?<=\bfor )|(?<=\bnumber ))"
    r"(?:null|undefined|NaN|N/A)(?=[\s,.!?]|\Z)"
)
_CALL = re.compile(r"\A[\s*`]*+(?:json\b)?\s*+[{\[]|\"(?:name|arguments)\"\s{0,3}:|\[action:")
_LOWER = re.compile(r"(?<![\w@#.])[^\W\d_][^\W\d_A-Z]*+(?:['’][a-z]++)?+(?![\w@])")
_PLAIN = re.compile(r"[^\W\d_][\w '’-]{1,60}+")
_PATH = re.compile(r"[->→＞/]|[^\x00-\x7f]")
_VALUE = re.compile(r"\b(?=[^\W\d]*+\d)\w++")
_LETTERS = re.compile(r"[^\W\d_]")


def raw_slot(suspicion: Suspicion) -> GateResult:
    """M2 must see a slot of a template in the turn: none of the log's own masking, none that the customer
    speaks of, none that the sentence explains as a form to fill in, no menu path and no link."""
    text, log = suspicion.turn.text, suspicion.log
    spoken_of = {mark_kind(mark[0]) for turn in suspicion.customer_turns for mark in find_marks(turn.text)}
    earlier = (turn for turn in suspicion.customer_turns if turn.index < suspicion.turn.index)
    if any(speaks_of_code(turn.text) for turn in earlier):
        return dropped("the customer speaks of code or templates")
    why, unsure = "no slot of a template in the turn", False
    for mark, is_slot in _slots(text):
        slot = mark[0]
        if log.is_masking(slot):
            why = "the marks are the log's own masking or a known one"
        elif mark_kind(slot) in spoken_of:
            why = "the customer speaks of the same slot"
        elif _is_explained(text, mark.start()):
            why = "the slot is explained to the customer as a form"
        elif is_no_slot(text, mark) or '"' in slot or _PATH.search(slot[1:-1]):
            why = "the marks are a link, a path or data"
        elif is_slot:
            return finding(f"the slot “{slot}” is raw")
        elif slot[0] in "{%" and _LETTERS.search(slot):
            unsure = True
    if unsure:
        return suggestion("the turn has marks of an unknown kind")
    return dropped("a raw call of a tool, not a slot" if _CALL.search(text) else why)


def _slots(text: str) -> Iterator[tuple[re.Match[str], bool]]:
    """What may be a slot, and whether its form says so: the name of a field."""
    certain = [*unfilled_slots(text), *_FIELD.finditer(text)]
    for match in certain:
        yield match, True
    spans = [match.span() for match in certain]
    for match in find_marks(text):
        if not any(start < match.end() and match.start() < end for start, end in spans):
            yield match, _names_field(match[0])


def _names_field(mark: str) -> bool:
    """Whether words in brackets end with the name of a field or are joined by underscores:
    ``[order details]``, ``{shoe_size}``."""
    inner = mark.strip("[]<>{}%#")
    if has_phrase(inner, "stage_directions") or len(inner.split()) > FIELD_WORDS:
        return False
    return _PLAIN.fullmatch(inner) is not None and (
        ("_" in inner.strip("_") and " " not in inner) or split_words(inner)[-1] in words_of("field_words")
    )


def _is_explained(text: str, start: int) -> bool:
    before = sentences(text[max(0, start - EXPLAINED) : start])
    return bool(before) and has_phrase(before[-1], "explains_slot")


def repeats_itself(suspicion: Suspicion) -> GateResult:
    """M3 must see a near-copy of an earlier turn of the agent with the same values, no result of a tool and
    no call in between that was not there before, and no reason in the customer's words to say it again."""
    turns, position, turn = suspicion.dialogue.turns, suspicion.position, suspicion.turn
    if len(words(turn.text)) < MIN_WORDS or ROUTINE.search(turn.text):
        return dropped("a short or routine text may be said again")
    copies = [place for place in range(position) if _is_copy(turns[place], turn)]
    if not copies:
        return dropped("no earlier turn is a near-copy")
    last = copies[-1]
    if not any(between.role == "customer" and between.text.strip() for between in turns[last:position]):
        return dropped("the customer said nothing in between")
    if _evidence(turns[last + 1 : position]) - _evidence(turns[: last + 1]):
        return dropped("a new call or result stands in between")
    why = f"a near-copy of turn {turns[last].index}, and nothing new in between"
    if is_uncalled_for(turn.text, turns, last, position, first_positions(suspicion.dialogue)):
        return finding(why)
    if "?" in turn.text or has_phrase(turn.text, "asks_detail"):
        return dropped("a request of the agent that was not met")
    customer_text = " ".join(each.text for each in suspicion.customer_before)
    asks_again = has_phrase(customer_text, "asks_again")
    if asks_again and (len(copies) == 1 or _evidence(turns[last + 1 : position])):
        return dropped("the customer asks to hear it again, or to try again")
    if len(copies) > 1:
        return finding(f"{why}; it was sent {len(copies)} times before")
    if {*words(customer_text)} & {*words(turn.text)} - words_of("empty_words"):
        return suggestion(f"{why} but a request that it may answer")
    return finding(f"{why} but what it does not answer")


def _is_copy(earlier: Turn, turn: Turn) -> bool:
    same_side = earlier.role in JUDGED_ROLES
    return same_side and _values(earlier.text) == _values(turn.text) and is_near_copy(earlier.text, turn.text)


def _values(text: str) -> set[str]:
    """Numbers, codes and, after the first word of a sentence, capitalised words."""
    names = {
        word
        for sentence in sentences(text)
        for word in sentence.split()[1:]
        if word[:1].isupper() and word[1:2].islower()
    }
    return {*_VALUE.findall(text), *(name.strip(",.!?'\"") for name in names)}


def _evidence(turns: tuple[Turn, ...]) -> set[str]:
    """Calls and results in turns, in a comparable form; a log may hold them as a system's turns of JSON."""
    calls = {f"{call.name} {call.arguments}" for turn in turns for call in turn.tool_calls}
    results = {
        turn.text
        for turn in turns
        if turn.role == "tool" or (turn.role == "system" and turn.text.lstrip()[:1] in "{[")
    }
    return calls | results


def odd_word(suspicion: Suspicion) -> GateResult:
    """L1 must see a word that neither the dictionary nor most of the log has, neither the customer's nor
    capitalised, unless a sentence begins with it."""
    text, counts = suspicion.turn.text, suspicion.log.word_dialogues
    customer_words = {word for turn in suspicion.customer_turns for word in words(turn.text)}
    candidates = {
        words(match[0])[0]: match.start()
        for match in _LOWER.finditer(text, suspicion.start, suspicion.end)
        if (match[0].islower() or _begins_sentence(text, match.start()))
        and words(match[0])[0] not in customer_words
    }
    if not candidates:
        return dropped("every word is a name, an abbreviation or the customer's")
    if suspicion.log.n_dialogues and all(counts.get(word, 0) > RARE for word in candidates):
        return dropped("every word is usual in the log")
    if all(speller("en").is_known(word) or is_foreign(text, at, word) for word, at in candidates.items()):
        return dropped("every word is in a dictionary, of English or of its neighbours' language")
    return finding("a word that the log hardly has")


def _begins_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - 5) : start].rstrip(" \"'(*-")
    return before[-1:] in (".", "!", "?", "\n", ":") or not text[:start].strip()
