"""What a judge's probabilities are worth, fitted on questions whose answers are known."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dialint.detector.overrides import read_overrides, update_overrides
from dialint.eval.judge_metrics import JudgeResult, describe_contract, fit_judge_contract


def result(code: str, number: int, p: float, *, is_error: bool) -> JudgeResult:
    return JudgeResult(
        dialogue=f"d{number}", turn=1, code=code, truth=float(is_error), verdict="error" if p > 0.5 else "no_error",
        probability=p, token_probability=p, length=10,
    )  # fmt: skip


def overconfident(code: str, n: int, precise: float) -> list[JudgeResult]:
    """Says 0.99 or 0.01; of those with 0.99 a share `precise` are errors."""
    chance = random.Random(7)
    return [
        result(
            code,
            number,
            0.99 if number % 2 else 0.01,
            is_error=bool(number % 2) and chance.random() < precise,
        )
        for number in range(n)
    ]


def test_probabilities_become_what_they_were_right(tmp_path: Path) -> None:
    results = [*overconfident("T1", 400, 0.9), *overconfident("C1", 400, 0.5), *overconfident("X1", 10, 1.0)]
    contract = fit_judge_contract("judge", results, 0.8)
    assert contract.codes["T1"].calibrate(0.99) == pytest.approx(0.9, abs=0.05)
    assert contract.codes["C1"].calibrate(0.99) == pytest.approx(0.5, abs=0.07)
    assert contract.codes["T1"].threshold is not None
    assert contract.codes["T1"].right / contract.codes["T1"].flagged == pytest.approx(0.9, abs=0.05)
    assert contract.codes["C1"].threshold is None
    assert "X1" not in contract.codes
    assert "suggestions only for C1" in describe_contract(contract)
    path = tmp_path / "overrides.yaml"
    update_overrides(path, None, judge=contract)
    assert read_overrides(path).judge == contract
    assert contract.codes["T1"].calibrate(0.0) < 0.05
