"""Agreement on spans: soft F1 between people, and a unitised alpha over characters.

Both compare places and, where spans carry one, codes; neither asks what the text says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dialint.detector.statistics import ROUNDS, Estimate, bootstrap_estimate, ratio
from dialint.labeling.aggregation.answers import Floats


@dataclass(frozen=True)
class Marked:
    """Characters `start` to `end` (exclusive) that one person marked as `code`."""

    start: int
    end: int
    code: str = ""


@dataclass(frozen=True)
class Read:
    """One text of `length` characters, and the spans of each person who read it, nothing included."""

    length: int
    spans: Mapping[str, Sequence[Marked]]


def soft_span_f1(texts: Sequence[Read], rounds: int = ROUNDS, seed: int = 0) -> Estimate:
    """F1 over all pairs of readers, a span counting for the share of it that the other one covers best.

    Source: Johansson and Moschitti 2010, intersection-based precision and recall; each reader is once
    the one and once the other, so that precision and recall are alike and F1 is their common value.
    NaN where nobody marked anything.
    """
    rows = np.array([_covered(text) for text in texts], float).reshape(-1, 2)
    return bootstrap_estimate(rows, lambda sums: ratio(sums[:, 0], sums[:, 1]), rounds, seed)


def _covered(text: Read) -> tuple[float, float]:
    """The sum of covered shares over ordered pairs of readers, and how many spans were looked at."""
    covered, looked = 0.0, 0
    for reader, spans in text.spans.items():
        for other, others in text.spans.items():
            if reader != other:
                covered += sum(max((_share(span, each) for each in others), default=0.0) for span in spans)
                looked += len(spans)
    return covered, float(looked)


def _share(span: Marked, other: Marked) -> float:
    if span.code != other.code:
        return 0.0
    shared = min(span.end, other.end) - max(span.start, other.start)
    return max(0, shared) / (span.end - span.start)


def unitised_alpha(texts: Sequence[Read], rounds: int = ROUNDS, seed: int = 0) -> Estimate:
    """Alpha over characters: 1 all agree, 0 by chance. Each code is a question of its own, marked here or
    not, so that no code hides another where spans overlap; their disagreements are added, and those by
    chance.

    Source: the idea of Krippendorff's alpha for unitising in its binary form (Krippendorff, Mathet, Bouvry
    and Widlöcher 2016): lengths of intersections, gaps included, take the place of counts of values. We leave
    out the small-sample correction, which characters, being no independent units, do not earn. It is not
    gamma (Mathet et al. 2015), which also aligns units: two touching spans of one code count as one here.
    """
    codes = sorted({span.code for text in texts for spans in text.spans.values() for span in spans})
    rows = np.array([_lengths(text, codes) for text in texts], float).reshape(len(texts), -1)
    return bootstrap_estimate(rows, _alpha, rounds, seed)


def _lengths(text: Read, codes: Sequence[str]) -> Floats:
    """Characters on which pairs of readers differ, weighted 1 / (readers - 1), over all codes; all that were
    read; and those marked with each code."""
    readers = len(text.spans)
    if readers < 2:
        return np.zeros(2 + len(codes))
    marked = np.zeros((len(codes), readers, text.length), bool)
    for reader, spans in enumerate(text.spans.values()):
        for span in spans:
            marked[codes.index(span.code), reader, span.start : span.end] = True
    votes = marked.sum(axis=1)  # (codes, characters)
    differing = 2.0 * (votes * (readers - votes)).sum() / (readers - 1)
    return np.concatenate(([differing, readers * text.length], votes.sum(axis=1))).astype(float)


def _alpha(sums: Floats) -> Floats:
    shares = sums[:, 2:] / np.maximum(sums[:, 1:2], 1e-12)
    return 1.0 - ratio(ratio(sums[:, 0], sums[:, 1]), (2.0 * shares * (1.0 - shares)).sum(axis=1))
