"""Questions about made-up turns, with labels, and entries of readings about them."""

from __future__ import annotations

from collections.abc import Iterable

from dialint.detector.judge.reading import LEAST_PROBABILITY, Question, ReadError, Reading, format_reading
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.labelled import LabelledQuestion, Truth

TEXT = "Thank you for waiting. You should have read it. We look into your case today and write."
EVIDENCE = "You should have read it."
SPAN = (23, 47)
CODES = {name: load_taxonomy().codes[name] for name in ("T1", "V2", "C1")}
TURNS = {1: TEXT, 3: TEXT, 5: TEXT}


def truth(turn: int = 1, code: str = "T1", probability: float = 1.0) -> Truth:
    return Truth(turn=turn, code=code, probability=probability, span=SPAN, severity=CODES[code].severity)


def question(*truths: Truth) -> LabelledQuestion:
    question = Question(
        messages=({"role": "user", "content": "List the errors."},),
        turns=TURNS,
        codes=CODES,
        clauses=frozenset(),
    )
    return LabelledQuestion(question=question, truths=truths, source="d")


def error(
    turn: int = 1, code: str = "T1", probability: float = 1.0, quote: str = EVIDENCE, **more: object
) -> ReadError:
    fields = {"severity": CODES[code].severity, "reason": "It blames the customer.", **more}
    return ReadError(turn=turn, code=code, probability=probability, quote=quote, **fields)  # type: ignore[arg-type]


def written(*errors: ReadError, notes: str = "") -> str:
    return format_reading(Reading(notes=notes, errors=errors))


def honest(truths: Iterable[Truth]) -> list[ReadError]:
    return [
        error(each.turn, each.code, round(each.probability, 2))
        for each in truths
        if each.probability >= LEAST_PROBABILITY
    ]
