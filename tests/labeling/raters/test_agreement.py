"""Agreement on labels and on spans against published and hand-computed figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from answer_tables import CrowdPlan, from_rows, simulate_crowd
from hypothesis import given, settings
from hypothesis import strategies as st

from dialint.app.cli import app as command_line
from dialint.detector.artifacts import read_manifest
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.statistics import wilson_interval
from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.raters.agreement import (
    compare_with_model,
    decide_alternatives,
    fleiss_kappa,
    human_ceiling,
    krippendorff_alpha,
    leave_one_out_agreement,
    soft_span_f1,
    specific_agreement,
)
from dialint.labeling.raters.reports import AgreementConfig, agreement


def krippendorff_example() -> Answers:
    """Four observers, twelve units, some missing: Krippendorff 2011, section C."""
    rows = (
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    )
    return from_rows(
        [
            (f"u{unit}", f"o{observer}", value)
            for observer, row in enumerate(rows)
            for unit, value in enumerate(row.split())
            if value != "."
        ]
    )


def test_alpha_of_krippendorffs_own_example() -> None:
    alpha = krippendorff_alpha(krippendorff_example().votes())
    assert alpha.value == pytest.approx(0.743, abs=0.0005)
    assert alpha.n == 11


def test_fleiss_of_the_textbook_table() -> None:
    """Ten subjects, fourteen raters, five categories: kappa 0.210."""
    votes = np.array(
        [[0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1], [7, 7, 0, 0, 0],
         [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]], float
    )  # fmt: skip
    assert fleiss_kappa(votes).value == pytest.approx(0.210, abs=0.0005)


def pair_table() -> Answers:
    """Both yes 20, yes-no 5, no-yes 10, both no 15, and what only one of them saw."""
    rows = [("x", "a", "yes"), ("y", "b", "no")]
    for number, (one, other) in enumerate(
        [("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15
    ):
        rows += [(f"t{number}", "a", one), (f"t{number}", "b", other)]
    return from_rows(rows)


def test_specific_agreement_of_two() -> None:
    answers = pair_table()
    assert specific_agreement(answers.votes(), 1).value == pytest.approx(40 / 55)
    assert specific_agreement(answers.votes(), 0).value == pytest.approx(30 / 45)


def test_one_label_only_is_not_perfect_agreement_but_none_to_speak_of() -> None:
    votes = np.array([[3.0, 0], [2, 0]])
    assert np.isnan(krippendorff_alpha(votes).value)
    assert np.isnan(fleiss_kappa(votes).value)
    assert np.isnan(specific_agreement(votes, 1).value)
    assert krippendorff_alpha(np.array([[1.0, 0], [0, 1]])).n == 0


@given(st.integers(0, 1000), st.integers(2, 4))
@settings(max_examples=20)
def test_alpha_is_fleiss_without_its_small_sample_correction(seed: int, raters: int) -> None:
    """With `n` answers in all and as many a task, 1 - alpha = (1 - kappa) (n - 1) / n."""
    votes = np.random.default_rng(seed).multinomial(raters, [0.5, 0.3, 0.2], 30).astype(float)
    alpha, kappa = krippendorff_alpha(votes, rounds=1).value, fleiss_kappa(votes, rounds=1).value
    n = votes.sum()
    assert 1 - alpha == pytest.approx((1 - kappa) * (n - 1) / n)


def test_perfect_agreement_on_few_tasks_is_not_certain() -> None:
    """Ten tasks on which two agree, one of them a rare label: Wilson's interval of the agreement, seen from
    the agreement by chance."""
    rows = [(f"t{n}", who, "no" if n else "yes") for n in range(10) for who in ("a", "b")]
    answers = from_rows(rows)
    agreed, _high = wilson_interval(10, 10)
    expected = 0.1**2 + 0.9**2
    kappa = fleiss_kappa(answers.votes())
    assert (kappa.value, kappa.high) == pytest.approx((1.0, 1.0))
    assert kappa.low == pytest.approx((agreed - expected) / (1 - expected), abs=1e-9)
    alpha = krippendorff_alpha(answers.votes())
    assert alpha.value == pytest.approx(1.0)
    assert alpha.low < 0.7
    assert human_ceiling(answers).low == pytest.approx(agreed)


def test_the_human_ceiling_by_hand() -> None:
    """t1: the two yes agree with one yes and one no, a half each; the no does not. t2: alone, untold."""
    answers = from_rows([("t1", "a", "yes"), ("t1", "b", "yes"), ("t1", "c", "no"), ("t2", "a", "no")])
    agreed = leave_one_out_agreement(answers)
    assert agreed[:3].tolist() == [0.5, 0.5, 0]
    assert np.isnan(agreed[3])
    assert human_ceiling(answers).value == pytest.approx(1 / 3)


def test_the_report_by_code(tmp_path: Path) -> None:
    path, out = tmp_path / "crowd.jsonl", tmp_path / "agreement.json"
    crowd = simulate_crowd(CrowdPlan(n_tasks=60, n_workers=4, per_task=3)).answers
    lines = [
        {"task": f"t{t}", "worker": f"w{w}", "label": f"l{x}", "code": "C1"}
        for t, w, x in zip(crowd.task.tolist(), crowd.worker.tolist(), crowd.label.tolist(), strict=True)
    ]
    lines += [{"task": "t1", "worker": "w1", "label": "l0", "code": "L1"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    agreement(AgreementConfig(path, out, rounds=50))
    report = read_manifest(out)
    figures = report["codes"]["C1"]
    assert figures["alpha"]["value"] == pytest.approx(krippendorff_alpha(crowd.votes()).value)
    assert report["codes"]["L1"]["alpha"]["value"] is None
    with pytest.raises(OutputRefused):
        agreement(AgreementConfig(path, out))


def test_intervals_are_by_dialogue() -> None:
    """A copy of each turn in its dialogue tells nothing new; ids of dialogues may hold slashes and digits."""
    crowd = from_rows([(f"a/{d}/{t}", "w", "x") for d in range(3) for t in (1, 3)] + [("lone", "w", "x")])
    assert crowd.dialogues.tolist() == [0, 0, 1, 1, 2, 2, 3]
    assert from_rows([("a/7/1/C1", "w", "x"), ("a/7/2/C1", "w", "y")]).dialogues.tolist() == [0, 0]
    rows = [
        (f"d{n}", worker, "yes" if n % (3 + place) else "no")
        for n in range(60)
        for place, worker in enumerate("abc")
    ]
    once, twice = (
        from_rows([(f"{d}/{t}", w, x) for d, w, x in rows for t in turns]) for turns in ((1,), (1, 3))
    )
    assert human_ceiling(twice) == human_ceiling(once)


def alternative_example(turns: tuple[int, ...] = (1,)) -> tuple[Answers, Floats]:
    """40 dialogues; in the first 10 the model agrees with b and c against a, in the next 4 with nobody."""
    labels = ["y"] * 14 + ["x"] * 26
    rows = [
        (f"d{n}/{turn}", worker, "y" if n < 10 and worker != "a" else "x")
        for n in range(40)
        for turn in turns
        for worker in "abc"
    ]
    model = [[label == name for name in "xyz"] for label in labels for _ in turns]
    return from_rows(rows, "xyz"), np.array(model, float)


def test_the_alternative_annotator_test_by_hand() -> None:
    """a is worse than the model in 10 of 40 tasks and better in 4: mean -0.15, standard error 0.09164, so with
    an epsilon of 0.15 t is -3.274 with 39 degrees of freedom. To b and c it is equal in the 10: mean 0.1,
    standard error 0.04804, t -1.041. By Benjamini and Yekutieli the threshold of the least of three is
    0.05 / 3 / (1 + 1/2 + 1/3) = 0.0091: one of three is won."""
    alternative = compare_with_model(*alternative_example(), epsilon=0.15)
    assert alternative is not None
    p_values = {who: test.p_value for who, test in alternative.labelers.items()}
    assert p_values == pytest.approx({"a": 0.001114, "b": 0.1522, "c": 0.1522}, rel=1e-3)
    by_scipy = scipy.stats.ttest_1samp([-1] * 10 + [1] * 4 + [0] * 26, 0.15, alternative="less").pvalue
    assert p_values["a"] == pytest.approx(by_scipy)
    assert {test.advantage for test in alternative.labelers.values()} == {0.9}
    decision = decide_alternatives({"": alternative})[""]
    assert (decision.may_stand_in, decision.won, decision.tested) == ("no", 1, 3)
    # the others of a lead with y in 10, those of b and c are tied there: 1/2 for x and for y
    assert alternative.people.value == pytest.approx((30 + 2 * (5 + 30)) / 120)
    assert alternative.model.value == pytest.approx((36 + 2 * (5 + 26)) / 120)
    copied = compare_with_model(*alternative_example((1, 3, 5)), epsilon=0.15)
    assert copied is not None
    assert {who: test.p_value for who, test in copied.labelers.items()} == pytest.approx(p_values)


def simulated_model(
    seed: int, skill: float, *, n: int = 60, rare: bool = False, always_no: bool = False
) -> tuple[Answers, Floats]:
    """Five people who are right in 80 %, or whose rare errors nobody sees well, and a model; 8 turns each."""
    random = np.random.default_rng(seed)
    truth = random.random(8 * n) < (0.05 if rare else 0.5)
    wrong = 0.05 if rare else None

    def answer(skill: float) -> list[bool]:
        is_yes = random.random(8 * n) < np.where(truth, skill, 1 - skill if wrong is None else wrong)
        return is_yes.tolist()

    rows = [
        (f"d{turn // 8}/{turn % 8}", worker, "yes" if is_yes else "no")
        for worker in "abcde"
        for turn, is_yes in enumerate(answer(0.6 if rare else 0.8))
    ]
    is_yes = np.array(answer(skill), float) * (not always_no)
    return from_rows(rows, ["no", "yes"]), np.column_stack([1 - is_yes, is_yes])


def test_a_model_as_good_as_people_may_stand_in_and_a_worse_one_may_not() -> None:
    plans: dict[str, dict[str, Any]] = {
        "as good": {"skill": 0.8}, "worse": {"skill": 0.6}, "too few": {"skill": 0.8, "n": 8},
        "rare": {"skill": 0.6, "rare": True, "n": 120},
        "finds nothing": {"skill": 0.6, "rare": True, "n": 120, "always_no": True},
    }  # fmt: skip
    decisions = {}
    for name, plan in plans.items():
        compared = [compare_with_model(*simulated_model(seed, **plan), 0.15, 200) for seed in range(10)]
        decisions[name] = [decide_alternatives({"": each})[""] for each in compared if each is not None]
    assert {name: {each.may_stand_in for each in made} for name, made in decisions.items()} == {
        "as good": {"yes"}, "worse": {"no"}, "too few": {"not enough data"}, "rare": {"yes"}, "finds nothing": {"no"},
    }  # fmt: skip
    # by the share of wins alone it would pass: most of what one person marks the others do not
    assert all(each.won == each.tested for each in decisions["finds nothing"])
    assert all(each.refused == ("yes",) for each in compared if each is not None)


def test_a_model_is_compared_in_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers, model = alternative_example()
    table, probabilities = tmp_path / "crowd.jsonl", tmp_path / "model.jsonl"
    rows = zip(answers.task.tolist(), answers.worker.tolist(), answers.label.tolist(), strict=True)
    lines = [{"task": answers.tasks[t], "worker": answers.workers[w], "label": "xyz"[x]} for t, w, x in rows]
    table.write_text("".join(json.dumps(line) + "\n" for line in lines))
    lines = [
        {"task": task, "label": "xyz"[label], "probability": 0.7}
        for task, label in zip(answers.tasks, model.argmax(axis=1).tolist(), strict=True)
    ]
    probabilities.write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = ["label", "agreement", "--annotations", str(table), "--model", str(probabilities)]
    assert command_line([*words, "--out", str(tmp_path / "out.json")], result_action="return_value") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "may the model stand in no wins over 1 of 3" in printed
    assert "model in a labeler's place 0.817" in printed
    figures = read_manifest(tmp_path / "out.json")["codes"][""]["model"]
    assert figures["labelers"]["a"]["p_value"] == pytest.approx(0.001114, rel=1e-3)
    with pytest.raises(ConfigError, match="--epsilon"):
        AgreementConfig(table, epsilon=1.0)


def test_soft_f1_by_hand() -> None:
    """a's ten characters are covered by half, b's five wholly, b's other span not at all, nor is one in another
    turn; who read alone is compared with nobody."""
    both = {"a": [(1, 0, 10)], "b": [(1, 0, 5), (1, 20, 30), (3, 0, 10)]}
    assert soft_span_f1([both, {"a": [(1, 0, 4)]}]).value == pytest.approx((0.5 + 1 + 0 + 0) / 4)
