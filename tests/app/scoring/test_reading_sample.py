"""The sample read by a large language model, from the log to verdicts.

``recorded_readings.jsonl`` holds answers of a large language model that saw only the questions, neither labels
nor code, recorded on 2026-11-28 for the prompt `RECORDED`. A changed prompt needs answers of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dialint.app.scoring.judging import SAMPLE, read_sample
from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.interface import DetectorConfig
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.judge.engine import JudgeReply, JudgeRequest
from dialint.detector.judge.reading import READING_VERSION
from dialint.detector.verdict_files import read_verdicts

RECORDED = "reading-1"
ANSWERS = Path(__file__).with_name("recorded_readings.jsonl")


@dataclass
class Recorded:
    """Answers each dialogue's reading and second look as recorded."""

    answers: Mapping[str, Mapping[str, Any]]
    name: str = "recorded"
    fingerprint: str = "recorded"
    is_remote: bool = False
    notes: tuple[str, ...] = ()
    max_prompt_tokens: int = 60_000
    requests: list[JudgeRequest] = field(default_factory=list)

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        return sum(len(message["content"]) for message in messages) // 4

    def spell(self, text: str) -> str:
        return text

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        self.requests += requests
        replies = []
        for request in requests:
            kind = "second_look" if "decisions" in request.schema["properties"] else "reading"
            text = json.dumps(self.answers[request.dialogue_id][kind])
            assert request.complaint(text) == ""
            tokens = self.count_tokens(request.messages)
            replies.append(JudgeReply(text=text, prompt_tokens=tokens, output_tokens=len(text) // 4))
        return replies

    def close(self) -> None:
        pass


def test_a_guideline_is_read_with_each_dialogue_and_its_bytes_are_part_of_the_job(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in ANSWERS.read_text("utf-8").splitlines()]
    engine = Recorded({row["dialogue_id"]: row for row in rows})
    guideline = tmp_path / "rules.md"
    guideline.write_text("# Refunds\n1. Never promise a date.\n2. Look the order up first.\n")
    config = ScoreConfig(
        out=tmp_path / "v.jsonl",
        limit=2,
        detector=DetectorConfig(scan="off"),
        judge=JudgeConfig(
            judge="http://127.0.0.1:1/v1", judge_form="reading", judge_precision=0.9, guideline=(guideline,)
        ),
    )
    assert run([str(SAMPLE / "dialogues.jsonl")], config, None, engine) == 0
    system, user = (message["content"] for message in engine.requests[0].messages)
    assert '{"clause":"2","text":"Refunds Look the order up first."}' in user
    assert "P1 Required step skipped" in system
    manifest = json.loads((tmp_path / "v.manifest.json").read_text())
    assert manifest["judge"]["prompt"] == READING_VERSION
    sha256 = hashlib.sha256(guideline.read_bytes()).hexdigest()
    assert sha256 in json.dumps(manifest["work"])


def test_what_a_strong_model_reads_is_measured_and_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By default options, measured on the same dialogues: nine of ten labelled errors are findings, 95 % of
    the findings are labelled, for 1.25 calls a dialogue. The second run measures nothing anew."""
    assert READING_VERSION == RECORDED
    monkeypatch.setenv("DIALINT_HOME", str(tmp_path))
    rows = [json.loads(line) for line in ANSWERS.read_text("utf-8").splitlines()]
    engine = Recorded({row["dialogue_id"]: row for row in rows})
    config = ScoreConfig(
        out=tmp_path / "v.jsonl",
        detector=DetectorConfig(scan="off"),
        judge=JudgeConfig(judge="http://127.0.0.1:1/v1", judge_form="reading"),
    )
    assert run([str(SAMPLE / "dialogues.jsonl")], config, None, engine) == 0
    output = capsys.readouterr()
    assert "is not measured yet" in output.out + output.err
    assert "100% right, 99% found on 78 dialogues with labels" in " ".join(output.out.split())
    n_measured = len(engine.requests) // 2
    assert 78 <= n_measured <= 1.25 * 78
    found = {
        (verdict.dialogue_id, finding.turn, finding.code)
        for verdict in read_verdicts(config.out)
        for finding in verdict.findings
    }
    labels = {(label.dialogue_id, label.turn, label.code) for label in read_sample()[1]}
    assert len(found & labels) >= 0.9 * len(labels)
    assert len(found & labels) >= 0.95 * len(found)
    again = ScoreConfig(**{**vars(config), "out": tmp_path / "w.jsonl"})
    assert run([str(SAMPLE / "dialogues.jsonl")], again, None, engine) == 0
    assert len(engine.requests) == 3 * n_measured
    assert (tmp_path / "v.jsonl").read_bytes() == (tmp_path / "w.jsonl").read_bytes()
