"""Confidence intervals of every figure: the bootstrap, Wilson's and Clopper and Pearson's; shares compared.

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
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

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
MOST_BET = 0.9
"""Share of the capital that one bet may lose."""
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
    Groups whose row is all zeros don't count and are not sampled. Where all rounds agree, the interval is
    that of `percentile_interval` between the `limits` of the figure, and NaN without them."""
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


def wilson_interval(successes: float, n: float, z: float = Z_95) -> tuple[float, float]:
    """Score interval of a proportion at the normal quantile `z`, within [0, 1]; all of it for `n` of 0.

    `successes` may be a sum of probabilities; the interval is then too wide rather than too narrow.
    Source: Wilson, JASA 22 (1927).
    """
    if n == 0:
        return 0.0, 1.0
    share, z2 = successes / n, z * z
    middle = share + z2 / (2 * n)
    half = z * math.sqrt(max(0.0, share * (1 - share)) / n + z2 / (4 * n * n))
    return max(0.0, (middle - half) / (1 + z2 / n)), min(1.0, (middle + half) / (1 + z2 / n))


def betting_interval(
    values: NDArray[np.float64], limits: tuple[float, float], weights: NDArray[np.float64] | None = None
) -> tuple[float, float]:
    """95 % interval of the mean of a population with values between `limits`, of which `values`, shape (n,),
    are a random sample; `weights` are their inverse inclusion probabilities. It holds for any n, also where
    all values are alike; the whole range for none.

    Source: Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, JRSS B 86
    (2024), section 4: hedged capital, predictable plug-in bets. Here bets may lose up to `MOST_BET` of the
    capital, and a bet is scaled by its value's weight, of which the largest counts as fixed beforehand.
    """
    low, high = limits
    n, span = len(values), high - low
    if n == 0 or span <= 0:
        return limits
    order = np.random.default_rng(0).permutation(n)
    shares = (values[order] - low) / span
    sizes = np.ones(n) if weights is None else weights[order] / weights.max()
    counts, goal = np.arange(2, n + 2), math.log(2 / 0.05)
    means = (0.5 + np.cumsum(shares)) / counts
    variances = (0.25 + np.cumsum((shares - means) ** 2)) / counts
    bets = np.sqrt(2 * goal / (n * np.concatenate(([0.25], variances[:-1]))))

    def bound(shares: NDArray[np.float64]) -> float:
        """The largest mean that who bets on more has refuted."""
        refuted, possible = 0.0, 1.0
        for _ in range(40):
            mean = (refuted + possible) / 2
            capital = np.cumsum(np.log1p(sizes * np.minimum(bets, MOST_BET / mean) * (shares - mean)))
            refuted, possible = (mean, possible) if capital.max() >= goal else (refuted, mean)
        return refuted

    return low + span * bound(shares), high - span * bound(1 - shares)


def round_interval(low: float, high: float, digits: int) -> tuple[float, float]:
    """Both ends rounded to `digits`; outwards where they would look alike, and the figure certain."""
    if low < high and round(low, digits) == round(high, digits):
        unit = 10**digits
        return math.floor(low * unit) / unit, math.ceil(high * unit) / unit
    return round(low, digits), round(high, digits)


@dataclass(frozen=True)
class Rate:
    """A share that is as sure as one of `n` independent trials, which need not be whole; `errors` of `reads`
    were seen. `fixed_variance` is the part of its variance that more readings leave."""

    value: float
    n: float
    errors: float
    reads: float
    fixed_variance: float = 0.0

    @classmethod
    def of(cls, successes: float, n: float) -> Rate:
        """Return a plain proportion."""
        return cls(successes / n if n else math.nan, n, successes, n)

    @property
    def variance(self) -> float:
        """With half an error and half a correct one more, as few readings without any are not certain."""
        share = (self.value * self.n + 0.5) / (self.n + 1)
        return share * (1 - share) / self.n if self.n else math.inf

    @property
    def interval(self) -> tuple[float, float]:
        """Score interval."""
        return wilson_interval(self.value * self.n if self.n else 0.0, self.n)


def linear_interval(
    terms: Sequence[tuple[float, Rate]], z: float | Floats = Z_95, *, exact: bool = False
) -> tuple[Any, Any]:
    """Interval of a sum of coefficients times independent rates, at one normal quantile or several, from the
    score intervals of the rates, or the exact ones; NaN where one has no trials. Of two proportions with
    coefficients 1 and -1, and score intervals, Newcombe's method 10.

    Source: Newcombe, Statistics in Medicine 17 (1998), 873-890; Zou and Donner, Statistics in Medicine 27
    (2008), 1693-1702 (the method of variance estimates recovery).
    """
    value, below, above = 0.0, np.zeros(np.shape(z)), np.zeros(np.shape(z))
    for coefficient, rate in terms:
        value += coefficient * rate.value
        bounds: Callable[[float, float, Any], tuple[Any, Any]] = _exact_interval if exact else wilson_interval
        low, high = bounds(rate.value * rate.n, rate.n, z)
        down, up = (coefficient * (rate.value - low)) ** 2, (coefficient * (high - rate.value)) ** 2
        below, above = below + (down if coefficient > 0 else up), above + (up if coefficient > 0 else down)
    return value - np.sqrt(below), value + np.sqrt(above)


def _exact_interval(successes: float, n: float, z: float | Floats) -> tuple[Any, Any]:
    """Clopper and Pearson's interval at normal quantiles; `successes` and `n` need not be whole."""
    from scipy.special import betainccinv, betaincinv, ndtr

    tail, low, high = ndtr(-np.asarray(z)), np.zeros(np.shape(z)), np.ones(np.shape(z))
    if successes > 0:
        low = betaincinv(successes, n - successes + 1, tail)
    if successes < n:
        high = betainccinv(successes + 1, n - successes, tail)
    return low, high


QUANTILES = np.linspace(0.0, 8.0, 401)


def difference_p_value(rate: Rate, other: Rate) -> float:
    """Two-sided p value of no difference: the level at which the interval of the difference, from exact ones,
    begins to leave out zero; 1 where one has no trials. The tails of score intervals are too short for a test
    where errors are few."""
    if not rate.n or not other.n:
        return 1.0
    sign = 1.0 if rate.value >= other.value else -1.0
    low, _ = linear_interval([(sign, rate), (-sign, other)], QUANTILES, exact=True)
    return 2.0 * NormalDist().cdf(-float(QUANTILES[low > 0.0].max(initial=0.0)))


def adjust_p_values(p_values: Sequence[float] | Floats) -> NDArray[np.float64]:
    """The false discovery rates at which each of several tests is a discovery.

    Source: Benjamini and Hochberg, JRSS B 57 (1995); holds for positively dependent tests.
    """
    values = np.asarray(p_values, float)
    order = np.argsort(values)
    scaled = values[order] * len(values) / np.arange(1, 1 + len(values))
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted


Comparison = Literal["more", "fewer", "even", "unknown"]


def compare_rates(pairs: Sequence[tuple[Rate, Rate]], level: float = 0.05) -> list[Comparison]:
    """Return each difference of a family of them in a word: "more" or "fewer" if it is a discovery at a false
    discovery rate of `level` and at least `LEAST_EVENTS` stand on either side of it; "unknown" if they do
    not, or if there are fewer in all, so that one event never decides."""
    adjusted = adjust_p_values([difference_p_value(*pair) for pair in pairs])
    words: list[Comparison] = []
    for (rate, other), p in zip(pairs, adjusted, strict=True):
        clean, others_clean = rate.reads - rate.errors, other.reads - other.errors
        if max(rate.errors, other.errors) < LEAST_EVENTS or not min(rate.reads, other.reads):
            words.append("unknown")
        elif p > level:
            words.append("even")
        elif rate.value > other.value:
            words.append("more" if min(rate.errors, others_clean) >= LEAST_EVENTS else "unknown")
        else:
            words.append("fewer" if min(other.errors, clean) >= LEAST_EVENTS else "unknown")
    return words


def compare_shares(successes: int, n: int, successes_other: int, n_other: int) -> Comparison:
    """`compare_rates` of two plain proportions."""
    return compare_rates([(Rate.of(successes, n), Rate.of(successes_other, n_other))])[0]


Partial = tuple[int, int, int]
"""Bounds of `n` trials of which some are undecided: least events, most events, n."""


def compare_partial(pairs: Sequence[tuple[Partial, Partial]]) -> list[Comparison]:
    """`compare_rates` of shares of which some trials are not decided: "more" or "fewer" only if it holds
    however they are."""
    more = compare_rates([(Rate.of(a[0], a[2]), Rate.of(b[1], b[2])) for a, b in pairs])
    fewer = compare_rates([(Rate.of(a[1], a[2]), Rate.of(b[0], b[2])) for a, b in pairs])
    words: list[Comparison] = []
    for up, down in zip(more, fewer, strict=True):
        same: Comparison = "even" if up == down == "even" else "unknown"
        words.append("more" if up == "more" else "fewer" if down == "fewer" else same)
    return words


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


def clopper_pearson_interval(successes: int, n: int) -> tuple[float, float]:
    """Exact two-sided 95 % interval of a proportion; the whole range for `n` of 0."""
    if n == 0:
        return 0.0, 1.0
    low = 1.0 - clopper_pearson_upper(n - successes, n, 0.975)
    return low, clopper_pearson_upper(successes, n, 0.975)


def count_effective(groups: Iterable[object]) -> float:
    """Returns the effective number of independent rows of these groups, if those of a group are all alike.

    Source: Kish 1965, squared sum of the sizes over the sum of their squares.
    """
    sizes = Counter(groups).values()
    return sum(sizes) ** 2 / max(1, sum(size**2 for size in sizes))


def effective_interval(share: float, n: float) -> tuple[float, float]:
    """Clopper and Pearson's 95 % interval of a share at an effective number of rows; both are rounded so that
    it is wider.

    Source: Korn and Graubard 1998.
    """
    whole = int(n + 1e-9)
    low, _ = clopper_pearson_interval(math.floor(share * whole + 1e-9), whole)
    return low, clopper_pearson_interval(math.ceil(share * whole - 1e-9), whole)[1]


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
