"""Intervals against closed forms and figures computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dialint.detector.statistics import (
    Rate,
    bootstrap_counts,
    bootstrap_estimate,
    clopper_pearson_upper,
    compare_shares,
    e_values_of_loss,
    grouped_sum,
    linear_interval,
    percentile_interval,
    ratio,
    round_interval,
    wilson_interval,
)


def test_counts_begin_with_the_sample_itself() -> None:
    counts = bootstrap_counts(4, 3)
    assert counts.shape == (4, 4)
    assert counts[0].tolist() == [1, 1, 1, 1]
    assert counts.sum(axis=1).tolist() == [4, 4, 4, 4]
    assert bootstrap_counts(0, 5).shape == (6, 0)
    assert bootstrap_counts(9, 5, seed=1).tolist() == bootstrap_counts(9, 5, seed=1).tolist()


def test_what_is_undefined_is_nan_not_zero() -> None:
    assert np.isnan(ratio(np.ones(2), np.array([0.0, 1e-15]))).all()
    assert np.isnan(percentile_interval(np.array([1.0]))).all()
    assert percentile_interval(np.array([9.0, np.nan, 1.0])) == (1.0, 1.0)
    nothing = bootstrap_estimate(np.zeros((3, 2)), lambda sums: sums[:, 0])
    assert nothing.n == 0
    assert np.isnan([nothing.value, nothing.low, nothing.high]).all()


def test_intervals_are_as_wide_as_they_should_be() -> None:
    """The mean of 400 coins: 1.96 standard errors of 0.025 either way."""
    coins = (np.random.default_rng(0).random(400) < 0.5).astype(float)
    rows = np.column_stack([coins, np.ones(400)])
    estimate = bootstrap_estimate(rows, lambda sums: ratio(sums[:, 0], sums[:, 1]), rounds=4000)
    assert estimate.high - estimate.low == pytest.approx(2 * 1.96 * 0.025, rel=0.08)
    assert estimate.value == coins.mean()

    counts = bootstrap_counts(400, 4000)
    each = np.arange(400)
    rounds = ratio(grouped_sum(counts, coins, each), grouped_sum(counts, np.ones(400), each))
    assert percentile_interval(rounds) == pytest.approx((estimate.low, estimate.high), abs=0.005)


def test_wilson_by_hand() -> None:
    """8 of 10: centre 0.8 + 3.8415/20 = 0.99207; half width 1.96 sqrt(0.016 + 3.8415/400) = 0.31356; all
    over 1.38415 gives 0.4902. None of n gives 0, all of 10: 1 / 1.38415 = 0.7225."""
    assert wilson_interval(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson_interval(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)
    assert wilson_interval(0, 7)[0] == pytest.approx(0.0, abs=1e-12)
    assert wilson_interval(0, 0) == (0.0, 1.0)


def test_the_difference_of_two_proportions_as_published() -> None:
    """Newcombe 1998, table II, method 10: 56/70 - 48/80, 10/10 - 0/20."""
    for mine, other, expected in (
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((10, 10), (0, 20), (0.6791, 1.0)),
    ):
        terms = [(1.0, Rate.of(*mine)), (-1.0, Rate.of(*other))]
        assert linear_interval(terms) == pytest.approx(expected, abs=5e-5)
    assert np.isnan(linear_interval([(1.0, Rate.of(0, 0)), (-1.0, Rate.of(3, 4))])).all()


def test_the_bound_of_no_hits_is_known_in_closed_form() -> None:
    assert clopper_pearson_upper(0, 100, 0.95) == pytest.approx(1 - 0.05 ** (1 / 100), abs=1e-9)
    assert clopper_pearson_upper(10, 10, 0.95) == 1.0


def test_the_bound_by_its_definition() -> None:
    """At the bound, seeing this few hits or fewer has probability 1 - confidence."""
    bound = clopper_pearson_upper(3, 50, 0.9)
    random = np.random.default_rng(0)
    assert np.mean(random.binomial(50, bound, 200_000) <= 3) == pytest.approx(0.1, abs=0.003)


@pytest.mark.parametrize(
    ("mine", "others", "expected"),
    [
        ((1, 21), (0, 200), "unknown"),  # the interval leaves out zero, by one event
        ((2, 8), (0, 500), "unknown"),
        ((1, 1), (0, 30), "unknown"),
        ((0, 1), (30, 30), "unknown"),
        ((6, 21), (2, 200), "more"),
        ((0, 60), (80, 400), "fewer"),
        ((5, 20), (30, 100), "even"),
        ((0, 0), (9, 100), "unknown"),  # nothing to compare
        ((0, 50), (0, 50), "unknown"),
    ],
)
def test_no_single_event_tells_two_shares_apart(
    mine: tuple[int, int], others: tuple[int, int], expected: str
) -> None:
    assert compare_shares(*mine, *others) == expected


@pytest.mark.parametrize("share", [0.0, 1.0])
@pytest.mark.parametrize(("n", "limits"), [(2, (0.0, 1.0)), (40, (0.0, 1.0)), (12, (-1.0, 1.0))])
def test_no_interval_of_a_share_is_without_width(share: float, n: int, limits: tuple[float, float]) -> None:
    """All groups agree, so every round of the bootstrap does: the interval is Wilson's, between the limits."""
    value = limits[0] + share * (limits[1] - limits[0])
    low, high = (limits[0] + end * (limits[1] - limits[0]) for end in wilson_interval(share * n, n))
    rounds = percentile_interval(np.full(200, value), n, limits)
    rows = np.column_stack([np.full(n, value), np.ones(n)])
    estimate = bootstrap_estimate(rows, lambda sums: ratio(sums[:, 0], sums[:, 1]), limits=limits)
    assert rounds == pytest.approx((low, high))
    assert (estimate.low, estimate.high) == pytest.approx((low, high))
    assert high - low > 0.08
    unknown = bootstrap_estimate(rows, lambda sums: ratio(sums[:, 0], sums[:, 1]))
    assert np.isnan([unknown.low, unknown.high]).all(), "of a figure without limits nothing is known"


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        ((0.9981, 1.0), (0.99, 1.0)), ((0.0, 0.0019), (0.0, 0.01)), ((0.501, 0.502), (0.5, 0.51)),
        ((0.163, 0.514), (0.16, 0.51)), ((1.0, 1.0), (1.0, 1.0)),
    ],
)  # fmt: skip
def test_rounding_keeps_the_width_of_an_interval(
    interval: tuple[float, float], expected: tuple[float, float]
) -> None:
    assert round_interval(*interval, 2) == expected


def test_a_null_change_is_blocked_at_most_alpha_of_the_time() -> None:
    """However often it is looked at: 2,000 changes without a difference, 300 dialogues each."""
    rng = np.random.default_rng(1)
    null = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], (2000, 300), p=[0.1, 0.1, 0.6, 0.1, 0.1])
    blocked = np.mean([e_values_of_loss(row).max() >= 20 for row in null])
    assert blocked <= 0.05
    assert np.mean([e_values_of_loss(row - 0.2).max() >= 20 for row in np.clip(null, -0.8, 1)[:100]]) > 0.9
    assert e_values_of_loss(np.zeros(5)).tolist() == [1.0] * 5
