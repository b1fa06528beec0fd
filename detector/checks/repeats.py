"""The same message sent again although nothing called for it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from operator import itemgetter

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.words import (
    SENTENCE,
    any_between,
    are_near,
    content,
    find_phrases,
    has_phrase,
    patterns,
    read_words,
    sentences,
    split_words,
    trigrams,
    trim,
)
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn
from dialint.detector.tool_use import per_dialogue

PATTERNS = patterns("repeats")

MIN_WORDS = 5
SHORT_ANSWER = 4
"""Most content words of a turn that counts as a short answer to a question."""
MAX_BETWEEN = 100
"""Most turns between a text and its repetition; over a longer distance the cause cannot be determined."""
MAX_NEW_WORDS = 8
"""Most words of short sentences beside repeated ones."""
_PROPER_NOUN = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+|\b[A-Z](?=[^\WA-Z]*+[A-Z])\w++")
_CALL = re.compile(r"\A\W*+(?:(?:hello|hi|hey)(?: there)?|(?<= )there)?\W*+", re.IGNORECASE)
"""A turn of a customer who only calls for attention."""
QUESTION = re.compile(r"\?|__")


@check(M3=Evidence(34, 37))
def same_text_again(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a message whose sentences were all sent before, in one message or several, or a near-copy of one,
    although no message of the customer and no result since called for it (M3).

    Justified repetitions are no hits: after a new value, request or item, after a new result, of what the
    customer asks to hear again or has not answered; short messages, thanks, goodbyes, offers of further help,
    and menus.
    """
    yield from find_repeated(dialogue)


@per_dialogue
def find_repeated(dialogue: Dialogue) -> tuple[Hit, ...]:
    """Return the hits of `same_text_again`."""
    hits: list[Hit] = []
    sent: dict[str, int] = {}  # by sentence, the position where it was said last
    for position, turn in enumerate(dialogue.turns):
        if turn.role not in JUDGED_ROLES:
            continue
        parts = [(match, " ".join(split_words(match[0]))) for match in SENTENCE.finditer(turn.text)]
        own = [(match, key) for match, key in parts if is_repeatable(match[0])]
        seen = [match for match, key in parts if key in sent and key] or [match for match, _ in own]
        rest = [key for match, key in parts if not is_repeatable(match[0]) and key not in sent]
        is_new = any(map(str.isdigit, "".join(rest))) or len(" ".join(rest).split()) > MAX_NEW_WORDS
        last = min((sent.get(key, -1) for _, key in own), default=-1)
        if own and (last < 0 or is_new):
            last = -1 if _is_question(turn.text) else _spoken(dialogue).last_copy(position)
            if content(turn.text) - content(dialogue.turns[last].text):
                last = -1
        if last >= 0:
            why = _why_needless(dialogue, " ".join(match[0] for match in seen), last, position)
            if why is not None:
                span = trim(turn.text, seen[0].start(), seen[-1].end())
                hits.append(Hit(turn.index, *span, why, "M3"))
        sent.update((key, position) for _, key in parts)
    return tuple(hits)


def is_repeatable(sentence: str) -> bool:
    """Return whether the repetition of a sentence would be noticed: not short, no courtesy, no menu."""
    return (
        len(split_words(sentence)) >= MIN_WORDS
        and not has_phrase(sentence, "routine")
        and not has_phrase(sentence, "holds")
    )


def _why_needless(dialogue: Dialogue, text: str, last: int, position: int) -> str | None:
    """Return why nothing between the positions `last` and `position` calls for `text` again; None if a
    result or the customer's words do, or may."""
    turns, spoken = dialogue.turns, _spoken(dialogue)
    between = turns[last + 1 : position]
    replies = [turn.text for turn in between if turn.role == "customer" and turn.text.strip()]
    if position - last > MAX_BETWEEN or not replies:
        return None
    if any_between(spoken.new_evidence, last + 1, position + 1):
        return None
    answer = " ".join(replies)
    if has_phrase(answer, "says_again"):
        return None
    others = [turn.text for turn in between if turn.role in JUDGED_ROLES and turn.text.strip()]
    if _is_question(text):
        if has_phrase(replies[-1], "not_helped") or (not others and _is_answered(text, replies)):
            return "the question was sent again after the customer's answer"
        return None  # another message stands in between, or the question was not met
    has_new_value = _has_new_value(answer, text, spoken.first_words, last)
    if has_phrase(answer if not has_new_value else replies[-1], "not_helped"):
        return "the same words were sent again although they have not helped"
    if has_new_value or any(QUESTION.search(other) for other in others):  # an answer may call for it
        return None
    earlier = next((turns[i].text for i in range(last, -1, -1) if turns[i].role == "customer"), "")
    if any(_calls_for_more(reply, earlier, bool(others)) for reply in replies):
        return None
    return "the same words were sent before, and nothing new was said"


def _is_question(text: str) -> bool:
    return QUESTION.search(text) is not None or has_phrase(text, "asks_to_say")


def _is_answered(text: str, replies: list[str]) -> bool:
    """Return whether the customer's turns answer a question: begin with a yes or no, or, where that is no
    answer, state what is asked for by its name."""
    question = " ".join(each for each in sentences(text) if QUESTION.search(each)) or text
    answer = " ".join(replies)
    if PATTERNS.no.match(answer) and has_phrase(answer, "wishes"):  # a correction
        return False
    if not (has_phrase(question, "open_questions") or has_phrase(question, "asks_to_say")):
        first = " ".join(split_words(replies[0])[:4])
        is_short = len(content(answer)) <= SHORT_ANSWER  # more than that may be a new request
        return is_short and next((start == 0 for start, _ in find_phrases(first, "agrees")), False)
    if has_phrase(question, "asks_number"):
        has_number = any(map(str.isdigit, answer)) or not _NUMBER_WORDS.isdisjoint(split_words(answer))
        if len(answer.split()) <= SHORT_ANSWER or (not has_number and PATTERNS.how_many.search(question)):
            return has_number
    is_later = "?" in answer or has_phrase(answer, "answers_later")
    return not is_later and bool(content(answer) & content(question))


def _has_new_value(answer: str, text: str, first: dict[str, int], last: int) -> bool:
    """Return whether numbers, days or names in the customer's words did not occur before the position
    `last`."""
    answer = PATTERNS.elapsed.sub("", answer)
    names = () if has_phrase(f"{answer} {text}", "capitalises_nouns") else _PROPER_NOUN.findall(answer)
    values = (*PATTERNS.value.findall(answer), *names)
    return any(first.get(value.casefold(), last + 1) > last for value in values)


def _calls_for_more(reply: str, earlier: str, is_later: bool) -> bool:
    """Return whether the customer's turn `reply` asks or wishes something. Repeating what was said in
    the turn before (`earlier`) does not count: the text did not answer it the first time either. `is_later`
    is whether other messages stand in between, which a short answer may be meant for."""
    words = content(reply)
    if _CALL.fullmatch(reply) or (len(words) >= SHORT_ANSWER and words <= content(earlier)):
        return False
    polite = {start for start, phrase in find_phrases(reply, "polite")}
    return (
        "?" in reply
        or any(start not in polite for start, _ in find_phrases(reply, "wishes"))
        or (is_later and 0 < len(words) <= SHORT_ANSWER)
    )


MAX_COMPARED = 100
"""Different texts with the same values that a text is compared with."""
_DENIALS = frozenset({"not", "no", "without", "never"})
_NUMBER_WORDS = {word for words in read_words("number_words").values() for word in words.split()}
_VALUE_WORD = re.compile(r"\b(?=[^\W\d]*+\d)\w++")


class _Spoken:
    """The earlier texts of the agents of a dialogue, the positions of calls and results that are new, and of
    the first turn with each word."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._turns = dialogue.turns
        self._positions: dict[tuple[frozenset[str], str], list[int]] = {}  # by values and words
        self._texts: dict[frozenset[str], list[tuple[int, str]]] = {}  # by values; the first position of each
        self._trigrams: dict[str, frozenset[str]] = {}
        self._keys: dict[int, tuple[frozenset[str], str]] = {}
        self.new_evidence = list[int]()
        self.first_words: dict[str, int] = {}
        seen: set[str] = set()
        for position, turn in enumerate(dialogue.turns):
            words = split_words(turn.text)
            for word in words:
                self.first_words.setdefault(word, position)
            if turn.role in JUDGED_ROLES:
                key = values, text = frozenset(_values(turn.text)), " ".join(words)
                if key not in self._positions:
                    self._texts.setdefault(values, []).append((position, text))
                    self._trigrams.setdefault(text, trigrams(turn.text))
                self._positions.setdefault(key, []).append(position)
                self._keys[position] = key
            evidence = _evidence(turn)
            self.new_evidence += [position] if evidence - seen else []
            seen |= evidence

    def last_copy(self, position: int) -> int:
        """Return the position of the last earlier turn that the turn at `position` is a near-copy of, -1
        without any; of other texts with the same values the last `MAX_COMPARED` are compared."""
        values, own = self._keys[position]
        texts = self._texts[values]
        n_texts = bisect_left(texts, position, key=itemgetter(0))
        last = -1
        for other in {own, *(text for _, text in texts[max(0, n_texts - MAX_COMPARED) : n_texts])}:
            positions = self._positions[values, other]
            n_before = bisect_left(positions, position)
            if n_before and are_near(self._trigrams[other], self._trigrams[own]):
                last = max(last, positions[n_before - 1])
        return last


_spoken = per_dialogue(lambda dialogue: _Spoken(dialogue))


def _values(text: str) -> set[str]:
    """Return numbers, codes, negations and, after the first word of a sentence, capitalised words."""
    names = {
        word
        for sentence in sentences(text)
        for word in sentence.split()[1:]
        if word[:1].isupper() and word[1:2].islower()
    }
    denials = {word for word in split_words(text) if word in _DENIALS or word.endswith("n't")}
    return denials | {*_VALUE_WORD.findall(text), *(name.strip(",.!?'\"") for name in names)}


def _evidence(turn: Turn) -> set[str]:
    """Return calls and results in a turn as comparable texts; a log may have them as system turns of JSON."""
    evidence = {f"{call.name} {call.arguments}" for call in turn.tool_calls}
    if turn.role == "tool" or (turn.role == "system" and turn.text.lstrip()[:1] in "{["):
        evidence.add(turn.text)
    return evidence
