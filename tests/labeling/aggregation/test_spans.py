"""Spans of several people: clusters, presence, boundaries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialint.labeling.aggregation.spans import (
    Span,
    aggregate_spans,
    cluster_spans,
    span_overlap,
    weighted_median,
)


def span(worker: str, start: int, end: int, task: str = "t") -> Span:
    return Span(task, worker, start, end)


def test_overlap_by_hand() -> None:
    assert span_overlap(span("a", 0, 10), span("b", 5, 15)) == pytest.approx(5 / 15)
    assert span_overlap(span("a", 0, 5), span("b", 5, 9)) == 0


def test_places_are_told_apart_and_people_may_mark_two() -> None:
    spans = [span("a", 0, 10), span("b", 1, 11), span("c", 40, 50), span("a", 41, 50), span("b", 70, 72)]
    found = cluster_spans(spans)
    assert [{(s.worker, s.start) for s in cluster} for cluster in found] == [
        {("a", 0), ("b", 1)},
        {("a", 41), ("c", 40)},
        {("b", 70)},
    ]


def test_two_spans_of_one_person_never_mean_the_same_place() -> None:
    found = cluster_spans([span("a", 0, 10), span("a", 0, 9), span("b", 0, 10)])
    assert sorted(len(cluster) for cluster in found) == [1, 2]
    assert all(len({s.worker for s in cluster}) == len(cluster) for cluster in found)


def test_weighted_median_by_hand() -> None:
    assert weighted_median([5, 1, 9], [1, 1, 1]) == 5
    assert weighted_median([5, 1, 9], [1, 1, 5]) == 9
    assert weighted_median([3], [0.1]) == 3


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10), st.sampled_from("abcd")), max_size=8))
def test_no_span_is_lost_and_none_counted_twice(drawn: list[tuple[int, int, str]]) -> None:
    spans = list({span(worker, start, start + size) for start, size, worker in drawn})
    found = [each for cluster in cluster_spans(spans) for each in cluster]
    assert sorted(found, key=repr) == sorted(spans, key=repr)


def test_planted_spans_are_found_again() -> None:
    """60 texts with a span at 20 to 40; five people mark it nine times of ten, within 2 characters, and
    one in three of a careless sixth's marks is elsewhere."""
    random = np.random.default_rng(0)
    spans, looked = [], {}
    for text in range(60):
        task = f"t{text}"
        looked[task] = list("abcdef")
        for worker in "abcde":
            if random.random() < 0.9:
                start, end = 20 + random.integers(-2, 3), 40 + random.integers(-2, 3)
                spans.append(span(worker, int(start), int(end), task))
        if random.random() < 0.33:
            spans.append(span("f", 60, 70, task))
    found = aggregate_spans(spans, looked)
    real = [each for each in found if each.start < 50]
    stray = [each for each in found if each.start >= 50]
    assert len(real) == 60
    assert all(each.probability > 0.9 for each in real if each.n_marked >= 4)
    assert all(each.probability < 0.2 for each in stray)
    assert len(stray) > 10
    assert np.mean([abs(each.start - 20) + abs(each.end - 40) for each in real]) < 2
    assert all(each.n_labelers == 6 for each in found)
    assert min(each.agreement for each in real) > 0.7


def test_who_marks_badly_moves_no_boundary() -> None:
    spans, looked = [], {}
    for text in range(20):
        task = f"t{text}"
        looked[task] = ["a", "b", "wide", "wider"]
        spans += [span("a", 10, 20, task), span("b", 10, 20, task)]
        spans += (
            [span("wide", 8, 28, task), span("wider", 7, 30, task)]
            if text == 0
            else [span("wide", 9, 29, task)]
        )
    first = aggregate_spans(spans, looked)[0]
    assert (first.start, first.end) == (10, 20)
    assert first.n_marked == 4


def test_nothing_marked_is_nothing_found_and_strangers_are_refused() -> None:
    assert aggregate_spans([], {"t": ["a"]}) == []
    with pytest.raises(ValueError, match="is no labeler"):
        aggregate_spans([span("x", 0, 2)], {"t": ["a"]})
