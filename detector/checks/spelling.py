"""Misspelt words: not in the dictionary, and one slip away from a word that is far more usual.

A word is only reported if nothing but a typing error explains it: it is neither a name, nor the customer's or
a tool's, nor of the log's own trade, nor the spelling of another country or of chats, and the word that was
meant can be named. What cannot be named (an unknown word far from every known one) is left alone.
Dictionaries and frequencies: pyspellchecker, which brings them; `spelling.yaml` adds what they lack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dialint.detector.checks.context import CheckContext, Evidence, Hit, check
from dialint.detector.checks.foreign_words import is_foreign
from dialint.detector.dialogue_cache import Spans
from dialint.detector.languages import detect_languages
from dialint.detector.log_profile import LogProfile
from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.detector.yaml_document import read_document

if TYPE_CHECKING:
    from spellchecker import SpellChecker

LANGUAGES = ("en",)
MIN_LETTERS = 4
"""Shorter words are abbreviations too often; of three letters only swapped ones are reported (``teh``)."""
MAX_LETTERS = 40
"""A longer word is none, and left alone."""
SHORT = 5
"""Letters up to which another letter in place of the right one must lie beside it on the keyboard."""
LONG = 7
"""Letters from which two slips in a word still name it."""
USUAL = 1_000
"""Occurrences of the meant word in the frequency list from which it is usual (received: 79,831)."""
VERY_USUAL = 100_000
"""The same for words of three or four letters, which many others resemble."""
EVERYDAY = 300_000
"""The same for a word with a capital at the beginning of a sentence, which may be a name (``Sould``)."""
JARGON_DIALOGUES = 2
"""A word that more dialogues of the log use is a word of its trade, unless it is plainly a slip."""
SELDOMER = 20
"""So many times seldomer in the log than the meant word, a word is a slip after all."""
MIN_LOG = 200
EXPECTED_SHARE = 0.005
"""Dialogues of a log from which its words are the measure, and the share of them with the meant word."""
MAX_UNKNOWN = 2
"""Unknown words from which a turn is taken for one of another language or of names, if they are also more
than one word in `UNKNOWN_SHARE`."""
UNKNOWN_SHARE = 4
MISSPELT_VOWEL = 2_000
SURE_OPENING = 10_000
"""Occurrences of a meant word of `LONG` letters from which another vowel is a slip of it (``seperately``),
and from which one letter is in a word with a capital at the beginning of a sentence (``Immediatly``)."""
PHRASE = 10_000
"""Occurrences below which a word is not meant where two unknown words stand together: a foreign phrase."""
MAX_LOOKUPS = 60
"""Words of one dialogue for which the meant word is looked for: bounds the time of hostile dialogues."""

_CHUNK = re.compile(r"\S++")
_WORDS = re.compile(r"[^\W\d_]++(?:['’][^\W\d_]++)*+")
_NO_WORD = re.compile(r"[\d_@#/\\<>{}\[\]|=~*^%$&+]|\w[.:]\w|\Awww\.")
"""Characters of addresses, codes, file names, masks and markup."""
_QUOTED = re.compile(
    r"`[^`\n]{1,200}`|[„“«\"][^„“”«»\"\n]{1,200}[”“»\"]|\[[^\[\]]{0,200}\]|<[^<>]{0,200}>|\{[^{}]{0,200}\}"
)
_SENTENCE_ENDS = frozenset('.!?…:\n"”)*•-')
_FOREIGN = re.compile(r"[^\x00-\u024f\u1e00-\u1eff\u2010-\u2027]")
"""A character of another script than Latin."""
_KEYS = (
    "qwas",
    "weas",
    "ersd",
    "rtdf",
    "tyfg",
    "yugh",
    "uihj",
    "iojk",
    "opkl",
    "aszx",
    "sdzx",
    "dfxc",
    "fgcv",
    "ghvb",
    "hjbn",
    "jknm",
    "klm",
)
"""Letters that lie together on a keyboard, four and four."""
_LENGTHENED = re.compile(r"(.)\1\1")


@dataclass(frozen=True)
class _Data:
    """What `spelling.yaml` says of one language."""

    register: frozenset[str]
    apart: Mapping[str, str]
    prefixes: tuple[str, ...]
    suffixes: tuple[str, ...]
    endings: tuple[str, ...]
    variants: tuple[tuple[str, str], ...]


Kind = Literal["doubled", "swap", "letter", "other", "two"]
"""A letter doubled or not, two neighbours swapped, a letter too many or missing, another one, two slips."""


@dataclass(frozen=True)
class Slip:
    """How a word may have come about: the word that was meant, and what went wrong."""

    meant: str
    kind: Kind
    count: int
    """Occurrences of the meant word in the frequency list."""

    @property
    def is_plain(self) -> bool:
        """Whether it is a slip that names of people and products seldom look like."""
        return self.kind in ("doubled", "swap")


class Speller:
    """Dictionary of one language; answers are kept by word."""

    def __init__(self, language: str) -> None:
        self._data = _data(language)
        self._checker = _checker(language)
        self._counts = self._checker.word_frequency.dictionary
        self.is_known = lru_cache(maxsize=50_000)(self._is_known)
        self.has_unknown = lru_cache(maxsize=50_000)(self._has_unknown)
        self.slips = lru_cache(maxsize=20_000)(self._slips)

    def written_together(self, word: str) -> str | None:
        """The right form of a word that lacks its apostrophe or space (``dont``: ``don't``) and of slips
        that no rule names."""
        return self._data.apart.get(word)

    def _has_unknown(self, chunk: str) -> bool:
        """Whether what stands between two blanks may hold an unknown word."""
        return any(not self.is_known(word.lower) for word in _words(chunk))

    def _is_known(self, word: str) -> bool:
        """Whether a word in lower case is correct, in any country's spelling, or a choice of tone."""
        data, counts = self._data, self._counts
        if word in data.apart:
            return False
        if not MIN_LETTERS - 1 <= len(word) <= MAX_LETTERS:
            return True
        stem, apostrophe, _ = word.partition("'")
        if apostrophe and len(stem) > 1 and self.is_known(stem):
            return True
        if word in counts or word in data.register or _LENGTHENED.search(word):
            return True
        if any(
            word.endswith(end) and word[-len(end) - 1] != end[0] and self.is_known(word.removesuffix(end))
            for end in data.suffixes
            if len(word) >= len(end) + MIN_LETTERS
        ):
            return True
        if any(variant in counts for variant in self._variants(word)):
            return True
        is_derived = any(
            word.startswith(start) and counts.get(word.removeprefix(start), 0) >= USUAL
            for start in data.prefixes
            if len(word) >= len(start) + MIN_LETTERS
        )
        is_compound = any(
            min(counts.get(word[:cut], 0), counts.get(word[cut:], 0)) >= 10 * USUAL
            for cut in range(MIN_LETTERS, len(word) - MIN_LETTERS + 1)
        )
        return (is_derived or is_compound) and not any(slip.kind == "doubled" for slip in self.slips(word))

    def _variants(self, word: str) -> Iterator[str]:
        for theirs, ours in self._data.variants:
            at = word.find(theirs, 1)
            while at >= 0:
                yield word[:at] + ours + word[at + len(theirs) :]
                at = word.find(theirs, at + 1)

    def _slips(self, word: str) -> tuple[Slip, ...]:
        """What an unknown word in lower case may have been meant to be."""
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
        }
        return tuple(Slip(each, "two", counts[each]) for each in far)

    def _is_inflected(self, word: str) -> bool:
        """Whether a word is a usual one with a regular ending of the past: actioned, triaged."""
        action, triage = word.removesuffix("ed"), word.removesuffix("d")
        return (
            len(action) >= MIN_LETTERS
            and action != word
            and action[-1] not in "aeiouy"
            and max(self._counts.get(action, 0), self._counts.get(triage, 0)) >= USUAL
        )

    def explains(self, word: str, slip: Slip) -> bool:
        """Whether a slip is likelier than that the word is right and unknown."""
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
            for end in self._data.endings
        )
        return not derived and (len(word) > SHORT or _is_neighbour(word, slip.meant))


_WEIGHTS: Mapping[Kind, float] = {"doubled": 20.0, "swap": 20.0, "letter": 4.0, "other": 1.0, "two": 1.0}
"""How many times likelier than another letter a slip is, in choosing the word that was meant: ``futher`` is
further, not father."""
FAR_KEY = 0.05
"""The same for a letter that lies elsewhere on the keyboard: ``wich`` is which, not with."""


def _weight(word: str, slip: Slip) -> float:
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


def _is_vowel_slip(word: str, slip: Slip) -> bool:
    """Whether one vowel stands for another, as in what is written by its sound."""
    if slip.kind != "other":
        return False
    pairs = [{one, other} for one, other in zip(word, slip.meant, strict=True) if one != other]
    return len(pairs) == 1 and pairs[0] <= set("aeiou")


def _is_neighbour(word: str, meant: str) -> bool:
    """Whether the one letter that differs lies beside the right one on the keyboard."""
    pair = next(({one, other} for one, other in zip(word, meant, strict=True) if one != other), set())
    return any(pair <= set(keys) for keys in _KEYS)


def _small_steps(word: str) -> set[str]:
    """The word less one letter, with one doubled, and with two neighbours swapped."""
    places = range(len(word))
    return {
        *(word[:at] + word[at + 1 :] for at in places),
        *(word[:at] + word[at] + word[at:] for at in places),
        *(word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :] for at in places[1:]),
    }


@cache
def _data(language: str) -> _Data:
    part = read_document(Path(__file__).with_name("spelling.yaml"), "E_CHECKS").value[language]
    return _Data(
        frozenset(part["register"].split()),
        part["apart"],
        tuple(part["affixes"]["prefixes"]),
        tuple(part["affixes"]["suffixes"]),
        tuple(part["affixes"]["endings"]),
        tuple((theirs, ours) for theirs, ours in part["variants"]),
    )


def _checker(language: str) -> SpellChecker:
    from spellchecker import SpellChecker  # 0.4 s and 30 MB for English; only where something is checked

    return SpellChecker(language=language, distance=1)


@cache
def speller(language: str) -> Speller:
    """The speller of a language, made once."""
    return Speller(language)


@dataclass(frozen=True)
class _Word:
    """A word of a turn with its offsets; `opens` at the beginning of a sentence."""

    text: str
    start: int
    opens: bool

    @property
    def lower(self) -> str:
        return self.text.casefold().replace("’", "'")


def _words(text: str) -> Iterator[_Word]:
    """The words of a text that a person typed as such: no links, addresses, codes, masks or quotations."""
    quoted = Spans(match.span() for match in _QUOTED.finditer(text))
    for chunk in _CHUNK.finditer(text):
        if _NO_WORD.search(chunk[0]) or _FOREIGN.search(chunk[0]) or quoted.overlap(*chunk.span()):
            continue
        words = list(_WORDS.finditer(chunk[0]))
        if len(words) > 1 and "-" in chunk[0]:
            continue
        for word in words:
            if chunk[0][word.end() : word.end() + 1] in ("'", "’"):
                continue  # drinkin', the girls'
            start = chunk.start() + word.start()
            before = text[max(0, start - 5) : start].rstrip(" \t\u00a0")
            yield _Word(word[0], start, before == "" or before[-1] in _SENTENCE_ENDS)


@check(L1=Evidence(118, 123), languages=("en",))
def misspelt_word(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Detects words of the agent that are misspelt, and names the words that were meant: one hit a turn, at
    the first of them."""
    spelling = speller("en")
    excused: frozenset[str] | None = None
    languages: Mapping[int, str] | None = None
    left = MAX_LOOKUPS
    for turn in dialogue.turns:
        if turn.role not in JUDGED_ROLES:
            continue
        if not any(map(spelling.has_unknown, turn.text.split())):
            continue
        words = list(_words(turn.text))
        unknown = [word for word in words if not spelling.is_known(word.lower)]
        if not unknown or (len(unknown) > MAX_UNKNOWN and len(unknown) * UNKNOWN_SHARE > len(words)):
            continue
        slips: list[tuple[_Word, str]] = []
        phrases = _foreign_phrases(words, unknown[:left], spelling)
        for word in unknown[:left]:
            meant = _meant(word, spelling, context) if word.start not in phrases else None
            if meant is None:
                continue
            if excused is None:
                excused = _words_of_others(dialogue) | _names(dialogue)
            if word.lower not in excused and not is_foreign(turn.text, word.start, word.text):
                slips.append((word, meant))
        left -= min(left, len(unknown))
        if slips:
            languages = languages or detect_languages(dialogue)[1]
            if languages[turn.index] not in LANGUAGES:
                continue
            first = slips[0][0]
            why = "; ".join(f"{word.text}: {meant}" for word, meant in slips)
            yield Hit(turn.index, first.start, first.start + len(first.text), f"not in the dictionary, {why}")


def _foreign_phrases(words: list[_Word], unknown: list[_Word], spelling: Speller) -> set[int]:
    """The offsets of unknown words beside a word with letters that English lacks, and of those that stand
    together, neither being a name, unless they are slips of a usual word (``Grazie mille``)."""
    starts = {word.start for word in unknown}
    phrases: set[int] = set()
    for pair in pairwise(words):
        if pair[1].start > pair[0].start + len(pair[0].text) + 1:
            continue
        if all(word.start in starts and (word.opens or word.text.islower()) for word in pair):
            phrases |= {
                word.start
                for word in pair
                if spelling.written_together(word.lower) is None
                and (
                    (
                        len(word.text) <= SHORT
                        and not any(slip.kind == "swap" for slip in spelling.slips(word.lower))
                    )
                    or all(slip.count < PHRASE for slip in spelling.slips(word.lower))
                )
            }
        elif any(word.start not in starts and not word.text.replace("’", "").isascii() for word in pair):
            phrases |= {word.start for word in pair} & starts
    return phrases


def _meant(word: _Word, spelling: Speller, context: CheckContext) -> str | None:
    """The right form of an unknown word, unless it may be a name or a word of the log's own trade."""
    together = spelling.written_together(word.lower)
    if together is not None and not (word.text.isupper() and len(word.text) <= MIN_LETTERS):
        return together
    if not word.text.islower() and not (word.opens and word.text[1:].islower()):
        return None
    log = context.log
    slip = max(
        spelling.slips(word.lower),
        key=lambda slip: _weight(word.lower, slip) * slip.count * (1 + log.word_dialogues.get(slip.meant, 0)),
        default=None,
    )
    if slip is None or not spelling.explains(word.lower, slip):
        return None
    is_sure = slip.is_plain and len(word.text) > MIN_LETTERS
    if not word.text.islower() and not (is_sure and (slip.count >= 30 * USUAL or len(word.text) >= LONG)):
        is_long = len(word.text) > LONG and slip.count >= SURE_OPENING and word.text[-1] == slip.meant[-1]
        if is_long and (slip.kind == "letter" or _is_vowel_slip(word.lower, slip)):
            return None if _is_jargon(word.lower, slip, log) else slip.meant
        is_everyday = slip.kind == "letter" and len(word.text) > MIN_LETTERS and slip.count >= EVERYDAY
        return slip.meant if is_everyday and _is_expected(slip, log) else None
    is_long = len(word.text) >= LONG and (
        slip.kind == "letter" or (slip.count >= MISSPELT_VOWEL and _is_vowel_slip(word.lower, slip))
    )
    if not is_sure and not is_long and not _is_expected(slip, log):
        return None
    return None if _is_jargon(word.lower, slip, log) else slip.meant


def _is_expected(slip: Slip, log: LogProfile) -> bool:
    """Whether the log, or else the language, uses the meant word often: names are one letter off."""
    if log.n_dialogues >= MIN_LOG:
        return log.word_dialogues.get(slip.meant, 0) >= EXPECTED_SHARE * log.n_dialogues
    return slip.count >= (10 if len(slip.meant) >= LONG else 30) * USUAL


def _is_jargon(word: str, slip: Slip, log: LogProfile) -> bool:
    """Whether the log uses a word as one of its own: in more than a few dialogues, not much seldomer than the
    word that was taken for the one meant, and not in a slip that many people make (``accomodate``,
    ``recieve``) or a prepared line repeats."""
    dialogues = log.word_dialogues.get(word, 0)
    if dialogues <= JARGON_DIALOGUES or log.word_dialogues.get(slip.meant, 0) >= SELDOMER * dialogues:
        return False
    swapped_ie = slip.kind == "swap" and {word.replace("ie", "ei"), word.replace("ei", "ie")} & {slip.meant}
    return len(word) <= SHORT or not (slip.kind == "doubled" or swapped_ie)


def _words_of_others(dialogue: Dialogue) -> frozenset[str]:
    """Every word that anybody but the agent wrote, in lower case: the agent may say it again."""
    return frozenset(
        word[0].casefold().replace("’", "'")
        for turn in dialogue.turns
        if turn.role not in JUDGED_ROLES
        for word in _WORDS.finditer(turn.text)
    )


def _names(dialogue: Dialogue) -> frozenset[str]:
    """Words that somebody wrote with a capital inside a sentence, in lower case."""
    return frozenset(
        word.lower
        for turn in dialogue.turns
        for word in _words(turn.text)
        if word.text[0].isupper() and not word.opens
    )
