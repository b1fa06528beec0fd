"""Each term of a reading's reward by hand, and what no answer can change."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from made_questions import CODES, EVIDENCE, SPAN, TEXT, TURNS, error, honest, question, truth, written

from dialint.detector.errors import ConfigError
from dialint.detector.judge.reading import ReadError, Reading
from dialint.eval.labelled import f_beta
from dialint.finetune.rewards.verifiable import (
    BELIEF_WEIGHT,
    FORM_WEIGHT,
    RewardWeights,
    compute_reward,
    count_distribution,
    count_faults,
    expected_f_score,
    false_cost,
    squared_error,
    standardize,
)

WEIGHTS = RewardWeights(ratio=2.0)
SHARES = st.floats(0.0, 1.0)
RATIOS = st.floats(1.0, 50.0)
ERRORS = st.builds(
    error,
    turn=st.sampled_from(list(TURNS)),
    code=st.sampled_from(list(CODES)),
    probability=st.sampled_from([0.0, 0.1, 0.3, 0.49, 0.5, 0.83, 1.0]),
    quote=st.sampled_from([EVIDENCE, TEXT, "Thank you", "Never said."]),
    severity=st.sampled_from(["S1", "S2", "S3"]),
)
LISTS = st.lists(ERRORS, max_size=5)
TRUTHS = st.lists(
    st.builds(truth, st.sampled_from(list(TURNS)), st.sampled_from(list(CODES)), SHARES),
    max_size=3,
    unique_by=lambda each: (each.turn, each.code),
)


def terms(*errors: ReadError, truths: tuple = (), ratio: float = 2.0) -> dict[str, float]:
    return compute_reward(written(*errors), question(*truths), RewardWeights(ratio=ratio)).terms


def total(errors: list[ReadError], truths: list, ratio: float = 2.0) -> float:
    return compute_reward(written(*errors), question(*truths), RewardWeights(ratio=ratio)).total


def test_what_is_right_and_complete_gets_one() -> None:
    both = (truth(1), truth(3, "V2"))
    assert terms(*honest(both), truths=both) == pytest.approx(
        {"f_score": 1, "evidence": 0, "false_accusations": 0, "belief": 0, "form": 0, "preference": 0}
    )
    assert terms() == terms(*honest(both), truths=both)  # nothing to find, and nothing listed


def test_a_miss_and_a_false_accusation_by_hand() -> None:
    """Two errors, one found, one named that is none: F0.5 = 1.25 / (2 + .25 * 2)."""
    got = terms(error(1), error(5), truths=(truth(1), truth(3)), ratio=3.0)
    assert got["f_score"] == pytest.approx(0.5)
    assert got["false_accusations"] == pytest.approx(-2.0)
    assert got["belief"] == pytest.approx(-2 * BELIEF_WEIGHT)
    missed = terms(truths=(truth(1), truth(3)))
    assert missed == pytest.approx({**dict.fromkeys(got, 0.0), "belief": -2 * BELIEF_WEIGHT})


def test_labels_hold_by_their_posterior() -> None:
    """An expectation over what the label can be, with no error (1 where nothing is listed) and with one."""
    got = terms(error(1, probability=0.8), truths=(truth(1, probability=0.8),), ratio=3.0)
    assert (got["f_score"], got["false_accusations"]) == (pytest.approx(0.8), pytest.approx(-0.2 * 2))
    assert terms(truths=(truth(1, probability=0.8),))["f_score"] == pytest.approx(0.2)


@given(st.lists(SHARES, max_size=4), st.lists(SHARES, max_size=4))
def test_the_expected_score_is_that_over_all_outcomes(hits: list[float], misses: list[float]) -> None:
    expected = 0.0
    for outcome in range(2 ** (len(hits) + len(misses))):
        holds = [outcome >> place & 1 for place in range(len(hits) + len(misses))]
        share = 1.0
        for probability, held in zip([*hits, *misses], holds, strict=True):
            share *= probability if held else 1 - probability
        expected += share * f_beta(sum(holds[: len(hits)]), len(hits), sum(holds))
    got = expected_f_score(count_distribution(hits), count_distribution(misses))
    assert got == pytest.approx(expected)


def test_the_cost_of_false_accusations_rises_to_a_floor() -> None:
    """Beside F0.5, which has one missed error of it: one costs the ratio, all others as much together."""
    costs = [false_cost(n, 3.0) for n in range(61)]
    assert costs[:3] == pytest.approx([0.0, 2.0, 3.0])
    assert costs == sorted(set(costs))
    assert costs[-1] < 5.0 == false_cost(float("inf"), 3.0)


@given(SHARES, RATIOS)
def test_accusing_pays_exactly_above_the_threshold(probability: float, ratio: float) -> None:
    """In a dialogue with one possible error, by the terms that count errors."""
    counted = ("f_score", "false_accusations")
    listed, unlisted = (
        terms(*errors, truths=(truth(probability=probability),), ratio=ratio)
        for errors in ([error(probability=0.5)], [error(probability=0.49)])
    )
    gain = sum(listed[name] - unlisted[name] for name in counted)
    assert gain == pytest.approx(probability - (1 - probability) * ratio, abs=1e-9)


def test_only_what_would_be_a_finding_is_an_accusation() -> None:
    for dead in (error(3, probability=0.49), error(3, quote="Never said.")):
        got = terms(dead)
        assert (got["f_score"], got["false_accusations"]) == (1.0, 0.0)
        assert got["belief"] < 0
    assert terms(error(1, quote="Thank you"), truths=(truth(1),))["f_score"] == 0.0  # beside the evidence


def test_a_wrong_severity_and_a_wide_quote_cost_a_share_of_the_hit() -> None:
    other = next(each for each in ("S1", "S2", "S3") if each != CODES["T1"].severity)
    assert terms(error(severity=other), truths=(truth(),))["evidence"] == pytest.approx(-0.1)
    length = SPAN[1] - SPAN[0]
    f1 = 2 * length / (length + len(TEXT))
    assert terms(error(quote=TEXT), truths=(truth(),))["evidence"] == pytest.approx(-0.1 * (1 - f1))
    half = terms(error(severity=other), truths=(truth(), truth(3)))
    assert half["evidence"] == pytest.approx(-0.1 * half["f_score"])


def test_squared_errors_by_hand() -> None:
    """Of what is listed and right, listed and wrong, and not listed: (1 - .7)^2, .4^2, .6^2."""
    reading = compute_reward(
        written(error(1, probability=0.7), error(5, probability=0.4)), question(truth(1)), WEIGHTS
    ).reading
    assert reading is not None
    truths = (truth(1), truth(3, probability=0.6))
    assert squared_error(reading, truths) == pytest.approx(0.09 + 0.16 + 0.36)


@given(SHARES, SHARES)
def test_the_honest_probability_pays_most_over_hard_and_soft_labels(right: float, stated: float) -> None:
    def loss(stated: float, holds: float) -> float:
        entry = error(probability=stated, start=SPAN[0], end=SPAN[1])
        return squared_error(Reading(errors=(entry,)), [truth(probability=holds)])

    def expected(stated: float) -> float:
        return right * loss(stated, 1.0) + (1 - right) * loss(stated, 0.0)

    assert loss(right, right) == 0
    assert expected(stated) - expected(right) == pytest.approx((stated - right) ** 2, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (written(error()), 0),
        (f" {written(error())}\n", 0),
        (written(error(3), notes="n" * 999), 0),
        (f"Here it is: {written(error())}", 1),
        (f"```json\n{written(error())}\n```", 1),
        (written(error()).replace('":', '": '), 1),
        (written(error()).replace('"notes":"",', ""), 1),
        (written(error()).replace('"clause":"none"', '"clause":"4.2"'), 1),
        (written(error()).replace("blames", "\\u0062lames"), 0),  # as tokenizers spell control tokens
        (written(error(quote="Never said.")), 1),
        (written(error(), error(quote="You should")), 1),
        (written(error(), error(quote="Thank you")), 0),
        (written(error(probability=0.29)), 1),
        (written(error(), notes="n" * 2500), 2),
        (written(error(reason="r" * 500)), 1),
    ],
)  # fmt: skip
def test_faults_of_form(text: str, faults: int) -> None:
    got = compute_reward(text, question(truth()), WEIGHTS)
    assert got.reading is not None
    assert count_faults(text, got.reading) == faults
    assert got.terms["form"] == pytest.approx(-FORM_WEIGHT * faults / (1 + faults))


@given(LISTS, TRUTHS, RATIOS, st.none() | st.floats(-1, 1))
def test_what_cannot_be_read_gets_less_than_all_that_can(
    errors: list[ReadError], truths: list, ratio: float, preference: float | None
) -> None:
    weights, item = RewardWeights(ratio=ratio), question(*truths)
    text = written(*errors)
    got = compute_reward(text, item, weights, preference)
    unusable = written(*errors, error()).replace('"turn":1', '"turn":2')
    broken = [compute_reward(each, item, weights, preference) for each in (unusable, "", text[:-1], "[1]")]
    for worst in broken:
        assert worst.reading is None
        assert worst.terms.keys() == got.terms.keys()
        assert worst.total < got.total
    assert broken[0].total > broken[1].total  # nearer to what can be read


@given(LISTS, TRUTHS, RATIOS)
def test_all_terms_but_the_score_are_costs_and_no_list_beats_the_labels(
    errors: list[ReadError], truths: list, ratio: float
) -> None:
    """For certain posteriors, so that accusing pays."""
    assume(all(each.probability in (0.0, 1.0) for each in truths))
    got = compute_reward(written(*errors), question(*truths), RewardWeights(ratio=ratio))
    assert 0 <= got.terms["f_score"] <= 1
    assert all(value <= 1e-12 for name, value in got.terms.items() if name != "f_score")
    assert got.total <= total(honest(truths), truths, ratio) + 1e-12


@given(LISTS, TRUTHS, RATIOS, st.sampled_from([0.3, 0.49, 0.5, 1.0]))
def test_one_more_that_is_wrong_never_pays(
    errors: list[ReadError], truths: list, ratio: float, probability: float
) -> None:
    used = {(each.turn, each.code) for each in (*errors, *truths)}
    free = next((turn, code) for turn in TURNS for code in CODES if (turn, code) not in used)
    assert total([*errors, error(*free, probability)], truths, ratio) <= total(errors, truths, ratio)


def test_a_score_is_standardized_and_clipped() -> None:
    assert standardize(2.0, 1.0, 2.0) == pytest.approx(1 / 6)
    assert (standardize(1e6, 1.0, 2.0), standardize(-1e6, 1.0, 2.0)) == (1.0, -1.0)


@pytest.mark.parametrize(("score", "spread"), [(float("nan"), 1.0), (float("inf"), 1.0), (0.0, 0.0)])
def test_a_broken_reward_model_is_no_bad_answer(score: float, spread: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        standardize(score, 0.0, spread)


@pytest.mark.parametrize("wrong", [{"ratio": 0.5}, {"ratio": float("inf")}, {"preference_weight": -1.0}])
def test_weights_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="E_OPTION"):
        RewardWeights(**wrong)
