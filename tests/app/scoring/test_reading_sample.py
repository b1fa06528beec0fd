"""The sample read by a large language model, from the log to verdicts.

``recorded_readings.jsonl`` holds answers of a large language model that saw only the questions, neither labels
nor code, recorded on 2026-11-28 for the prompt `RECORDED`. A changed prompt needs answers of its own.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from scripted_judge import ScriptedJudge, is_second_look

from dialint.app.scoring.judging import SAMPLE, read_sample
from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.interface import DetectorConfig
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.judge.engine import JudgeRequest
from dialint.detector.judge.prompt import PROMPT_VERSION
from dialint.detector.verdict_files import read_verdicts

RECORDED = "reading-2"
ANSWERS = Path(__file__).with_name("recorded_readings.jsonl")


@pytest.fixture
def engine() -> ScriptedJudge:
    """Answers each dialogue's reading and second look as recorded."""
    rows = [json.loads(line) for line in ANSWERS.read_text("utf-8").splitlines()]
    recorded = {row["dialogue_id"]: row for row in rows}

    def answers(request: JudgeRequest) -> list[str]:
        answer = recorded[request.dialogue_id]["second_look" if is_second_look(request) else "reading"]
        text = json.dumps(answer)
        assert request.check(text) == ""
        return [text]

    return ScriptedJudge(answers)


def test_a_guideline_is_read_with_each_dialogue_and_its_bytes_are_part_of_the_job(
    engine: ScriptedJudge, tmp_path: Path
) -> None:
    guideline = tmp_path / "rules.md"
    guideline.write_text("# Refunds\n1. Never promise a date.\n2. Look the order up first.\n")
    config = ScoreConfig(
        out=tmp_path / "v.jsonl",
        limit=2,
        detector=DetectorConfig(scan="off"),
        judge=JudgeConfig(judge="http://127.0.0.1:1/v1", judge_precision=0.9, guideline=(guideline,)),
    )
    assert run([str(SAMPLE / "dialogues.jsonl")], config, None, engine) == 0
    system, user = (message["content"] for message in engine.requests[0].messages)
    assert '{"clause":"2","text":"Refunds Look the order up first."}' in user
    assert "P1 Required step skipped" in system
    manifest = json.loads((tmp_path / "v.manifest.json").read_text())
    assert manifest["judge"]["prompt"] == PROMPT_VERSION
    sha256 = hashlib.sha256(guideline.read_bytes()).hexdigest()
    assert sha256 in json.dumps(manifest["work"])


def test_recorded_readings_are_precise_and_complete(
    engine: ScriptedJudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By default options, measured on the same dialogues: nine of ten labelled errors are findings, 95 % of
    the findings are labelled, for 1.2 calls a dialogue at most. The second run measures nothing anew."""
    assert PROMPT_VERSION == RECORDED
    monkeypatch.setenv("DIALINT_HOME", str(tmp_path))
    config = ScoreConfig(
        out=tmp_path / "v.jsonl",
        detector=DetectorConfig(scan="off"),
        judge=JudgeConfig(judge="http://127.0.0.1:1/v1"),
    )
    assert run([str(SAMPLE / "dialogues.jsonl")], config, None, engine) == 0
    output = capsys.readouterr()
    assert "is not measured yet" in output.out + output.err
    assert "99 % right, 97 % found on 78 dialogues with labels" in " ".join(output.out.split())
    n_measured = len(engine.requests) // 2
    assert 78 <= n_measured <= 1.2 * 78
    predicted = {
        (verdict.dialogue_id, finding.turn, finding.code)
        for verdict in read_verdicts(config.out)
        for finding in verdict.findings
    }
    labels = {(own.dialogue_id, own.turn, own.code) for example in read_sample() for own in example.labels}
    assert len(predicted & labels) >= 0.9 * len(labels)
    assert len(predicted & labels) >= 0.95 * len(predicted)
    again = replace(config, out=tmp_path / "w.jsonl", limit=5)
    assert run([str(SAMPLE / "dialogues.jsonl")], again, None, engine) == 0
    assert 5 <= len(engine.requests) - 2 * n_measured <= 10
    first, second = ((tmp_path / name).read_bytes().splitlines() for name in ("v.jsonl", "w.jsonl"))
    assert first[:5] == second
