"""One person's (or model's) annotation of one dialogue, and the questions it answers.

A code without a finding is an answer, too: `codes` and `turn` define the questions. Aggregates nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, model_validator

from dialint.detector.errors import ConfigError, InputRefused, Message
from dialint.detector.example_files import read_records
from dialint.detector.records import JUDGED_ROLES, Dialogue, Finding, Record, Severity

Kind = Literal["crowd", "reviewer", "expert", "appeal", "model"]


class Rejection(Record):
    """The labeler's reason for rejecting a model's finding of `code` in `turn`: an id of the console's
    ``reject_reasons.yaml``, or of another tool."""

    turn: Annotated[int, Field(ge=0)]
    code: str
    reason: Annotated[str, Field(min_length=1, max_length=60)]


class Annotation(Record):
    """The findings of `labeler` in one dialogue. Append-only: a correction is another annotation.

    It answers for each of `codes` once in `turn` (its index) or, if that is None, in every agent turn;
    findings lie within. `seen_verdict`: the labeler saw a model's findings, other people's answers, labels or
    gold of the dialogue before answering. `seconds` is the duration, `at` the time of the answer, None if
    unknown. `rejections` are reasons for rejecting a model's findings; most are rejected without one.
    """

    id: Annotated[str, Field(min_length=1)]
    dialogue_id: Annotated[str, Field(min_length=1)]
    labeler: Annotated[str, Field(min_length=1)]
    kind: Kind
    codes: Annotated[tuple[str, ...], Field(min_length=1)]
    turn: Annotated[int, Field(ge=0)] | None = None
    findings: tuple[Finding, ...] = ()
    seen_verdict: bool = False
    seconds: Annotated[float, Field(ge=0.0)] | None = None
    at: datetime | None = None
    rejections: tuple[Rejection, ...] = Field(default=(), exclude_if=lambda rejections: not rejections)

    @model_validator(mode="after")
    def _validate_findings(self) -> Annotation:
        if len(set(self.codes)) != len(self.codes):
            raise ValueError("a code is asked twice")
        for finding in self.findings:
            if finding.code not in self.codes:
                raise ValueError("a finding of a code that was not asked")
            if self.turn is not None and finding.turn != self.turn:
                raise ValueError("a finding in a turn that was not asked")
        if any(each.code not in self.codes or self.turn not in (None, each.turn) for each in self.rejections):
            raise ValueError("a rejection of a code or in a turn that was not asked")
        return self


def read_annotations(path: Path) -> Iterator[Annotation]:
    """The annotations of a JSONL file of ours, in order.

    Raises:
        InputRefused: E_ANNOTATION with the line.
    """
    try:
        yield from read_records(path, Annotation, "E_ANNOTATION")
    except InputRefused as error:
        if not path.is_file():
            raise
        hint = Message("labels of another tool become annotations by `dialint import labels --out FILE`")
        raise InputRefused(
            error.code, Message("{problem}; {hint}", problem=error.message, hint=hint)
        ) from None


def is_yes(answer: object) -> bool | None:
    """Returns whether an answer of a crowd table is a yes; None if it is neither yes nor no."""
    word = str(answer).strip().lower() if isinstance(answer, str | bool | int) else ""
    return {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}.get(word)


Place = tuple[int, int, int, str]
"""Turn, start, end and code of a finding."""


def match_findings(
    proposed: Sequence[Place], suggested: Collection[int], answered: Sequence[Place]
) -> list[int | None]:
    """The index of the finding in an answer that each proposed one became: at the same offsets with the same
    code, else at the same offsets, else of the same code in the turn, which is too little for those that were
    only `suggested`. Each is used once, and none for another one while it is exactly what was proposed."""
    results: list[int | None] = [None] * len(proposed)
    left = dict.fromkeys(range(len(answered)))
    for parts in ((0, 1, 2, 3), (0, 1, 2), (0, 3)):
        for number, place in enumerate(proposed):
            if results[number] is not None or (parts == (0, 3) and number in suggested):
                continue
            same = (n for n in left if all(answered[n][part] == place[part] for part in parts))
            if (match := next(same, None)) is not None:
                results[number] = match
                del left[match]
    return results


class AnsweredQuestion(NamedTuple):
    """Is there an error `code` in `turn`? Yes if there are findings."""

    turn: int
    code: str
    findings: tuple[Finding, ...]


def judged_turns(dialogue: Dialogue) -> tuple[int, ...]:
    """Indices of the turns that can hold an error: an agent's or a bot's, with words or calls of tools."""
    return tuple(
        turn.index
        for turn in dialogue.turns
        if turn.role in JUDGED_ROLES and (turn.text.strip() or turn.tool_calls)
    )


def questions_in(
    annotation: Annotation, judged: tuple[int, ...], dialogue_codes: Collection[str]
) -> Iterator[AnsweredQuestion]:
    """The questions that an annotation of a dialogue with these `judged` turns answers, in order of turns,
    then codes.

    A code in `dialogue_codes` (dialogue scope) is one question: in the turn of its finding, else in the
    annotation's turn, else in the last judged turn.
    """
    turns = judged if annotation.turn is None else (annotation.turn,)
    findings: dict[tuple[int, str], list[Finding]] = {}
    for finding in annotation.findings:
        findings.setdefault((finding.turn, finding.code), []).append(finding)
    marked = {finding.code for finding in annotation.findings}
    for turn in turns:
        for code in annotation.codes:
            here = tuple(findings.get((turn, code), ()))
            if here or code not in dialogue_codes or (code not in marked and turn == turns[-1]):
                yield AnsweredQuestion(turn, code, here)


def quoted_finding(
    dialogue: Dialogue, turn: int, code: str, severity: Severity, reason: str, quote: str | None = None
) -> Finding:
    """A person's finding whose evidence is `quote` or, without one, the whole turn.

    Raises:
        ConfigError: there is no such turn, or it does not contain the quote.
    """
    text = next((each.text for each in dialogue.turns if each.index == turn), "")
    words = text if quote is None else quote
    if not words or words not in text:
        raise ConfigError("E_OPTION", "turn {turn} has no such words; copy them from the turn", turn=turn)
    start = text.index(words)
    return Finding(
        code=code, turn=turn, severity=severity, probability=1.0, quote=words, start=start,
        end=start + len(words), reason=reason,
    )  # fmt: skip
