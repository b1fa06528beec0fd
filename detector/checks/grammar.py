"""Grammar slips of English that a few neighbouring words prove: doubled words, a and an, its and it's, a
singular after a number, a question without its subject.

Only rules whose hits were right when read on real dialogues stand here (``could of``, ``to much`` and ``more
better`` did not occur in them); what needs a parse (agreement over a distance, tenses) is left to the scan.
Figures: `docs/experiments/natural.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from dialint.detector.checks.context import NO_CONTEXT, CheckContext, Hit
from dialint.detector.checks.grammar_rules import RULES
from dialint.detector.checks.phrases import QUOTED
from dialint.detector.checks.spelling import speller
from dialint.detector.languages import UNKNOWN, detect_languages
from dialint.detector.records import JUDGED_ROLES, Dialogue

LANGUAGES = ("en", UNKNOWN)

_CONSONANT_U = re.compile(
    r"(?:u(?:ni(?!n|m|d)|s(?!h)|t[aeio]|bi|ran|rea|ro|kr|kulele|fo)|eu|one(?:s|self|-)?\Z|once|one(?!r))"
)
_SILENT_H = re.compile(r"h(?:our|onest|onou?r|eir|omage|erb|istoric|otel|omme)")

LONG_WORD = 8
"""Letters from which an unknown word is taken for an English one, though not with a u: its sound differs."""

_NO_HEADS = frozenset(
    {"and", "are", "also", "all", "any", "its", "our", "onto", "into", "out", "off", "as", "is", "if", "in"}
)
"""Words before which a single a is a letter, or no article."""


def _is_article_right(rule: str, written: str) -> bool:
    """Whether a or an fits the sound that a word begins with, or the word is not an English one."""
    word = written.lower()
    if word in _NO_HEADS:
        return True
    if not speller("en").is_known(word) and (len(word) < LONG_WORD or written[0] in "uU"):
        return True
    if rule == "a for an":
        return _CONSONANT_U.match(word) is not None
    if word[0] == "h":
        return _SILENT_H.match(word) is not None
    if word[0] in "uoe":
        return _CONSONANT_U.match(word) is None
    return False


def find_slips(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Every rule with its matches in a text, outside of quotations."""
    quoted = [match.span() for match in QUOTED.finditer(text)]
    for name, pattern in RULES.items():
        for match in pattern.finditer(text):
            if any(start <= match.start() < end for start, end in quoted):
                continue
            if name == "doubled word" and not match[0].islower() and match[0] != "the The":
                continue  # a name may begin with an article, but takes no second one
            if name in ("a for an", "an for a") and _is_article_right(name, match[match.lastindex or 1]):
                continue
            yield name, match


def grammar_slip(dialogue: Dialogue, context: CheckContext = NO_CONTEXT) -> Iterator[Hit]:
    """Detects slips of grammar in the agent's English by `RULES`, the first of each turn; what the customer
    wrote in the same words is his."""
    customer: str | None = None
    languages: Mapping[int, str] | None = None
    for turn in dialogue.turns:
        if turn.role not in JUDGED_ROLES:
            continue
        for name, match in sorted(find_slips(turn.text), key=lambda slip: slip[1].start()):
            languages = languages or detect_languages(dialogue)[1]
            if languages[turn.index] not in LANGUAGES:
                break
            if customer is None:
                customer = "\n".join(
                    each.text.casefold() for each in dialogue.turns if each.role == "customer"
                )
            if match[0].casefold() in customer:
                continue
            yield Hit(turn.index, match.start(), match.end(), name)
            break
