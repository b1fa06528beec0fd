"""Dynamic overlap: the oracle of the issue, and when asking ends."""

from __future__ import annotations

import numpy as np
import pytest

from detector.errors import ConfigError
from labeling.truth.overlap import Decision, OverlapRule, asked, decisions, one_coin_truth
from labeling.truth.posterior import Posterior


@pytest.mark.parametrize(
    ("given", "skills", "winner", "expected"),
    [
        ((0, 0), (0.7, 0.9), 0, 0.977),
        ((0, 1), (0.7, 0.9), 1, 0.761),
        ((0, 1, 1), (0.7, 0.9, 0.8), 1, 0.962),
    ],
)
def test_three_options(
    given: tuple[int, ...], skills: tuple[float, ...], winner: int, expected: float
) -> None:
    """A wrong answer falls on each of the two others alike: agreeing, 0.7 x 0.9 against twice
    0.15 x 0.05; disagreeing, 0.15 x 0.9 against 0.7 x 0.05 and 0.15 x 0.05; and so on."""
    truth = one_coin_truth(given, skills, 3)
    assert truth.argmax() == winner
    assert truth.max() == pytest.approx(expected, abs=0.001)


def test_a_prior_is_one_more_source() -> None:
    """Prior odds 9 to 1 against, skill 0.9 for: even."""
    assert one_coin_truth([1], [0.9], 2, np.array([0.9, 0.1])) == pytest.approx([0.5, 0.5])
    assert one_coin_truth([], [], 2, np.array([0.9, 0.1])) == pytest.approx([0.9, 0.1])


def test_nobody_is_infallible() -> None:
    truth = one_coin_truth([0, 1], [1.0, 1.0], 2)
    assert truth == pytest.approx([0.5, 0.5])


def test_when_asking_ends() -> None:
    rule = OverlapRule(minimum=2, maximum=4, sure=0.9)
    shares = np.array([[0.99, 0.01], [0.95, 0.05], [0.6, 0.4], [0.6, 0.4]])
    found = decisions(Posterior(shares, shares), np.array([1, 2, 3, 4]), rule)
    assert found == (Decision.ASK, Decision.STOP, Decision.ASK, Decision.GIVE_UP)


def test_people_are_asked_until_it_is_sure() -> None:
    rule = OverlapRule(minimum=1, maximum=5, sure=0.95)
    skills = [0.7, 0.9, 0.8, 0.8, 0.8]
    assert asked([0, 0, 1, 1, 1], skills, 3, rule)[1] == 2
    truth, count = asked([0, 1, 1, 1, 1], skills, 3, rule)
    assert count == 3
    assert truth.argmax() == 1
    assert asked([0, 1, 0, 1, 2], [0.5] * 5, 3, rule)[1] == 5
    assert asked([0, 0], skills, 3, OverlapRule(minimum=0, sure=0.9), np.array([0.98, 0.01, 0.01]))[1] == 0


@pytest.mark.parametrize("options", [{"minimum": 6}, {"sure": 0.3}, {"minimum": 0, "maximum": 0}])
def test_a_rule_that_cannot_be_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        OverlapRule(**options)  # type: ignore[arg-type]
