"""Figures by hand, and when none is given."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dialint.labeling.raters.estimates import Figure, Speed, mean_difference, proportion, quartiles


def test_too_few_answers_give_no_figure() -> None:
    """3 of 3 leave 0.44 to 1; 4 of 4 leave 0.51 to 1."""
    assert proportion(8, 10).value == 0.8
    assert proportion(3, 3) == Figure(3)
    assert proportion(4, 4).low == pytest.approx(0.5101, abs=1e-4)
    assert proportion(0, 0) == Figure(0)
    assert mean_difference(np.array([0.1, 0.2, 0.1, 0.2])) == Figure(4)
    assert mean_difference(np.array([-1.0, 1, -1, 1, -1, 1])) == Figure(6)
    assert quartiles([1.0] * 4) == Speed(4)


def test_a_mean_has_students_interval() -> None:
    """0.1 to 0.5: mean 0.3, deviation sqrt(0.025), t of 4 degrees 2.776."""
    figure = mean_difference(np.array([0.1, 0.2, 0.3, 0.4, 0.5]))
    half = 2.776445 * math.sqrt(0.025) / math.sqrt(5)
    assert (figure.value, figure.low, figure.high) == pytest.approx((0.3, 0.3 - half, 0.3 + half))


def test_quartiles() -> None:
    assert quartiles([5.0, 1.0, 2.0, 3.0, 4.0]) == Speed(5, 3.0, 2.0, 4.0)
