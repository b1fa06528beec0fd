"""`dialint score --judge` from a log to files, with a fake judge that answers by rules."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.errors import ConfigError
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.judge.engine import JudgeReply, JudgeRequest
from dialint.detector.verdict_files import read_verdicts
from dialint.detector.watchdog import WatchConfig

PLACE = re.compile(r'"turn":(\d+)')


@dataclass
class RuleJudge:
    """Screens name X1 on the first turn they show; every detail is an error of `probability`, quoted."""

    probability: float = 0.9
    quote: str | None = None
    name: str = "rules"
    fingerprint: str = "rules-1"
    is_remote: bool = False
    notes: tuple[str, ...] = ()
    max_prompt_tokens: int = 4000
    requests: list[JudgeRequest] = field(default_factory=list)
    waves: list[int] = field(default_factory=list)

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        return sum(len(message["content"]) for message in messages) // 4

    def spell(self, text: str) -> str:
        return text

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        self.requests += requests
        self.waves.append(len(requests))
        return [self._reply(request) for request in requests]

    def _reply(self, request: JudgeRequest) -> JudgeReply:
        tokens = self.count_tokens(request.messages)
        if not request.wants_verdict:
            item = request.schema["properties"]["errors"]["items"]["properties"]
            named = "X1" in item["code"]["enum"]
            turn = item["turn"]["enum"][0]
            text = json.dumps({"errors": [{"turn": turn, "code": "X1"}] if named else []})
            return JudgeReply(text=text, prompt_tokens=tokens, output_tokens=10)
        p, quote = self.probability, self.quote or (request.quoted or "")[:12]
        verdict = "error" if p >= 0.5 else "no_error"
        answer = {"verdict": verdict, "probability": p, "quote": quote, "severity": "S1", "reason": "It is."}
        stated = (p, 0.75 * (1 - p), 0.25 * (1 - p))
        return JudgeReply(
            text=json.dumps(answer), verdict_probabilities=stated, prompt_tokens=tokens, output_tokens=30
        )

    def close(self) -> None:
        pass


@pytest.fixture
def judged(
    write_log: Callable[..., Path], driver: ModuleType, tmp_path: Path
) -> Callable[..., tuple[list[Any], dict[str, Any]]]:
    """Scores a log with the fake detector and a judge: verdicts and manifest."""

    def score(judge: RuleJudge, n: int = 6, out: str = "v.jsonl", **options: Any) -> Any:
        log = write_log(n, failing=1)
        config = ScoreConfig(
            out=tmp_path / out,
            max_failed=1.0,
            watch=WatchConfig(dialogue_seconds=0),
            judge=JudgeConfig(judge="http://127.0.0.1:1/v1", judge_audit=0.0, **options),
            chunk_size=4,
        )
        assert run([str(log)], config, driver.FakeDetector({}), judge) == 0
        verdicts = list(read_verdicts(config.out))
        [manifest] = tmp_path.glob("*.manifest.json")
        return verdicts, json.loads(manifest.read_text())

    return score


def test_findings_are_confirmed_and_other_codes_are_searched(judged: Any, capsys: Any) -> None:
    judge = RuleJudge()
    verdicts, manifest = judged(judge)
    failed, *scored = verdicts
    assert failed.status == "failed"
    assert failed.judge.codes == ()
    for verdict in scored:
        assert all("It is. " in finding.reason for finding in verdict.findings)
        assert all(
            "(judge 'rules': error, probability 0.90)" in finding.reason for finding in verdict.findings
        )
        [new] = verdict.suggestions
        assert (new.code, new.severity, new.quote, new.probability) == ("X1", "S1", "Let me look ", 0.9)
        assert new.reason.endswith("(demoted: the judge keeps no contract on X1).")
        assert {"I1", "I3", "P1", "E1", "W1"} <= set(verdict.judge.unmet)
        assert {"X1", "T1", "I2"} <= set(verdict.judge.codes)
        assert not set(verdict.judge.codes) & set(verdict.judge.unmet)
    assert sum(len(verdict.findings) for verdict in scored) == 4
    described = manifest["judge"]
    assert described["questions"] == {"readings": 0, "second_looks": 0, "screens": 15, "details": 9}
    assert described["tokens"]["output"] == 15 * 10 + 9 * 30
    assert manifest["not_covered"] == []
    assert manifest["cost"]["seconds"]["judge"] >= 0
    assert "suggestion: it was measured on no labels" in " ".join(capsys.readouterr().out.split())


def test_a_threshold_makes_findings(judged: Any) -> None:
    verdicts, _ = judged(RuleJudge(), judge_threshold=0.8)
    assert all("X1" in {finding.code for finding in verdict.findings} for verdict in verdicts[1:])
    assert all(verdict.quality == 0.0 for verdict in verdicts[1:])


def test_a_quote_that_is_not_in_the_turn_makes_no_finding(judged: Any) -> None:
    verdicts, manifest = judged(RuleJudge(quote="never said"))
    assert not any(verdict.suggestions for verdict in verdicts)
    assert manifest["judge"]["unquoted"] == 9


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
