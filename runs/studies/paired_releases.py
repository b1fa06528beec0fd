"""Two releases as they ship on the same injected errors: average precision by code, differences paired.

    python runs/studies/paired_releases.py EXAMPLES.jsonl OLD_RELEASE NEW_RELEASE --limit 400 --seed 0

A release of an earlier commit is taken from git, file by file (`git show COMMIT:detector/embedded/FILE`).
Intervals are of 95 %, by source dialogue, the same draws for both; of codes that both
cover and that have errors.
The scores are the probabilities a verdict states, so gates, checks and curves count as they do for users.
"""

from __future__ import annotations

import random
from pathlib import Path

import cyclopts
import numpy as np

from dialint.detector.example_files import read_examples
from dialint.detector.interface import DetectorConfig
from dialint.detector.pipeline import load_detector
from dialint.detector.release import Release
from dialint.detector.statistics import bootstrap_counts
from dialint.eval.figures.bootstrap import ranking_figures
from dialint.eval.figures.per_code import value_and_interval
from dialint.eval.results import Results, score_examples, source_of


def rows_of(results: Results, code: str) -> dict[tuple[int, int], tuple[bool, float]]:
    """By example and turn, whether the code was put there and its probability, where one is stated."""
    rows = {}
    for number, (example, verdict) in enumerate(results):
        wrong = {label.turn for label in example.labels if label.code == code}
        for turn, probabilities in (verdict.probabilities or {}).items():
            if code in probabilities:
                rows[number, turn] = (turn in wrong, float(probabilities[code]))
    return rows


def compare(
    examples: Path, old: Path, new: Path, *, limit: int = 400, seed: int = 0, rounds: int = 400
) -> None:
    """Print a table of both releases on `limit` examples, drawn by `seed`."""
    given = list(read_examples(examples))
    given = random.Random(seed).sample(given, min(limit, len(given)))
    detectors = [load_detector(DetectorConfig(release=each)) for each in (old, new)]
    scored = [score_examples(each, given) for each in detectors]
    places = {source: n for n, source in enumerate(sorted({source_of(each) for each in given}))}
    counts = bootstrap_counts(len(places), rounds)
    sums = []
    print(f"{len(given)} dialogues, {len(places)} sources")
    names = " | ".join(Release(each).info.id for each in (old, new))
    print(f"| code | errors | {names} | difference (95 %) |\n|---|---:|---:|---:|---|")
    for code in sorted({label.code for each in given for label in each.labels}):
        first, second = (rows_of(each, code) for each in scored)
        both = sorted(first.keys() & second.keys())
        truth = np.array([first[key][0] for key in both], dtype=bool)
        if not truth.any():
            continue
        groups = np.array([places[source_of(given[number])] for number, _ in both])
        figures = [
            ranking_figures(truth, np.array([rows[key][1] for key in both]), groups, counts)[
                "average_precision"
            ]
            for rows in (first, second)
        ]
        sums.append(figures)
        _print_row(code, str(int(truth.sum())), *figures)
    _print_row(
        f"macro of these {len(sums)}", "", *(np.nanmean(each, axis=0) for each in zip(*sums, strict=True))
    )


def _print_row(name: str, errors: str, old: np.ndarray, new: np.ndarray) -> None:
    value, low, high = value_and_interval(new - old)
    print(f"| {name} | {errors} | {old[0]:.3f} | {new[0]:.3f} | {value:+.3f} ({low:+.3f} to {high:+.3f}) |")


if __name__ == "__main__":
    cyclopts.run(compare)
