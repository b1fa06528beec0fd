"""Calibration of a judge's probabilities, measured on labelled dialogues."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from rude_dialogues import RUDE, example
from scripted_judge import ScriptedJudge, listed

from dialint.detector.errors import ConfigError
from dialint.detector.judge.stage import StageOptions
from dialint.detector.overrides import read_overrides, update_overrides
from dialint.detector.records import Example
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.judge_measure import Comparison, ErrorRow, fit_contract, load_or_measure_contract, measure

TAXONOMY = load_taxonomy()
CODES = frozenset({"T1", "C1", "X1"})
OPTIONS = StageOptions(codes=CODES, has_second_look=False)
RUDE_ERROR = {"turn": 3, "code": "T1", "quote": RUDE[:26]}


def compared(answers: Any, *examples: Example) -> Comparison:
    return measure(ScriptedJudge(answers), TAXONOMY, OPTIONS, examples, CODES)


def test_what_is_listed_stands_beside_the_labels() -> None:
    answers = listed(
        RUDE_ERROR, {**RUDE_ERROR, "probability": 0.95, "quote": RUDE}, {"turn": 1, "code": "C1", "quote": "sorry"},
        {"turn": 1, "code": "T1", "quote": "I hate you"}, {"turn": 3, "code": "C1", "quote": "terms", "probability": 0.2},
    )  # fmt: skip
    result = compared(answers, example("d1~2", "test", rude=True, probability=0.8))
    error, false = sorted(result.rows, key=lambda row: -row.truth)
    fields = (error.source, error.turn, error.code, error.truth, error.probability)
    assert fields == ("d1", 3, "T1", 0.8, 0.95)
    assert error.overlap == pytest.approx(2 * 26 / (26 + len(RUDE)))
    assert (false.turn, false.code, false.truth, false.probability) == (1, "C1", 0.0, 0.9)
    assert (result.turns, result.n_dialogues, result.n_unread) == ({"d1": 2}, 1, 0)


def test_unlabelled_codes_are_neither_right_nor_wrong() -> None:
    own = example("d1", "test", rude=True).model_copy(update={"unlabelled": ("T1",)})
    assert compared(listed(RUDE_ERROR), own).rows == ()
    missed = compared(
        listed(), example("d1", "test", rude=True), example("d2", "test", rude=True, probability=0.5)
    )
    assert [(row.dialogue, row.probability) for row in missed.rows] == [("d1", None)]


def simulated(right_of: dict[str, float], n: int, seed: int = 7) -> Comparison:
    """A judge that lists `n` errors of each code with .99, of which a share is right."""
    rng = Random(seed)
    rows = [
        ErrorRow(
            source=f"d{number}", dialogue=f"d{number}", turn=1, code=code, probability=0.99,
            truth=float(rng.random() < share),
        )
        for code, share in right_of.items() for number in range(n)
    ]  # fmt: skip
    return Comparison(rows=tuple(rows), turns={f"d{number}": 4 for number in range(n)}, n_dialogues=n)


def test_probabilities_become_what_they_were_right(tmp_path: Path) -> None:
    contract = fit_contract("j", simulated({"T1": 0.95, "C1": 0.5}, 200), TAXONOMY, CODES, 0.8)
    assert contract.codes["T1"].calibrate(0.99) == pytest.approx(0.95, abs=0.05)
    assert contract.codes["C1"].calibrate(0.99) == pytest.approx(0.5, abs=0.07)
    assert contract.codes["C1"].threshold is None
    for code in ("T1", "X1"):  # of one family
        threshold = contract.codes[code].threshold
        assert threshold is not None
        assert 0.8 <= threshold <= contract.codes[code].calibrate(0.99)
    assert contract.codes.keys() == CODES  # of the others nothing is known
    path = tmp_path / "overrides.yaml"
    update_overrides(path, None, judge=contract)
    assert read_overrides(path).judge == contract


@pytest.mark.parametrize(("share", "n"), [(0.75, 300), (1.0, 10)])
def test_an_imprecise_or_hardly_measured_judge_makes_no_findings(share: float, n: int) -> None:
    assert not fit_contract("j", simulated({"T1": share}, n), TAXONOMY, CODES, 0.8).accuses


def test_a_judge_is_measured_once_by_model_and_options(tmp_path: Path) -> None:
    examples = [example(f"d{number}", "test", rude=number % 2 == 0) for number in range(60)]

    def contract(judge: ScriptedJudge, options: StageOptions = OPTIONS) -> Any:
        announced: list[int] = []
        result = load_or_measure_contract(
            judge, TAXONOMY, options, 0.8, tmp_path, examples, lambda: announced.append(1)
        )
        assert len(judge.requests) == 60 * len(announced)
        return result, len(announced)

    def answers(request: Any) -> Any:
        errors = [RUDE_ERROR] if RUDE in request.messages[-1]["content"] else []
        return listed(*errors)(request)

    first, announced = contract(ScriptedJudge(answers))
    assert (announced, first.accuses) == (1, True)
    assert (first.listed, first.right, first.labels, first.found, first.dialogues) == (30, 30, 30, 30, 60)
    assert contract(ScriptedJudge(answers)) == (first, 0)
    assert contract(ScriptedJudge(answers, fingerprint="another"))[1] == 1
    assert contract(ScriptedJudge(answers), StageOptions(codes=CODES, detail="short"))[1] == 1


def test_a_judge_without_usable_answers_is_not_measured(tmp_path: Path) -> None:
    own = example("d1", "test", rude=True)
    engine = ScriptedJudge(lambda _: ["I can't help with that."])
    with pytest.raises(ConfigError, match="no usable answer about 1 of 1 dialogues"):
        load_or_measure_contract(engine, TAXONOMY, OPTIONS, 0.8, tmp_path, [own], lambda: None)
    assert list(tmp_path.iterdir()) == []
