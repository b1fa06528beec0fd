"""`dialint score --judge` from a log to files: with answers that are written here, and by a stand-in for a server."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fake_llm import FakeLLM, serving
from planted_data import SENTENCES, dialogues_with, planted
from scripted_judge import ScriptedJudge, listed

from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.artifacts import read_manifest
from dialint.detector.engines import model_server
from dialint.detector.errors import ConfigError, WorldError
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.verdict_files import manifest_path, read_verdicts
from dialint.detector.watchdog import WatchConfig

WriteLog = Callable[..., Path]
KEY = "sk-planted-0123456789"


X1 = {"turn": 1, "code": "X1", "quote": "Let me look", "severity": "S1", "probability": 0.7}
DECISION = {"number": 1, "code": "X1", "severity": "S1", "probability": 0.95}
C1 = {"turn": 1, "code": "C1", "quote": "for you"}


def test_findings_of_the_judge_are_counted_and_reported(
    write_log: WriteLog, driver: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of six dialogues, the first of which fails."""
    config = ScoreConfig(
        out=tmp_path / "v.jsonl", max_failed=1.0, watch=WatchConfig(dialogue_seconds=0), chunk_size=4,
        judge=JudgeConfig(judge="http://127.0.0.1:1/v1", judge_precision=0.9),
    )  # fmt: skip
    engine = ScriptedJudge(listed(X1, C1, decisions=[DECISION]))
    assert run([str(write_log(6, failing=1))], config, driver.FakeDetector({}), engine) == 0
    failed, *scored = read_verdicts(tmp_path / "v.jsonl")
    manifest = read_manifest(manifest_path(tmp_path / "v.jsonl"))
    assert failed.judge is not None
    assert (failed.status, failed.judge.codes) == ("failed", ())
    for verdict in scored:
        assert verdict.judge is not None
        by_code = {finding.code: finding for finding in verdict.findings}
        assert {"X1", "C1"} <= set(by_code)
        assert by_code["X1"].reason.endswith("(judge 'scripted': 0.95).")
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
    seldom = replace(config, out=tmp_path / "seldom.jsonl", judge=replace(config.judge, judge_precision=0.7))
    assert run([str(write_log(6, failing=1))], seldom, driver.FakeDetector({}), engine) == 0
    for verdict in list(read_verdicts(seldom.out))[1:]:
        assert "X1" in {each.code for each in verdict.suggestions} - {each.code for each in verdict.findings}


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


def options(folder: Path, url: str, **judge: Any) -> ScoreConfig:
    return ScoreConfig(
        out=folder / "v.jsonl", max_failed=1.0, watch=WatchConfig(dialogue_seconds=0), chunk_size=20,
        judge=JudgeConfig(judge=f"http:{url}", judge_precision=0.9, **judge), quiet=True,
    )  # fmt: skip


def test_no_personal_data_reaches_the_server(tmp_path: Path, driver: ModuleType) -> None:
    """500 of 500 that masking promises; what it misses of harder ones is in docs/experiments/masking.md."""
    data, log = planted(500), tmp_path / "log.jsonl"
    log.write_text(
        "".join(f"{each.model_dump_json(exclude_defaults=True)}\n" for each in dialogues_with(data))
    )
    assert {kind for kind, _, _ in data} == set(SENTENCES)
    llm = FakeLLM(false_positives={"": 0.03})
    with serving(llm) as url:
        assert run([str(log)], options(tmp_path, url), driver.FakeDetector({})) == 0
    received = llm.received.decode()
    for instructions in {entry["body"]["messages"][0]["content"] for entry in llm.log if entry["body"]}:
        received = received.replace(json.dumps(instructions, ensure_ascii=False), "")
    haystack = received + re.sub(r"[\s().+-]", "", received)
    assert received.count("[EMAIL_1]") > 20
    leaked = [
        kind
        for kind, value, _ in data
        if value in haystack
        or (kind in ("PHONE", "CARD", "IBAN") and re.sub(r"[\s().+-]", "", value) in haystack)
        or (kind == "NAME" and any(re.search(rf"\b{part}\b", received) for part in value.split()))
    ]
    assert leaked == []


def test_a_key_stands_in_nothing_that_is_written(
    write_log: WriteLog, tmp_path: Path, driver: ModuleType, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("DIALINT_JUDGE_KEY", KEY)
    llm = FakeLLM(key=KEY, statuses=[(500, {}), (503, {})])
    with serving(llm) as url:
        run([str(write_log(10))], options(tmp_path, url), driver.FakeDetector({}))
    assert f"Bearer {KEY}".encode() in llm.received
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 2
    assert [path.name for path in written if KEY.encode() in path.read_bytes()] == []
    captured = capsys.readouterr()
    assert KEY not in captured.out + captured.err


def test_a_server_killed_twice_changes_no_verdict(
    write_log: WriteLog, tmp_path: Path, driver: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays away: exit by WorldError, and the same command goes on; or it is back in time."""
    monkeypatch.setattr(model_server, "RETRIES", 0)
    log, llm = write_log(100), FakeLLM(false_positives={"": 0.05})
    with serving(llm) as url:
        config = options(tmp_path, url, judge_outage_s=0.3)
        assert run([str(log)], replace(config, out=tmp_path / "whole.jsonl"), driver.FakeDetector({})) == 0
        for n_requests in (35, 45):
            llm.down, llm.dies_after = False, n_requests
            with pytest.raises(WorldError, match="start the same command again"):
                run([str(log)], config, driver.FakeDetector({}))
        llm.down, llm.dies_after, llm.back_after_s = False, 20, 0.5
        again = replace(config, judge=replace(config.judge, judge_outage_s=20.0))
        assert run([str(log)], again, driver.FakeDetector({})) == 0
    assert (tmp_path / "v.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    verdicts = list(read_verdicts(tmp_path / "v.jsonl"))
    assert [each.dialogue_id for each in verdicts] == [f"d{n}" for n in range(100)]
    assert all(each.quality is not None for each in verdicts)
    assert any("judge 'fake-4b'" in finding.reason for each in verdicts for finding in each.findings)


def test_a_budget_in_dollars_is_a_limit_and_the_manifest_has_the_cost(
    write_log: WriteLog, tmp_path: Path, driver: ModuleType
) -> None:
    """The server's own count of tokens is what costs."""
    with serving(FakeLLM(false_positives={"": 0.02})) as url:
        config = options(tmp_path, url, judge_budget="1 usd", judge_price="0.15,0.60")
        assert run([str(write_log(40))], config, driver.FakeDetector({})) == 0
    judge = read_manifest(manifest_path(tmp_path / "v.jsonl"))["judge"]
    tokens, budget = judge["tokens"], judge["budget"]
    cost = (0.15 * tokens["prompt"] + 0.60 * tokens["output"]) / 1e6
    assert judge["cost_usd"] == pytest.approx(cost, abs=1e-6)
    assert (budget["unit"], budget["spent"]) == ("usd", pytest.approx(cost, abs=1e-5))
    assert 0 < budget["spent"] <= budget["allowed"] == pytest.approx(1 * 40 / 1000)
    assert judge["unasked"]


def test_a_context_that_holds_no_question_loses_no_dialogue(
    tmp_path: Path, driver: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says what to do, and no verdict takes what was not answered for clean."""
    text = "It is on its way, as I said, and I have told the carrier again. " * 8
    turns = [{"role": ("customer", "agent")[number % 2], "text": f"{number}: {text}"} for number in range(60)]
    rows = [{"dialogue_id": "long", "turns": turns}, {"dialogue_id": "short", "turns": turns[:2]}]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serving(FakeLLM(context=600)) as url:
        config = replace(options(tmp_path, url, judge_context=8192), quiet=False)
        assert run([str(log)], config, driver.FakeDetector({})) == 0
    verdicts = list(read_verdicts(tmp_path / "v.jsonl"))
    assert [(each.dialogue_id, each.status) for each in verdicts] == [("long", "scored"), ("short", "scored")]
    for verdict in verdicts:
        assert verdict.judge is not None
        assert verdict.quality is None
        assert set(verdict.judge.failures) == {"E_CONTEXT"}
        assert {"T1", "M3", "V1", "X1"} <= {*verdict.judge.unmet, *verdict.judge.failures["E_CONTEXT"]}
    printed = " ".join(capsys.readouterr().out.split())
    assert re.search(r"E_CONTEXT: in \d dialogues a question was too long for the judge", printed), printed
    assert "a larger --max-model-len of the server" in printed
    assert "or --judge-detail short" in printed
