"""Gates of the codes that the text of the turn itself proves: raw slots (M2), repeated text (M3), odd words
(L1)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from operator import itemgetter

from dialint.detector.checks import repeats
from dialint.detector.checks.dictionary import is_foreign, speller
from dialint.detector.checks.repeats import MIN_WORDS, ROUTINE, is_uncalled_for
from dialint.detector.checks.slots import is_no_slot, speaks_of_code, unfilled_slots
from dialint.detector.dialogue_cache import Spans, any_between, per_dialogue
from dialint.detector.gates.suspicion import (
    GateInput,
    GateResult,
    are_near,
    dropped,
    finding,
    first_position,
    first_positions,
    has_phrase,
    sentences,
    split_words,
    suggestion,
    trigrams,
    words_of,
)
from dialint.detector.log_profile import find_marks, mark_kind, words
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn

FIELD_WORDS = 5
"""Most words of a slot in brackets."""
EXPLAINED = 200
"""Characters before a slot in which the sentence may explain it."""
MAX_COMPARED = 100
"""Different texts with the same values that a text is compared with."""
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


@per_dialogue
def _first_marks(dialogue: Dialogue) -> dict[str, int]:
    return first_positions(dialogue, lambda text: (mark_kind(mark[0]) for mark in find_marks(text)))


@per_dialogue
def _code_from(dialogue: Dialogue) -> float:
    return first_position(dialogue, speaks_of_code)


def raw_slot(suspicion: GateInput) -> GateResult:
    """M2 must see a slot of a template in the turn: none of the log's own masking, none that the customer
    speaks of, none that the sentence explains as a form to fill in, no menu path and no link."""
    text, log = suspicion.turn.text, suspicion.log
    spoken_of = _first_marks(suspicion.dialogue)
    if _code_from(suspicion.dialogue) < suspicion.position:
        return dropped("the customer speaks of code or templates")
    why, unsure = "no slot of a template in the turn", False
    for mark, is_slot in _slots(text):
        slot = mark[0]
        if log.is_masking(slot):
            why = "the marks are the log's own masking or a known one"
        elif spoken_of.get(mark_kind(slot), suspicion.position) < suspicion.position:
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
    spans = Spans(match.span() for match in certain)
    for match in find_marks(text):
        if not spans.overlap(*match.span()):
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


def repeats_itself(suspicion: GateInput) -> GateResult:
    """M3 must see a near-copy of an earlier turn of the agent with the same values, no result of a tool and
    no call in between that was not there before, and no reason in the customer's words to say it again."""
    turns, position, turn = suspicion.dialogue.turns, suspicion.position, suspicion.turn
    if len(words(turn.text)) < MIN_WORDS or ROUTINE.search(turn.text):
        return dropped("a short or routine text may be said again")
    spoken = _spoken(suspicion.dialogue)
    n_copies, last = spoken.find_copies(position)
    if not n_copies:
        return dropped("no earlier turn is a near-copy")
    if not any_between(spoken.customer, last, position):
        return dropped("the customer said nothing in between")
    if any_between(spoken.new_evidence, last + 1, position):
        return dropped("a new call or result stands in between")
    why = f"a near-copy of turn {turns[last].index}, and nothing new in between"
    if is_uncalled_for(turn.text, turns, last, position, repeats.first_positions(suspicion.dialogue)):
        return finding(why)
    if "?" in turn.text or has_phrase(turn.text, "asks_detail"):
        return dropped("a request of the agent that was not met")
    customer = suspicion.customer_before
    if customer.asks_again and (n_copies == 1 or any_between(spoken.evidence, last + 1, position)):
        return dropped("the customer asks to hear it again, or to try again")
    if n_copies > 1:
        return finding(f"{why}; it was sent {n_copies} times before")
    if customer.words.intersection(words(turn.text)) - words_of("empty_words"):
        return suggestion(f"{why} but a request that it may answer")
    return finding(f"{why} but what it does not answer")


class _Spoken:
    """What the agents of a dialogue said before, and between which turns something happened: the positions of
    turns of the customer with words, of calls and results, and of those of the latter that are new."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._turns = dialogue.turns
        self._positions: dict[tuple[frozenset[str], str], list[int]] = {}  # by values and words
        self._texts: dict[frozenset[str], list[tuple[int, str]]] = {}  # by values; the first position of each
        self._trigrams: dict[str, frozenset[str]] = {}
        self._keys: dict[int, tuple[frozenset[str], str]] = {}
        self.customer, self.evidence, self.new_evidence = list[int](), list[int](), list[int]()
        known: set[str] = set()
        for position, turn in enumerate(dialogue.turns):
            if turn.role in JUDGED_ROLES:
                key = values, text = frozenset(_values(turn.text)), " ".join(split_words(turn.text))
                if key not in self._positions:
                    self._texts.setdefault(values, []).append((position, text))
                    self._trigrams.setdefault(text, trigrams(turn.text))
                self._positions.setdefault(key, []).append(position)
                self._keys[position] = key
            elif turn.role == "customer" and turn.text.strip():
                self.customer.append(position)
            evidence = _evidence(turn)
            self.evidence += [position] if evidence else []
            self.new_evidence += [position] if evidence - known else []
            known |= evidence

    def find_copies(self, position: int) -> tuple[int, int]:
        """How many earlier turns the turn at `position` is a near-copy of, and the position of the last one;
        of other texts with the same values the last `MAX_COMPARED` are compared."""
        values, own = self._keys[position]
        texts = self._texts[values]
        n_texts = bisect_left(texts, position, key=itemgetter(0))
        n_copies, last = 0, -1
        for other in {own, *(text for _, text in texts[max(0, n_texts - MAX_COMPARED) : n_texts])}:
            positions = self._positions[values, other]
            n_before = bisect_left(positions, position)
            if n_before and are_near(self._trigrams[other], self._trigrams[own]):
                n_copies, last = n_copies + n_before, max(last, positions[n_before - 1])
        return n_copies, last


@per_dialogue
def _spoken(dialogue: Dialogue) -> _Spoken:
    return _Spoken(dialogue)


def _values(text: str) -> set[str]:
    """Numbers, codes and, after the first word of a sentence, capitalised words."""
    names = {
        word
        for sentence in sentences(text)
        for word in sentence.split()[1:]
        if word[:1].isupper() and word[1:2].islower()
    }
    return {*_VALUE.findall(text), *(name.strip(",.!?'\"") for name in names)}


def _evidence(turn: Turn) -> set[str]:
    """Calls and results in a turn, in a comparable form; a log may hold them as a system's turns of JSON."""
    evidence = {f"{call.name} {call.arguments}" for call in turn.tool_calls}
    if turn.role == "tool" or (turn.role == "system" and turn.text.lstrip()[:1] in "{["):
        evidence.add(turn.text)
    return evidence


@per_dialogue
def _first_words(dialogue: Dialogue) -> dict[str, int]:
    return first_positions(dialogue, words)


def odd_word(suspicion: GateInput) -> GateResult:
    """L1 must see a word that neither the dictionary nor most of the log has, neither the customer's nor
    capitalised, unless a sentence begins with it."""
    text, counts = suspicion.turn.text, suspicion.log.word_dialogues
    first, position = _first_words(suspicion.dialogue), suspicion.position
    opening = len(text) - len(text.lstrip())
    candidates = {
        words(match[0])[0]: match.start()
        for match in _LOWER.finditer(text, suspicion.start, suspicion.end)
        if (match[0].islower() or match.start() <= opening or _begins_sentence(text, match.start()))
        and first.get(words(match[0])[0], position) >= position
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
    return before[-1:] in (".", "!", "?", "\n", ":")
