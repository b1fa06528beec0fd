"""Slips of English that a few neighbouring words prove: of grammar (L2), of words that sound alike (L1), of
capitals and punctuation (L3).

Only rules whose hits were right when read on real dialogues, or that no correct sentence can match, stand in
`english.yaml`; what needs a parse (agreement over a distance, tenses) is left to the scan. Nouns and verbs
are closed lists, of what support, travel and shops talk about. Figures: `docs/experiments/natural.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.dictionary import speller
from dialint.detector.checks.phrases import QUOTED
from dialint.detector.checks.words import Spans, patterns, read_words
from dialint.detector.languages import UNKNOWN, detect_languages
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn

PATTERNS = patterns("grammar")

LANGUAGES = ("en", UNKNOWN)
MAX_SEARCHES = 500
"""Different slips of one dialogue that are looked for in the customer's words; more are left alone."""


LONG_WORD = 8
"""Letters from which an unknown word is taken for an English one, though not with a u: its sound differs."""

_NO_HEADS = frozenset(
    {"and", "are", "also", "all", "any", "its", "our", "onto", "into", "out", "off", "as", "is", "if", "in"}
)
"""Words before which a single a is a letter, or no article."""


def _is_article_right(rule: str, written: str) -> bool:
    """Return whether a or an fits the sound that a word begins with, or the word is not an English one."""
    word = written.lower()
    if word in _NO_HEADS:
        return True
    if not speller().is_known(word) and (len(word) < LONG_WORD or written[0] in "uU"):
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
    """Return whether what stands around a match makes it correct: a verb with its particle, the name of a
    thing."""
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
        for name, match in sorted(find_slips(turn.text), key=lambda slip: slip[1].start()):
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
            yield Hit(turn.index, match.start(), match.end(), name, code)
            break


_LETTER = re.compile(r"[^\W\d_]")
_FIRST_WORD = re.compile(r"\A[\s\"'“‘(*]{0,8}+([a-z][a-z']*+)(?=[\s,.!?;:]|\Z)")
"""A plain first word in lower case: no name with capitals or digits inside, no address, no list number."""
_NEXT_WORD = re.compile(r"(?<=[a-z]{3}[.?]) ([a-z]{2,}+)(?=[\s,]|\Z)")
_NO_SPACE = re.compile(r"(?<=[a-z]{3})[.!?,](?=[A-Z][a-z])|(?<=[a-z]{3}),(?=[a-z]{3})")
_SPACE_BEFORE = re.compile(r"(?<=[a-z]{2})[ ]++(?=[,?!](?:\s|\Z))")
_PRONOUN = re.compile(r"(?<=[a-z,] )i(?:'(?:m|ll|ve|d))?(?= [a-z])")
_RUN = re.compile(r"[!?]{4,}|,{2,}|</?[bi]>|<br ?/?>")
_ADDRESS = re.compile(r"(?<!\S)(?=\S*(?:@|://|www[.]|[.](?:com|org|net|uk|io)\b))\S++")
MIN_WORDS = 3


@check(L3=Evidence(estimate=0.968, report="suggestion"), languages=("en",))
def format_slip(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a later sentence that begins in lower case, "i" for "I", a weekday or a month with its day in
    lower case, a missing space after a mark, one too many before it, runs of marks, and markup.

    Of 60 hits drawn from STAR, MultiWOZ, SGD, taskmaster4 and stc3 59 were such slips (2026-11-23). Whether
    a team wants to hear of them is another question: 7 of 100 turns of MultiWOZ have one, 2 of SGD, 1 of
    STAR."""
    judged = [turn for turn in dialogue.turns if turn.role in JUDGED_ROLES and _LETTER.search(turn.text)]
    lower = [turn.index for turn in judged if _FIRST_WORD.match(turn.text)]
    casual = len(judged) > 1 and 2 * len(lower) > len(judged)
    for turn in judged:
        slip = _first_slip(turn, casual)
        if slip is not None:
            yield Hit(turn.index, *slip)


def _first_slip(turn: Turn, casual: bool) -> tuple[int, int, str] | None:
    text = _ADDRESS.sub(lambda match: "#" * len(match[0]), turn.text)
    if len(text.split()) < MIN_WORDS or "{" in text:
        return None
    if not casual:
        for match in _NEXT_WORD.finditer(text):
            if not PATTERNS.abbreviated.search(text[max(0, match.start() - 20) : match.start()]):
                return (*match.span(1), "the sentence begins in lower case")
        if slip := _PRONOUN.search(text):
            return (*slip.span(), "the pronoun I in lower case")
        if slip := PATTERNS.date_name.search(text):
            return (*slip.span(), "a day or month in lower case")
    if slip := _NO_SPACE.search(text):
        return _word_around(text, slip.start(), "no space after the mark")
    if slip := _RUN.search(text):
        return (*slip.span(), "a run of marks, or markup")
    if slip := _SPACE_BEFORE.search(text):
        return _word_around(text, slip.start(), "a space before the mark")
    return None


def _word_around(text: str, position: int, why: str) -> tuple[int, int, str]:
    start = text.rfind(" ", 0, position) + 1
    end = text.find(" ", position + 2)
    return start, len(text) if end < 0 else end, why
