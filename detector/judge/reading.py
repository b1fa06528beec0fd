"""Questions about a dialogue, and their answers: the errors of the support side.

An answer is one JSON object, ``notes`` first, then ``errors``; `format_reading` writes it as in training and
as grammars of servers do, and `parse_reading` reads it from a model's text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dialint.detector.records import Record, Severity
from dialint.detector.render import HIDDEN
from dialint.detector.taxonomy import Code

LEAST_PROBABILITY = 0.3
"""Least probability of a listed error."""
MAX_ERRORS = 60
NONE = "none"
_NUMBER = {"type": "integer", "minimum": 0, "maximum": 99_999}
_PROBABILITY = {"type": "number", "minimum": 0, "maximum": 1}
"""With bounds, as a grammar would let a weak model write digits without an end."""


Spell = Callable[[str], str]
"""Rewrites compact JSON so that it contains no control token, without changing its meaning."""


def compact_json(value: Any) -> str:
    """JSON on one line without blanks, for prompts. Invisible characters are escaped: control and format
    characters, all white space but the space, private and unassigned ones."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if text.isprintable() and not HIDDEN.search(text):
        return text
    return "".join(c if c.isprintable() and not HIDDEN.match(c) else json.dumps(c)[1:-1] for c in text)


def clip(text: str, chars: int) -> str | list[Any]:
    """`text`, or its beginning and its end if it has more than `chars` characters."""
    if len(text) <= chars:
        return text
    end = chars // 2
    start = chars - end
    return [text[:start], {"left_out": len(text) - chars}, text[len(text) - end :]]


class Clause(Record):
    """A clause of a policy or guideline, or the text of a source, which a finding can cite by its `id`."""

    id: str
    text: str


class ReadError(Record):
    """An error that the judge lists. `start` and `end` bound the quote in the masked text of the turn; None
    if it is not there, and then the error is dropped."""

    turn: int
    code: str
    second_code: str | None = None
    probability: float
    severity: Severity
    quote: str
    start: int | None = None
    end: int | None = None
    reason: str = ""
    clause: str | None = None
    rewrite: str | None = None

    def is_same_as(self, other: ReadError) -> bool:
        """Returns whether both are of one turn, and the code of one is a code of the other."""
        has_code = other.code in (self.code, self.second_code) or self.code == other.second_code
        return self.turn == other.turn and has_code


class Reading(Record):
    """The judge's answer to one question."""

    notes: str = ""
    errors: tuple[ReadError, ...] = ()


class Decision(Record):
    """The judge's second look at the error of this `number`: the code that holds, or None."""

    number: int
    code: str | None
    probability: float
    severity: Severity | None = None
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question: its messages, the indices of the turns that it is about, their masked texts, and the
    codes. `is_cut`: a turn is shown without its middle."""

    messages: tuple[dict[str, str], ...]
    turns: Mapping[int, str]
    codes: Mapping[str, Code]
    clauses: frozenset[str]
    has_rewrites: bool = False
    is_cut: bool = False

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the answer: the same for all questions about the same codes, as servers compile
        it."""
        names = list(self.codes)
        item: dict[str, Any] = {
            "turn": _NUMBER,
            "quote": {"type": "string"},
            "code": {"enum": names},
            "second_code": {"enum": [*names, NONE]},
            "probability": _PROBABILITY,
            "severity": {"enum": ["S1", "S2", "S3", "S4"]},
            "reason": {"type": "string"},
            "clause": {"type": "string"},
        }
        if self.has_rewrites:
            item["rewrite"] = {"type": "string"}
        return _object({"notes": {"type": "string"}, "errors": _array(_object(item))})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _array(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "maxItems": MAX_ERRORS}


def second_look_schema(codes: Sequence[str]) -> dict[str, Any]:
    decision = {
        "number": _NUMBER,
        "code": {"enum": [*codes, NONE]},
        "probability": _PROBABILITY,
        "severity": {"enum": ["S1", "S2", "S3", "S4"]},
        "reason": {"type": "string"},
    }
    return _object({"notes": {"type": "string"}, "decisions": _array(_object(decision))})


def average(readings: Sequence[Reading]) -> tuple[ReadError, ...]:
    """Merges several readings of one question, with the mean of their probabilities, 0 where one does not
    list an error: copies of an answer weigh no more than one. Errors of one turn are the same if the code of
    one is a code of the other; the more probable one stays."""
    if len(readings) == 1:
        return readings[0].errors
    groups: list[list[ReadError]] = []
    for reading in readings:
        free = list(groups)
        for error in reading.errors:
            alike = [group for group in free if group[0].is_same_as(error)]
            own = max(alike, key=lambda group: group[0].code == error.code, default=None)
            if own is None:
                groups.append([error])
            else:
                free.remove(own)
                own.append(error)
    results = []
    for group in groups:
        probability = round(sum(error.probability for error in group) / len(readings), 6)
        if probability >= LEAST_PROBABILITY:
            best = max(group, key=lambda error: (error.start is not None, error.probability))
            results.append(best.model_copy(update={"probability": probability}))
    return tuple(results)


def format_reading(reading: Reading, *, has_rewrites: bool = False) -> str:
    """Formats a reading as an answer, without blanks between its parts, as vLLM's grammar writes it."""
    errors = []
    for error in reading.errors:
        item = {
            "turn": error.turn,
            "quote": error.quote,
            "code": error.code,
            "second_code": error.second_code or NONE,
            "probability": round(error.probability, 2),
            "severity": error.severity,
            "reason": error.reason,
            "clause": error.clause or NONE,
        }
        if has_rewrites:
            item["rewrite"] = error.rewrite or NONE
        errors.append(item)
    return compact_json({"notes": reading.notes, "errors": errors})


def parse_reading(text: str, question: Question) -> Reading | str:
    """Parses a model's answer; returns its reading, or its fault in words for the model.

    Keys and codes in other letter cases, probabilities as texts or percentages, and words around the JSON
    are no faults; a turn, code or probability that cannot be used is.
    """
    value = find_object(text, "errors")
    if value is None:
        return 'There is no JSON object with a list "errors".'
    errors = []
    for position, item in enumerate(value["errors"][:MAX_ERRORS]):
        error = _parse_error(item, question)
        if isinstance(error, str):
            return f"errors[{position}]: {error}"
        errors.append(error)
    return Reading(notes=str(value.get("notes") or ""), errors=tuple(errors))


def _parse_error(item: Any, question: Question) -> ReadError | str:
    if not isinstance(item, dict):
        return "not an object."
    item = {str(key).casefold(): value for key, value in item.items()}
    turn = _number(item.get("turn"))
    if turn is None or turn not in question.turns:
        turns = ", ".join(map(str, question.turns))
        return f'"turn" is no turn of the support side; those are {turns}.'
    code = _code_name(item.get("code"), question.codes)
    if code is None:
        return f'"code" is not one of {", ".join(question.codes)}.'
    probability = parse_probability(item.get("probability"))
    if probability is None:
        return '"probability" is no number from 0 to 1.'
    quote = str(item.get("quote") or "")
    where = locate(quote, question.turns[int(turn)])
    second = _code_name(item.get("second_code"), question.codes)
    clause = str(item.get("clause") or NONE)
    rewrite = str(item.get("rewrite") or NONE)
    return ReadError(
        turn=int(turn),
        code=code,
        second_code=second if second != code else None,
        probability=probability,
        severity=_severity(item.get("severity"), question.codes[code]),
        quote=quote,
        start=None if where is None else where[0],
        end=None if where is None else where[1],
        reason=str(item.get("reason") or ""),
        clause=clause if clause in question.clauses else None,
        rewrite=None if rewrite.casefold() == NONE else rewrite,
    )


def parse_decisions(text: str, question: Question, n: int) -> dict[int, Decision] | str:
    """Parses the decisions of a second look at `n` errors, by number from 1; returns them, or their fault in
    words for the model."""
    value = find_object(text, "decisions")
    if value is None:
        return 'There is no JSON object with a list "decisions".'
    decisions: dict[int, Decision] = {}
    for item in value["decisions"]:
        if not isinstance(item, dict):
            return "A decision is not an object."
        item = {str(key).casefold(): field for key, field in item.items()}
        number, probability = _number(item.get("number")), parse_probability(item.get("probability"))
        code = _code_name(item.get("code"), question.codes)
        if number is None or not 1 <= number <= n or probability is None:
            return f'Each decision has a "number" from 1 to {n} and a "probability" from 0 to 1.'
        if code is None and str(item.get("code")).strip().casefold() != NONE:
            return f'"code" is "none" or one of {", ".join(question.codes)}.'
        severity = None if code is None else _severity(item.get("severity"), question.codes[code])
        decisions[int(number)] = Decision(
            number=int(number),
            code=code,
            probability=probability if code is not None else 0.0,
            severity=severity,
            reason=str(item.get("reason") or ""),
        )
    missing = [number for number in range(1, n + 1) if number not in decisions]
    return f"There is no decision on {', '.join(map(str, missing))}." if missing else decisions


MAX_ATTEMPTS = 24
"""Opening brackets that are tried, so that the search takes time linear in the text."""
_THOUGHTS = ("<think>", "</think>")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; one that states a key twice contradicts itself and is none."""
    if len({name.casefold() for name, _ in pairs}) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)


def find_object(text: str, key: str) -> dict[str, Any] | None:
    """Returns the last JSON object in `text`, outside of thoughts, that has a list under `key`; its keys are
    in lower case. Thoughts without an end are no answer."""
    if text.lstrip().startswith(_THOUGHTS[0]) and _THOUGHTS[1] not in text:
        return None
    text = text.rpartition(_THOUGHTS[1])[2]
    result, position = None, text.find("{")
    for _ in range(MAX_ATTEMPTS):
        if position < 0:
            break
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
        else:
            values = {str(name).casefold(): item for name, item in value.items()}
            if isinstance(values.get(key), list):
                result = values
        position = text.find("{", end)
    return result


def _number(value: Any) -> int | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return int(number) if math.isfinite(number) and number == int(number) else None


def parse_probability(value: Any) -> float | None:
    """Parses a number in [0, 1], also from a text or a percentage; None for anything else."""
    text = value.strip().removesuffix("%") if isinstance(value, str) else value
    if isinstance(text, bool):
        return None
    try:
        number = float(text)
    except (TypeError, ValueError, OverflowError):
        return None
    is_percentage = isinstance(value, str) and value.strip().endswith("%")
    number = number / 100 if is_percentage or 2 <= number <= 100 else number
    return number if 0 <= number <= 1 else None


def _code_name(value: Any, codes: Mapping[str, Code]) -> str | None:
    name = str(value).strip().upper().partition(" ")[0].rstrip(".:")
    return name if name in codes else None


def _severity(value: Any, code: Code) -> Severity:
    own = str(value).strip().upper()
    return next((each for each in code.severities if each == own), code.severity)


_QUOTES = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "«": '"', "»": '"', "–": "-", "—": "-"})


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """The range of a quote in the text of a turn, end exclusive; letter case, white space and the form of
    quotation marks and dashes may differ. None if it is not there."""
    wanted = quote.strip()
    if not wanted:
        return None
    start = text.find(wanted)
    if start >= 0:
        return start, start + len(wanted)
    letters, places = _normalize(text)
    sought, _ = _normalize(wanted)
    for each in (sought, sought.strip('"'), sought.rstrip(".…")):
        start = letters.find(each) if each else -1
        if start >= 0:
            return places[start], places[start + len(each) - 1] + 1
    return None


def _normalize(text: str) -> tuple[str, list[int]]:
    """Normalizes a text, white space as single blanks; returns the original position of each character
    too."""
    letters: list[str] = []
    places: list[int] = []
    for place, letter in enumerate(text.translate(_QUOTES)):
        for each in " " if letter.isspace() else letter.casefold():
            if each == " " and (not letters or letters[-1] == " "):
                continue
            letters.append(each)
            places.append(place)
    return "".join(letters), places
