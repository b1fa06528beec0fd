"""What follows from judged findings, by hand, and the file that holds it."""

from __future__ import annotations

import pytest
from tiny import spot_check as natural

from dialint.detector.overrides import Judged


def judged(right: int, wrong: int, stated: float = 0.0) -> Judged:
    return Judged(reported=100, right=right, arguable=0, wrong=wrong, stated=stated)


@pytest.mark.parametrize(
    ("right", "wrong", "advice"),
    [
        (0, 0, "too few judged"),
        (0, 5, "too few judged"),  # the interval ends at 1 - .025 ** (1/5) = .522
        (0, 6, "suggestion only"),  # and at .459
        (4, 3, "too few judged"),
        (6, 4, "suggestion only"),
        (7, 3, "keep"),
        (9, 0, "too few judged"),
    ],
)
def test_advice(right: int, wrong: int, advice: str) -> None:
    assert judged(right, wrong).advice == advice


def test_an_interval_by_hand() -> None:
    """None of six: 0 to 1 - .025 ** (1/6); an arguable one is not right."""
    assert judged(0, 6).interval == pytest.approx((0.0, 0.45926), abs=1e-5)
    assert Judged(reported=9, right=3, arguable=1, wrong=0, stated=1.0).precision == 0.75


def test_demoted_codes_say_why() -> None:
    made = natural(C1=judged(0, 6), T1=judged(9, 1), U2=judged(0, 0))
    assert made.demoted == {"C1": "spot check of 2026-11-23: right 0 of 6, 95 % 0.00 to 0.46"}
    assert made.summary == "spot check of 2026-11-23: 9 of 16 judged findings were right"


def test_codes_with_few_judgements_are_decided_together() -> None:
    """1 of 4, 1 of 4 and 3 of 3 are 5 of 11: under .7 with ten or more. The one that is right itself stays, and
    so do all where 7 of 10 of them are right together."""
    made = natural(C1=judged(1, 3), U2=judged(1, 3), V2=judged(3, 0), T1=judged(8, 2))
    assert [made.advice(code) for code in ("C1", "V2", "T1")] == ["suggestion only", "too few judged", "keep"]
    assert list(made.demoted) == ["C1", "U2"]
    assert "right 1 of 4, with other codes that are rare 5 of 11, 95 % 0.17 to 0.77" in made.demoted["C1"]
    assert not natural(C1=judged(1, 3), V2=judged(6, 0)).demoted


def test_probabilities_follow_what_was_measured() -> None:
    """9 right of 17 expected: (9 + 3) / (17 + 3) = .6 for a code not judged. One with 1 right of 9
    expected: (1 + 3 x .6) / (9 + 3) = 7/30. One with 8 right of 8: (8 + 1.8) / (8 + 3) = 98/110."""
    made = natural(C1=judged(1, 10, 9.0), T1=judged(8, 2, 8.0))
    assert made.calibrate("V2", "finding", 0.9) == pytest.approx(0.54)
    assert made.calibrate("C1", "finding", 0.9) == pytest.approx(0.21)
    assert made.calibrate("T1", "finding", 0.9) == pytest.approx(0.9 * 98 / 110)
    assert made.calibrate("T1", "suggestion", 0.9) == 0.9


def test_a_raised_probability_ends_at_the_interval() -> None:
    """20 of 20 right, 10 expected: the factor is (20 + 3 x 23/13) / 13 = 1.95, the interval ends at 1."""
    made = natural(T1=judged(20, 0, 10.0))
    assert made.calibrate("T1", "finding", 0.4) == pytest.approx(0.4 * (20 + 3 * 23 / 13) / 13)
    assert made.calibrate("T1", "finding", 0.9) == 1.0
    low = natural(T1=judged(2, 8, 0.5), C1=judged(9, 0, 1.0))
    assert low.calibrate("T1", "finding", 0.5) == pytest.approx(low.findings["T1"].interval[1])
