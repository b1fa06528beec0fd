"""Spans of several people: which of them are the same span, whether it is there, and where it starts and
ends.

Spans of one task are clustered by overlap; each cluster is one candidate. Whether it is there is a yes-or-no
question to all labelers of the task, aggregated like any other (`joint_posterior`); its boundaries are
medians of those who marked it, weighted by how well each one's spans agree with those of the others. Presence
and boundaries are independent estimates: the presence of a span may be certain and its boundaries vague.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dialint.labeling.aggregation.answers import from_rows
from dialint.labeling.aggregation.joint import joint_posterior
from dialint.labeling.aggregation.posterior import Posterior

MIN_OVERLAP = 0.3
"""Shared over covered characters from which the spans of two people may be one candidate."""
ROUNDS = 3
PRIOR_FIT, PRIOR_SPANS = 0.7, 2.0
"""Prior mean of how well a person's boundaries fit, and its weight in spans."""


@dataclass(frozen=True)
class Span:
    """Characters `start` to `end` (exclusive) of a task, marked by one worker."""

    task: str
    worker: str
    start: int
    end: int


@dataclass(frozen=True)
class Candidate:
    """A span that may be there, with the `probability` that it is. Of `n_labelers` who read the task
    `n_marked` marked it; `agreement` is how well their boundaries fit, 0 to 1."""

    task: str
    start: int
    end: int
    probability: float
    n_labelers: int
    n_marked: int
    agreement: float


def aggregate_spans(spans: Iterable[Span], labelers: Mapping[str, Sequence[str]]) -> list[Candidate]:
    """Aggregate spans to candidates, by task in the order of `labelers` and then by position.

    `labelers` has for each task all who read it, also those who marked nothing.

    Raises:
        ValueError: a span of a worker who is no labeler of its task.
    """
    by_task: defaultdict[str, list[Span]] = defaultdict(list)
    for span in spans:
        if span.worker not in labelers.get(span.task, ()):
            raise ValueError("a span of a worker who is no labeler of its task")
        by_task[span.task].append(span)
    clusters = [cluster for task in labelers for cluster in cluster_spans(by_task[task])]
    if not clusters:
        return []
    posterior = _fit_presence(clusters, labelers)
    bounds = _fit_boundaries(clusters)
    return [
        Candidate(
            cluster[0].task,
            *bounds[number][:2],
            float(posterior.probabilities[number, 1]),
            len(set(labelers[cluster[0].task])),
            len({span.worker for span in cluster}),
            bounds[number][2],
        )
        for number, cluster in enumerate(clusters)
    ]


def span_overlap(a: Span, b: Span) -> float:
    """Shared over covered characters, 0 to 1."""
    shared = min(a.end, b.end) - max(a.start, b.start)
    return max(0, shared) / (max(a.end, b.end) - min(a.start, b.start))


def cluster_spans(spans: Sequence[Span]) -> list[list[Span]]:
    """Cluster the spans of one task, in the order of the first character of each cluster.

    Clusters are merged, those of largest overlap first, for as long as their members overlap by `MIN_OVERLAP`
    on average and no worker has a span in both: two spans of one person are two candidates.
    """
    clusters = [[span] for span in sorted(spans, key=lambda s: (s.start, s.end, s.worker))]
    while True:
        best, pair = MIN_OVERLAP, None
        for i, one in enumerate(clusters):
            for j in range(i + 1, len(clusters)):
                if (value := _mean_overlap(one, clusters[j])) >= best and (value > best or pair is None):
                    best, pair = value, (i, j)
        if pair is None:
            return sorted(clusters, key=lambda cluster: min(span.start for span in cluster))
        clusters[pair[0]] += clusters.pop(pair[1])


def _mean_overlap(one: Sequence[Span], other: Sequence[Span]) -> float:
    if {span.worker for span in one} & {span.worker for span in other}:
        return 0.0
    return float(np.mean([span_overlap(a, b) for a in one for b in other]))


def _fit_presence(clusters: Sequence[Sequence[Span]], labelers: Mapping[str, Sequence[str]]) -> Posterior:
    """The posterior of "no" and "yes", one row a cluster."""
    rows = []
    for number, cluster in enumerate(clusters):
        marked = {span.worker for span in cluster}
        workers = dict.fromkeys(labelers[cluster[0].task])
        rows += [(str(number), worker, "yes" if worker in marked else "no") for worker in workers]
    return joint_posterior(from_rows(rows, labels=("no", "yes")))


def _fit_boundaries(clusters: Sequence[Sequence[Span]]) -> list[tuple[int, int, float]]:
    """Start, end and agreement of each cluster."""
    fit: dict[str, float] = {}
    for _ in range(ROUNDS):
        bounds = [_vote_bounds(cluster, fit) for cluster in clusters]
        sums: defaultdict[str, list[float]] = defaultdict(list)
        for cluster, (start, end) in zip(clusters, bounds, strict=True):
            if len(cluster) > 1:
                for span in cluster:
                    sums[span.worker].append(span_overlap(span, Span("", "", start, end)))
        fit = {
            worker: (PRIOR_FIT * PRIOR_SPANS + sum(overlaps)) / (PRIOR_SPANS + len(overlaps))
            for worker, overlaps in sums.items()
        }
    return [
        (start, end, float(np.mean([span_overlap(span, Span("", "", start, end)) for span in cluster])))
        for cluster, (start, end) in zip(clusters, bounds, strict=True)
    ]


def _vote_bounds(cluster: Sequence[Span], fit: Mapping[str, float]) -> tuple[int, int]:
    """Weighted medians of the starts and of the ends; the heaviest span where these cross."""
    weights = [fit.get(span.worker, PRIOR_FIT) ** 2 for span in cluster]
    start = weighted_median([span.start for span in cluster], weights)
    end = weighted_median([span.end for span in cluster], weights)
    if start < end:
        return start, end
    heaviest = cluster[int(np.argmax(weights))]
    return heaviest.start, heaviest.end


def weighted_median(values: Sequence[int], weights: Sequence[float]) -> int:
    """The smallest value at which half of the weight is reached."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(np.asarray(weights, float)[order])
    return int(values[order[int(np.searchsorted(reached, reached[-1] / 2 - 1e-12))]])


def select_span(spans: Iterable[tuple[int, int]]) -> tuple[int, int] | tuple[None, None]:
    """Select the span that overlaps most with all others (sum of overlap over union), the first of equals."""
    all_spans = list(spans)
    if not all_spans:
        return None, None

    def sum_overlaps(a: tuple[int, int]) -> float:
        return sum(
            max(0, min(a[1], b[1]) - max(a[0], b[0])) / (max(a[1], b[1]) - min(a[0], b[0])) for b in all_spans
        )

    return max(all_spans, key=sum_overlaps) if len(set(all_spans)) > 1 else all_spans[0]
