"""Arguments of calls that are a slip of the customer's words, or differ from them, or were not stated."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from itertools import pairwise

from pydantic import JsonValue

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.calls import MODE_KEY, locate_call, may_write, strings_of
from dialint.detector.checks.quantities import ISO, MONEY_NAME, NUMBER_WORDS, quantities
from dialint.detector.checks.values import fields_of, name_words
from dialint.detector.checks.words import SENTENCE, fold, has_phrase, is_slip, patterns, read_words, words_of
from dialint.detector.records import JUDGED_ROLES, Dialogue, Role, ToolCall
from dialint.detector.tool_use import ToolUse, uses_by_turn

_TOKEN = re.compile(r"[^\W_]++")
_DIGITS = re.compile(r"\d++")
_GROUPS = re.compile(r"\d(?:[ -]?\d){6,19}")
"""A number of telephone, or another, in groups of digits."""
PATTERNS = patterns("arguments")
MAX_TOKEN = 20
"""Most letters of a token that is searched for slips."""
MIN_TOKEN, MIN_DIGITS = 4, 5
"""Letters, and digits, of a token that is identified without the token beside it."""
MIN_CODE = 4
"""Digits of a code."""


@check(P3=Evidence(13, 13))
def miscopied_argument(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a call with a part of personal data or a code which nobody had stated, one sign off the only one
    of the customer's that is near; a name is ignored where the log has it in more dialogues than the
    customer's, who may have misspelt it. One hit for each argument.

    Read in all of tau_bench and STAR (2026-11-30), on which the limits were set: 13 of 13 right, most of them
    names; no hit in 150 dialogues that were written to be clean.
    """
    uses = uses_by_turn(dialogue)
    if not uses:
        return
    stated, reported = _Tokens(context.log.word_dialogues), set[tuple[str, str, str]]()
    for text in dialogue.sources:
        stated.add(text, "system")
    for turn in dialogue.turns:
        for number, use in enumerate(uses.get(turn.index, ())):
            for key, value in fields_of(use.call.arguments):
                other, place = stated.other(key, value), (use.call.name, key, str(value))
                if other is not None and place not in reported:
                    reported.add(place)
                    why = f"'{use.call.name}' was called with {value} for {key}; named was {other}"
                    yield Hit(*locate_call(turn, number), why, "P3")
        stated.add(turn.text, turn.role)
        for use in uses.get(turn.index, ()):
            stated.add(str(use.call.arguments), "tool")


class _Tokens:
    """The tokens that were stated so far, read when they are needed."""

    def __init__(self, usual: Mapping[str, int]) -> None:
        self._usual = usual
        self._unread = list[tuple[str, Role]]()
        self._tokens = set[str]()
        self._unindexed, self._near = list[str](), dict[str, set[str]]()
        self._pairs = set[tuple[str, str]]()
        self._before, self._after = dict[tuple[str, ...], set[str]](), dict[tuple[str, ...], set[str]]()

    def add(self, text: str, role: Role) -> None:
        """Adds a text."""
        self._unread.append((text, role))

    def _read(self) -> None:
        for text, role in self._unread:
            tokens = _TOKEN.findall(fold(text))
            groups = [re.sub(r"[ -]", "", match[0]) for match in _GROUPS.finditer(text)]
            self._tokens.update(groups)
            if role == "customer":
                self._unindexed.extend(groups)
                self._unindexed.extend(tokens)
                self._pairs.update(pairwise(tokens))
                for first, second, third in zip(tokens, tokens[1:], tokens[2:], strict=False):
                    if first.isdigit():
                        self._before.setdefault((second, third), set()).add(first)
                    if third.isdigit():
                        self._after.setdefault((first, second), set()).add(third)
            self._tokens.update(tokens)
        self._unread.clear()

    def other(self, key: str, value: JsonValue) -> str | None:
        """Return the customer's only token that differs by one sign, or by two that changed places, from one
        which stands nowhere: in personal data any, elsewhere a code, or one with a digit between two words of
        his; or his only number beside two of its words."""
        name = "_".join(name_words(key))
        is_personal = PATTERNS.personal_key.fullmatch(name) is not None
        if not isinstance(value, str | int) or isinstance(value, bool) or MONEY_NAME.search(name):
            return None
        if "(" in str(value):  # no value, but a formula
            return None
        self._read()
        tokens = _TOKEN.findall(fold(ISO.sub(" ", str(value))))
        for n, token in enumerate(tokens):
            if token in self._tokens or len(token) > MAX_TOKEN:
                continue
            n_digits = sum(map(str.isdigit, token))
            if not (is_personal or n_digits):
                continue
            for each in self._unindexed:
                for form in _near_forms(each):
                    self._near.setdefault(form, set()).add(each)
            self._unindexed.clear()
            near = {other for form in _near_forms(token) for other in self._near.get(form, ())}
            near = {other for other in near if _is_slip(token, other)}
            other = next(iter(near)) if len(near) == 1 else token
            if other not in tokens and self._usual.get(token, 0) <= self._usual.get(other, 0):
                is_long = len(token) >= (MIN_DIGITS if token.isdigit() else MIN_TOKEN)
                n_beside = self._n_beside(tokens, n, other)
                if (is_long or n_beside) if is_personal or n_digits >= MIN_CODE else n_beside > 1:
                    return other
            if token.isdigit() and (number := self._number_between(tokens, n)) is not None:
                return number
        return None

    def _n_beside(self, tokens: Sequence[str], n: int, other: str) -> int:
        """Return on how many sides of a token its neighbour is the customer's beside another one."""
        before, after = tokens[:n][-1:], tokens[n + 1 : n + 2]
        return len(
            self._pairs.intersection([(each, other) for each in before] + [(other, each) for each in after])
        )

    def _number_between(self, tokens: Sequence[str], n: int) -> str | None:
        """Return the customer's only number after the two tokens before one of an argument, or before the two
        after it."""
        pairs = [tuple(tokens[n - 2 : n])] if n > 1 else []
        numbers = {each for pair in pairs for each in self._after.get(pair, ())}
        numbers |= self._before.get(tuple(tokens[n + 1 : n + 3]), set())
        return next(iter(numbers)) if len(numbers) == 1 and numbers.isdisjoint(tokens) else None


def _near_forms(token: str) -> set[str]:
    """Return a token, and without each of its signs: tokens with one sign of difference share such a form."""
    if not 1 < len(token) <= MAX_TOKEN:
        return set()
    return {token, *(token[:n] + token[n + 1 :] for n in range(len(token)))}


def _is_slip(token: str, other: str) -> bool:
    """Return whether two tokens differ by one sign or by two that changed places, but for endings and other
    spellings of a vowel."""
    if token.isdigit() is not other.isdigit():
        return False
    if len(token) == len(other):
        is_near = is_slip(token, other)
    else:
        short, long = sorted((token, other), key=len)
        is_near = any(long[:n] + long[n + 1 :] == short for n in range(len(long)))
    if not is_near or token.isdigit() or (len(token) >= MIN_TOKEN and _DIGITS.search(token)):
        return is_near
    plain = [PATTERNS.vowel.sub(r"\1", each) for each in (token, other)]
    return token[0] == other[0] and token[-1] == other[-1] and plain[0] != plain[1]


_WORD = re.compile(r"\d++|[^\W\d_]++")
_NUMBERS = {word: str(n) for word, n in NUMBER_WORDS.items()} | {"zero": "0", "one": "1"}


@check(P3=Evidence(96, 102), languages=("en",))
def unstated_argument(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find the first call of a tool with a place or a time of day of which no word was stated, nor returned,
    before it (P3); or any call with another choice than the customer's: a day of the week, or a value of a
    list in the log, that nobody stated, where the customer stated exactly one other, or a day, an hour
    or, right after it, a value of a list beside the only one in the customer's last message; the first before
    the customer speaks again. Look-ups of several choices, one after the other, are ignored.

    Codes of places are ignored, and a time where the customer speaks of now, of soon, or of any time. Read
    on the development half of STAR (2026-11-29): 37 of 40 right; of the choices 37 of 39, all there are;
    of last messages, in all of STAR (2026-11-30), 10 of 10, of values of lists 15 of 16, on which their
    conditions were set.
    """
    uses = uses_by_turn(dialogue)
    if not uses:
        return
    words, called, wishes = set[str](), set[str](), _Wishes()
    in_a_row = _values_in_a_row(uses, dialogue)
    for text in dialogue.sources:
        words |= _words(text)
        wishes.add(text, "system")
    is_any_time, is_any_place, reported = False, False, set[tuple[str, str]]()
    for turn in dialogue.turns:
        if turn.role == "customer":
            reported.clear()
        for number, use in enumerate(uses.get(turn.index, ())):
            name, reasons = use.call.name, list[str]()
            for key, value in use.call.arguments.items() if name not in called else ():
                is_time = PATTERNS.time_key.fullmatch(key) is not None
                if is_any_time if is_time else is_any_place or not PATTERNS.stated_key.fullmatch(key):
                    continue
                if is_time and any(PATTERNS.zone_key.fullmatch(each) for each in use.call.arguments):
                    continue
                is_code = not isinstance(value, str) or value.isupper() or "." in value
                is_code = is_code or (not is_time and _is_untraceable(str(value)))
                own = set[str]() if is_code else _words(str(value))
                own |= _dial(value) if is_time and own and isinstance(value, str) else set()
                if (
                    own
                    and own.isdisjoint(words)
                    and not any(len(word) > 4 and get_close_matches(word, words, 1, 0.85) for word in own)
                ):
                    reasons.append(f"'{name}' was called with {key}, which nobody had stated")
            for key, value in strings_of(use.call):
                choices = context.log.choices
                wish = (
                    wishes.other(use.call, key, value, choices)
                    or wishes.last(use.call, key, value)
                    or wishes.last_choice(use.call, key, value, choices)
                )
                if not may_write(name) and len(in_a_row[turn.index, name, key]) > 1:
                    continue  # looks at several
                if wish is not None and (name, key) not in reported:
                    reported.add((name, key))
                    reasons.append(f"'{name}' was called with {value} for {key}; the customer named {wish}")
            if reasons:
                yield Hit(*locate_call(turn, number), reasons[0], "P3")
            called.add(use.call.name)
        words |= _words(turn.text)
        wishes.add(turn.text, turn.role)
        if turn.role == "customer":
            is_any_time = is_any_time or PATTERNS.any_time.search(turn.text) is not None
            is_any_place = is_any_place or PATTERNS.any_place.search(turn.text) is not None


def _is_untraceable(place: str) -> bool:
    """Return whether a place is where the customer is, or in another script than his words may be."""
    return PATTERNS.own_place.search(place) is not None or not place.isascii()


def _values_in_a_row(
    uses: Mapping[int, Sequence[ToolUse]], dialogue: Dialogue
) -> Mapping[tuple[int, str, str], set[str]]:
    """Return the values of each argument in the calls of a tool without a message between, by turn, tool and
    argument; those of one row are one set."""
    values, row = dict[tuple[int, str, str], set[str]](), dict[tuple[str, str], set[str]]()
    for turn in dialogue.turns:
        if turn.role != "tool" and turn.text.strip():
            row = {}
        for use in uses.get(turn.index, ()):
            for key, value in strings_of(use.call):
                row.setdefault((use.call.name, key), set()).add(value)
                values[turn.index, use.call.name, key] = row[use.call.name, key]
    return values


def _words(text: str) -> set[str]:
    """Return the words and numbers of a text, and each two neighbours as one, without halves of the day."""
    words = [_NUMBERS.get(word, word) for word in _WORD.findall(text.casefold())]
    return {*words, *map("".join, pairwise(words))} - {"am", "pm", "and", "the", "of"}


_DAYS = tuple(read_words("weekdays"))
_EMPTY = words_of("empty_words")


class _Wishes:
    """The words stated so far, and the values of a list among those of the customer."""

    def __init__(self) -> None:
        self._stated, self._wished, self._denied = set[str](), set[str](), set[str]()
        self._tried = set[tuple[str, str, str]]()
        self._is_any_day = False
        self._last = self._question = ""
        self._sent, self._sent_since = set[tuple[str, str, str]](), set[tuple[str, str, str]]()
        self._is_answered = True

    def add(self, text: str, role: Role) -> None:
        """Adds a text, with the forms of its words that misspelt ones share."""
        is_customer = role == "customer"
        if is_customer and text.strip():
            self._last, self._is_answered = text, False
            self._sent_since.clear()
        elif role in JUDGED_ROLES and text.strip():
            self._question, self._is_answered = text, True
        for sentence in SENTENCE.finditer(text.casefold()):
            own = _WORD.findall(sentence[0])
            self._stated.update(form for word in own for form in _forms(word))
            if is_customer:
                self._wished.update(own)
                is_denied = PATTERNS.denied.search(sentence[0]) or PATTERNS.narrates.search(sentence[0])
                self._denied.update(own if is_denied else ())
                self._is_any_day = self._is_any_day or PATTERNS.any_day.search(sentence[0]) is not None

    def other(
        self, call: ToolCall, key: str, value: str, choices: Mapping[str, tuple[str, ...]]
    ) -> str | None:
        """Return the one other choice that the customer stated, if nobody stated this one; each once."""
        value = " ".join(value.casefold().split())
        listed = choices.get(f"{call.name} {key}") or (_DAYS if value in _DAYS else ())
        is_new = (call.name, key, value) not in self._tried
        self._tried.add((call.name, key, value))
        if (
            value not in listed
            or not is_new
            or MODE_KEY.fullmatch(key)
            or (value in _DAYS and self._is_any_day)
        ):
            return None
        own = _own_words(listed)
        initials = "".join(word[0] for word in _WORD.findall(value))
        forms = {form for word in own[value] for form in (*_forms(word), word[:3], word[:4], word[:5])}
        wishes = [each for each in listed if own[each] and self._wished.issuperset(own[each])]
        if not forms or len(wishes) != 1 or not self._stated.isdisjoint(forms | {initials} - {initials[:1]}):
            return None
        wish = own[wishes[0]]
        rest = (_words(str(each)) for name, each in call.arguments.items() if name != key)
        is_tried = (call.name, key, wishes[0]) in self._tried
        is_spoilt = is_tried or not self._denied.isdisjoint(wish) or any(map(wish.intersection, rest))
        return None if is_spoilt else wishes[0]

    def last(self, call: ToolCall, key: str, value: str) -> str | None:
        """Return the only day of the week or hour in the customer's last message, if a call has another that
        is neither in it nor in the agent's last message."""
        if value.casefold() in _DAYS:
            own, wished = {value.casefold()}, {*_DAYS}.intersection(_WORD.findall(self._last.casefold()))
        elif (
            PATTERNS.time_key.fullmatch(key)
            and not any(PATTERNS.zone_key.fullmatch(each) for each in call.arguments)
            and sum("time" in each.casefold() for each in call.arguments) == 1
        ):
            own, wished = _hours(value), _hours(self._last)
        else:
            return None
        self._sent.update((call.name, key, each) for each in own)
        if (
            len(own) != 1
            or len(wished) != 1
            or own == wished
            or (call.name, key, *wished) in self._sent
            or own & {*_WORD.findall(self._question.casefold())}
            or PATTERNS.no_wish.search(self._last)
            or (value.casefold() in _DAYS and _is_no_wish_for_day(self._last))
            or PATTERNS.asks_end.search(self._question)
        ):
            return None
        return next(iter(wished))

    def last_choice(
        self, call: ToolCall, key: str, value: str, choices: Mapping[str, tuple[str, ...]]
    ) -> str | None:
        """Return the only choice in the customer's last message, if a call before any answer has another that
        is neither in it nor in the agent's last message; none of people, nor of arguments that choose from
        one list."""
        name = f"{call.name} {key}"
        value, listed = " ".join(value.casefold().split()), choices.get(name, ())
        self._sent_since.add((call.name, key, value))
        if value not in listed or self._is_answered or MODE_KEY.fullmatch(key):
            return None
        own = {each: words - _EMPTY for each, words in _own_words(listed).items()}
        message, question = ({*_WORD.findall(text.casefold())} for text in (self._last, self._question))
        wishes = [
            each for each, words in own.items() if words and message >= {_WORD.findall(each)[0], *words}
        ]
        if len(wishes) != 1 or not own[value]:
            return None
        wish = own[wishes[0]]
        stated = {form for word in message | question for form in (*_forms(word), word[:MIN_TOKEN])}
        forms = {form for word in own[value] for form in (*_forms(word), word[:MIN_TOKEN])}
        is_agreed = has_phrase(self._last, "agrees") and wish.isdisjoint(question)
        is_shared = any(
            wishes[0] in each
            for other, each in choices.items()
            if other != name and other.startswith(f"{call.name} ")
        )
        if (
            is_agreed
            or is_shared
            or not stated.isdisjoint(forms | {"".join(word[0] for word in _WORD.findall(value))})
            or (call.name, key, wishes[0]) in self._sent_since
            or PATTERNS.personal_key.fullmatch("_".join(name_words(key)))
            or PATTERNS.denied.search(self._last)
            or PATTERNS.narrates.search(self._last)
            or (value in _DAYS and PATTERNS.any_day.search(self._last))
        ):
            return None
        return wishes[0]


def _is_no_wish_for_day(text: str) -> bool:
    """Return whether the day of the week in a message is not the one that is wished."""
    return any(each.search(text) for each in (PATTERNS.any_day, PATTERNS.narrates, PATTERNS.denied))


def _dial(text: str) -> set[str]:
    """Return the numbers that may stand for the hour of a time: of 20:45 that are 20, 8 and 9."""
    hours = [hour for minute in _times(text) for hour in (minute // 60, (minute + 30) // 60)]
    return {str(number) for hour in hours for number in (hour, hour % 12 or 12)}


def _times(text: str) -> Iterator[int]:
    values = quantities(text)
    return (minute for kind in ("time", "clock") for minute in values.get(kind, ()))


def _hours(text: str) -> set[str]:
    """Return the times of a text that are full hours, in twelve hours."""
    return {f"{minute // 60 % 12 or 12} o'clock" for minute in _times(text) if minute % 60 == 0}


def _forms(word: str) -> tuple[str, str, str, str]:
    return word, "".join(sorted(word)), f"{word[:2]}…{word[-3:]}", f"{word[:4]}…" if len(word) > 4 else word


@lru_cache(maxsize=256)
def _own_words(choices: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """Return the words of each choice that no other has."""
    counts = Counter(word for choice in choices for word in set(_WORD.findall(choice)))
    return {
        choice: frozenset(word for word in _WORD.findall(choice) if counts[word] == 1 and len(word) > 2)
        for choice in choices
    }
