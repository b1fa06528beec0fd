"""What every other tool's shape is to us: rows in that become annotations, rows out.

One row may hold several people's answers; a bad answer costs no other. No shape knows how its rows are
framed in a file.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pydantic import ValidationError

from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.records import Finding
from dialint.labeling.annotation import Annotation, Kind, Question, questions
from dialint.labeling.platforms.known import Known, Shown

Row: TypeAlias = dict[str, Any]
Framing = Literal["jsonl", "json", "csv", "tsv", "parquet"]
Answers: TypeAlias = Iterator[Annotation | BadRecord]


@dataclass
class Reading:
    """What a shape needs to read a row: what is known, whose answers these are if the row does not
    say (`kind`, and `label`, the file's bare name), and the counts of what was left out."""

    known: Known
    label: str
    kind: Kind = "crowd"
    utf16: bool = False
    skipped: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Item:
    """One dialogue on its way out, with people's answers and, if labelers may see them, a model's
    findings."""

    shown: Shown
    codes: tuple[str, ...]
    of_dialogue: frozenset[str]
    annotations: tuple[Annotation, ...] = ()
    model: tuple[Finding, ...] = ()
    release: str | None = None

    def answers(self, annotation: Annotation) -> Iterator[Question]:
        """The questions one annotation answers."""
        return questions(annotation, self.shown.dialogue, self.of_dialogue)

    def turns(self, annotation: Annotation) -> dict[int, list[Question]]:
        """The same by turn."""
        found: dict[int, list[Question]] = {}
        for question in self.answers(annotation):
            found.setdefault(question.turn, []).append(question)
        return found

    def asked(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Turns and codes that are to be asked: a code of dialogue scope once, of the last turn."""
        for turn in self.shown.judged:
            last = turn == self.shown.judged[-1]
            codes = tuple(code for code in self.codes if last or code not in self.of_dialogue)
            if codes:
                yield turn, codes


@dataclass(frozen=True)
class Shape:
    """Another tool's shape: its name, the file it is written as, how a row of it is recognised, read
    and written. `columns` are those of a table, given whether people's answers are in it."""

    name: str
    framing: Framing
    matches: Callable[[Row], bool]
    read: Callable[[Row, Reading], Answers]
    rows: Callable[[Iterable[Item]], Iterator[Row]]
    columns: Callable[[bool], tuple[str, ...]] | None = None


def answer(platform: str, shown: Shown, key: str | None = None, **fields: Any) -> Annotation:
    """An annotation, its id made of `key` or, without one, of its own content: read again, it is the
    same.

    Raises:
        BadRecord: E_LABEL, it cannot be one.
    """
    findings: tuple[Finding, ...] = tuple(dict.fromkeys(fields.pop("findings", ())))
    told = [shown.dialogue.id, [finding.model_dump() for finding in findings], sorted(fields.items())]
    name = key or hashlib.sha256(repr(told).encode()).hexdigest()[:24]
    try:
        return Annotation(id=f"{platform}:{name}", dialogue_id=shown.dialogue.id, findings=findings, **fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(str(part) for part in first["loc"])
        raise BadRecord("E_LABEL", path, first["type"], first["msg"], shown.dialogue.id) from None
