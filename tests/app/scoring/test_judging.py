"""`dialint score --judge` from a log to files, with a judge whose answers are written here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from scripted_judge import Answers, ScriptedJudge, listed

from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.errors import ConfigError
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.verdict_files import read_verdicts
from dialint.detector.watchdog import WatchConfig

X1 = {"turn": 1, "code": "X1", "quote": "Let me look", "severity": "S1", "probability": 0.7}
DECISION = {"number": 1, "code": "X1", "severity": "S1", "probability": 0.95}
C1 = {"turn": 1, "code": "C1", "quote": "for you"}


@pytest.fixture
def judged(
    write_log: Callable[..., Path], driver: ModuleType, tmp_path: Path
) -> Callable[..., tuple[list[Any], dict[str, Any]]]:
    """Scores a log of six dialogues, the first of which fails: verdicts and manifest."""

    def score(answers: Answers, **options: Any) -> Any:
        config = ScoreConfig(
            out=tmp_path / "v.jsonl",
            max_failed=1.0,
            watch=WatchConfig(dialogue_seconds=0),
            judge=JudgeConfig(judge="http://127.0.0.1:1/v1", **{"judge_precision": 0.9, **options}),
            chunk_size=4,
        )
        log = write_log(6, failing=1)
        assert run([str(log)], config, driver.FakeDetector({}), ScriptedJudge(answers)) == 0
        [manifest] = tmp_path.glob("*.manifest.json")
        return list(read_verdicts(config.out)), json.loads(manifest.read_text())

    return score


def test_what_is_read_is_found_counted_and_told(judged: Any, capsys: Any) -> None:
    (failed, *scored), manifest = judged(listed(X1, C1, decisions=[DECISION]))
    assert (failed.status, failed.judge.codes) == ("failed", ())
    for verdict in scored:
        found = {finding.code: finding for finding in verdict.findings}
        assert {"X1", "C1"} <= set(found)
        assert found["X1"].reason.endswith("(judge 'scripted': 0.95).")
        assert verdict.quality == 0.0
        assert {"I1", "I3", "P1", "E1", "W1"} <= set(verdict.judge.unmet)
        assert {"X1", "T1", "I2"} <= set(verdict.judge.codes)
        assert not set(verdict.judge.codes) & set(verdict.judge.unmet)
    judge = manifest["judge"]
    assert judge["questions"] == {"readings": 5, "second_looks": 5}
    assert judge["tokens"]["output"] == 10 * 9
    assert manifest["not_covered"] == []
    assert manifest["cost"]["seconds"]["judge"] >= 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "judge scripted: 5 readings, 5 second looks;" in printed


def test_a_judge_stated_to_be_right_too_seldom_only_suggests(judged: Any) -> None:
    (_, *scored), _ = judged(listed(X1, C1, decisions=[DECISION]), judge_precision=0.7)
    for verdict in scored:
        assert "X1" in {suggestion.code for suggestion in verdict.suggestions}
        assert "X1" not in {finding.code for finding in verdict.findings}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"judge_budget": "5 questions"}, "--judge-budget without --judge"),
        ({"judge": "http://h/v1", "judge_budget": "5 quests"}, 'expected "500 questions"'),
        ({"judge": "http://h/v1", "judge_budget": "2 usd"}, "needs --judge-price"),
        ({"judge": "http://h/v1", "judge_price": "cheap"}, "expected IN,OUT"),
        ({"judge": "gpt"}, "expected local:FOLDER"),
    ],
)
def test_mistakes_are_refused_in_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        JudgeConfig(**options)
