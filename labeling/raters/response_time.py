"""Response times: who answers far faster than other people, given the length of the item and how people
differ.

An answer in less time than its words can be read in needs no comparison. For the others the logarithm of the
seconds is used, less what the length of the item explains. A *fast* answer is below the 0.1 % quantile by the
robust spread of honest people: between people (their medians) and within one person, both by median absolute
deviations, so that up to half of the crowd may cheat. People have heavier tails than a normal distribution,
so a labeler is tested against one fast answer in a hundred, by a binomial tail: few answers are flagged only
if nearly all are fast.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.raters.estimates import binomial_tail

WORDS_PER_MINUTE = 1000.0
"""Four times what adults read on average (238 words of prose: Brysbaert, J. Mem. Lang. 109, 2019)."""

FENCE = 3.09
"""One in a thousand of a normal curve, in standard deviations."""
FAST_SHARE = 0.01
"""Share of fast answers that is expected of an honest person."""
MAD_SCALE = 1.4826
"""From a median absolute deviation to a standard deviation of a normal curve."""
MIN_ANSWERS = 5
"""Timed answers of a labeler whose median is used to estimate what is normal."""
MIN_LABELERS = 5
BINS = 20
CHARACTERS_PER_WORD = 6.0
"""Including the blank after the word; too many for scripts that write more in fewer characters."""
UNREAD_SHARE = 0.1
"""Share of the answers that honest people may give without reading all: the turn alone was enough."""
MIN_SPREAD = 0.3
"""Lower bound, in log seconds, of the spread between people and of that within a person: in a small crowd of
equals the fastest reader would be flagged otherwise."""


@dataclass(frozen=True)
class ResponseTimes:
    """Figures of each worker, shape (workers,): `n` timed answers, how many of them are `fast`, `median`
    seconds (NaN without any) and the `p_value` of so many fast ones, 1 where too few people are timed to
    estimate what is normal. `slope` is the exponent with which seconds grow with the length. `unread` counts
    the answers in less time than anybody can read in; `unread_p_value` is the probability of so many if one
    in ten may be, for which nobody is needed to compare with."""

    n: Floats
    fast: Floats
    median: Floats
    p_value: Floats
    slope: float
    unread: Floats
    unread_p_value: Floats


def measure_response_times(
    answers: Answers, sizes: Floats | None = None, to_read: Floats | None = None
) -> ResponseTimes:
    """Measure how fast each worker is. `sizes`, shape (tasks,), is the number of characters to read,
    `to_read`, shape (answers,), how many of them the worker had not read before; by default all.

    Answers without seconds, or with 0 seconds, do not count.
    """
    n_workers = len(answers.workers)
    seconds = np.full(len(answers), np.nan) if answers.seconds is None else answers.seconds
    timed = np.flatnonzero(seconds > 0)
    worker, logs = answers.worker[timed], np.log(seconds[timed])
    n = np.bincount(worker, minlength=n_workers).astype(float)
    median = np.exp(_medians(logs, worker, n_workers))
    slope = 0.0
    if sizes is not None:
        length = np.log(np.maximum(sizes[answers.task[timed]], 1.0))
        slope = _slope(logs, length, worker, n_workers)
        logs = logs - slope * length
    fence = _fence(logs, worker, n)
    fast = np.bincount(worker[logs < fence], minlength=n_workers).astype(float)
    if to_read is None and sizes is not None:
        to_read = sizes[answers.task]
    unread = np.zeros(n_workers)
    if to_read is not None:
        floor = 60.0 * to_read[timed] / (CHARACTERS_PER_WORD * WORDS_PER_MINUTE)
        unread = np.bincount(worker[seconds[timed] < floor], minlength=n_workers).astype(float)
    p_value, unread_p_value = (
        np.where(k > 0, binomial_tail(np.maximum(k, 1.0), n, share), 1.0)
        for k, share in ((fast, FAST_SHARE), (unread, UNREAD_SHARE))
    )
    return ResponseTimes(n, fast, median, p_value, slope, unread, unread_p_value)


def _fence(logs: Floats, worker: NDArray[np.int32], n: Floats) -> float:
    """The log seconds below which an answer is fast, minus infinity with too few labelers."""
    usual = n >= MIN_ANSWERS
    if usual.sum() < MIN_LABELERS:
        return -np.inf
    medians = _medians(logs, worker, len(n))
    within = MAD_SCALE * _medians(np.abs(logs - medians[worker]), worker, len(n))
    centre = float(np.median(medians[usual]))
    between = MAD_SCALE * float(np.median(np.abs(medians[usual] - centre)))
    spreads = max(MIN_SPREAD, between), max(MIN_SPREAD, float(np.median(within[usual])))
    return centre - FENCE * float(np.hypot(*spreads))


def _medians(values: Floats, worker: NDArray[np.int32], n_workers: int) -> Floats:
    """The median of each worker's values, shape (workers,), NaN without any."""
    order = np.lexsort((values, worker))
    counts = np.bincount(worker, minlength=n_workers)
    ends = np.cumsum(counts)
    medians, some = np.full(n_workers, np.nan), counts > 0
    middle = (ends - counts + (counts - 1) // 2)[some], (ends - counts + counts // 2)[some]
    medians[some] = (values[order[middle[0]]] + values[order[middle[1]]]) / 2
    return medians


def _slope(logs: Floats, length: Floats, worker: NDArray[np.int32], n_workers: int) -> float:
    """The exponent of the length, 0 to 1: a line through the medians of bins of similar length, each answer
    relative to the median of its worker."""
    if len(logs) < 2 * BINS or float(np.ptp(length)) < 1e-9:
        return 0.0
    own = logs - _medians(logs, worker, n_workers)[worker]
    parts = np.array_split(np.argsort(length, kind="stable"), BINS)
    x = np.array([np.median(length[part]) for part in parts])
    y = np.array([np.median(own[part]) for part in parts])
    x -= x.mean()
    return float(np.clip((x @ y) / max(float(x @ x), 1e-12), 0.0, 1.0))
