"""Confidence intervals of every figure: the bootstrap, Wilson's and Clopper and Pearson's.

The bootstrap draws whole groups (source dialogues, tasks) with replacement, because the rows of one group
depend on each other. No row is copied: a round is a row of counts, how often each group was drawn, and a
figure of a round is computed from weighted sums. Two entry points share this:

- `bootstrap_counts` for many figures over the same rounds, so that macro figures and paired differences
  of two detectors follow by arithmetic; `percentile_interval` then gives the interval of each figure;
- `bootstrap_estimate` for one figure that is a function of sums over groups.

Source: Efron and Tibshirani 1993, chapter 6 (bootstrap weights), chapter 13 (percentiles).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Bools = NDArray[np.bool_]
Counts = NDArray[np.int32]
"""Shape (1 + rounds, groups): row 0 is the sample itself, all ones; each further row is one round."""

ROUNDS = 1000
MAX_CELLS = 1 << 22
"""Counts held in memory at a time."""
Z_95 = 1.959963984540054
"""Quantile 0.975 of the standard normal distribution."""
LEAST_EVENTS = 3
"""Events from which a difference of two shares can be more than chance."""
ZERO = 1e-12
"""A denominator up to this is 0, apart from rounding."""


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval, NaN where it is undefined; `n` is the number of groups that count."""

    value: float
    low: float
    high: float
    n: int


def bootstrap_counts(n_groups: int, rounds: int, seed: int = 0) -> Counts:
    """Counts of `rounds` draws of `n_groups` groups with replacement, below a row of ones."""
    rng = np.random.default_rng(seed)
    counts = np.ones((1 + rounds, n_groups), np.int32)
    for row in range(1, 1 + rounds):
        sample = rng.integers(0, n_groups, n_groups) if n_groups else np.zeros(0, int)
        counts[row] = np.bincount(sample, minlength=n_groups)
    return counts


def grouped_sum(counts: Counts, values: Floats | Bools, groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sums of `values`, shape (n,), in every row of `counts`; `groups`, shape (n,), is the group of each."""
    sums = np.bincount(groups, weights=values, minlength=counts.shape[1])
    return np.asarray(counts @ sums, float)


def ratio(numerator: Floats, denominator: Floats) -> NDArray[np.float64]:
    """`numerator` over `denominator`, NaN where `denominator` is 0."""
    quotient: NDArray[np.float64] = np.full(np.shape(numerator), np.nan)
    np.divide(numerator, denominator, out=quotient, where=np.abs(denominator) > ZERO)
    return quotient


def percentile_interval(
    values: Floats, n_groups: int | None = None, limits: tuple[float, float] = (0.0, 1.0)
) -> tuple[float, float]:
    """95 % percentile interval of the rounds in ``values[1:]``, without NaN; NaN if none is left.

    Where all rounds agree, because every group does, resampling cannot say how sure the figure is, and an
    interval without width would claim certainty. With `n_groups`, the groups that count, the interval is then
    Wilson's for the figure as a share of the way between its `limits`.
    """
    low, high = _percentiles(values[1:])
    if n_groups is None or not high - low < ZERO:  # NaN has no width either, and stays
        return low, high
    return _wilson_between(float(values[0]), n_groups, limits)


def bootstrap_estimate(
    rows: NDArray[np.float64],
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    rounds: int = ROUNDS,
    seed: int = 0,
    limits: tuple[float, float] | None = None,
) -> Estimate:
    """Return the figure that `statistic` computes from the sums of `rows`, shape (groups, parts).

    `statistic` takes sums of shape (rounds, parts) and returns shape (rounds,), NaN where it is undefined.
    Groups whose row is all zeros don't count and are not drawn. Where all rounds agree, the interval is that
    of `percentile_interval` between the `limits` of the figure, and NaN without them.
    """
    rows = rows[np.abs(rows).sum(axis=1) > 0]
    size = len(rows)
    if not size:
        return Estimate(float("nan"), float("nan"), float("nan"), 0)
    value = float(statistic(rows.sum(axis=0, keepdims=True))[0])
    rng, even = np.random.default_rng(seed), np.full(size, 1.0 / size)
    step = max(1, MAX_CELLS // size)
    sums = [rng.multinomial(size, even, min(step, rounds - start)) @ rows for start in range(0, rounds, step)]
    low, high = _percentiles(statistic(np.concatenate(sums).astype(float)))
    if high - low < ZERO:
        low, high = (np.nan, np.nan) if limits is None else _wilson_between(value, size, limits)
    return Estimate(value, low, high, size)


def _wilson_between(value: float, n: int, limits: tuple[float, float]) -> tuple[float, float]:
    worst, best = limits
    if not best > worst:
        return float("nan"), float("nan")
    low, high = wilson_interval(n * min(1.0, max(0.0, (value - worst) / (best - worst))), n)
    return worst + low * (best - worst), worst + high * (best - worst)


def _percentiles(rounds: Floats) -> tuple[float, float]:
    rounds = rounds[~np.isnan(rounds)]
    if not len(rounds):
        return float("nan"), float("nan")
    low, high = np.percentile(rounds, (2.5, 97.5))
    return float(low), float(high)


def wilson_interval(successes: float, n: int) -> tuple[float, float]:
    """95 % score interval of a proportion, within [0, 1]; the whole range for `n` of 0.

    `successes` may be a sum of probabilities; the interval is then too wide rather than too narrow.
    Source: Wilson, JASA 22 (1927).
    """
    if n == 0:
        return 0.0, 1.0
    share, z2 = successes / n, Z_95 * Z_95
    middle = share + z2 / (2 * n)
    half = Z_95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, (middle - half) / (1 + z2 / n)), min(1.0, (middle + half) / (1 + z2 / n))


def round_interval(low: float, high: float, digits: int) -> tuple[float, float]:
    """Both ends rounded to `digits`; outwards where they would look alike, and the figure certain."""
    if low < high and round(low, digits) == round(high, digits):
        unit = 10**digits
        return math.floor(low * unit) / unit, math.ceil(high * unit) / unit
    return round(low, digits), round(high, digits)


def difference_interval(successes: int, n: int, successes_before: int, n_before: int) -> tuple[float, float]:
    """95 % interval of the difference of two independent proportions, the second taken from the first; the
    whole range where one has no trials.

    Source: Newcombe, Statistics in Medicine 17 (1998), 873-890, method 10: of the two score intervals.
    """
    if n == 0 or n_before == 0:
        return -1.0, 1.0
    share, before = successes / n, successes_before / n_before
    low, high = wilson_interval(successes, n)
    low_before, high_before = wilson_interval(successes_before, n_before)
    difference = share - before
    below = math.hypot(share - low, high_before - before)
    above = math.hypot(high - share, before - low_before)
    return max(-1.0, difference - below), min(1.0, difference + above)


def compare_shares(
    successes: int, n: int, successes_other: int, n_other: int
) -> Literal["more", "fewer", "even", "unknown"]:
    """Return the difference of two independent proportions in a word: "more" or "fewer" if its 95 % interval
    leaves out zero and at least `LEAST_EVENTS` stand on either side of it; "unknown" if they do not, or if
    there are fewer in all, so that one event never tells anybody apart."""
    low, high = difference_interval(successes, n, successes_other, n_other)
    if max(successes, successes_other) < LEAST_EVENTS:
        return "unknown"
    if low > 0.0:
        return "more" if min(successes, n_other - successes_other) >= LEAST_EVENTS else "unknown"
    if high < 0.0:
        return "fewer" if min(successes_other, n - successes) >= LEAST_EVENTS else "unknown"
    return "even"


def clopper_pearson_upper(successes: int, n: int, confidence: float) -> float:
    """Exact one-sided upper bound of a proportion.

    Source: Clopper and Pearson 1934, by bisection on the binomial tail.
    """
    if successes >= n:
        return 1.0
    low, high = successes / n, 1.0
    for _ in range(60):
        rate = (low + high) / 2
        if _binomial_cdf(successes, n, rate) > 1.0 - confidence:
            low = rate
        else:
            high = rate
    return high


def clopper_pearson_interval(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Exact two-sided interval of a proportion; the whole range for `n` of 0."""
    if n == 0:
        return 0.0, 1.0
    one_sided = (1 + confidence) / 2
    low = 1.0 - clopper_pearson_upper(n - successes, n, one_sided)
    return low, clopper_pearson_upper(successes, n, one_sided)


def e_values_of_loss(differences: Floats) -> Floats:
    """Evidence after each of `differences`, values in [-1, 1] in an order that they did not decide, that
    their mean is below 0: the wealth of a bettor on it. Where it is not below 0, any of them reaches ``1 /
    alpha`` with a probability of at most alpha, however often somebody looks.

    Source: Waudby-Smith and Ramdas 2024, capital process with the approximate GRAPA bet; Ville 1939.
    """
    n = np.arange(1, len(differences) + 1)
    means = np.cumsum(differences) / (n + 1)
    spreads = (1 + np.cumsum((differences - means) ** 2)) / (n + 1)
    bets = np.clip(-means / (spreads + means**2), 0.0, 0.75)
    return np.cumprod(1 - np.concatenate(([0.0], bets[:-1])) * differences)


def _binomial_cdf(k: int, n: int, rate: float) -> float:
    """P(X <= k) of a binomial X, summed in logarithms."""
    if rate <= 0.0:
        return 1.0
    if rate >= 1.0:
        return float(k >= n)
    i = np.arange(k + 1)
    steps = np.log((n - i[1:] + 1) / i[1:]) if k else np.array([])
    log_choose = np.concatenate(([0.0], np.cumsum(steps)))
    terms = log_choose + i * np.log(rate) + (n - i) * np.log1p(-rate)
    peak = terms.max()
    return float(np.exp(peak) * np.exp(terms - peak).sum())
