"""The contract: curves that recover the truth, thresholds that keep their promise."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
import pytest

from dialint.eval.contract import find_threshold, fit_contract, fit_platt


def test_platt_recovers_the_curve_that_made_the_data() -> None:
    random = np.random.default_rng(0)
    scores = random.normal(size=50_000)
    truth = random.random(50_000) < 1 / (1 + np.exp(-(2 * scores - 3)))
    assert fit_platt(truth, scores) == pytest.approx((2.0, -3.0), abs=0.08)


def test_the_threshold_keeps_its_promise_on_fresh_data() -> None:
    """Simulated scores: with confidence 0.9, at most one in ten contracts may break its rate."""
    random = np.random.default_rng(1)

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        truth = random.random(n) < 0.05
        return truth, random.normal(size=n) + 2.5 * truth

    broken = 0
    for _ in range(40):
        scan = fit_contract(*draw(3000), per_100=1.0)
        assert scan.contract is not None
        truth, scores = draw(60_000)
        clean = np.sort(scores[~truth])
        assert scan.slope > 0  # the probability grows with the score: search for the first that is flagged
        first = bisect_left(clean, scan.contract.threshold, key=scan.probability)
        broken += (len(clean) - first) / len(clean) > 0.01
    assert broken <= 8


def test_no_threshold_no_contract() -> None:
    random = np.random.default_rng(2)
    truth = np.arange(40) < 4
    assert find_threshold(truth, random.random(40), per_100=0.1, confidence=0.9) is None
    assert fit_contract(truth, random.random(40), per_100=0.1).contract is None


def test_the_threshold_by_hand() -> None:
    """1,000 clean scores at 0, 1 at 3: one accusation is bounded by 0.39 %, none by 0.23 %."""
    scores = np.concatenate((np.zeros(1000), [3.0], np.full(5, 4.0)))
    truth = np.arange(len(scores)) >= 1001
    assert find_threshold(truth, scores, per_100=0.4, confidence=0.9) == pytest.approx(0.05)
    assert find_threshold(truth, scores, per_100=0.3, confidence=0.9) == pytest.approx(3.05)
    assert find_threshold(truth, scores, per_100=0.2, confidence=0.9) is None


def test_nobody_is_accused_of_what_is_less_likely_than_not() -> None:
    random = np.random.default_rng(3)
    truth = random.random(20_000) < 0.01
    scan = fit_contract(truth, random.normal(size=20_000) + 2 * truth, per_100=20.0)
    assert scan.contract is not None
    assert scan.contract.threshold == pytest.approx(0.5)
