"""Gates of the codes that accuse an agent of asking: for a secret (V2), for what was given (U2)."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from operator import itemgetter

from dialint.detector.checks.phrases import QUOTED, is_postal_code
from dialint.detector.dialogue_cache import any_between, per_dialogue
from dialint.detector.gates.suspicion import (
    GateInput,
    GateResult,
    are_near,
    dropped,
    find_phrases,
    finding,
    has_phrase,
    sentences,
    split_words,
    suggestion,
    trigrams,
)
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn

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
        pending = False
        if is_postal_code(secrets[0][1], suspicion.dialogue, suspicion.position):
            why = "the PIN code is a postal code"
        elif has_phrase(sentence, "warnings") or has_phrase(sentence, "part_of_secret"):
            why = "a warning, or a part of the secret only"
        elif _is_changed(sentence, secrets[0][0]):
            why = "the secret is to be changed or typed elsewhere, not told"
        elif not (gives or has_phrase(sentence, "asks_secret") or _is_bare_question(sentence)):
            why, pending = "the secret is named, not asked for", True
        elif used and not gives:
            why = "the turn follows the customer's own word"
        else:
            return finding(f"“{secrets[0][1]}” is asked for")
    return dropped(why)


def _is_bare_question(sentence: str) -> bool:
    return "?" in sentence and len(split_words(sentence)) <= BARE_WORDS


def _is_changed(sentence: str, place: int) -> bool:
    if any(start < place for start, _ in find_phrases(sentence, "own_login")):
        return True
    return any(0 <= place - start <= CHANGE_DISTANCE for start, _ in find_phrases(sentence, "changes_secret"))


@dataclass(frozen=True)
class _Detail:
    """A detail that agents ask for: the list of its names in `phrases.yaml`, the shape of its values, and
    whether one dialogue has a single one."""

    names: str
    value: re.Pattern[str]
    is_single: bool = True


_NAME = re.compile(r"(?:\b[Mm]y (?:full )?name(?: is|'s|:)|\bI am|\bI'm|\b[Tt]his is) [A-Z][a-z]+\b")
_DETAILS = (
    _Detail("detail_email", re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}\.\w{1,20}")),
    _Detail("detail_order", re.compile(r"#?\b(?=[A-Z-]{0,4}\d)[A-Z\d-]{4,20}\b")),
    _Detail("detail_account", re.compile(r"\b\d{6,20}\b")),
    _Detail("detail_phone", re.compile(r"\b\d[\d ()-]{5,18}\d\b")),
    _Detail("detail_zip", re.compile(r"\b\d{5}\b")),
    _Detail("detail_name", _NAME),
    _Detail(
        "detail_day",
        re.compile(
            r"(?i:\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\btomorrow\b|\btoday\b|\b\d{1,2}(?:st|nd|rd|th)\b)"
        ),
        is_single=False,
    ),
    _Detail(
        "detail_time",
        re.compile(r"(?i:\b\d{1,2}(?::\d\d)? ?[ap]\.?m\b|\b\d{1,2}:\d\d\b|\bnoon\b)"),
        is_single=False,
    ),
    _Detail(
        "detail_when",
        re.compile(
            r"(?i:\b\d{1,2}(?::\d\d)? ?[ap]\.?m\b|\b\d{1,2}:\d\d\b|\bnow\b|\b\d{1,2} minutes\b"
            r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\btomorrow\b)"
        ),
        is_single=False,
    ),
    _Detail(
        "detail_number",
        re.compile(
            r"(?i:\b(?:\d{1,2}|one|two|three|four|five|six|seven|eight) "
            r"(?:people|persons|guests|seats|tickets|of us)\b)"
        ),
        is_single=False,
    ),
)


def asks_for_what_was_given(suspicion: GateInput) -> GateResult:
    """U2 must see a request for a detail (a name, an e-mail address, a number, a day, ...) and its value in
    an earlier turn of the customer: said as such, or as the answer to the same question. Reading a value
    back, asking for another one, and asking after a failed search count as none."""
    asking = [
        sentence
        for sentence in sentences(suspicion.turn.text)
        if "?" in sentence or has_phrase(sentence, "asks_detail") or has_phrase(sentence, "hand_over")
    ]
    if not asking:
        return dropped("nothing is asked")
    text = " ".join(asking)
    if has_phrase(suspicion.turn.text, "asks_otherwise"):
        return dropped("another value, a check or a failed search is the reason to ask")
    given = _given(suspicion.dialogue)
    for detail in _DETAILS:
        if not has_phrase(text, detail.names):
            continue
        values = given.values(detail)
        n_values = bisect_left(values, suspicion.position, key=itemgetter(0))
        if not n_values:
            continue
        place, value = values[n_values - 1]
        if split_words(value)[-1] in split_words(suspicion.turn.text) and detail.names != "detail_name":
            return dropped("the value is read back")
        if given.has_failed(place, suspicion.position):
            return dropped("a tool did not find the value")
        why = f"asked for in spite of turn {suspicion.dialogue.turns[place].index} of the customer"
        is_answered = detail.is_single or given.was_answered(place, suspicion)
        return finding(why) if is_answered else suggestion(why)
    return dropped("no earlier turn of the customer holds what is asked")


def _is_name(text: str) -> bool:
    text = next(iter(sentences(text)), "")
    return 1 <= len(text.split()) <= 3 and all(
        word[0].isupper() and word.strip(".,!").isalpha() for word in text.split()
    )


class _Given:
    """The details that the customer gave, and what tools did with them."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._turns = dialogue.turns
        self._values: dict[str, list[tuple[int, str]]] = {}
        self._trigrams: dict[int, frozenset[str]] = {}
        self._asked: list[int | None] = []  # by position, the agent's last turn before it
        self._failures: list[int] = []
        self._of_tools: list[int] = []
        last = None
        for position, turn in enumerate(dialogue.turns):
            self._asked.append(last)
            if turn.role in JUDGED_ROLES and turn.text.strip():
                last = position
            if turn.role in ("tool", "system") and (
                turn.tool_error or "not found" in turn.text.casefold() or "rror" in turn.text[:40]
            ):
                self._failures.append(position)
            if turn.role == "tool" or turn.tool_calls:
                self._of_tools.append(position)

    def values(self, detail: _Detail) -> list[tuple[int, str]]:
        """The positions of the customer's turns that hold a detail, with its value: stated with the detail's
        name, or in answer to a question for it."""
        if detail.names not in self._values:
            turns = enumerate(self._turns)
            values = [(n, self._find_value(n, turn, detail)) for n, turn in turns if turn.role == "customer"]
            self._values[detail.names] = [(n, value) for n, value in values if value is not None]
        return self._values[detail.names]

    def _find_value(self, position: int, turn: Turn, detail: _Detail) -> str | None:
        match = detail.value.search(turn.text)
        if match is None:
            is_name = (
                detail.names == "detail_name" and self._is_answer(position, detail) and _is_name(turn.text)
            )
            return turn.text if is_name else None
        is_clear = detail.names in ("detail_name", "detail_email") or not detail.is_single
        if is_clear or has_phrase(turn.text, detail.names) or self._is_answer(position, detail):
            return match[0]
        return None

    def _is_answer(self, position: int, detail: _Detail) -> bool:
        asked = self._asked[position]
        return asked is not None and has_phrase(self._turns[asked].text, detail.names)

    def has_failed(self, place: int, position: int) -> bool:
        """Whether a tool failed between two turns."""
        return any_between(self._failures, place + 1, position)

    def was_answered(self, place: int, suspicion: GateInput) -> bool:
        """Whether the turn at `place` stands next after the same question, and no tool was called since."""
        asked = self._asked[place]
        if asked is None or any_between(self._of_tools, place, suspicion.position):
            return False
        if asked not in self._trigrams:
            self._trigrams[asked] = trigrams(self._turns[asked].text)
        return are_near(self._trigrams[asked], trigrams(suspicion.turn.text))


@per_dialogue
def _given(dialogue: Dialogue) -> _Given:
    return _Given(dialogue)
