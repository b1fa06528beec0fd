"""A dictionary of English with the slips that lead to a word, and of other languages in an English turn.

Dictionaries and frequencies: pyspellchecker, which brings them; `spelling.yaml` adds what they lack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

from dialint.detector.checks.words import Spans
from dialint.detector.yaml_document import read_section

if TYPE_CHECKING:
    from spellchecker import SpellChecker

MIN_LETTERS = 4
"""Shorter words are abbreviations too often; of three letters only swapped ones are reported (``teh``)."""
MAX_LETTERS = 40
"""A longer word is none, and left alone."""
SHORT = 5
"""Letters up to which another letter in place of the right one must lie beside it on the keyboard."""
LONG = 7
"""Letters from which a word with two slips can still be identified."""
USUAL = 1_000
"""Occurrences of the meant word in the frequency list from which it is usual (received: 79,831)."""
VERY_USUAL = 100_000
"""The same for words of three or four letters, which many others resemble."""
_CHUNK = re.compile(r"\S++")
WORD = re.compile(r"[^\W\d_]++(?:['’][^\W\d_]++)*+")
_NO_WORD = re.compile(r"[\d_@#/\\<>{}\[\]|=~*^%$&+]|\w[.:]\w|\Awww\.")
"""Characters of addresses, codes, file names, masks and markup."""
_QUOTED = re.compile(
    r"`[^`\n]{1,200}`|[„“«\"][^„“”«»\"\n]{1,200}[”“»\"]|\[[^\[\]]{0,200}\]|<[^<>]{0,200}>|\{[^{}]{0,200}\}"
)
_SENTENCE_ENDS = frozenset('.!?…:\n"”)*•-')
_FOREIGN = re.compile(r"[^\x00-\u024f\u1e00-\u1eff\u2010-\u2027]")
"""A character of another script than Latin."""
_KEYS = (
    "qwas", "weas", "ersd", "rtdf", "tyfg", "yugh", "uihj", "iojk", "opkl", "aszx", "sdzx", "dfxc",
    "fgcv", "ghvb", "hjbn", "jknm", "klm",
)  # fmt: skip
"""Letters that lie together on a keyboard, four and four."""
_VOWELS = frozenset("aeiouy")
_LENGTHENED = re.compile(r"(.)\1\1")


Kind = Literal["doubled", "swap", "letter", "other", "two"]
"""A letter doubled or not, two neighbours swapped, a letter too many or missing, another one, two slips."""


@dataclass(frozen=True)
class Slip:
    """A possible cause of a misspelt word: the word that was meant, and the kind of the error."""

    meant: str
    kind: Kind
    count: int
    """Occurrences of the meant word in the frequency list."""

    @property
    def is_plain(self) -> bool:
        """True for a slip that names of people and products seldom look like."""
        return self.kind in ("doubled", "swap")


class Speller:
    """A dictionary of English; answers are cached by word."""

    def __init__(self) -> None:
        words = read_section("checks/spelling.yaml", "en")
        self._register, self._places = (frozenset(words[name].split()) for name in ("register", "named"))
        self._apart: Mapping[str, str] = words["apart"]
        self._affixes: Mapping[str, list[str]] = words["affixes"]
        self._spellings: list[tuple[str, str]] = words["variants"]
        self._checker = _checker("en")
        self._counts = self._checker.word_frequency.dictionary
        self.is_correct = lru_cache(maxsize=50_000)(self._is_correct)
        self.has_unknown = lru_cache(maxsize=50_000)(self._has_unknown)
        self.slips = lru_cache(maxsize=20_000)(self._slips)

    def written_together(self, word: str) -> str | None:
        """Return the right form of a word that lacks its apostrophe or space (``dont``: ``don't``) and of
        slips that no rule names."""
        return self._apart.get(word)

    def names_place(self, word: str) -> bool:
        """Return whether the word before this one may be a name: ``studio``, ``road``."""
        return word in self._places

    def _has_unknown(self, chunk: str) -> bool:
        """Return whether a text between two blanks may have an unknown word."""
        return any(not self.is_correct(word.lower) for word in typed_words(chunk))

    def _is_correct(self, word: str) -> bool:
        """Return whether a word in lower case is correct, in any country's spelling, or a choice of tone."""
        counts = self._counts
        if word in self._apart:
            return False
        if not MIN_LETTERS - 1 <= len(word) <= MAX_LETTERS:
            return True
        stem, apostrophe, _ = word.partition("'")
        if apostrophe and len(stem) > 1 and self.is_correct(stem):
            return True
        if word in counts or word in self._register or _LENGTHENED.search(word):
            return True
        if word.endswith(("ches", "shes", "sses", "xes")) and self.is_correct(word[:-2]):
            return True
        if any(
            word.endswith(end) and word[-len(end) - 1] != end[0] and self.is_correct(word.removesuffix(end))
            for end in self._affixes["suffixes"]
            if len(word) >= len(end) + MIN_LETTERS
        ):
            return True
        if any(variant in counts for variant in self._variants(word)):
            return True
        is_derived = any(
            word.startswith(start) and counts.get(word.removeprefix(start), 0) >= USUAL
            for start in self._affixes["prefixes"]
            if len(word) >= len(start) + MIN_LETTERS
        )
        is_compound = any(
            min(counts.get(word[:cut], 0), counts.get(word[cut:], 0)) >= 10 * USUAL
            for cut in range(MIN_LETTERS, len(word) - MIN_LETTERS + 1)
        )
        return (is_derived or is_compound) and not any(slip.kind == "doubled" for slip in self.slips(word))

    def _variants(self, word: str) -> Iterator[str]:
        for theirs, ours in self._spellings:
            at = word.find(theirs, 1)
            while at >= 0:
                yield word[:at] + ours + word[at + len(theirs) :]
                at = word.find(theirs, at + 1)

    def _slips(self, word: str) -> tuple[Slip, ...]:
        """Return the slips that may have led to an unknown word in lower case."""
        counts = self._counts
        near = [each for each in self._checker.edit_distance_1(word) if each in counts]
        if near:
            return tuple(
                Slip(each, _kind(word, each), counts[each]) for each in near if counts[each] >= USUAL
            )
        if len(word) < LONG:
            return ()
        far = {
            each
            for step in _small_steps(word)
            for each in self._checker.edit_distance_1(step)
            if each[0] == word[0] and each[-1] == word[-1] and counts.get(each, 0) >= USUAL
            if set(each) - _VOWELS == set(word) - _VOWELS  # somafone is no slip of someone
        }
        return tuple(Slip(each, "two", counts[each]) for each in far)

    def _is_inflected(self, word: str) -> bool:
        """Return whether a word is a usual one with a regular ending of the past: actioned, triaged."""
        action, triage = word.removesuffix("ed"), word.removesuffix("d")
        return (
            len(action) >= MIN_LETTERS
            and action != word
            and action[-1] not in "aeiouy"
            and max(self._counts.get(action, 0), self._counts.get(triage, 0)) >= USUAL
        )

    def explains(self, word: str, slip: Slip) -> bool:
        """Return whether a slip is likelier than that the word is right and unknown."""
        if len(word) <= MIN_LETTERS and slip.count < VERY_USUAL:
            return False
        if slip.kind in ("doubled", "swap"):
            return True
        if len(word) < MIN_LETTERS:
            return False
        if slip.kind == "letter":
            return not self._is_inflected(word)
        derived = any(
            word.endswith(end) and self._counts.get(word.removesuffix(end), 0) >= USUAL
            for end in self._affixes["endings"]
        )
        return not derived and (len(word) > SHORT or _is_neighbour(word, slip.meant))


_WEIGHTS: Mapping[Kind, float] = {"doubled": 20.0, "swap": 20.0, "letter": 4.0, "other": 1.0, "two": 1.0}
"""Likelihood of a slip relative to another letter, for the choice of the meant word: ``futher`` is further,
not father."""
FAR_KEY = 0.05
"""Likewise for a letter elsewhere on the keyboard: ``wich`` is which, not with."""


def weigh(word: str, slip: Slip) -> float:
    far = slip.kind == "other" and not _is_neighbour(word, slip.meant)
    return FAR_KEY if far else _WEIGHTS[slip.kind]


def _kind(word: str, meant: str) -> Kind:
    if len(word) == len(meant):
        return "swap" if sorted(word) == sorted(meant) else "other"
    longer, shorter = (word, meant) if len(word) > len(meant) else (meant, word)
    if any(
        longer[at] == longer[at - 1] and longer[:at] + longer[at + 1 :] == shorter
        for at in range(1, len(longer))
    ):
        return "doubled"
    return "letter"


def is_vowel_slip(word: str, slip: Slip) -> bool:
    """Return whether one vowel stands for another, as in what is written by its sound."""
    if slip.kind != "other":
        return False
    pairs = [{one, other} for one, other in zip(word, slip.meant, strict=True) if one != other]
    return len(pairs) == 1 and pairs[0] <= set("aeiou")


def _is_neighbour(word: str, meant: str) -> bool:
    """Return whether the one letter that differs lies beside the right one on the keyboard."""
    pair = next(({one, other} for one, other in zip(word, meant, strict=True) if one != other), set())
    return any(pair <= set(keys) for keys in _KEYS)


def _small_steps(word: str) -> set[str]:
    """Return the word less one letter, with one doubled, and with two neighbours swapped."""
    places = range(len(word))
    return {
        *(word[:at] + word[at + 1 :] for at in places),
        *(word[:at] + word[at] + word[at:] for at in places),
        *(word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :] for at in places[1:]),
    }


@cache
def _checker(language: str) -> SpellChecker:
    from spellchecker import SpellChecker  # 0.4 s and 30 MB for English; only where something is checked

    return SpellChecker(language=language, distance=1)


@cache
def speller() -> Speller:
    """Return the speller, made once."""
    return Speller()


@dataclass(frozen=True)
class TypedWord:
    """A word of a turn with its offsets; `opens` at the beginning of a sentence."""

    text: str
    start: int
    opens: bool

    @property
    def lower(self) -> str:
        return self.text.casefold().replace("’", "'")


def typed_words(text: str) -> Iterator[TypedWord]:
    """Yield the words of a text that a person typed as such: no links, addresses, codes, masks or
    quotations."""
    quoted = Spans(match.span() for match in _QUOTED.finditer(text))
    for chunk in _CHUNK.finditer(text):
        if _NO_WORD.search(chunk[0]) or _FOREIGN.search(chunk[0]) or quoted.overlap(*chunk.span()):
            continue
        words = list(WORD.finditer(chunk[0]))
        if len(words) > 1 and "-" in chunk[0]:
            continue
        for word in words:
            if chunk[0][word.end() : word.end() + 1] in ("'", "’"):
                continue  # drinkin', the girls'
            start = chunk.start() + word.start()
            before = text[max(0, start - 5) : start].rstrip(" \t\u00a0")
            yield TypedWord(word[0], start, before == "" or before[-1] in _SENTENCE_ENDS)


OTHER_LANGUAGES = ("es", "fr", "it", "de")
"""Languages whose dictionaries are searched, the smallest first; German takes .5 s to read."""
USUAL_ELSEWHERE = 10_000
"""Count of a word that is usual in its language."""
FEWER = 5
"""Factor by which a word must be more frequent in another language than in English to indicate it."""

NEARBY = 200
"""Characters on either side of a word in which its sentence is read."""
_PLAIN_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_SENTENCE = re.compile(r"[^.!?\n]+")


def _counts(language: str) -> Mapping[str, int]:
    counts: Mapping[str, int] = _checker(language).word_frequency.dictionary
    return counts


def is_foreign(text: str, start: int, word: str) -> bool:
    """Return whether `word`, at offset `start` of the text, is right in another language that its neighbours
    speak, that its letters are of, or that its whole sentence is in."""
    lower = word.casefold()
    begin = max(0, start - NEARBY)
    near = text[begin : start + len(word) + NEARBY]
    sentence = next(match for match in _SENTENCE.finditer(near) if start - begin < match.end())
    begin += sentence.start()
    words = [(match.start() + begin, match[0].casefold()) for match in _PLAIN_WORD.finditer(sentence[0])]
    place = next((n for n, (at, each) in enumerate(words) if at + len(each) > start), 0)
    beside = [each for _, each in words[max(0, place - 1) : place + 2] if each != lower]
    for language in OTHER_LANGUAGES:
        counts = _counts(language)
        if lower not in counts:
            continue
        if not lower.isascii() or (len(words) == 1 and counts[lower] >= USUAL_ELSEWHERE):
            return True
        english = _counts("en")
        if any(_is_usual(each, counts) for each in beside if each in counts) or (
            _is_usual(lower, counts) and any(each in counts and each not in english for each in beside)
        ):
            return True
    return False


def _is_usual(word: str, counts: Mapping[str, int]) -> bool:
    """Return whether the language with these counts uses a word often, and English seldom."""
    return counts[word] >= USUAL_ELSEWHERE and counts[word] > FEWER * _counts("en").get(word, 0)
