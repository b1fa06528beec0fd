"""The exam of a judge against figures computed by hand, rows that were really drawn again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from dialint.detector.statistics import bootstrap_counts
from dialint.eval.figures import ranking_figures
from dialint.eval.judge_metrics import JudgeResult, judge_difference, judge_figures, summarize_judge
from dialint.eval.metrics import calibration_error

TURNS = {"a": 4, "a~1": 4, "b": 2, "c": 10}


def result(
    dialogue: str = "a", truth: float = 1.0, verdict: Any = "error", stated: float | None = 0.9, **parts: Any
) -> JudgeResult:
    return JudgeResult.model_validate(
        {"dialogue": dialogue, "turn": 1, "code": "T1", "truth": truth, "verdict": verdict, "probability": stated,
         "verbatim": verdict == "error", "length": 10, **parts}
    )  # fmt: skip


ROWS = [
    result("a", 1.0, "error", 0.9, overlap=0.5, quoted=0.2, length=40),
    result("a~1", 0.0, "error", 0.7, weight=2.0, overlap=1.0, quoted=0.8, length=20),
    result("b", 0.6, "no_error", 0.3, length=10),
    result("b", 0.4, "not_applicable", 0.1, weight=3.0, length=10),
    result("c", 1.0, "error", 0.8, verbatim=False, length=30),
    result("c", 0.0, None, None, length=100),
]


def sample(rows: list[JudgeResult], turns: dict[str, int] = TURNS) -> dict[str, float]:
    return {name: float(values[0]) for name, values in judge_figures(rows, turns, rounds=0).items()}


def test_decisions_by_hand() -> None:
    """Errors are rows 0, 2 and 4; accused are 0 and 1, of weight 1 and 2: 4 is dead, 5 accuses nobody."""
    found = sample(ROWS)
    assert found["precision"] == pytest.approx(1 / 3)
    assert found["recall"] == pytest.approx(1 / 3)
    assert found["f1"] == pytest.approx(2 * 1 / (3 + 3))
    assert found["false_accusations_per_100_turns"] == pytest.approx(100 * 2 / 20)
    assert found["accused"] == pytest.approx(3 / 9)
    assert found["readable"] == pytest.approx(8 / 9)
    assert found["verbatim"] == pytest.approx(3 / 4)
    assert found["quote_overlap"] == pytest.approx(0.5)
    assert found["quoted"] == pytest.approx((0.2 + 2 * 0.8) / 3)
    assert found["length"] == pytest.approx((40 + 40 + 10 + 30 + 30 + 100) / 9)


def test_beliefs_by_hand() -> None:
    """The unreadable answer counts as 0. Ranked .9 (error), .8 (error), .7 (2 clean), .3 (error), ..."""
    found = sample(ROWS)
    squares = 0.01 + 2 * 0.49 + 0.09 + 3 * 0.09 + 0.04 + 0.0
    assert found["brier"] == pytest.approx(squares / 9)
    assert found["average_precision"] == pytest.approx((1 + 1 + 3 / 5) / 3)
    gaps = 0.1 + 2 * 0.7 + 0.3 + 3 * 0.3 + 0.2 + 0.0
    assert found["calibration_error"] == pytest.approx(gaps / 9)


def test_the_tokens_probability_is_judged_where_there_is_one() -> None:
    assert np.isnan(sample(ROWS)["token_brier"])
    assert np.isnan(sample(ROWS)["token_average_precision"])
    assert np.isnan(sample(ROWS)["token_calibration_error"])
    rows = [
        row.model_copy(update={"token_probability": p})
        for row, p in zip(ROWS, (0.5, 0.6, None, 0.4, 0.9, None), strict=True)
    ]
    found = sample(rows)
    assert found["token_brier"] == pytest.approx((0.25 + 2 * 0.36 + 0 + 0.01) / 7)
    assert found["token_average_precision"] == pytest.approx((1 + 2 / 4) / 2)
    assert found["token_calibration_error"] == pytest.approx((0.5 + 2 * 0.6 + 0 + 0.1) / 7)
    assert found["brier"] == sample(ROWS)["brier"]


def test_recall_at_one_false_accusation_of_100_turns_by_hand() -> None:
    """Of 200 turns 2 may be falsely accused. Down the ranking: an error; a false one of weight 2; an error
    and a false one that no threshold parts; an error."""
    rows = [
        result(truth=1.0, stated=0.9),
        result(truth=0.0, stated=0.8, weight=2.0),
        result(truth=1.0, stated=0.7, weight=3.0),
        result(truth=0.0, stated=0.7),
        result(truth=1.0, stated=0.2),
    ]
    assert sample(rows, {"a": 200})["recall_at_1_false"] == pytest.approx(1 / 5)
    assert sample(rows, {"a": 300})["recall_at_1_false"] == pytest.approx(1.0)
    assert sample(rows, {"a": 199})["recall_at_1_false"] == pytest.approx(1 / 5)
    assert sample(rows[1:], {"a": 199})["recall_at_1_false"] == 0.0
    assert np.isnan(sample(rows[1:2])["recall_at_1_false"])
    believed = [
        row.model_copy(update={"token_probability": p})
        for row, p in zip(rows, (0.1, 0.2, 0.3, None, 0.4), strict=True)
    ]
    assert sample(believed, {"a": 100})["token_recall_at_1_false"] == pytest.approx(4 / 5)
    assert np.isnan(sample(rows)["token_recall_at_1_false"])


def test_one_stated_probability_is_one_bin_whatever_the_order() -> None:
    """Half of what is stated as 0.5 is an error, so nothing is wrong; equal counts would cut it in bins."""
    rows = [result(truth=1.0, stated=0.5)] * 20 + [result(truth=0.0, stated=0.5)] * 20
    assert sample(rows)["calibration_error"] == pytest.approx(0.0)


def test_few_stated_probabilities_are_bins_of_their_own() -> None:
    """Fourteen values, each off by a tenth, up and down in turn: in a common bin they would cancel. One has
    nearly all the weight."""
    steps = [0.1 + 0.06 * step for step in range(14)]
    rows = [
        result(truth=p + (0.1 if n % 2 else -0.1), stated=p, weight=90.0 if not n else 1.0)
        for n, p in enumerate(steps)
    ]
    assert sample(rows)["calibration_error"] == pytest.approx(0.1)


def test_many_stated_probabilities_are_binned_by_equal_weight() -> None:
    random = np.random.default_rng(3)
    stated = random.permutation(np.linspace(0.01, 0.99, 300))
    truth = random.random(300) < stated**2
    rows = [result(truth=float(t), stated=float(p)) for t, p in zip(truth, stated, strict=True)]
    assert sample(rows)["calibration_error"] == pytest.approx(calibration_error(truth, stated))


def test_weighted_average_precision_is_that_of_scikit_learn() -> None:
    random = np.random.default_rng(4)
    truth, weights = random.random(200) < 0.2, random.random(200) + 0.1
    scores, groups = np.round(random.random(200) + 0.3 * truth, 1), random.integers(0, 20, 200)
    counts = bootstrap_counts(20, 5)
    found = ranking_figures(truth, scores, groups, counts, weights)["average_precision"]
    for row in range(6):
        expected = average_precision_score(truth, scores, sample_weight=weights * counts[row][groups])
        assert found[row] == pytest.approx(expected)


def test_a_round_is_what_the_drawn_dialogues_would_give() -> None:
    """Source dialogues a (with its twin), b and c, each as often as it was drawn."""
    drawn = judge_figures(ROWS, TURNS, rounds=6, seed=2)
    for place, draw in enumerate(bootstrap_counts(3, 6, seed=2)):
        times = dict(zip("abc", draw.tolist(), strict=True))
        rows = [row for row in ROWS for _ in range(times[row.dialogue[0]])]
        turns = {name: TURNS[name] * times[name[0]] for name in TURNS}
        again = {name: float(values[0]) for name, values in judge_figures(rows, turns, rounds=0).items()}
        for name, values in drawn.items():
            assert values[place] == pytest.approx(again[name], nan_ok=True), name


RULINGS = st.lists(
    st.builds(
        result,
        dialogue=st.sampled_from(list(TURNS)),
        truth=st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]),
        verdict=st.sampled_from(["error", "no_error", "not_applicable", None]),
        stated=st.sampled_from([0.02, 0.5, 0.9]),
        token_probability=st.sampled_from([None, 0.1, 0.4, 0.8]),
        verbatim=st.booleans(),
        overlap=st.sampled_from([None, 0.0, 0.5]),
        quoted=st.sampled_from([None, 0.1, 1.0]),
        length=st.integers(0, 50),
    ),
    min_size=1,
    max_size=12,
)


@given(RULINGS, st.data())
def test_a_weight_of_two_is_two_questions_and_order_says_nothing(
    rows: list[JudgeResult], data: st.DataObject
) -> None:
    twice = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    heavy = [row.model_copy(update={"weight": 1.0 + two}) for row, two in zip(rows, twice, strict=True)]
    again = data.draw(
        st.permutations([row for row, two in zip(rows, twice, strict=True) for _ in range(1 + two)])
    )
    one, other = judge_figures(heavy, TURNS, rounds=3), judge_figures(again, TURNS, rounds=3)
    for name, values in one.items():
        assert values == pytest.approx(other[name], nan_ok=True), name


def test_a_report_has_intervals_and_what_it_is_made_of() -> None:
    report = summarize_judge(ROWS, TURNS, rounds=20)
    made_of = {
        name: report[name]
        for name in ("questions", "errors", "accusations", "source_dialogues", "agent_turns")
    }
    assert made_of == {
        "questions": 6,
        "errors": 3,
        "accusations": 2,
        "source_dialogues": 3,
        "agent_turns": 20,
    }
    assert report["precision"] == 0.3333
    low, high = report["precision_95"]
    assert 0 <= low <= high <= 1
    assert report["token_brier"] is None
    assert report["token_brier_95"] == [None, None]


def test_nothing_asked_is_nothing_measured() -> None:
    report = summarize_judge([], TURNS, rounds=3)
    assert report["questions"] == 0
    assert report["recall"] is None
    assert report["calibration_error"] is None
    assert report["length"] is None
    assert report["false_accusations_per_100_turns"] == 0.0


def test_differences_are_paired() -> None:
    """Another judge like it, but for one false accusation less: every round agrees on its sign."""
    theirs = ROWS
    mine = [row.model_copy(update={"verdict": "no_error"}) if row.dialogue == "a~1" else row for row in ROWS]
    same = judge_difference(theirs, theirs, TURNS, rounds=50)
    assert same["f1"] == {"difference": 0.0, "low": 0.0, "high": 0.0}
    found = judge_difference(mine, theirs, TURNS, rounds=50)
    assert found["false_accusations_per_100_turns"]["difference"] == -10.0
    assert found["false_accusations_per_100_turns"]["high"] == 0.0
    assert found["precision"]["difference"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["brier"] == {"difference": 0.0, "low": 0.0, "high": 0.0}


@pytest.mark.parametrize(
    "change", [{"turn": 2}, {"code": "T2"}, {"dialogue": "c"}, {"truth": 0.9}, {"weight": 2.0}], ids=str
)
def test_judges_of_different_questions_are_not_compared(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="same questions"):
        judge_difference([ROWS[0].model_copy(update=change)], [ROWS[0]], TURNS, rounds=0)


def test_a_dialogue_without_turns_is_refused() -> None:
    with pytest.raises(ValueError, match="1 dialogues of unknown length, 'd' first"):
        judge_figures([result("d"), ROWS[0]], TURNS)
