"""Agreement on spans, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dialint.labeling.raters.agreement import MarkedSpan, ReadText, soft_span_f1, unitised_alpha


def test_soft_f1_by_hand() -> None:
    """a's ten characters are covered by half, b's five wholly, b's other span not at all."""
    text = ReadText(40, {"a": [MarkedSpan(0, 10)], "b": [MarkedSpan(0, 5), MarkedSpan(20, 30)]})
    assert soft_span_f1([text]).value == pytest.approx((0.5 + 1 + 0) / 3)


def test_other_codes_do_not_cover() -> None:
    text = ReadText(40, {"a": [MarkedSpan(0, 10, "C1")], "b": [MarkedSpan(0, 10, "L1")]})
    assert soft_span_f1([text]).value == 0
    assert (
        soft_span_f1([ReadText(40, {"a": [MarkedSpan(0, 10, "C1")], "b": [MarkedSpan(0, 10, "C1")]})]).value
        == 1
    )
    assert np.isnan(soft_span_f1([ReadText(40, {"a": [], "b": []})]).value)


def test_unitised_alpha_by_hand() -> None:
    """Of ten characters nine agree; of twenty values eleven are none and nine the code."""
    text = ReadText(10, {"a": [MarkedSpan(0, 5)], "b": [MarkedSpan(0, 4)]})
    chance = 1 - (11**2 + 9**2) / 20**2
    assert unitised_alpha([text]).value == pytest.approx(1 - 0.1 / chance)


def test_unitised_alpha_of_equals_strangers_and_opposites() -> None:
    same = ReadText(
        20, {"a": [MarkedSpan(3, 9, "C1")], "b": [MarkedSpan(3, 9, "C1")], "c": [MarkedSpan(3, 9, "C1")]}
    )
    assert unitised_alpha([same]).value == pytest.approx(1)
    random = np.random.default_rng(0)
    apart = [
        ReadText(
            1000, {who: [MarkedSpan(int(x), int(x) + 5) for x in random.integers(0, 995, 60)] for who in "ab"}
        )
        for _ in range(40)
    ]
    found = unitised_alpha(apart)
    assert found.value == pytest.approx(0, abs=0.03)
    assert found.low < 0.01 < 0.05 + found.high
    split = ReadText(20, {"a": [MarkedSpan(0, 10)], "b": [MarkedSpan(10, 20)]})
    assert unitised_alpha([split]).value == pytest.approx(-1)


def test_one_reader_says_nothing_of_agreement() -> None:
    assert unitised_alpha([ReadText(10, {"a": [MarkedSpan(0, 5)]})]).n == 0


def test_no_code_hides_another() -> None:
    """Both mark all of it as B; one marks half of it as A as well, the other the other half. They agree on B
    wholly and on A nowhere: observed 20 of 20 characters twice read, by chance A at a half, B at none."""
    b = MarkedSpan(0, 20, "B")
    text = ReadText(20, {"a": [MarkedSpan(0, 10, "A"), b], "b": [MarkedSpan(10, 20, "A"), b]})
    assert unitised_alpha([text]).value == pytest.approx(1 - 1.0 / 0.5)
    assert unitised_alpha([ReadText(20, {"a": [b], "b": [b, MarkedSpan(0, 10, "A")]})]).value < 1
