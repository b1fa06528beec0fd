"""Insults, and requests for secrets, in the words of `phrases.yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dialint.detector.checks.context import NO_CONTEXT, CheckContext, Hit
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn
from dialint.detector.yaml_document import read_document

QUOTED = re.compile(r"[„“«\"][^„“”«»\"]{1,200}[”“»\"]")
_WORD = re.compile(r"\w+")
_ENDS = re.compile(r"[.!?…\n]")
_CLAUSE_END = r"[.,;:!?…\n–—)]"
_POSTAL_PIN = re.compile(r"\bpin ?code\b", re.IGNORECASE)
_DELIVERY = re.compile(
    r"\b(?:deliver\w*|shipp?\w*|courier|pick-?up|address\w*|area|city|town|landmark|locality|location|serviceab\w+|"
    r"postal|postcode|pin ?codes? (?:of|to|for))\b",
    re.IGNORECASE,
)
"""What is spoken of where a PIN code is the postal code of an address in India."""
_AFTER_INSULT = r"(?=\s*(?:[.,;:!?…)]|\Z|\b(?:und|oder|y|o|et|ou|и|или)\b))"
MAX_FILLERS = 4
MAX_CLAUSE = 120
"""Characters after a secret in which its clause is searched for what excludes it."""


@dataclass(frozen=True)
class _Phrases:
    """The phrases of one check in one language, and the words before them that exclude a match."""

    pattern: re.Pattern[str]
    blocked: re.Pattern[str]
    insults: frozenset[str]
    """The insults alone, in lower case; none for secrets: they may be asked for in the customer's words."""


@cache
def _phrases(kind: str) -> tuple[_Phrases, ...]:
    """The phrases of `phrases.yaml` for ``insult`` or ``secret``, of each language that has them."""
    return tuple(
        _compile_phrases(language, kind)
        for language in read_document(Path(__file__).with_name("phrases.yaml"), "E_CHECKS").value.values()
        if kind in language
    )


def _compile_phrases(language: dict[str, Any], kind: str) -> _Phrases:
    def either(words: list[str]) -> str:
        ordered = sorted(words, key=len, reverse=True)
        return "(?:" + "|".join(re.escape(word).replace(r"\*", r"\w*") for word in ordered) + ")"

    part = language[kind]
    between = rf"(?:,?\s{either(language['please'])},?|\s{either(part['fillers'])}){{0,{MAX_FILLERS}}}"
    whole = rf"{either(part['openings'])}{between}\s{either(part['words'])}"
    if part["phrases"]:
        whole = rf"(?:{whole}|{either(part['phrases'])})"
    after = _AFTER_INSULT
    if kind == "secret":
        excluded = [*language["negations"], *part.get("not_before", ())]
        after = rf"(?![^.,;:!?…\n–—)]{{0,{MAX_CLAUSE}}}\b{either(excluded)}(?!\w))"
        if "followed_by" in part:
            after += rf"(?=\s*(?:{_CLAUSE_END}|\Z)|\s{either(part['followed_by'])}\b)"
    result = rf"(?<![\w-]){whole}(?![\w-]){after}"
    blocked = rf"(?<!\w){either(language['blockers'])}(?!\w)"
    insults = frozenset(word.casefold() for word in part["words"] if kind == "insult")
    found, excluding = (re.compile(pattern, re.IGNORECASE) for pattern in (result, blocked))
    return _Phrases(found, excluding, insults)


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
    if not phrases.insults.isdisjoint(
        {*_WORD.findall(match[0].casefold())} & {*_WORD.findall(customer_text)}
    ):
        return False  # the customer's own word, said of himself
    before = _ENDS.split(text[: match.start()])[-1]
    return phrases.blocked.search(before) is None


def insult(dialogue: Dialogue, context: CheckContext = NO_CONTEXT) -> Iterator[Hit]:
    """Detects an agent who insults the customer or tells him to go away, by `phrases.yaml`."""
    return _phrase_hits(dialogue, "insult", "the agent insults the customer")


def is_postal_code(name: str, turns: Sequence[Turn], position: int) -> bool:
    """Whether the secret of this `name`, asked for in the turn at `position`, is the postal code of an
    address in India: a PIN code beside talk of delivery, there or in the two turns before."""
    nearby = turns[max(0, position - 2) : position + 1]
    return _POSTAL_PIN.search(name) is not None and any(_DELIVERY.search(turn.text) for turn in nearby)


def asks_secret(dialogue: Dialogue, context: CheckContext = NO_CONTEXT) -> Iterator[Hit]:
    """Detects an agent who requests a PIN, a password or a card's check digits, by `phrases.yaml`. A PIN code
    beside talk of delivery is the postal code of an address in India."""
    for hit in _phrase_hits(dialogue, "secret", "the agent asks for a secret"):
        position = next(place for place, turn in enumerate(dialogue.turns) if turn.index == hit.turn)
        if not is_postal_code(dialogue.turns[position].text[hit.start : hit.end], dialogue.turns, position):
            yield hit
