"""Grammar slips of English that a few neighbouring words prove: doubled words, a and an, its and it's, a
singular after a number, a question without its subject.

Only rules whose hits were right when read on real dialogues, or that no correct sentence can match, stand
here (``to much`` and ``more better`` did not occur); what needs a parse (agreement over a distance,
tenses) is left to the scan. Figures: `docs/experiments/natural.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from dialint.detector.checks.context import CheckContext, Evidence, Hit, check
from dialint.detector.checks.grammar_rules import RULES
from dialint.detector.checks.phrases import QUOTED
from dialint.detector.checks.spelling import speller
from dialint.detector.dialogue_cache import Spans
from dialint.detector.languages import UNKNOWN, detect_languages
from dialint.detector.records import JUDGED_ROLES, Dialogue

LANGUAGES = ("en", UNKNOWN)
MAX_SEARCHES = 500
"""Different slips of one dialogue that are looked for in the customer's words; more are left alone."""

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
    if rule == "an for a" and _SPELT.fullmatch(word):
        return True
    if rule == "a for an":
        return _CONSONANT_U.match(word) is not None
    if word[0] == "h":
        return _SILENT_H.match(word) is not None
    if word[0] in "uoe":
        return _CONSONANT_U.match(word) is None
    return False


_LABEL = re.compile(
    r"\b(?:(?!(?:Only|Found|Have|Has|There|The|These|Those|For|All|Just|Here|Book|With|And|Are|Is|I|So|Yes|Ok|"
    r"Okay|Any|About|At|In|Of|To|Buy|Reserve|Get|Your|Our|My|We|You|It|But|Or|If|What|Show|See|Need)\b)"
    r"[A-Z][\w'’+]{0,30}+|(?:zone|season|tier|step|section|chapter|phase|level|line|platform|terminal|gate|type|"
    r"class|version|option|part|item|room|plan|grade|unit|stage|model|category|priority|route|episode))[ ]\Z"
)
"""What a number names, where it counts nothing: Zone 3, Windows 11, tier 1."""
_LETTERED = re.compile(
    r"\b(?:plan|option|class|block|vitamin|grade|type|group|section|team|part|tier|zone|side|letter)[ ]\Z"
)
_CONDITION = re.compile(r"\b(?:if|when|once|after|unless|whenever)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.!?\n]{0,120}\Z")
_PHRASAL = re.compile(
    r"\b(?:(?:switch|turn|log|sign|carr|hold|held|pass|put|tr[yi]|add|mov)[a-z]{0,6}(?: \w{1,20}){0,2} on"
    r"|(?:log|sign|check|plug|fill|clock|dial|opt|hand|trad|cash)[a-z]{0,6}(?: (?:it|them|this|that))? in)"
    r"\W{0,3}\Z",
    re.IGNORECASE,
)
"""A verb with its particle, which is no second preposition."""
_ON_VERB = re.compile(
    r"\b(?:(?:switch|turn|pass|put|keep|kept|hold|held|plug)[a-z]{0,6}(?: [\w'’]{1,20}){0,3}"
    r"|(?:log|sign|carr|hang|hung|mov|press)[a-z]{0,6}) \Z",
    re.IGNORECASE,
)
_IN_VERB = re.compile(
    r"(?:\b(?:com(?:e|es|ing)|came|call(?:ed|ing)?|log(?:ged|ging)?|stop(?:ped|ping)?|drop(?:ped|ping)?|"
    r"pop(?:ped)?|hand(?:ed)?|sen[dt]|bring|brought|phone[ds]?|sign(?:ed)?"
    r"|(?:i|we|he|she|you|they|who)(?:['’]ll| will| can| could| should| would)? be|i am)"
    r"|['’](?:m|re))(?: (?:it|them|him|her))? \Z",
    re.IGNORECASE,
)
_SPELT = re.compile(
    r"[fhlmnrsx][b-df-hj-np-tv-z]{1,5}|faq|mri|sso|sla|mfa|rma|nda|roi|lte|led|hdmi|hvac|rfid"
)
"""Abbreviations that are read letter by letter, the first of which begins with a vowel: html, ssd."""


def _is_correct(rule: str, text: str, match: re.Match[str]) -> bool:
    """Whether what stands around a match makes it correct: a verb with its particle, the name of a thing."""
    before = text[max(0, match.start() - 120) : match.start()]
    if rule in ("singular after a number", "plural after one"):
        return match[0][0] in "123456789oO" and _LABEL.search(before) is not None
    if rule in ("a for an", "a before a number"):
        return _LETTERED.search(before) is not None
    if rule == "then for than":
        sentence = _SENTENCE.search(before)
        return sentence is not None and _CONDITION.search(sentence[0]) is not None
    if rule == "preposition twice":
        return _PHRASAL.search(match[0]) is not None
    if rule == "wrong preposition of time":
        particle = match[0][:3].lower()
        if particle == "in " and not match[0].endswith("day"):
            return False  # no verb takes "in March 9th"
        return (
            particle in ("on ", "in ")
            and (_ON_VERB if particle == "on " else _IN_VERB).search(before) is not None
        )
    return False


def find_slips(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Every rule with its matches in a text, outside of quotations."""
    quoted = Spans(match.span() for match in QUOTED.finditer(text))
    for name, pattern in RULES.items():
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


@check(L2=Evidence(174, 187), languages=("en",))
def grammar_slip(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Detects slips of grammar in the agent's English by `RULES`, the first of each turn; what the customer
    wrote in the same words is his."""
    customer: str | None = None
    excused: dict[str, bool] = {}
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
            words = match[0].casefold()
            if words not in excused:
                excused[words] = len(excused) >= MAX_SEARCHES or words in customer
            if excused[words]:
                continue
            yield Hit(turn.index, match.start(), match.end(), name)
            break
