"""Labelled dialogues as questions for the judge, their target readings, and matching of listed errors.

The labels of a data set's examples are the truths of a dialogue. Training, rewards and the evaluation make
the same questions of them as scoring does, by a `Reader`. The data have no notes or reasons: the notes of a
target are empty, and the reason is the code's name.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import MANIFEST, read_manifest, verify_files
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.example_files import read_examples, require_set
from dialint.detector.judge.guidelines import collect_evidence
from dialint.detector.judge.prompt import Evidence, Reader, applicable_codes
from dialint.detector.judge.reading import LEAST_PROBABILITY, MAX_ERRORS, Question, ReadError, Reading
from dialint.detector.manifests import Examples, Folder
from dialint.detector.masking import mask_dialogue
from dialint.detector.option_ranges import command_options
from dialint.detector.records import Dialogue, Example, Severity
from dialint.detector.taxonomy import Code, Taxonomy, load_taxonomy
from dialint.eval.results import source_of, span_f1

ACCUSES_FROM = 0.5
"""Lowest probability of a listed error that is an accusation."""
BETA = 0.5
"""Beta of F beta: a false accusation weighs more than a missed error."""


def match(errors: Sequence[ReadError], truths: Sequence[Truth]) -> list[tuple[int, int]]:
    """Returns the pairs of indices of errors and matching labels, each at most once, best overlap first.

    An error matches a label of its turn and code if its quote is in the turn and overlaps the label's
    evidence, if there is any.
    """
    rows_of: dict[tuple[int, str], list[int]] = {}
    for row, truth in enumerate(truths):
        rows_of.setdefault((truth.turn, truth.code), []).append(row)
    overlaps = []
    for index, error in enumerate(errors):
        if error.start is None or error.end is None:
            continue
        for row in rows_of.get((error.turn, error.code), ()):
            span = truths[row].span
            overlap = 0.0 if span is None else span_f1((error.start, error.end), span)
            if span is None or overlap > 0:
                overlaps.append((-overlap, index, row))
    pairs: dict[int, int] = {}
    matched: set[int] = set()
    for _, index, row in sorted(overlaps):
        if index not in pairs and row not in matched:
            pairs[index] = row
            matched.add(row)
    return sorted(pairs.items())


def accusations(reading: Reading) -> list[ReadError]:
    """Returns the errors of a reading that would be findings: of probability `ACCUSES_FROM` or more, with a
    quote that is in the turn."""
    return [
        error for error in reading.errors if error.probability >= ACCUSES_FROM and error.start is not None
    ]


def f_beta(n_right: float, n_accused: float, n_true: float) -> float:
    """Returns F beta; 1 if there is neither an accusation nor an error."""
    total = n_accused + BETA**2 * n_true
    return (1 + BETA**2) * n_right / total if total else 1.0


def reading_figures(
    readings: Sequence[Reading | str], questions: Sequence[LabelledQuestion]
) -> dict[str, float]:
    """Computes figures of the answers to questions, as of `parse_reading`, against labels over one half.

    ``f05``, ``precision`` and ``recall`` of accusations by turn, code and quote, and ``readable``, the share
    of valid answers; an invalid one has no accusations. ``precision`` is left out without an accusation,
    ``recall`` without a label, ``f05`` without either.
    """
    n_right = n_accused = n_true = n_readable = 0
    for reading, item in zip(readings, questions, strict=True):
        truths = [truth for truth in item.truths if truth.is_error]
        n_true += len(truths)
        if isinstance(reading, str):
            continue
        listed = accusations(reading)
        n_readable += 1
        n_accused += len(listed)
        n_right += len(match(listed, truths))
    figures = {"readable": n_readable / max(1, len(questions))}
    if n_accused or n_true:
        figures["f05"] = f_beta(n_right, n_accused, n_true)
    if n_accused:
        figures["precision"] = n_right / n_accused
    if n_true:
        figures["recall"] = n_right / n_true
    return figures


MAX_QUOTE_CHARS = 200
"""Maximum characters of a target's quote."""


@command_options
class SelectionConfig:
    """Selects dialogues and codes of a data set."""

    codes: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Codes to ask about; none: all that the labels name."""
    limit: Annotated[int | None, Field(ge=1)] = None
    """Maximum number of dialogues."""
    taxonomy: Path | None = None
    """A taxonomy of your own."""


@dataclass(frozen=True, kw_only=True)
class Truth:
    """A label: the `probability` that `turn` has the error `code`, the `span` of its evidence, if any, in the
    masked text of the turn, and the code's usual severity."""

    turn: int
    code: str
    probability: float
    span: tuple[int, int] | None
    severity: Severity

    @property
    def is_error(self) -> bool:
        """Returns whether the probability is over one half."""
        return self.probability > 0.5


@dataclass(frozen=True, kw_only=True)
class LabelledDialogue:
    """A masked dialogue, its evidence beside the turns, the codes of its questions, and their labels.
    `source` is the id of the dialogue that it was made from."""

    dialogue: Dialogue
    evidence: Evidence
    codes: dict[str, Code]
    truths: tuple[Truth, ...]
    source: str


@dataclass(frozen=True, kw_only=True)
class LabelledQuestion:
    """A question and the labels of its own turns and codes."""

    question: Question
    truths: tuple[Truth, ...]
    source: str


def read_labelled(dataset: Path, split: str, config: SelectionConfig, seed: int) -> list[LabelledDialogue]:
    """Reads the dialogues of one split of a data set's folder, in their order. A dialogue's codes are the
    requested ones that it has the evidence for, less its unlabelled ones.

    Raises:
        OutputRefused: the folder is not complete, or the split's file was changed.
        InputRefused: a file of it cannot be read.
        ConfigError: E_CODE, unknown codes or none.
    """
    taxonomy = load_taxonomy(config.taxonomy)
    wanted = requested_codes(dataset, split, config)
    examples = select_examples(dataset, split, config, seed)
    has_calls = any(
        turn.tool_calls or turn.role == "tool" for example in examples for turn in example.dialogue.turns
    )
    return [label_dialogue(example, wanted, taxonomy, logs_tools=has_calls or None) for example in examples]


def select_examples(dataset: Path, split: str, config: SelectionConfig, seed: int) -> list[Example]:
    """Reads the examples of one split of a data set's folder, in their order, of at most `config.limit`
    random sources.

    Raises:
        OutputRefused: the folder is not complete, or the split's file was changed.
        InputRefused: a file of it cannot be read.
    """
    examples = list(read_examples(verify_split(dataset, split)))
    sources = sorted(set(map(source_of, examples)))
    random.Random(seed).shuffle(sources)
    selected = set(sources[: config.limit])
    return [example for example in examples if source_of(example) in selected]


def requested_codes(dataset: Path, split: str, config: SelectionConfig) -> tuple[str, ...]:
    """Returns the codes to ask about, in the taxonomy's order: those of `config`, else of the folder's
    manifest, else of all labels of the split.

    Raises:
        ConfigError: E_CODE, unknown codes or none.
    """
    taxonomy = load_taxonomy(config.taxonomy)
    listed = set(read_manifest(dataset / MANIFEST, expected=Examples).get("codes") or ())
    wanted = set(config.codes) or listed
    if not wanted:
        examples = read_examples(verify_split(dataset, split))
        wanted = {label.code for example in examples for label in example.labels}
    if not wanted:
        raise ConfigError("E_CODE", f"{dataset}: no label names a code; --codes says which to ask")
    if unknown := sorted(wanted - taxonomy.codes.keys()):
        raise ConfigError(
            "E_CODE",
            f"{dataset}: codes that the taxonomy lacks: {' '.join(unknown)}; --taxonomy names another",
        )
    if listed and (unlabelled := sorted(wanted - listed)):
        raise ConfigError(
            "E_CODE",
            f"{dataset}: nobody was asked about {' '.join(unlabelled)}, only {' '.join(sorted(listed))}",
        )
    return tuple(code for code in taxonomy.codes if code in wanted)


def label_dialogue(
    example: Example, wanted: Iterable[str], taxonomy: Taxonomy, *, logs_tools: bool | None = None
) -> LabelledDialogue:
    """Masks an example and selects its labels of the applicable codes of `wanted`."""
    masked, texts = mask_dialogue(example.dialogue)
    text_of = {turn.index: text for turn, text in zip(masked.turns, texts, strict=True)}
    evidence, dialogue = collect_evidence(masked, {}, logs_tools=logs_tools)
    labelled_codes = frozenset(wanted) - set(example.unlabelled)
    codes, _ = applicable_codes(taxonomy, labelled_codes, evidence.kinds(dialogue))
    truths = []
    for label in example.labels:
        if label.code not in codes or label.turn not in text_of:
            continue
        span = None
        if label.start is not None and label.end is not None:
            span = text_of[label.turn].from_original(label.start, label.end)
        truths.append(
            Truth(
                turn=label.turn,
                code=label.code,
                probability=label.probability,
                span=span if span and span[1] > span[0] else None,
                severity=codes[label.code].severity,
            )
        )
    return LabelledDialogue(
        dialogue=dialogue, evidence=evidence, codes=codes, truths=tuple(truths), source=source_of(example)
    )


def ask_about(labelled: Sequence[LabelledDialogue], reader: Reader) -> list[LabelledQuestion]:
    """Makes the questions of dialogues, one for each dialogue that fits the reader's context; none without a
    turn to judge or a code, nor about codes that do not fit."""
    questions = []
    for item in labelled:
        if not item.codes:
            continue
        for question in reader.questions(item.dialogue, item.codes, item.evidence)[0]:
            own = (truth for truth in item.truths if truth.turn in question.turns)
            truths = tuple(truth for truth in own if truth.code in question.codes)
            if question.turns:
                questions.append(LabelledQuestion(question=question, truths=truths, source=item.source))
    return questions


def target_reading(item: LabelledQuestion) -> Reading:
    """Returns the target of training: the labels of probability `LEAST_PROBABILITY` or more, by turn and
    start. The quote is the evidence or the whole turn, at most `MAX_QUOTE_CHARS` of it."""
    errors = []
    for truth in item.truths:
        if truth.probability < LEAST_PROBABILITY:
            continue
        text = item.question.turns[truth.turn]
        start, end = truth.span or (0, len(text))
        quote = (text[start:end].strip() or text.strip())[:MAX_QUOTE_CHARS].rstrip()
        start = text.index(quote, 0 if quote not in text[start:end] else start)
        errors.append(
            ReadError(
                turn=truth.turn,
                code=truth.code,
                probability=truth.probability,
                severity=truth.severity,
                quote=quote,
                start=start,
                end=start + len(quote),
                reason=item.question.codes[truth.code].name.en,
            )
        )
    errors.sort(key=lambda error: (error.turn, error.start or 0, error.code))
    return Reading(errors=tuple(errors[:MAX_ERRORS]))


def verify_split(dataset: Path, name: str) -> Path:
    """Returns the file of a set after verifying its checksum in the folder's manifest.

    Raises:
        ConfigError: E_EXAMPLE, there is no such set.
        OutputRefused: the folder is not complete, or the file was changed.
    """
    path = require_set(dataset, name)
    files = read_manifest(dataset / MANIFEST, expected=Folder)["files"]
    entries = [entry for entry in files if entry["name"] == path.name]
    if not entries:
        raise OutputRefused("E_CHECKSUM", f"{path}: the manifest does not name it")
    verify_files(dataset, entries)
    return path
