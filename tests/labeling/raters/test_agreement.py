"""Agreement on labels and on spans against published and hand-computed figures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from answer_tables import CrowdPlan, from_rows, simulate_crowd
from hypothesis import given, settings
from hypothesis import strategies as st

from dialint.detector.artifacts import read_manifest
from dialint.detector.errors import OutputRefused
from dialint.detector.statistics import wilson_interval
from dialint.labeling.aggregation.answers import Answers
from dialint.labeling.raters.agreement import (
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
    found = krippendorff_alpha(krippendorff_example().votes())
    assert found.value == pytest.approx(0.743, abs=0.0005)
    assert found.n == 11


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
    chance = 0.1**2 + 0.9**2
    found = fleiss_kappa(answers.votes())
    assert (found.value, found.high) == pytest.approx((1.0, 1.0))
    assert found.low == pytest.approx((agreed - chance) / (1 - chance), abs=1e-9)
    alpha = krippendorff_alpha(answers.votes())
    assert alpha.value == pytest.approx(1.0)
    assert alpha.low < 0.7
    assert human_ceiling(answers).low == pytest.approx(agreed)


def test_the_human_ceiling_by_hand() -> None:
    """t1: the two yes agree with one yes and one no, a half each; the no does not. t2: alone, untold."""
    answers = from_rows([("t1", "a", "yes"), ("t1", "b", "yes"), ("t1", "c", "no"), ("t2", "a", "no")])
    found = leave_one_out_agreement(answers)
    assert found[:3].tolist() == [0.5, 0.5, 0]
    assert np.isnan(found[3])
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


def test_soft_f1_by_hand() -> None:
    """a's ten characters are covered by half, b's five wholly, b's other span not at all, nor is one in another
    turn; who read alone is compared with nobody."""
    both = {"a": [(1, 0, 10)], "b": [(1, 0, 5), (1, 20, 30), (3, 0, 10)]}
    assert soft_span_f1([both, {"a": [(1, 0, 4)]}]).value == pytest.approx((0.5 + 1 + 0 + 0) / 4)
