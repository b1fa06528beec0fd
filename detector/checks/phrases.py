"""Insults, and requests for secrets, in the words of `phrases.yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from dialint.detector.checks.context import (
    CheckContext,
    Evidence,
    GateInput,
    GateResult,
    Hit,
    check,
    dropped,
    finding,
)
from dialint.detector.checks.words import (
    Spans,
    find_phrases,
    has_phrase,
    patterns,
    sentences,
    split_words,
)
from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.detector.tool_use import per_dialogue
from dialint.detector.yaml_document import read_document

PATTERNS = patterns("phrases")

QUOTED = re.compile(r"[„“«\"][^„“”«»\"]{1,200}[”“»\"]")
_WORD = re.compile(r"\w+")
_ENDS = re.compile(r"[.!?…\n]")
_CLAUSE_END = r"[.,;:!?…\n–—)]"
_POSTAL_PIN = re.compile(r"\bpin ?code\b", re.IGNORECASE)
_AFTER_INSULT = r"(?=\s*(?:[.,;:!?…)]|\Z|\b(?:und|oder|y|o|et|ou|и|или)\b))"
MAX_FILLERS = 4
MAX_SEARCHES = 500
"""Different phrases of one dialogue that are looked for in the customer's words; more are left alone."""
MAX_BEFORE = 500
"""Characters before a phrase in which its sentence is searched for what excludes it."""
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
    """Return the phrases of `phrases.yaml` for ``insult`` or ``secret``, of each language that has them."""
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


def _phrase_hits(dialogue: Dialogue, kind: str, why: str) -> Iterator[tuple[int, Hit]]:
    """Yield the first phrase of each judged turn that is not quoted, denied, conditional or the customer's
    own, after the position of the turn."""
    customer = _Customer(dialogue)
    for position, turn in enumerate(dialogue.turns):
        if turn.role not in JUDGED_ROLES:
            continue
        quoted = Spans(match.span() for match in QUOTED.finditer(turn.text))
        for phrases in _phrases(kind):
            match = next(
                (
                    one
                    for one in phrases.pattern.finditer(turn.text)
                    if _is_own(turn.text, one, phrases, quoted, customer)
                ),
                None,
            )
            if match is not None:
                yield position, Hit(turn.index, match.start(), match.end(), why)
                break


class _Customer:
    """The customer's words in lower case."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._text = " ".join(turn.text.casefold() for turn in dialogue.turns if turn.role == "customer")
        self._has: dict[str, bool] = {}

    def has(self, phrase: str) -> bool:
        """Return whether a phrase stands in them; after `MAX_SEARCHES` different ones, that it may."""
        if phrase not in self._has:
            self._has[phrase] = len(self._has) >= MAX_SEARCHES or phrase in self._text
        return self._has[phrase]

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self._text))


def _is_own(text: str, match: re.Match[str], phrases: _Phrases, quoted: Spans, customer: _Customer) -> bool:
    if quoted.overlap(match.start(), match.start() + 1) or customer.has(match[0].casefold()):
        return False
    if not phrases.insults.isdisjoint(customer.words.intersection(_WORD.findall(match[0].casefold()))):
        return False  # the customer's own word, said of himself
    before = _ENDS.split(text[max(0, match.start() - MAX_BEFORE) : match.start()])[-1]
    return phrases.blocked.search(before) is None


@check(T1=Evidence(17, 17), languages=("de", "es", "fr", "ru"))
def insult(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find an agent who insults the customer or tells him to go away, by `phrases.yaml`."""
    return (hit for _, hit in _phrase_hits(dialogue, "insult", "the agent insults the customer"))


@per_dialogue
def _delivery_positions(dialogue: Dialogue) -> frozenset[int]:
    return frozenset(n for n, turn in enumerate(dialogue.turns) if PATTERNS.delivery.search(turn.text))


def is_postal_code(name: str, dialogue: Dialogue, position: int) -> bool:
    """Return whether the secret of this `name`, asked for in the turn at `position`, is the postal code of an
    address in India: a PIN code beside talk of delivery, there or in the two turns before."""
    nearby = range(position - 2, position + 1)
    return _POSTAL_PIN.search(name) is not None and not _delivery_positions(dialogue).isdisjoint(nearby)


@check(V2=Evidence(estimate=0.929), languages=("de", "en", "es", "fr", "ru"))
def asks_secret(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find an agent who requests a PIN, a password or a card's check digits, by `phrases.yaml`. A PIN code
    beside talk of delivery is the postal code of an address in India."""
    for position, hit in _phrase_hits(dialogue, "secret", "the agent asks for a secret"):
        if not is_postal_code(dialogue.turns[position].text[hit.start : hit.end], dialogue, position):
            yield hit


BARE_WORDS = 3
"""Most words of a question that is the name of the secret alone: "And your PIN?"."""
CHANGE_DISTANCE = 4
"""Most words between a verb of change, as in "reset your PIN", and the secret."""


def asks_for_secret(suspicion: GateInput) -> GateResult:
    """V2 must see a noun of secrets as the object asked for: in a sentence that requests, or before one that
    says "send me those"; not in a warning, a reset, or a login of the customer's own; and the customer did
    not bring the noun up himself, unless he is plainly told to hand it over."""
    used = suspicion.customer_before.find("secrets") is not None
    why, pending = "no secret is asked for", False
    for sentence in sentences(QUOTED.sub(" ", suspicion.turn.text)):
        gives = has_phrase(sentence, "hand_over")
        secrets = list(find_phrases(sentence, "secrets"))
        if not secrets:
            if (
                pending
                and gives
                and has_phrase(sentence, "pronouns")
                and not has_phrase(sentence, "warnings")
            ):
                return finding("a secret is named and asked for")
            continue
        pending, place = False, secrets[0][0]
        is_bare = "?" in sentence and len(split_words(sentence)) <= BARE_WORDS
        is_changed = any(start < place for start, _ in find_phrases(sentence, "own_login")) or any(
            0 <= place - start <= CHANGE_DISTANCE for start, _ in find_phrases(sentence, "changes_secret")
        )
        if is_postal_code(secrets[0][1], suspicion.dialogue, suspicion.position):
            why = "the PIN code is a postal code"
        elif has_phrase(sentence, "warnings") or has_phrase(sentence, "part_of_secret"):
            why = "a warning, or a part of the secret only"
        elif is_changed:
            why = "the secret is to be changed or typed elsewhere, not told"
        elif not (gives or has_phrase(sentence, "asks_secret") or is_bare):
            why, pending = "the secret is named, not asked for", True
        elif used and not gives:
            why = "the turn follows the customer's own word"
        else:
            return finding(f"“{secrets[0][1]}” is asked for")
    return dropped(why)
