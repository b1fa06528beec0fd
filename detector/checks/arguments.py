"""Arguments of calls that are a slip of the customer's words. Read in any language; the words are data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from pydantic import JsonValue

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.calls import locate_call
from dialint.detector.checks.claims import name_words
from dialint.detector.checks.quantities import ISO, MONEY_NAME
from dialint.detector.checks.values import fields_of
from dialint.detector.checks.words import fold, is_slip, patterns
from dialint.detector.records import Dialogue, Role
from dialint.detector.tool_use import uses_by_turn

_TOKEN = re.compile(r"[^\W_]++")
_DIGITS = re.compile(r"\d++")
_GROUPS = re.compile(r"\d(?:[ -]?\d){6,19}")
"""A number of telephone, or another, in groups of digits."""
PATTERNS = patterns("arguments")
MAX_TOKEN = 20
"""Letters of a token that slips are looked for in."""
MIN_TOKEN, MIN_DIGITS = 4, 5
"""Letters, and digits, of a token that is known without the token beside it."""
MIN_CODE = 4
"""Digits of a code."""


@check(P3=Evidence(13, 13))
def miscopied_argument(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a call with a part of personal data or a code which nobody had named, one sign off the only one of
    the customer's that is near; a name is left alone where the log has it in more dialogues than the
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
    """The tokens that were named so far, read when they are asked for."""

    def __init__(self, usual: Mapping[str, int]) -> None:
        self._usual = usual
        self._unread = list[tuple[str, Role]]()
        self._tokens = set[str]()
        self._named, self._near = list[str](), dict[str, set[str]]()
        self._pairs = set[tuple[str, str]]()
        self._before, self._after = dict[tuple[str, ...], set[str]](), dict[tuple[str, ...], set[str]]()

    def add(self, text: str, role: Role) -> None:
        """Take up a text."""
        self._unread.append((text, role))

    def _read(self) -> None:
        for text, role in self._unread:
            tokens = _TOKEN.findall(fold(text))
            groups = [re.sub(r"[ -]", "", match[0]) for match in _GROUPS.finditer(text)]
            self._tokens.update(groups)
            if role == "customer":
                self._named.extend(groups)
                self._named.extend(tokens)
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
            for named in self._named:
                for form in _near_forms(named):
                    self._near.setdefault(form, set()).add(named)
            self._named.clear()
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
