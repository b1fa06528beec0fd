"""Gates of the codes that accuse an agent of asking: for a secret (V2), for what was given (U2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dialint.detector.checks.phrases import QUOTED, is_postal_code
from dialint.detector.gates.suspicion import (
    GateResult,
    Suspicion,
    dropped,
    find_phrases,
    finding,
    has_phrase,
    is_near_copy,
    sentences,
    split_words,
    suggestion,
)
from dialint.detector.records import JUDGED_ROLES, Turn

BARE_WORDS = 3
"""Most words of a question that is the name of the secret alone: "And your PIN?"."""
CHANGE_DISTANCE = 4
"""Most words between a verb of change, as in "reset your PIN", and the secret."""


def asks_for_secret(suspicion: Suspicion) -> GateResult:
    """V2 must see a noun of secrets as the object asked for: in a sentence that requests, or before one that
    says "send me those"; not in a warning, a reset, or a login of the customer's own; and the customer did
    not bring the noun up himself, unless he is plainly told to hand it over."""
    used = {phrase for turn in suspicion.customer_before for _, phrase in find_phrases(turn.text, "secrets")}
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
        if is_postal_code(secrets[0][1], suspicion.dialogue.turns, suspicion.position):
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


def asks_for_what_was_given(suspicion: Suspicion) -> GateResult:
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
    for detail in _DETAILS:
        if not has_phrase(text, detail.names):
            continue
        place = _find_value(suspicion, detail)
        if place is None:
            continue
        value, turn = place
        if split_words(value)[-1] in split_words(suspicion.turn.text) and detail.names != "detail_name":
            return dropped("the value is read back")
        if _has_failed(suspicion.dialogue.turns[: suspicion.position], turn.index):
            return dropped("a tool did not find the value")
        why = f"asked for in spite of turn {turn.index} of the customer"
        return finding(why) if detail.is_single or _was_answered(suspicion, turn) else suggestion(why)
    return dropped("no earlier turn of the customer holds what is asked")


def _find_value(suspicion: Suspicion, detail: _Detail) -> tuple[str, Turn] | None:
    """The latest value of a detail and the customer's turn that holds it: stated with the detail's name, or
    in answer to a question for it."""
    turns = suspicion.dialogue.turns[: suspicion.position]
    for place, turn in reversed(tuple(enumerate(turns))):
        if turn.role != "customer":
            continue
        match = detail.value.search(turn.text)
        if match is None:
            if detail.names == "detail_name" and _answers(turns, place, detail) and _is_name(turn.text):
                return turn.text, turn
            continue
        is_clear = detail.names in ("detail_name", "detail_email") or not detail.is_single
        if is_clear or has_phrase(turn.text, detail.names) or _answers(turns, place, detail):
            return match[0], turn
    return None


def _is_name(text: str) -> bool:
    text = next(iter(sentences(text)), "")
    return 1 <= len(text.split()) <= 3 and all(
        word[0].isupper() and word.strip(".,!").isalpha() for word in text.split()
    )


def _answers(turns: Sequence[Turn], place: int, detail: _Detail) -> bool:
    question_turn = _last_agent_turn(turns[:place])
    return question_turn is not None and has_phrase(question_turn.text, detail.names)


def _was_answered(suspicion: Suspicion, answer: Turn) -> bool:
    """Whether `answer` stands next after the same question, and no tool was called since."""
    turns = suspicion.dialogue.turns[: suspicion.position]
    place = next(place for place, turn in enumerate(turns) if turn.index == answer.index)
    question_turn = _last_agent_turn(turns[:place])
    return (
        question_turn is not None
        and is_near_copy(question_turn.text, suspicion.turn.text)
        and not any(turn.role == "tool" or turn.tool_calls for turn in turns[place:])
    )


def _last_agent_turn(turns: Sequence[Turn]) -> Turn | None:
    return next((turn for turn in reversed(turns) if turn.role in JUDGED_ROLES and turn.text.strip()), None)


def _has_failed(turns: Sequence[Turn], since: int) -> bool:
    return any(
        turn.tool_error or "not found" in turn.text.casefold() or "rror" in turn.text[:40]
        for turn in turns
        if turn.index > since and turn.role in ("tool", "system")
    )
