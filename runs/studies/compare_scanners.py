"""Trained scanners side by side before any is packed: raw scores on the same dialogues, and seconds.

    python runs/studies/compare_scanners.py build/examples/dev.jsonl build/scanner build/student --timed

Average precision is the mean over codes; intervals are of 95 %, by source dialogue, differences paired. They
know nothing of how differently one and the same training may end.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import cyclopts
import numpy as np

from dialint.detector.errors import DialogueFailed
from dialint.detector.example_files import read_examples
from dialint.detector.records import Dialogue, Example
from dialint.detector.scanner import Scanner
from dialint.detector.statistics import Counts, bootstrap_counts
from dialint.eval.figures.bootstrap import ranking_figures
from dialint.eval.figures.per_code import value_and_interval
from dialint.eval.metrics import Floats
from dialint.eval.results import source_of
from dialint.finetune.scanner.trained import TrainedScanner, read_scanner

ROW_TOKENS = 8192
TIMED_DIALOGUES = 60
TIMED_ROUNDS = 5


def macro(trained: TrainedScanner, scanner: Scanner, examples: Sequence[Example], counts: Counts) -> Floats:
    """Mean over codes of average precision, shape (1 + rounds,): of the examples, then of every draw of
    their source dialogues. A code of dialogue scope counts once a dialogue; without an error, not at all.

    Raises:
        DialogueFailed: one cannot be scored.
    """
    places = {source: n for n, source in enumerate(sorted({source_of(each) for each in examples}))}
    results = scanner.scan([each.dialogue for each in examples])
    of_code = []
    for column, code in enumerate(trained.codes):
        rows = []
        for example, turns in zip(examples, results, strict=True):
            if isinstance(turns, DialogueFailed):
                raise turns
            wrong = {label.turn for label in example.labels if label.code == code}
            units = [(turn.turn in wrong, float(turn.scores[column])) for turn in turns]
            if units and code in trained.dialogue_codes:
                units = [(bool(wrong), max(score for _, score in units))]
            rows += [(*unit, places[source_of(example)]) for unit in units]
        truth, scores, groups = (np.array(each) for each in zip(*rows, strict=True))
        if truth.any():
            of_code.append(ranking_figures(truth, scores, groups, counts)["average_precision"])
    return np.asarray(np.nanmean(of_code, axis=0))


def compare(
    examples: Path,
    scanner: Path,
    *others: Path,
    limit: int | None = None,
    seed: int = 7,
    precision: Literal["fp32", "bf16"] = "fp32",
    timed: bool = False,
    rounds: int = 1000,
) -> None:
    """Print the average precision of each, less that of `scanner`, and if `timed` how many times as fast each
    is, rounds by turns; of `limit` random dialogues where named."""
    given = list(read_examples(examples))
    random.Random(seed).shuffle(given)
    given = given[:limit]
    counts = bootstrap_counts(len({source_of(each) for each in given}), rounds)
    trained = {folder: read_scanner(folder) for folder in (scanner, *others)}
    scanners = {each: own.scanner(ROW_TOKENS, precision, "cpu") for each, own in trained.items()}
    first = None
    for folder, own in trained.items():
        found = macro(own, scanners[folder], given, counts)
        first = found if first is None else first
        print(f"{folder.name}: {_told(found)}, less {scanner.name} {_told(found - first)}", flush=True)
    if timed:
        sample = [each.dialogue for each in given[:TIMED_DIALOGUES]]
        seconds = [
            {each: _seconds(own, sample) for each, own in scanners.items()} for _ in range(TIMED_ROUNDS)
        ]
        for folder in others:
            ratios = sorted(row[scanner] / row[folder] for row in seconds)
            span = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
            print(f"{folder.name}: {statistics.median(ratios):.2f} times as fast ({span})")


def _seconds(scanner: Scanner, sample: Sequence[Dialogue]) -> float:
    started = time.perf_counter()
    scanner.scan(sample)
    return time.perf_counter() - started


def _told(values: Floats) -> str:
    value, low, high = value_and_interval(values)
    return f"{value} ({low} to {high})"


if __name__ == "__main__":
    cyclopts.run(compare)
