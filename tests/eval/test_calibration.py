"""The contract: curves that recover the truth, thresholds that keep their promise."""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np
import pytest

from dialint.detector.calibration import Contract, NaturalThreshold, Scan
from dialint.detector.records import Dialogue, Example, Label, Turn
from dialint.eval.calibration import (
    MIN_FLAGGED,
    choose_natural_thresholds,
    distinct_units,
    find_precise_threshold,
    find_threshold,
    fit_contract,
    fit_natural_curve,
    fit_platt,
    with_recall,
)

CONTRACT = Contract(
    threshold=0.9, false_accusations_per_100=0.15, confidence=0.9, recall=0.5, n_errors=50, n_clean=5000
)
ONE = ["one"] * 4500
"""All turns of one corpus."""


def test_platt_recovers_the_curve_that_made_the_data() -> None:
    random = np.random.default_rng(0)
    scores = random.normal(size=50_000)
    truth = random.random(50_000) < 1 / (1 + np.exp(-(2 * scores - 3)))
    assert fit_platt(truth, scores) == pytest.approx((2.0, -3.0), abs=0.08)


def test_calibration_learns_the_probability_that_labels_tell() -> None:
    random = np.random.default_rng(0)
    scores = random.normal(size=20_000)
    probability = 1 / (1 + np.exp(-(1.5 * scores - 1)))
    assert fit_platt(probability, scores) == pytest.approx((1.5, -1.0), abs=0.01)
    scan = fit_contract(probability, scores, per_100=5.0)
    assert scan.contract is not None
    assert scan.contract.n_errors == int((probability > 0.5).sum())


def test_units_of_different_labels_are_not_copies_of_one_another() -> None:
    turns = tuple(Turn(index=index, role="agent", text="again") for index in range(3))
    labels = tuple(
        Label(dialogue_id="a", turn=turn, code="T1", probability=p, method="m")
        for turn, p in enumerate((0.3, 0.3, 0.6))
    )
    soft = Example(dialogue=Dialogue(id="a", turns=turns), labels=labels, split="test")
    truth, scores, _ = distinct_units([{0: 1.0, 1: 2.0, 2: 3.0}], [soft], "T1", whole_dialogue=False)
    assert sorted(zip(truth.tolist(), scores.tolist(), strict=True)) == [(0.3, 2.0), (0.6, 3.0)]


@pytest.mark.slow
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


def test_a_threshold_for_precision_is_the_lowest_that_keeps_it() -> None:
    scores = np.array([5.0, 4.0, 3.0, 2.9, 2.8, 2.7, 2.0, 1.0, 0.0, -1.0])
    truth = np.array([1, 1, 1, 1, 1, 0, 1, 0, 0, 0], bool)
    assert find_precise_threshold(truth, scores, 0.75, ONE[:10]) == pytest.approx(1.05)  # 6 of 7, then 6 of 8
    threshold = find_precise_threshold(truth, scores, 0.7, ONE[:10])
    assert threshold == pytest.approx(0.05)  # (6 + 1) / 10, then 7 / 11
    assert find_precise_threshold(truth, scores, 0.95, ONE[:10]) is None
    assert find_precise_threshold(truth[:5], scores[:5], 0.5, ONE[:5]) is None  # fewer than MIN_FLAGGED


def test_a_threshold_holds_in_every_corpus() -> None:
    """Corpus b is wrong in all turns that score 2: with the others 26 of 32 are right from 1 on, in b none of
    six. Two corpora of three turns count together."""
    scores = np.repeat([3.0, 2.0, 1.0, 0.0], [20, 6, 6, 30])
    truth = np.repeat([True, False, True, False], [20, 6, 6, 30])
    assert find_precise_threshold(truth, scores, 0.75, ONE[:62]) == pytest.approx(0.05)
    for others in (["b"] * 6, ["b"] * 3 + ["c"] * 3):
        corpora = ["a"] * 20 + others + ["a"] * 36
        assert find_precise_threshold(truth, scores, 0.75, corpora) == pytest.approx(2.05)
    few = ["a"] * 20 + ["b"] * 3 + ["a"] * 39  # three turns of b show nothing
    assert find_precise_threshold(truth, scores, 0.75, few) == pytest.approx(0.05)


def test_recall_is_that_of_the_threshold_that_findings_need() -> None:
    contract = CONTRACT.model_copy(update={"threshold": 0.5})
    natural = NaturalThreshold(threshold=0.8, flagged=10, right=9, n_errors=20, n_turns=100)
    scan = Scan(slope=1.0, offset=0.0, contract=contract, natural=natural)
    truth, scores = np.array([1.0, 1.0, 1.0, 1.0, 0.0]), np.array([2.0, 1.0, 0.5, -1.0, 3.0])
    measured = with_recall(scan, truth, scores).contract  # .88 alone is over .8
    assert measured is not None
    assert measured.recall == 0.25
    assert with_recall(scan.model_copy(update={"contract": None}), truth, scores).contract is None


def test_natural_labels_set_curve_and_thresholds_and_keep_the_contracts_score() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random(4000) < 0.05).astype(float)
    scores = rng.normal(np.where(truth > 0, 2.0, -3.0), 1.5)
    injected = Scan(slope=2.0, offset=1.0, contract=CONTRACT.model_copy(update={"threshold": 0.99}))
    doubtful = np.concatenate((truth, np.full(500, 0.5))), np.concatenate((scores, np.full(500, 9.0)))
    scan = fit_natural_curve(injected, *doubtful)
    scan = choose_natural_thresholds(scan, *doubtful, precision=0.75, suggested=0.4, corpora=ONE[:4500])
    assert scan.natural is not None
    assert scan.contract is not None
    assert scan.natural.n_turns == 4000  # turns in doubt decide nothing
    assert scan.natural.n_errors == int(truth.sum())
    assert (scan.natural.right + 1) / (scan.natural.flagged + 2) >= 0.75
    p = np.array([scan.probability(score) for score in scores])
    assert scan.natural.flagged == int((p >= scan.natural.threshold).sum())
    score_before = (math.log(0.99 / 0.01) - 1.0) / 2.0
    assert scan.probability(score_before) == pytest.approx(scan.contract.threshold)
    assert abs(p.sum() - truth.sum()) < 0.1 * truth.sum()  # calibrated on these turns
    limit = max(scan.natural.threshold, scan.contract.threshold)
    assert scan.threshold == limit


@pytest.mark.parametrize(
    ("names", "accuses"), [(["a"], True), (["a/x", "a/y", "b"], False), (["a", "b", "c"], True)]
)
def test_what_one_corpus_shows_is_only_suggested_where_there_are_several(
    names: list[str], accuses: bool
) -> None:
    """Turns of the last corpus score low; errors stand in those before."""
    scores = np.concatenate((np.full(40, 3.0), np.full(400, -3.0)))
    truth = (scores > 0).astype(float)
    corpora = [names[n % max(1, len(names) - 1)] for n in range(40)] + [names[-1]] * 400
    curve = fit_natural_curve(None, truth, scores)
    scan = choose_natural_thresholds(curve, truth, scores, 0.9, 0.5, corpora)
    assert (scan.natural is not None) is accuses
    assert accuses or scan.suggest_at is not None


def test_with_few_natural_errors_the_curve_stays_as_it_was() -> None:
    scan = Scan(slope=1.0, offset=0.0, contract=None)
    truth, scores = np.array([1.0, *[0.0] * 50]), np.linspace(3, -3, 51)
    assert fit_natural_curve(scan, truth, scores) is scan
    assert choose_natural_thresholds(scan, truth, scores, 0.75, 0.4, ONE[:51]) is scan
    with pytest.raises(ValueError, match="too few"):
        fit_natural_curve(None, truth, scores)


def test_a_code_without_a_precise_threshold_makes_no_findings() -> None:
    rng = np.random.default_rng(1)
    truth = (rng.random(2000) < 0.05).astype(float)
    scores = rng.normal(size=2000)
    curve = fit_natural_curve(None, truth, scores)
    scan = choose_natural_thresholds(curve, truth, scores, 0.75, 0.4, ONE[:2000])
    assert (scan.natural, scan.contract, scan.suggest_at) == (None, None, None)
    assert scan.threshold is None


@pytest.mark.parametrize(("n_passing", "keeps"), [(MIN_FLAGGED - 1, True), (MIN_FLAGGED, False)])
def test_a_contract_falls_only_where_real_dialogues_speak_against_it(n_passing: int, keeps: bool) -> None:
    scan = Scan(slope=1.0, offset=0.0, contract=CONTRACT)
    truth = np.array([0.0] * n_passing + [1.0] * 10 + [0.0] * 100)
    scores = np.array([5.0] * n_passing + [-5.0] * 10 + [-6.0] * 100)
    corpora = ONE[: len(truth)]
    chosen = choose_natural_thresholds(scan, truth, scores, 0.75, 0.7, corpora)
    assert (chosen.contract is not None) is keeps
    assert chosen.natural is None
