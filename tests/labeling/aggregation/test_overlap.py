"""Dynamic overlap: the oracle of the issue, and when asking ends."""

from __future__ import annotations

import numpy as np
import pytest

from dialint.detector.errors import ConfigError
from dialint.labeling.aggregation.adaptive_overlap import NextStep, OverlapConfig
from dialint.labeling.aggregation.joint_items import possible_votes
from dialint.labeling.aggregation.posterior import Components
from dialint.labeling.aggregation.question_posteriors import LOOKAHEAD, expected_gains


def test_when_asking_ends() -> None:
    config = OverlapConfig("p", sure=0.9)
    decisions = [config.decide(sure, n, 4) for sure, n in ((0.99, 1), (0.95, 2), (0.6, 3), (0.6, 4))]
    assert decisions == [NextStep.ASK, NextStep.STOP, NextStep.ASK, NextStep.GIVE_UP]


def item(chances: list[float], yes: list[float]) -> Components:
    """One item of two labels that may be of kinds in which a share `yes` says yes; yes is the truth where most
    do, and in a tie both are."""
    shares = np.array([[1 - x, x] for x in yes])
    label_probabilities = (shares == shares.max(axis=1, keepdims=True)).astype(float)
    return Components(
        np.array([chances], np.float32),
        shares,
        label_probabilities / label_probabilities.sum(axis=1, keepdims=True),
    )


def test_the_gain_of_answers_by_hand() -> None:
    """Yes has .6; people are right in .8. After a yes (.56) it has .857, after a no (.44) .273: right in
    .56 x .857 + .44 x .727 = .8, a gain of .2. Two agree or leave it as it was: .4 x .96 + .28 x .914
    + .32 x .6 = .832, so .116 for each, less than the first alone."""
    gains = expected_gains(item([0.4, 0.6], [0.2, 0.8]))[0]
    assert gains[0] == pytest.approx(0.2, abs=1e-6)
    assert (gains == gains[0]).all()
    assert len(gains) == LOOKAHEAD


def test_where_one_answer_cannot_turn_the_decision_several_may() -> None:
    """Yes has .9, people are right in .8: a no leaves yes at .69, two noes make it .36. So one gains nothing;
    two noes are right to turn it in .1 x .64 and wrong in .9 x .04."""
    gains = expected_gains(item([0.1, 0.9], [0.2, 0.8]))[0]
    assert gains[0] == pytest.approx(0, abs=1e-7)
    assert gains[1] == pytest.approx((0.1 * 0.64 - 0.9 * 0.04) / 2, abs=1e-6)


def test_gains_are_those_of_every_order_of_answers() -> None:
    """Written out answer by answer, over all sequences of three answers with three labels."""
    random = np.random.default_rng(0)
    shares, label_probabilities, responsibilities = (
        random.dirichlet(np.ones(k), n) for k, n in ((3, 4), (3, 4), (4, 2))
    )
    components = Components(responsibilities.astype(np.float32), shares, label_probabilities)
    for task in range(2):
        best = 0.0
        for n in (1, 2, 3):
            right = 0.0
            for labels in np.ndindex(*(3,) * n):
                joint = responsibilities[task] * np.prod([shares[:, label] for label in labels], axis=0)
                right += (joint @ label_probabilities).max()
            best = max(best, (right - (responsibilities[task] @ label_probabilities).max()) / n)
            assert expected_gains(components)[task, n - 1] == pytest.approx(best, abs=1e-6)
    assert possible_votes(2, 3).tolist() == [[2, 0, 0], [1, 1, 0], [1, 0, 1], [0, 2, 0], [0, 1, 1], [0, 0, 2]]


def test_a_moot_item_stops_early_and_one_merely_uncertain_goes_on() -> None:
    """Both have yes at .6. Of the moot one half of all people, more or less, say yes: nothing they say decides
    it. Of the other four in five agree on what is not known yet."""
    config = OverlapConfig("p", sure=0.95)
    moot, open_one = item([0.4, 0.6], [0.49, 0.51]), item([0.4, 0.6], [0.2, 0.8])
    for components, decision in ((moot, NextStep.GIVE_UP), (open_one, NextStep.ASK)):
        truth = components.responsibilities @ components.label_probabilities
        assert config.decide(float(truth.max()), 2, 11, expected_gains(components)[0]) is decision
        assert config.decide(float(truth.max()), 2, 11) is NextStep.ASK
    always = OverlapConfig("p", sure=0.95, gain=0.0)
    assert always.decide(0.6, 10, 11, expected_gains(moot)[0]) is NextStep.ASK
    assert config.decide(0.6, 1, 11, expected_gains(moot)[0]) is NextStep.ASK  # not before the minimum
    assert config.decide(0.6, 11, 11, expected_gains(open_one)[0]) is NextStep.GIVE_UP
    assert config.decide(0.96, 2, 11, expected_gains(open_one)[0]) is NextStep.STOP


def test_no_answer_is_asked_for_that_alone_decides_nothing() -> None:
    """At nine tenths one answer turns nothing, two could: with one left to ask for, asking ends."""
    config, gains = OverlapConfig("p", sure=0.95), expected_gains(item([0.1, 0.9], [0.2, 0.8]))[0]
    assert config.decide(0.9, 3, 5, gains) is NextStep.ASK
    assert config.decide(0.9, 4, 5, gains) is NextStep.GIVE_UP


@pytest.mark.parametrize("options", [{"minimum": -1}, {"sure": 0.3}, {"gain": -0.1}])
def test_a_rule_that_cannot_be_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        OverlapConfig("p", **options)  # type: ignore[arg-type]
