"""A judge's exam: what it answers becomes rows, rows become figures, and two judges are compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dialint.detector.engines.judge_local import load_judge
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.eval.judge import EvaluateConfig, judge
from dialint.eval.judge_metrics import run_judge
from dialint.eval.questions import QuestionConfig, count_agent_turns, read_questions


def test_every_question_gets_a_ruling(tiny: Path, dataset: Path) -> None:
    asked = read_questions(dataset, "test", QuestionConfig(random_questions=1), 1)
    results = run_judge(load_judge(str(tiny)), asked)
    assert [(r.dialogue, r.turn, r.code) for r in results] == [
        (a.question.dialogue.id, a.question.turn, a.question.code) for a in asked
    ]
    assert all(result.token_probability is not None for result in results)
    assert not any(result.accuses for result in results)  # random weights end no answer


def test_questions_drawn_at_random_stand_for_the_others(dataset: Path) -> None:
    question_config = QuestionConfig(random_questions=1)
    asked = read_questions(dataset, "test", question_config, 1)
    turns = count_agent_turns(dataset, "test", question_config, 1)
    assert sum(item.stands_for for item in asked) == sum(
        turns.values()
    )  # one code: every turn is one question
    assert {item.stands_for for item in asked if item.is_error} == {1.0}


def test_the_command_compares_two_judges(tiny: Path, dataset: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    config = EvaluateConfig(
        judge=str(tiny), against=(str(tiny),), out=out, rounds=20, threads=1, device="cpu"
    )
    judge(dataset, config=config)
    report = json.loads(out.read_text())
    assert set(report["differences"][str(tiny)]["f1"]) == {"difference", "low", "high"}
    assert report["judges"][str(tiny)]["errors"] == 4


def test_what_was_changed_is_not_examined(tiny: Path, dataset: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed"
    changed.mkdir()
    for path in dataset.iterdir():
        (changed / path.name).write_bytes(path.read_bytes())
    (changed / "test.jsonl").write_text((dataset / "dev.jsonl").read_text())
    with pytest.raises(OutputRefused, match="E_CHECKSUM"):
        judge(changed, config=EvaluateConfig(judge=str(tiny), threads=1))
    with pytest.raises(ConfigError, match="E_EXAMPLE"):
        judge(dataset, config=EvaluateConfig(judge=str(tiny), split="nowhere", threads=1))
