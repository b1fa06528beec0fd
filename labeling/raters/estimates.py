"""Figures with 95 % intervals, none where there are too few answers; the binomial tail."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dialint.detector.statistics import wilson_interval
from dialint.labeling.aggregation.answers import Floats

WIDEST = 0.5
"""Widest 95 % interval of a figure, on a scale from 0 to 1."""
LEAST = 5
"""Least number of answers of a median or a mean difference."""


@dataclass(frozen=True)
class Figure:
    """A value with its 95 % interval, out of `n` answers; all none where these are not enough."""

    n: int
    value: float | None = None
    low: float | None = None
    high: float | None = None


def proportion(successes: float, n: int) -> Figure:
    """A share with its Wilson interval; `successes` may be an expected number."""
    if n == 0:
        return Figure(0)
    return _unless_too_wide(n, successes / n, *wilson_interval(successes, n))


def mean_difference(values: Floats) -> Figure:
    """The mean of values from -1 to 1 with its interval by Student's t."""
    from scipy.special import stdtrit

    n = len(values)
    if n < LEAST:
        return Figure(n)
    value = float(values.mean())
    half = float(stdtrit(n - 1, 0.975)) * float(values.std(ddof=1)) / math.sqrt(n)
    return _unless_too_wide(n, value, max(-1.0, value - half), min(1.0, value + half))


def _unless_too_wide(n: int, value: float, low: float, high: float) -> Figure:
    return Figure(n, value, low, high) if high - low <= WIDEST else Figure(n)


@dataclass(frozen=True)
class Speed:
    """Seconds an annotation takes: median and quartiles of `n`, none where `n` is too small."""

    n: int
    median: float | None = None
    first_quartile: float | None = None
    third_quartile: float | None = None


def quartiles(seconds: list[float]) -> Speed:
    """The quartiles of `seconds`."""
    if len(seconds) < LEAST:
        return Speed(len(seconds))
    first, middle, third = np.percentile(seconds, (25, 50, 75)).tolist()
    return Speed(len(seconds), middle, first, third)


def binomial_tail(k: Floats, n: Floats, share: Floats | float) -> Floats:
    """The probability of `k` or more successes, `k` at least 1, of a binomial with `n` trials and success
    probability `share`; `k` and `n` need not be whole."""
    from scipy.special import betainc

    return np.asarray(betainc(k, np.maximum(n - k, 0.0) + 1.0, share), float)
