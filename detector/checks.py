"""Exact checks: rules that detect errors without a model. Findings name their check in `reason`.

A release lists the check of each code and its measured precision. Checks read the original text, before
masking, so that a placeholder of the masking is never reported as an unfilled one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dialint.detector.languages import UNKNOWN
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn
from dialint.detector.yaml_document import read_document


@dataclass(frozen=True)
class Hit:
    """A match of a check: offsets into the turn's text, end exclusive, and the reason."""

    turn: int
    start: int
    end: int
    why: str


_WORD = (
    r"(?:first|last|full|given|family|customer|client|guest|user|agent|advisor|company|brand|product|order|ticket|"
    r"case|account|tracking|invoice|booking|reference|ref|amount|price|date|day|time|city|address|email|phone|"
    r"number|name|title|link|url|id|no|nr|code|status|delivery|refund|policy|plan|item|here|your|insert|the|of)"
)
_WORDS = rf"{_WORD}(?:[ _.-]?{_WORD}){{0,4}}"
_UNFILLED = re.compile(
    rf"\{{\{{?\s*[a-z_][\w. |-]{{0,40}}\}}\}}?"  # {first_name}, {{ticket.id}}
    rf"|<<\s*[a-z_][\w. -]{{0,40}}>>"  # <<order_id>>
    rf"|<{_WORDS}>"  # <customer name>
    rf"|\[\s*{_WORDS}\s*\]"  # [Customer Name]
    rf"|%{_WORDS}%|%%{_WORDS}%%"  # %FIRSTNAME%
    rf"|\$\{{?{_WORD}[._]{_WORDS}\}}?"  # $customer.name
    rf"|\binsert {_WORDS} here\b",  # INSERT DATE HERE
    re.IGNORECASE,
)
_REDACTED = re.compile(r"\[\s*(?:[A-Z]+_\d+|name|email|phone|number|address|date|url|link)\s*\]")

_SLOT_MARKS = "{}<>[]%$ "


def unfilled_placeholder(dialogue: Dialogue) -> Iterator[Hit]:
    """Detects a placeholder of a template that was not filled in.

    Lower-case or numbered brackets such as ``[name]`` or ``[EMAIL_1]`` are how logs are redacted and do
    not count; nor do blanks of underscores, which quizzes and forms hold (49 of 82 hits in STAR and
    MultiWOZ, 2026-11-20), nor what the customer himself speaks of.
    """
    spoken_of = {
        match[0].strip(_SLOT_MARKS)
        for turn in dialogue.turns
        if turn.role == "customer"
        for match in _UNFILLED.finditer(turn.text)
    }
    for turn in dialogue.turns:
        if turn.role not in JUDGED_ROLES:
            continue
        for match in _UNFILLED.finditer(turn.text):
            if not _REDACTED.fullmatch(match.group()) and match[0].strip(_SLOT_MARKS) not in spoken_of:
                yield Hit(turn.index, match.start(), match.end(), "a template's slot was left unfilled")
                break


MIN_WORDS = 6
SHORT_ANSWER = 4
"""Most content words of a turn that counts as a short answer to a question."""
MAX_BETWEEN = 100
"""Most turns between a text and its repetition; over a longer distance the cause cannot be determined."""

_ROUTINE = re.compile(
    r"\b(anything|something) else\b|\b(further|more|additional) (help|assistance|questions)\b"
    r"|\b(have a|enjoy|thank|thanks|welcome|goodbye|bye)\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\?|\b(?:can|could|would|will) (?:you|i|we)\b|\b(?:please|i'?d|need|want|wish|like to|prefer)\b"
    r"|\b(?:looking for|looks for|let'?s|how about|what about|instead|changed?|different|another|other)\b"
    r"|\b(?:also|too|as well|actually|wait|forgot|remember|remembered|repeat|resend|again|once more|pardon)\b"
    r"|\b(?:sure about|make sure|try|find|search|book|cancel|add|show|give|tell|send|keep|take|any)\b"
    r"|\b(?:anything|check|else|rather|whatever|back to|second|more|help)\b",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"\b(?:(?=[^\W\d]*+\d)\w++|(?:mon|tues|wednes|thurs|fri|satur|sun)(?:day)?\b)|\b(?:today|tomorrow|tonight|morning|noon"
    r"|evening|one|two|three|four|five|six|seven|eight|nine|ten|twelve|[ap]m)\b",
    re.IGNORECASE,
)
_PROPER_NOUN = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+|\b[A-Z](?=[^\WA-Z]*+[A-Z])\w++")
_EMPTY_WORDS = """
amazing answer appreciate appreciated asked before believe best come day excellent heard kind last like
listening lot love lovely noted read sad sadly seriously service sitting sounds understood waiting wow
a about again all alright already am an and are as at awesome be bye but cool cheers continue dear did
didn do does doesn don done even ever fine for from get go going good goodbye got great ha had has have
he hello help here hey hi hm hmm i in is it its just know ll lol m me much my never nice no nope not
nothing now of off oh ok okay on or perfect please proceed re really right s said same see she so sorry
still such super sure t thank thanks that the then there they this thx to too uh um understand up ve
very wait was way we well were what why will with wonderful work worked working works yeah yep yes you
your yup
"""
_EMPTY = frozenset(_EMPTY_WORDS.split())
_POLITE = re.compile(
    r"\b(?:yes|no|ok|okay|sure|do|proceed|continue|go ahead|go on),? please\b"
    r"|\bplease (?:do|proceed|continue)\b|\bcan'?t wait\b|\b(?:you can|please)? ?proceed(?: please)?\b",
    re.IGNORECASE,
)
"""Phrases with the form of a request that only agree."""

_CALL = re.compile(r"\A\W*+(?:(?:hello|hi|hey)(?: there)?|(?<= )there)?\W*+", re.IGNORECASE)
"""A turn of a customer who only calls for attention."""

_QUESTION = re.compile(r"\?|__")
_ANSWERED = re.compile(
    r"\A\W*+(?:(?:oh|well|um|hm+|great|perfect|good|sounds good|wonderful|awesome|cool)\W++)*+"
    r"(?:yes|yeah|yep|yup|sure|ok|okay|no|nope|nah|please (?:do|proceed|continue)|proceed|go (?:ahead|on)"
    r"|absolutely|of course|certainly|correct)\b",
    re.IGNORECASE,
)


def same_text_again(dialogue: Dialogue) -> Iterator[Hit]:
    """Detects a message that repeats an earlier one of the same side word for word, although the customer's
    turns in between gave no reason for it.

    Justified repetitions are no hits: after a new value, a request, a question or a short answer of
    substance; of a question that has not been answered; short messages, thanks, goodbyes and offers of
    further help.
    """
    sent: dict[str, int] = {}
    first: dict[str, int] = {}
    for index, turn in enumerate(dialogue.turns):
        for word in _words(turn.text):
            first.setdefault(word, index)
    for index, turn in enumerate(dialogue.turns):
        if turn.role not in JUDGED_ROLES:
            continue
        key = " ".join(words := _words(turn.text))
        if len(words) < MIN_WORDS or _ROUTINE.search(turn.text):
            continue
        last = sent.get(key)
        if last is not None and _uncalled_for(turn.text, dialogue.turns, last, index, first):
            start = len(turn.text) - len(turn.text.lstrip())
            why = "the same words were sent before, and nothing new was said"
            yield Hit(turn.index, start, len(turn.text.rstrip()), why)
        sent[key] = index


def _uncalled_for(
    text: str, turns: tuple[Turn, ...], sent: int, position: int, first: dict[str, int]
) -> bool:
    """Whether the customer's turns between `sent` and `position` give no reason to send the text again.
    `first` maps each word to the turn in which it occurs first."""
    if position - sent > MAX_BETWEEN:
        return False
    between = turns[sent:position]
    customer_text = [turn.text for turn in between if turn.role == "customer"]
    if not customer_text or (_QUESTION.search(text) and not _ANSWERED.match(customer_text[0])):
        return False
    if any(turn.role in JUDGED_ROLES and _QUESTION.search(turn.text) for turn in between[1:]):
        return False  # a "yes" to another question may well call for the same words again
    last = next((turns[i].text for i in range(sent - 1, -1, -1) if turns[i].role == "customer"), "")
    earlier_words = {word for reply in customer_text for word in _words(reply) if first[word] <= sent}
    return not any(_calls_for_more(reply, earlier_words, last) for reply in customer_text)


def _calls_for_more(reply: str, earlier_words: set[str], last: str) -> bool:
    """Whether the customer's turn `reply` asks, wishes or states something new, of which no word was
    `earlier_words` before. Saying once more what was said in the turn before (`last`) does not count: the
    text did not answer it the first time either."""
    words = set(_words(reply)) - _EMPTY
    if _CALL.fullmatch(reply) or (len(words) >= SHORT_ANSWER and words <= set(_words(last))):
        return False
    if _REQUEST.search(_POLITE.sub("", reply)) or 0 < len(words) <= SHORT_ANSWER:
        return True
    values = {result.casefold() for result in (*_VALUE.findall(reply), *_PROPER_NOUN.findall(reply))}
    return bool(values - earlier_words)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


QUOTED = re.compile(r"[„“«\"][^„“”«»\"]{1,200}[”“»\"]")
_ENDS = re.compile(r"[.!?…\n]")
_AFTER_INSULT = r"(?=\s*(?:[.,;:!?…)]|\Z|\b(?:und|oder|y|o|et|ou|и|или)\b))"
MAX_FILLERS = 4


@dataclass(frozen=True)
class _Phrases:
    """The phrases of one check in one language, and the words before them that exclude a match."""

    pattern: re.Pattern[str]
    blocked: re.Pattern[str]


@cache
def _phrases(kind: str) -> tuple[_Phrases, ...]:
    """The phrases of `phrases.yaml` for ``insult`` or ``secret``, by language."""
    return tuple(
        _compile_phrases(language, kind)
        for language in read_document(Path(__file__).with_name("phrases.yaml"), "E_CHECKS").value.values()
    )


def _compile_phrases(language: dict[str, Any], kind: str) -> _Phrases:
    def either(words: list[str]) -> str:
        return "(?:" + "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)) + ")"

    part = language[kind]
    between = rf"(?:,?\s{either(language['please'])},?|\s{either(part['fillers'])}){{0,{MAX_FILLERS}}}"
    whole = rf"{either(part['openings'])}{between}\s{either(part['words'])}"
    if part["phrases"]:
        whole = rf"(?:{whole}|{either(part['phrases'])})"
    after = _AFTER_INSULT if kind == "insult" else rf"(?!\s{either(language['negations'])}\b)"
    result = rf"(?<![\w-]){whole}(?![\w-]){after}"
    blocked = rf"(?<!\w){either(language['blockers'])}(?!\w)"
    return _Phrases(*(re.compile(pattern, re.IGNORECASE) for pattern in (result, blocked)))


def _phrase_hits(dialogue: Dialogue, kind: str, why: str) -> Iterator[Hit]:
    """The first phrase of each judged turn that is not quoted, denied, conditional or the customer's own."""
    customer_text = " ".join(turn.text.casefold() for turn in dialogue.turns if turn.role == "customer")
    for turn in dialogue.turns:
        if turn.role not in JUDGED_ROLES:
            continue
        quoted = [match.span() for match in QUOTED.finditer(turn.text)]
        for phrases in _phrases(kind):
            match = next(
                (
                    one
                    for one in phrases.pattern.finditer(turn.text)
                    if _is_own(turn.text, one, phrases, quoted, customer_text)
                ),
                None,
            )
            if match is not None:
                yield Hit(turn.index, match.start(), match.end(), why)
                break


def _is_own(
    text: str, match: re.Match[str], phrases: _Phrases, quoted: list[tuple[int, int]], customer_text: str
) -> bool:
    if match[0].casefold() in customer_text or any(start <= match.start() < end for start, end in quoted):
        return False
    before = _ENDS.split(text[: match.start()])[-1]
    return phrases.blocked.search(before) is None


def insult(dialogue: Dialogue) -> Iterator[Hit]:
    """Detects an agent who insults the customer or tells him to go away, by `phrases.yaml`."""
    return _phrase_hits(dialogue, "insult", "the agent insults the customer")


def asks_secret(dialogue: Dialogue) -> Iterator[Hit]:
    """Detects an agent who requests a PIN, a password or a card's check digits, by `phrases.yaml`."""
    return _phrase_hits(dialogue, "secret", "the agent asks for a secret")


CHECKS: dict[str, Callable[[Dialogue], Iterator[Hit]]] = {
    "unfilled_placeholder": unfilled_placeholder,
    "same_text_again": same_text_again,
    "insult": insult,
    "asks_secret": asks_secret,
}
"""The checks by their names in releases."""

CHECK_LANGUAGES: dict[str, tuple[str, ...]] = {
    "same_text_again": ("en",),
    "insult": ("de", "es", "fr", "ru"),
    "asks_secret": ("de", "es", "fr", "ru"),
}
"""Languages of the checks that depend on one: an unfilled slot is an error in any language, but whether a
customer requested the same words again is decided by English words."""


def check_covers(name: str, language: str) -> bool:
    """Whether a check applies to turns in `language`."""
    return language == UNKNOWN or language in CHECK_LANGUAGES.get(name, (language,))
