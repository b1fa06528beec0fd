"""Labelled examples and a detector's verdicts as arrays of truth and probability, code by code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dialint.detector.errors import ConfigError
from dialint.detector.example_files import read_examples as read_examples
from dialint.detector.example_files import read_records
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.read import Counts, Loaded, open_logs, read
from dialint.detector.interface import Detector
from dialint.detector.records import Example, Label, Verdict
from dialint.detector.statistics import Bools, Floats
from dialint.detector.taxonomy import Taxonomy

CHUNK = 256
Results: TypeAlias = Sequence[tuple[Example, Verdict]]
Indices: TypeAlias = NDArray[np.int64]
WHOLE_DIALOGUE = -1
"""Stands for the turn in a row of a whole dialogue."""


@dataclass(frozen=True)
class CodeResults:
    """One code on one set, arrays of shape (n,): rows are judged turns, or whole dialogues for a code of
    dialogue scope. `flagged`: a finding was reported; `dialogue`: number of the source dialogue; `example`:
    index of the result; `turn`: index in the input or `WHOLE_DIALOGUE`. `overlap` is the evidence's character
    F1 where both a label with a span and a finding exist, of the source dialogue `overlap_dialogue`; both of
    shape (n overlaps,)."""

    truth: Bools
    probabilities: Floats
    flagged: Bools
    dialogue: Indices
    example: Indices
    turn: Indices
    overlap: Floats
    overlap_dialogue: Indices


@dataclass(frozen=True)
class TwinPairs:
    """Probabilities of errors and of their clean twins, and the source dialogue of each pair; shape
    (pairs,)."""

    errors: Floats
    twins: Floats
    dialogue: Indices


def read_labelled_log(log: Path, labels: Path, reading: ReadConfig | None = None) -> Iterator[Example]:
    """Reads the dialogues of a log with the labels of a JSONL file of `Label` records.

    Raises:
        ConfigError: the labels cannot be read, or one is of a dialogue or turn that is not in the log.
    """
    pending: dict[str, list[Label]] = {}
    for label in read_records(labels, Label, "E_LABEL"):
        pending.setdefault(label.dialogue_id, []).append(label)
    for item in read(open_logs([str(log)]), reading or ReadConfig(), Counts()):
        if isinstance(item, Loaded):
            labels_of = pending.pop(item.dialogue.id, [])
            turn_indices = {turn.index for turn in item.dialogue.turns}
            if any(label.turn not in turn_indices for label in labels_of):
                raise ConfigError("E_LABEL", f"{labels}: a turn that dialogue {item.dialogue.id} has not")
            yield Example(dialogue=item.dialogue, labels=tuple(labels_of), split="test")
    if pending:
        raise ConfigError("E_LABEL", f"{labels}: dialogue {min(pending)} is not in {log}")


def check_codes(option: str, codes: Iterable[str], taxonomy: Taxonomy) -> None:
    """
    Raises:
        ConfigError: E_CODE, the taxonomy lacks some of the codes.
    """
    if unknown := sorted(set(codes) - taxonomy.codes.keys()):
        raise ConfigError("E_CODE", f"{option}: codes that the taxonomy lacks: {' '.join(unknown)}")


def score_examples(detector: Detector, examples: Iterable[Example]) -> list[tuple[Example, Verdict]]:
    """Returns each example with the detector's verdict, failed ones too, with all probabilities."""
    source = iter(examples)
    results: list[tuple[Example, Verdict]] = []
    while chunk := list(islice(source, CHUNK)):
        verdicts = detector.verdicts([example.dialogue for example in chunk], all_probabilities=True)
        results.extend(zip(chunk, verdicts, strict=True))
    return results


def count_suggestions(results: Results) -> list[tuple[Example, Verdict]]:
    """Returns the same results with every suggestion as one more finding."""
    return [
        (
            example,
            verdict.model_copy(
                update={"findings": (*verdict.suggestions, *verdict.findings), "suggestions": ()}
            ),
        )
        for example, verdict in results
    ]


def source_of(example: Example) -> str:
    """Returns the id of the dialogue that an example was made from: a set may have several examples of a
    source, with different errors, as clean twins and unchanged."""
    return source_name(example.dialogue.id)


def source_name(dialogue_id: str) -> str:
    """Returns the id of the dialogue that a dialogue of this id was made from, or its own."""
    return dialogue_id.partition("~")[0]


def number_sources(results: Results) -> dict[str, int]:
    """Numbers the source dialogues in order of appearance."""
    numbers: dict[str, int] = {}
    for example, _ in results:
        numbers.setdefault(source_of(example), len(numbers))
    return numbers


def code_results(results: Results, code: str, *, whole_dialogue: bool) -> CodeResults:
    """Builds the arrays of one code; `truth` is a label above 0.5. Failed verdicts count as probability 0 and
    not flagged; turns that were not judged for their language are left out with their labels."""
    numbers = number_sources(results)
    rows: list[tuple[bool, float, bool, int, int, int]] = []
    overlap: list[tuple[float, int]] = []
    for index, (example, verdict) in enumerate(results):
        if code in example.unlabelled:
            continue
        group = numbers[source_of(example)]
        unjudged = unjudged_turns(verdict, code)
        if whole_dialogue and None in unjudged:
            continue
        labels = {
            label.turn: label for label in example.errors if label.code == code and label.turn not in unjudged
        }
        findings = {finding.turn: finding for finding in verdict.findings if finding.code == code}
        row_probabilities = _turn_probabilities(verdict, code)
        if whole_dialogue:
            most = max(row_probabilities.values(), default=0.0)
            rows.append((bool(labels), most, bool(findings), group, index, WHOLE_DIALOGUE))
        else:
            rows.extend(
                (turn in labels, row_probabilities.get(turn, 0.0), turn in findings, group, index, turn)
                for turn in sorted(row_probabilities.keys() | labels.keys())
            )
        for turn in labels.keys() & findings.keys():
            start, end = labels[turn].start, labels[turn].end
            if start is not None and end is not None:
                finding = findings[turn]
                overlap.append((span_f1((start, end), (finding.start, finding.end)), group))
    truth, probabilities, flagged, groups, indices, turns = zip(*rows, strict=True) if rows else [()] * 6
    return CodeResults(
        truth=np.array(truth, bool),
        probabilities=np.array(probabilities, float),
        flagged=np.array(flagged, bool),
        dialogue=np.array(groups, np.int64),
        example=np.array(indices, np.int64),
        turn=np.array(turns, np.int64),
        overlap=np.array([value for value, _ in overlap], float),
        overlap_dialogue=np.array([group for _, group in overlap], np.int64),
    )


def span_f1(one: tuple[int, int], other: tuple[int, int]) -> float:
    """Returns F1 of the characters of two non-empty spans, ends exclusive."""
    both = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    return 2 * both / (one[1] - one[0] + other[1] - other[0])


def unjudged_turns(verdict: Verdict, code: str) -> frozenset[int | None]:
    """Returns the turns whose language the release does not cover for the code, with None if these are all
    turns of the dialogue."""
    probabilities_of = verdict.probabilities or {}
    gaps = [gap for gap in verdict.not_judged if code in (*gap.codes, *gap.check_only)]
    unjudged: set[int | None] = {
        turn for gap in gaps for turn in gap.turns if code not in probabilities_of.get(turn, ())
    }
    if unjudged and unjudged >= probabilities_of.keys():
        unjudged.add(None)
    return frozenset(unjudged)


def count_judged_turns(verdict: Verdict) -> int:
    """Counts the judged agent turns of a verdict with all probabilities."""
    n = len(verdict.probabilities or {})
    return n if verdict.judged_share is None else round(verdict.judged_share * n)


def _turn_probabilities(verdict: Verdict, code: str) -> dict[int, float]:
    unjudged = unjudged_turns(verdict, code)
    return {
        turn: row.get(code, 0.0)
        for turn, row in (verdict.probabilities or {}).items()
        if turn not in unjudged
    }


def twin_pairs(results: Results, code: str, *, whole_dialogue: bool) -> TwinPairs:
    """Returns the pairs of an error of a code and its clean twin, at the turns of the error; for a code of
    dialogue scope with the dialogue's highest probability."""
    made = {
        example.pair: [label.turn for label in example.errors if label.code == code]
        for example, _ in results
        if example.pair is not None and any(label.code == code for label in example.errors)
    }
    errors: dict[str, float] = {}
    twins: dict[str, float] = {}
    numbers = number_sources(results)
    group: dict[str, int] = {}
    for example, verdict in results:
        if example.pair is None or example.pair not in made:
            continue
        turns = made[example.pair]
        if unjudged_turns(verdict, code).intersection((None,) if whole_dialogue else turns):
            continue
        row_probabilities = _turn_probabilities(verdict, code)
        side = errors if any(label.code == code for label in example.errors) else twins
        rows = row_probabilities if whole_dialogue else turns
        side[example.pair] = max((row_probabilities.get(turn, 0.0) for turn in rows), default=0.0)
        group[example.pair] = numbers[source_of(example)]
    whole = sorted(errors.keys() & twins.keys())
    return TwinPairs(
        np.array([errors[pair] for pair in whole], float),
        np.array([twins[pair] for pair in whole], float),
        np.array([group[pair] for pair in whole], np.int64),
    )
