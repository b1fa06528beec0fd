"""Contracts on a log: bounds against reference values, thresholds by hand, and a simulation with known truth."""

from __future__ import annotations

import math
import runpy
from pathlib import Path

import pytest
from outputs import finished
from scipy.stats import binomtest

from dialint.detector.decide import source_of_finding
from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.overrides import SourceContract, read_overrides
from dialint.detector.records import Finding, Label, Verdict
from dialint.detector.statistics import clopper_pearson_interval
from dialint.eval.contract import ContractConfig, Trial, Unit, certify, contract, reliability, try_precision
from dialint.eval.judgements import Judgement, judge_by_labels, overall_precision
from dialint.eval.spot_check import SheetRow

CHECK = "x (exact check 'slip', no model: y)."


def finding(code: str, turn: int, probability: float, reason: str = "x") -> Finding:
    return Finding(
        code=code, turn=turn, severity="S2", probability=probability, quote="no", start=0, end=2, reason=reason
    )  # fmt: skip


def verdict(
    number: int, *findings: Finding, suggestions: tuple[Finding, ...] = (), **more: object
) -> Verdict:
    return Verdict.model_validate(
        {"dialogue_id": f"d{number}", "release": "r", "taxonomy": "1.0.0", "status": "scored", "quality": 1.0, "findings": findings,
         "suggestions": suggestions, "agent_turns": 9, **more}
    )  # fmt: skip


def test_a_threshold_passes_where_the_exact_binomial_test_does() -> None:
    for hits, n, level in (
        (28, 28, 0.05),
        (29, 29, 0.05),
        (45, 46, 0.05),
        (44, 45, 0.05),
        (95, 100, 0.01),
        (99, 100, 0.01),
    ):
        reference = binomtest(hits, n, 0.9, alternative="greater").pvalue <= level
        assert Trial(0.5, hits, n, hits / n).passes(0.9, level) == reference, (hits, n, level)
    assert not Trial(0.5, 100, 100, 0.89).passes(0.9, 0.05), "of all its findings too few are right"


def all_right(n: int) -> Trial:
    return Trial(0.5, n, n, 1.0)


def test_what_is_left_of_the_error_rate_goes_on() -> None:
    """.9 ** n is .05 / k from 29, 36 and 39 dialogues on, for k of 1, 2 and 3."""
    assert [math.ceil(math.log(0.05 / k) / math.log(0.9)) for k in (1, 2, 3)] == [29, 36, 39]
    assert certify({("A1", ""): [all_right(28)]}, 0.9, 0.95) == ({}, {("A1", ""): 29})
    two = {("A1", ""): [all_right(36)], ("B1", ""): [all_right(35)]}
    assert certify(two, 0.9, 0.95) == ({("A1", ""): all_right(36)}, {("B1", ""): 36}), (
        "what is not tried costs nothing"
    )
    assert certify({("A1", ""): [all_right(30)], ("B1", ""): [all_right(30)]}, 0.9, 0.95)[0].keys() == {
        ("A1", "")
    }
    fails, passes = Trial(0.9, 30, 40, 0.75), all_right(45)
    assert certify({("A1", ""): [fails, all_right(35)]}, 0.9, 0.95)[0] == {}, (
        "half of it is left to the second"
    )
    assert certify({("A1", ""): [passes, all_right(35)]}, 0.9, 0.95)[0] == {("A1", ""): all_right(35)}
    one_wrong = Trial(0.5, 49, 50, 0.98)  # p of .034: enough once the other code has passed
    assert certify({("A1", ""): [one_wrong], ("B1", ""): [fails]}, 0.9, 0.95)[0] == {}
    assert certify({("A1", ""): [one_wrong], ("B1", ""): [passes]}, 0.9, 0.95)[0].keys() == {
        ("A1", ""),
        ("B1", ""),
    }


def test_a_dialogue_counts_once() -> None:
    units = [Unit(f"d{n % 10}", n, 0.6 if n % 2 else 0.97, n % 10 != 3) for n in range(200)]
    trials = try_precision(units, [unit.probability for unit in units])
    assert [(t.threshold, t.hits, t.n, t.share) for t in trials] == [(0.95, 5, 5, 1.0), (0.6, 9, 10, 0.9)]


@pytest.mark.parametrize(
    ("reason", "source"),
    [
        ("x", "scan"), (CHECK, "check"), ("x (exact check 'policy', no model: y).", "policy"), ("x (judge 'j': 0.90).", "judge"),
        ("said (judge 'j': 0.40) x (exact check 'slip', no model: y).", "check"), ("x (demoted: the judge j denies it).", "scan"),
    ],
)  # fmt: skip
def test_the_source_is_read_from_the_proofs(reason: str, source: str) -> None:
    assert source_of_finding(finding("T1", 1, 0.9, reason)) == source


def labels(path: Path, errors: list[tuple[int, int, str, float]]) -> Path:
    rows = (
        Label(dialogue_id=f"d{n}", turn=turn, code=code, probability=p, method="read")
        for n, turn, code, p in errors
    )
    path.write_text("".join(row.model_dump_json() + "\n" for row in rows))
    return path


def test_labels_give_a_contract_for_scoring(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """L1 by a check is right in all of 60 dialogues and by the scan in none; M2 is seen in 5; of the errors of
    U2, which the scan gives .3 to, findings show none and turns from .3 on all."""
    verdicts = [
        verdict(
            n, finding("L1", 1, 0.9, CHECK), finding("L1", 3, 0.8), *([finding("M2", 1, 0.9, CHECK)] if n < 5 else []),
            probabilities={1: {"U2": 0.004}, 3: {"U2": 0.3}, 5: {"U2": 0.004 if n else 0.6}},
        )
        for n in range(60)
    ]  # fmt: skip
    scored = finished(tmp_path, verdicts)
    read = labels(
        tmp_path / "l.jsonl",
        [each for n in range(60) for each in ((n, 1, "L1", 1.0), (n, 3, "U2", 1.0), (n, 3, "L1", 0.5))],
    )
    path = tmp_path / "overrides.yaml"
    contract(scored, config=ContractConfig(labels=(read,), precision=0.9, recall=0.9, overrides=path))
    overrides = read_overrides(path)
    assert overrides.contract is not None
    assert overrides.contract.codes == {"L1": {"check": SourceContract(threshold=0.9, right=60, n=60)}}
    assert overrides.contract.covers("L1", "check", 0.9)
    assert not overrides.contract.covers("L1", "scan", 0.99)
    assert overrides.thresholds == {"U2": 0.3}
    output = capsys.readouterr().out
    assert (
        "60 of 125 findings may accuse (48 %), the others are suggestions; to review these takes 32 minutes"
        in " ".join(output.split())
    )
    contract(scored, config=ContractConfig(labels=(read,), overrides=path))
    assert read_overrides(path).spot_check is not None, "without a target it measures"
    with pytest.raises(InputRefused, match="dialogue d99 is not in the verdicts"):
        contract(scored, config=ContractConfig(labels=(labels(tmp_path / "o.jsonl", [(99, 1, "L1", 1.0)]),)))
    with pytest.raises(InputRefused, match="two verdicts"):
        contract(scored, scored, config=ContractConfig(labels=(read,)))
    for options in ({}, {"labels": (read,), "sheet": read}, {"sheet": read, "recall": 0.9}):
        with pytest.raises(ConfigError, match="--labels"):
            contract(scored, config=ContractConfig(**options))


def test_labels_that_cannot_be_of_whole_dialogues_are_refused(tmp_path: Path) -> None:
    """None, of codes that there are not, or only of what is reported."""
    scored = finished(tmp_path, [verdict(n, finding("L1", 1, 0.9, CHECK)) for n in range(60)])
    for errors, options, message in (
        ([], {}, "there is no label"),
        ([(0, 1, "Z9", 1.0)], {}, "the taxonomy lacks: Z9"),
        (
            [(0, 1, "L1", 1.0)],
            {"overrides": tmp_path / "none/o.yaml"},
            "--overrides .*: no file can be written",
        ),
        ([(n, 1, "L1", 1.0) for n in range(60)], {"recall": 0.8}, "read as a whole"),
    ):
        read = labels(tmp_path / "l.jsonl", errors)
        with pytest.raises((ConfigError, InputRefused), match=message):
            contract(scored, config=ContractConfig(labels=(read,), **options))


def test_intervals_take_the_rows_of_a_dialogue_for_one(tmp_path: Path) -> None:
    """Ten wrong findings in one dialogue are as one, and don't demote; one in each of ten do."""
    for n_each, advice in ((10, "too few judged"), (1, "suggestion only")):
        one = [verdict(n, *(finding("L1", turn, 0.9) for turn in range(n_each))) for n in range(10 // n_each)]
        clean = [Label(dialogue_id="d0", turn=0, code="L2", probability=1.0, method="read")]
        judged, result = judge_by_labels(one, clean, "log")
        assert len(judged) == 10
        assert result.findings["L1"].interval == pytest.approx(clopper_pearson_interval(0, 10 // n_each))
        assert overall_precision(result.findings.values()) == (0.0, *result.findings["L1"].interval)
        assert result.advice("L1") == advice


def test_reliability_by_hand() -> None:
    """60 at .6, 48 right; 70 at .9, 56 right: two bins; one at .5 joins the first."""
    judged = [(0.5, True)] + [(0.6, n < 48) for n in range(60)] + [(0.9, n < 56) for n in range(70)]
    judgements = [
        Judgement(SheetRow(number=n, kind="finding", code="T1", dialogue=f"d{n}", turn=1, probability=p, weight=1.0), "right" if right else "wrong")
        for n, (p, right) in enumerate(judged)
    ]  # fmt: skip
    low, high = reliability(judgements, {(f"d{n}", 1, "T1"): "scan" for n in range(len(judged))})
    assert (low.n, low.low, low.high, low.right.value) == (61, 0.5, 0.6, pytest.approx(49 / 61))
    assert (high.n, high.difference) == (70, pytest.approx(-0.1))
    assert high.right.low < 0.8 < high.right.high < 0.9


def test_contracts_hold_where_naive_thresholds_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The full one is ``python runs/studies/contract_simulation.py``."""
    study = runpy.run_path(str(Path(__file__).parents[2] / "runs/studies/contract_simulation.py"))
    for kind in ("precision", "recall"):
        results = study["simulate"](kind, study["SimulationConfig"](resamples=60, population=5000))
        assert results["contract"] <= 0.05
        assert results["naive"] > 0.1
        assert results["contract_thresholds"] > 0.8
