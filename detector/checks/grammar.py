"""Slips of English that a few neighbouring words prove: of grammar (L2), of words that sound alike (L1), of
capitals and punctuation (L3).

Only rules whose hits were right when read on real dialogues, or that no correct sentence can match, stand in
`english.yaml`; what needs a parse (agreement over a distance, tenses) is left to the scan. Nouns and verbs
are closed lists, of what support, travel and shops talk about. Figures: `docs/experiments/natural.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.dictionary import speller
from dialint.detector.checks.phrases import QUOTED
from dialint.detector.checks.words import Spans, patterns, read_words
from dialint.detector.languages import UNKNOWN, detect_languages
from dialint.detector.records import JUDGED_ROLES, Dialogue

PATTERNS = patterns("grammar")

LANGUAGES = ("en", UNKNOWN)
MAX_SEARCHES = 500
"""Most different slips of one dialogue that are searched in the customer's words; more are ignored."""


LONG_WORD = 8
"""Letters from which an unknown word counts as an English one, though not with a u: its sound differs."""

_NO_HEADS = frozenset(
    {"and", "are", "also", "all", "any", "its", "our", "onto", "into", "out", "off", "as", "is", "if", "in"}
)
"""Words before which a single a is a letter, or no article."""


def _is_article_right(rule: str, written: str) -> bool:
    """Return whether a or an fits the sound that a word begins with, or the word is not an English one."""
    word = written.lower()
    if word in _NO_HEADS:
        return True
    if not speller().is_correct(word) and (len(word) < LONG_WORD or written[0] in "uU"):
        return True
    if rule == "an for a" and PATTERNS.spelt.fullmatch(word):
        return True
    if rule == "a for an":
        return PATTERNS.consonant_u.match(word) is not None
    if word[0] == "h":
        return PATTERNS.silent_h.match(word) is not None
    if word[0] in "uoe":
        return PATTERNS.consonant_u.match(word) is None
    return False


_SENTENCE = re.compile(r"[^.!?\n]{0,120}\Z")


def _is_correct(rule: str, text: str, match: re.Match[str]) -> bool:
    """Return whether the context of a match makes it correct: a verb with its particle, the name of a
    thing."""
    if PATTERNS.corrected.match(text[match.end() : match.end() + 40]):
        return True
    before = text[max(0, match.start() - 120) : match.start()]
    if rule == "plural after one" and re.search(rf"{re.escape(match[0][:-1])}(?!\w)", text):
        return True  # the text is about the two forms
    if rule in ("singular after a number", "plural after one"):
        return match[0][0] in "123456789oO" and PATTERNS.label.search(before) is not None
    if rule in ("a for an", "a before a number"):
        return PATTERNS.lettered.search(before) is not None
    if rule == "doubled word":
        after = text[match.end() : match.end() + 20]
        return PATTERNS.twice.search(f"{before}«{match[0]}»{after}") is not None
    if rule == "then for than":
        sentence = _SENTENCE.search(before)
        return sentence is not None and PATTERNS.condition.search(sentence[0]) is not None
    if rule == "preposition twice":
        return PATTERNS.phrasal.search(match[0]) is not None
    if rule == "wrong preposition of time":
        particle = match[0][:3].lower()
        if particle == "in " and not match[0].endswith("day"):
            return False  # no verb takes "in March 9th"
        verbs = {"on ": PATTERNS.on_verb, "in ": PATTERNS.in_verb, "at ": PATTERNS.at_verb}.get(particle)
        return verbs is not None and verbs.search(before) is not None
    return False


@cache
def _rules() -> dict[str, re.Pattern[str]]:
    """Return each rule by its name in the reason of a finding."""
    return {name: PATTERNS.compile(text) for name, text in read_words("grammar_rules").items()}


def find_slips(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Yield every rule with its matches in a text, outside of quotations."""
    quoted = Spans(match.span() for match in QUOTED.finditer(text))
    for name, pattern in _rules().items():
        for match in pattern.finditer(text):
            if quoted.overlap(match.start(), match.start() + 1):
                continue
            if name == "doubled word" and not match[0].islower() and match[0] != "the The":
                continue  # a name may begin with an article, but takes no second one
            if _is_correct(name, text, match):
                continue
            if name in ("a for an", "an for a") and _is_article_right(name, match[match.lastindex or 1]):
                continue
            yield name, match


_CONFUSED = frozenset(read_words("confused_words")["rules"])
"""The rules of words for others that sound or look alike: they are L1."""


@check(L1=Evidence(60, 60), L2=Evidence(174, 187), languages=("en",))
def grammar_slip(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find slips of grammar (L2) and confused words (L1) in the agent's English by the rules of
    `english.yaml`, the first of each turn; what the customer wrote in the same words is his."""
    customer: str | None = None
    excused: dict[str, bool] = {}
    languages: Mapping[int, str] | None = None
    for turn in dialogue.turns:
        if turn.role not in JUDGED_ROLES:
            continue
        text, places = _single_blanks(turn.text)
        for name, match in sorted(find_slips(text), key=lambda slip: slip[1].start()):
            languages = languages or detect_languages(dialogue, context.languages)[1]
            if languages[turn.index] not in LANGUAGES:
                break
            if customer is None:
                customer = "\n".join(
                    each.text.casefold() for each in dialogue.turns if each.role == "customer"
                )
            words = match[0].casefold()
            if words not in excused:
                excused[words] = len(excused) >= MAX_SEARCHES or words in customer
            if excused[words]:
                continue
            code = "L1" if name in _CONFUSED else "L2"
            yield Hit(turn.index, places[match.start()], places[match.end() - 1] + 1, name, code)
            break


def _single_blanks(text: str) -> tuple[str, Sequence[int]]:
    """Return a text with one blank for several, and where each of its characters stands."""
    if "  " not in text:
        return text, range(len(text))
    places = [n for n in range(len(text)) if text[n : n + 2] != "  "]
    return "".join(map(text.__getitem__, places)), places


_LETTER = re.compile(r"[^\W\d_]")
_FIRST_WORD = re.compile(r"\A[\s\"'“‘(*]{0,8}+([a-z][a-z']*+)(?=[\s,.!?;:]|\Z)")
"""A plain first word in lower case: no name with capitals or digits inside, no address, no list number."""
_NO_SPACE = re.compile(r"(?<=[a-z]{3})[.!?,](?=[A-Z][a-z])|(?<=[a-z]{3}),(?=[a-z]{3})")
_PRONOUN = re.compile(r"(?<=[a-z,] )i(?:'(?:m|ll|ve|d))?(?= [a-z])")
_RUN = re.compile(r"[!?]{4,}|,{2,}|</?[bi]>|<br ?/?>")
_ADDRESS = re.compile(r"(?<!\S)(?=\S*(?:@|://|www[.]|[.](?:com|org|net|uk|io)\b))\S++")
MIN_WORDS = 3


@check(L3=Evidence(23, 50, "suggestion"), languages=("en",))
def format_slip(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find "i" for "I", a missing space after a mark, runs of marks, and markup.

    Of 50 hits in dialogues read whole, readers who had not seen them list 23 as L3 and 6 as another slip of
    language (2026-11-30). They pass over nearly all sentences, days and months in lower case (8 of 88
    listed) and two thirds of the spaces before a mark (20 of 29), so these are not reported."""
    judged = [turn for turn in dialogue.turns if turn.role in JUDGED_ROLES and _LETTER.search(turn.text)]
    lower = [turn.index for turn in judged if _FIRST_WORD.match(turn.text)]
    casual = len(judged) > 1 and 2 * len(lower) > len(judged)
    for turn in judged:
        text = _ADDRESS.sub(lambda match: "#" * len(match[0]), turn.text)
        if len(text.split()) < MIN_WORDS or "{" in text:
            continue
        if not casual and (slip := _PRONOUN.search(text)):
            yield Hit(turn.index, *slip.span(), "the pronoun I in lower case")
        elif slip := _NO_SPACE.search(text):
            start, end = text.rfind(" ", 0, slip.start()) + 1, text.find(" ", slip.end() + 1)
            yield Hit(turn.index, start, len(text) if end < 0 else end, "no space after the mark")
        elif slip := _RUN.search(text):
            yield Hit(turn.index, *slip.span(), "a run of marks, or markup")
