"""Labelled examples and a detector's verdicts as arrays of truth and probability, code by code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from detector.detectors import Detector
from detector.errors import ConfigError
from detector.records import Example, Verdict
from eval.metrics import Floats, Truth, pair_auc

CHUNK = 256


@dataclass(frozen=True)
class Judged:
    """One code on one set, arrays of shape (n,): rows are judged turns, or whole dialogues for a code
    of dialogue scope. `flagged` says that a finding was reported; `dialogue` numbers the source dialogues;
    `overlap` is the evidence's character F1 where both a label with a span and a finding exist."""

    truth: Truth
    probabilities: Floats
    flagged: Truth
    dialogue: np.ndarray[tuple[int], np.dtype[np.int64]]
    overlap: Floats


def read_examples(path: Path) -> Iterator[Example]:
    """Every example of a JSONL file.

    Raises:
        ConfigError: the file cannot be read or holds something else.
    """
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield Example.model_validate_json(line)
                except ValueError:
                    raise ConfigError("E_EXAMPLE", f"{path}, line {number}: not an example") from None
    except OSError as error:
        raise ConfigError("E_EXAMPLE", f"{path}: {error.strerror}") from None


def judge(detector: Detector, examples: Iterable[Example]) -> list[tuple[Example, Verdict]]:
    """Each example with the detector's verdict, all probabilities included; failed ones are kept."""
    source = iter(examples)
    results: list[tuple[Example, Verdict]] = []
    while chunk := list(islice(source, CHUNK)):
        verdicts = detector.verdicts([example.dialogue for example in chunk], all_probabilities=True)
        results.extend(zip(chunk, verdicts, strict=True))
    return results


def judged(results: Sequence[tuple[Example, Verdict]], code: str, *, whole_dialogue: bool) -> Judged:
    """The arrays of one code. Failed verdicts count as probability 0 and not flagged."""
    truth: list[bool] = []
    probabilities: list[float] = []
    flagged: list[bool] = []
    group: list[int] = []
    overlap: list[float] = []
    sources: dict[str, int] = {}
    for example, verdict in results:
        number = sources.setdefault(source_of(example), len(sources))
        labels = {label.turn: label for label in example.labels if label.code == code}
        findings = {finding.turn: finding for finding in verdict.findings if finding.code == code}
        given = {turn: row.get(code, 0.0) for turn, row in (verdict.probabilities or {}).items()}
        turns = sorted(given.keys() | labels.keys())
        if whole_dialogue:
            truth.append(bool(labels))
            probabilities.append(max(given.values(), default=0.0))
            flagged.append(bool(findings))
            group.append(number)
        else:
            truth.extend(turn in labels for turn in turns)
            probabilities.extend(given.get(turn, 0.0) for turn in turns)
            flagged.extend(turn in findings for turn in turns)
            group.extend(number for _ in turns)
        for turn in labels.keys() & findings.keys():
            label, finding = labels[turn], findings[turn]
            if label.start is not None and label.end is not None:
                overlap.append(_span_f1(label.start, label.end, finding.start, finding.end))
    return Judged(
        np.array(truth, bool),
        np.array(probabilities),
        np.array(flagged, bool),
        np.array(group),
        np.array(overlap),
    )


def _span_f1(start: int, end: int, found_start: int, found_end: int) -> float:
    """F1 of the characters of two spans."""
    both = max(0, min(end, found_end) - max(start, found_start))
    return 2 * both / (end - start + found_end - found_start)


def source_of(example: Example) -> str:
    """The dialogue an example was made from: one source may stand in a set several times, with
    different errors, as their clean twin and as it was."""
    return example.dialogue.id.partition("~")[0]


def hard_pairs(
    results: Sequence[tuple[Example, Verdict]], code: str, *, whole_dialogue: bool
) -> tuple[float, int]:
    """AUC of a code over pairs of an error and its clean twin of the same form, and how many pairs.

    A pair counts for the code that its family made, at the turns it made; for a code of dialogue
    scope, and for a twin whose turns are not named, the dialogue's highest probability counts.
    """
    errors: dict[str, float] = {}
    twins: dict[str, float] = {}
    for example, verdict in results:
        if example.pair is None:
            continue
        given = {turn: row.get(code, 0.0) for turn, row in (verdict.probabilities or {}).items()}
        made = [
            label.turn
            for label in example.labels
            if label.code == code and example.pair.endswith("~" + label.method.removeprefix("inject:"))
        ]
        named = "probes" in example.dialogue.metadata
        side, turns = (errors, made) if made else (twins, _probed(example, code) if named else list(given))
        if made or turns:
            if whole_dialogue:
                turns = list(given)
            side[example.pair] = max((given.get(turn, 0.0) for turn in turns), default=0.0)
    whole = sorted(errors.keys() & twins.keys())
    return pair_auc(np.array([errors[p] for p in whole]), np.array([twins[p] for p in whole])), len(whole)


def _probed(example: Example, code: str) -> list[int]:
    """The turns of a clean twin that stand where the error stood."""
    probes = example.dialogue.metadata.get("probes")
    return [
        int(str(probe["turn"]))
        for probe in (probes if isinstance(probes, list) else [])
        if isinstance(probe, dict) and probe.get("code") == code
    ]
