"""Misspelt words (L1): not in the dictionary, and one slip away from a word that is far more usual.

A word is only reported if nothing but a typing error explains it: it is neither a name, nor the customer's or
a tool's, nor of the log's own trade, nor the spelling of another country or of chats, and the meant word can
be determined. An unknown word far from every correct one is left alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.dictionary import (
    LONG,
    MIN_LETTERS,
    SHORT,
    USUAL,
    VERY_USUAL,
    WORD,
    Slip,
    Speller,
    TypedWord,
    is_foreign,
    is_vowel_slip,
    speller,
    typed_words,
    weigh,
)
from dialint.detector.languages import detect_languages
from dialint.detector.log_profile import LogProfile
from dialint.detector.records import JUDGED_ROLES, Dialogue

LANGUAGES = ("en",)
EVERYDAY = 300_000
"""Like `USUAL`, for a word with a capital at the beginning of a sentence, which may be a name (``Sould``)."""
JARGON_DIALOGUES = 2
"""A word that more dialogues of the log use is a word of its trade, unless it is plainly a slip."""
SELDOMER = 20
"""So many times seldomer in the log than the meant word, a word is a slip after all."""
MIN_LOG = 200
EXPECTED_SHARE = 0.005
"""Dialogues of a log from which its words are the measure, and the share of them with the meant word."""
MAX_UNKNOWN = 2
"""Unknown words from which a turn counts as one of another language or of names, if they are also more
than one word in `UNKNOWN_SHARE`."""
UNKNOWN_SHARE = 4
MISSPELT_VOWEL = 2_000
SURE_OPENING = 10_000
"""Occurrences of a meant word of `LONG` letters from which another vowel is a slip of it (``seperately``),
and from which one letter is in a word with a capital at the beginning of a sentence (``Immediatly``)."""
PHRASE = 10_000
"""Occurrences below which a word is not meant where two unknown words stand together: a foreign phrase."""
SURELY = 3
"""Factor by which the meant word must be likelier than any other to be given in the reason."""
LOST_ENDING = 0.05
"""Relative probability of a meant word without ``ing`` where ``ing`` was typed (``raing``)."""
SHORT_NAME = 6
LONG_NAME = 8
"""Most letters of a name in a text without capitals, and before a word like ``studio``."""
MAX_LOOKUPS = 60
"""Words of one dialogue whose meant word is searched: bounds the time of hostile dialogues."""


@check(L1=Evidence(160, 162), languages=("en",))
def misspelt_word(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find misspelt words of the agent, with the words that were meant: one hit a turn, at the first of
    them."""
    spelling = speller()
    excused: frozenset[str] | None = None
    languages: Mapping[int, str] | None = None
    left = MAX_LOOKUPS
    for turn in dialogue.turns:
        if turn.role not in JUDGED_ROLES:
            continue
        if not any(map(spelling.has_unknown, turn.text.split())):
            continue
        words = list(typed_words(turn.text))
        unknown = [word for word in words if not spelling.is_correct(word.lower)]
        if not unknown or (len(unknown) > MAX_UNKNOWN and len(unknown) * UNKNOWN_SHARE > len(words)):
            continue
        slips: list[tuple[TypedWord, str]] = []
        phrases = _foreign_phrases(words, unknown[:left], spelling)
        for word in unknown[:left]:
            may_be_name = word.start in phrases or _may_be_name(word, words, spelling)
            meant = None if may_be_name else _meant(word, spelling, context)
            if meant is None:
                continue
            if excused is None:
                excused = _words_of_others(dialogue) | _names(dialogue) | _repeated(dialogue, spelling)
            if word.lower not in excused and not is_foreign(turn.text, word.start, word.text):
                slips.append((word, meant))
        left -= min(left, len(unknown))
        if slips:
            languages = languages or detect_languages(dialogue, context.languages)[1]
            if languages[turn.index] not in LANGUAGES:
                continue
            first = slips[0][0]
            why = "; ".join(f"{word.text}: {meant}" if meant else word.text for word, meant in slips)
            yield Hit(turn.index, first.start, first.start + len(first.text), f"not in the dictionary, {why}")


def _foreign_phrases(words: list[TypedWord], unknown: list[TypedWord], spelling: Speller) -> set[int]:
    """Return the offsets of unknown words beside a word with letters that English lacks, and of those that
    stand together, neither being a name, unless they are slips of a usual word (``Grazie mille``)."""
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


def _may_be_name(word: TypedWord, words: list[TypedWord], spelling: Speller) -> bool:
    """Return whether a word in lower case may be a name: before ``studio`` or an unknown word with a capital,
    one or two words after ``named``, or short in a text without capitals, and no plain slip of a very usual
    word."""
    if not word.text.islower() or len(word.text) > LONG_NAME or spelling.written_together(word.lower):
        return False
    if any(slip.is_plain and slip.count >= VERY_USUAL for slip in spelling.slips(word.lower)):
        return False
    following = next((each for each in words if each.start == word.start + len(word.text) + 1), None)
    if following is not None and (
        spelling.names_place(following.lower)
        or (following.text[0].isupper() and not spelling.is_correct(following.lower))
    ):
        return True
    before = (each.lower for each in words if word.start - LONG_NAME * 2 <= each.start < word.start)
    if "named" in [*before][-2:]:
        return True
    return len(word.text) <= SHORT_NAME and all(each.text.islower() for each in words)


def _meant(word: TypedWord, spelling: Speller, context: CheckContext) -> str | None:
    """Return the right form of an unknown word, empty where it is one of several; None if it may be a name or
    a word of the log's own trade."""
    together = spelling.written_together(word.lower)
    if together is not None and not (word.text.isupper() and len(word.text) <= MIN_LETTERS):
        return together
    if not word.text.islower() and not (word.opens and word.text[1:].islower()):
        return None
    log = context.log

    def weight(slip: Slip) -> float:
        ending = LOST_ENDING if word.lower.endswith("ing") and not slip.meant.endswith("ing") else 1.0
        return ending * weigh(word.lower, slip) * slip.count * (1 + log.word_dialogues.get(slip.meant, 0))

    slips = sorted(spelling.slips(word.lower), key=weight, reverse=True)
    if not slips or not spelling.explains(word.lower, slips[0]):
        return None
    slip, *others = slips
    meant = "" if others and weight(slip) < SURELY * weight(others[0]) else slip.meant
    is_sure = slip.is_plain and len(word.text) > MIN_LETTERS
    if not word.text.islower() and not (is_sure and (slip.count >= 30 * USUAL or len(word.text) >= LONG)):
        is_long = len(word.text) > LONG and slip.count >= SURE_OPENING and word.text[-1] == slip.meant[-1]
        if is_long and (slip.kind == "letter" or is_vowel_slip(word.lower, slip)):
            return None if _is_jargon(word.lower, slip, log) else meant
        is_everyday = slip.kind == "letter" and len(word.text) > MIN_LETTERS and slip.count >= EVERYDAY
        return meant if is_everyday and _is_expected(slip, log) else None
    is_long = len(word.text) >= LONG and (
        slip.kind == "letter" or (slip.count >= MISSPELT_VOWEL and is_vowel_slip(word.lower, slip))
    )
    if not is_sure and not is_long and not _is_expected(slip, log):
        return None
    return None if _is_jargon(word.lower, slip, log) else meant


def _is_expected(slip: Slip, log: LogProfile) -> bool:
    """Return whether the log, or else the language, uses the meant word often: names are one letter off."""
    if log.n_dialogues >= MIN_LOG:
        return log.word_dialogues.get(slip.meant, 0) >= EXPECTED_SHARE * log.n_dialogues
    return slip.count >= (10 if len(slip.meant) >= LONG else 30) * USUAL


def _is_jargon(word: str, slip: Slip, log: LogProfile) -> bool:
    """Return whether the log uses a word as one of its own: in more than a few dialogues, not much seldomer
    than the presumed meant word, and not in a slip that many people make (``accomodate``,
    ``recieve``) or a prepared line repeats."""
    dialogues = log.word_dialogues.get(word, 0)
    if dialogues <= JARGON_DIALOGUES or log.word_dialogues.get(slip.meant, 0) >= SELDOMER * dialogues:
        return False
    swapped_ie = slip.kind == "swap" and {word.replace("ie", "ei"), word.replace("ei", "ie")} & {slip.meant}
    return len(word) <= SHORT or not (slip.kind == "doubled" or swapped_ie)


def _words_of_others(dialogue: Dialogue) -> frozenset[str]:
    """Return every word that anybody but the agent wrote, in lower case: the agent may say it again."""
    return frozenset(
        word[0].casefold().replace("’", "'")
        for turn in dialogue.turns
        if turn.role not in JUDGED_ROLES
        for word in WORD.finditer(turn.text)
    )


def _names(dialogue: Dialogue) -> frozenset[str]:
    """Return the words that somebody wrote with a capital inside a sentence, in lower case."""
    return frozenset(
        word.lower
        for turn in dialogue.turns
        for word in typed_words(turn.text)
        if word.text[0].isupper() and not word.opens
    )


def _repeated(dialogue: Dialogue, spelling: Speller) -> frozenset[str]:
    """Return the unknown words in two turns of the agent that are one letter off a seldom word: names in
    lower case, as of a restaurant (``jinling``)."""
    turns = Counter(
        word
        for turn in dialogue.turns
        if turn.role in JUDGED_ROLES
        for word in {each.lower for each in typed_words(turn.text) if not spelling.is_correct(each.lower)}
    )
    return frozenset(
        word
        for word in sorted(word for word, n in turns.items() if n > 1)[:MAX_LOOKUPS]
        if all(slip.count < PHRASE and slip.kind in ("letter", "other") for slip in spelling.slips(word))
    )
