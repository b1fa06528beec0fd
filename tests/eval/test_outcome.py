"""Quality against an outcome: hand-computed AUC, and every place where a log may hold the outcome."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from outputs import finished

from dialint.detector.errors import ConfigError
from dialint.detector.records import Verdict
from dialint.eval.outcome import OutcomeConfig, figures, outcome, outcomes


def test_auc_by_hand_in_all_and_within_groups() -> None:
    """Good 90 and 40 against bad 50 and 40: wins 1, 1, 0, a half. Within x one win of one, within y a half."""
    qualities = {"a": 90.0, "b": 40.0, "c": 50.0, "d": 40.0}
    known = {"a": (1.0, "x"), "b": (1.0, "y"), "c": (0.0, "x"), "d": (0.0, "y"), "e": (0.0, "x")}
    found = figures(qualities, known, 0.5, 20)
    assert found["all"]["auc"] == pytest.approx(2.5 / 4)
    assert found["within groups"]["auc"] == pytest.approx(0.75)
    assert (found["x"]["auc"], found["y"]["auc"]) == (1.0, 0.5)
    assert (found["all"]["dialogues"], found["all"]["good"]) == (4, 2)


def test_one_kind_of_outcome_alone_has_no_auc() -> None:
    assert figures({"a": 1.0}, {"a": (1.0, "")}, 0.5, 5)["all"]["auc"] is None


def test_the_outcome_may_stand_in_a_field_metadata_or_label(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    label = {"turn_id": -1, "category": "won", "value": "1.0"}
    other = {"turn_id": 3, "category": "won", "value": "0.0"}
    rows = [
        {"dialogue_id": "a", "won": True, "team": "x"},
        {"dialogue_id": "b", "metadata": {"won": "no", "team": "y"}},
        {"dialogue_id": "c", "meta": json.dumps({"team": "x"}), "labels": [label, other]},
        {"dialogue_id": "d", "won": "perhaps"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert outcomes(path, "won", "team") == {"a": (1.0, "x"), "b": (0.0, "y"), "c": (1.0, "x")}
    with pytest.raises(ConfigError):
        outcomes(path, "lost", None)


def test_the_command_takes_verdicts_that_are_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, out = tmp_path / "log.jsonl", tmp_path / "out.json"
    log.write_text('{"id": "a", "won": 1}\n{"id": "b", "won": 0}\n')
    made = [
        Verdict(dialogue_id=name, release="r", taxonomy="1.0.0", status="scored", quality=quality)
        for name, quality in (("a", 80.0), ("b", 20.0))
    ]
    outcome(log, config=OutcomeConfig(outcome="won", verdicts=finished(tmp_path, made), out=out, rounds=3))
    assert json.loads(out.read_text())["groups"]["all"]["auc"] == 1.0
    assert "AUC" in capsys.readouterr().out


def test_options_and_records_that_cannot_be(tmp_path: Path) -> None:
    for options in ({"rounds": -1}, {"limit": 0}):
        with pytest.raises(ConfigError):
            OutcomeConfig(outcome="won", **options)
    path = tmp_path / "log.jsonl"
    path.write_text('[1]\n{"id": "a", "meta": "free text"}\n{"id": "b", "meta": "free text", "won": 1}\n')
    assert outcomes(path, "won", "team") == {"b": (1.0, "")}
