"""`dialint eval judge`: judges read a data set, are compared, and get a contract."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rude_dialogues import RUDE, SORRY
from scripted_judge import ScriptedJudge, listed

from dialint.detector.artifacts import fingerprint
from dialint.detector.engines import judge_engines
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.judge.config import JudgeConfig, parse_judge
from dialint.detector.overrides import JudgeContract, JudgedCode, read_overrides, update_overrides
from dialint.eval.attack import run as attack_run
from dialint.eval.attack.run import AttackConfig
from dialint.eval.judge import EvaluateConfig, judge
from dialint.eval.labelled import SelectionConfig

GOOD, BAD = "http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"


def good(request: Any) -> Any:
    is_rude = RUDE in request.messages[-1]["content"]
    return listed(*[{"turn": 3, "code": "T1", "quote": RUDE}] * is_rude)(request)


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> dict[str, ScriptedJudge]:
    """One judge finds each rude turn, the other accuses every first answer."""
    both = {
        GOOD: ScriptedJudge(good, name="good"),
        BAD: ScriptedJudge(listed({"turn": 1, "code": "T1", "quote": SORRY}), name="bad"),
    }
    monkeypatch.setattr(judge_engines, "open_judge", lambda config, **_: both[config.judge])
    return both


def test_two_judges_are_compared_and_the_first_gets_a_contract(
    dataset: Path, engines: dict[str, ScriptedJudge], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, overrides = tmp_path / "report.json", tmp_path / "team.yaml"
    config = EvaluateConfig(against=(BAD,), split="train", out=out, overrides=overrides, rounds=50)
    judge(dataset, judge_config=JudgeConfig(judge=GOOD, min_precision=0.7), config=config)
    report = json.loads(out.read_text())
    first, second = report["judges"][GOOD], report["judges"][BAD]
    assert (first["errors"], first["precision"], first["recall"], first["f_half"]) == (16, 1.0, 1.0, 1.0)
    assert (second["precision"], second["recall"], second["false_accusations_per_100_turns"]) == (
        0.0,
        0.0,
        50.0,
    )
    assert report["differences"] == {BAD: report["differences"][BAD]}
    assert report["differences"][BAD]["f_half"] == {"difference": 1.0, "low": 1.0, "high": 1.0}
    assert first["usage"]["questions"] == len(engines[GOOD].requests) == 32
    contract = read_overrides(overrides).judge
    assert contract is not None
    assert (contract.judge, contract.precision, contract.listed, contract.right) == ("good", 0.7, 16, 16)
    assert not contract.accuses  # too few errors were listed to be sure
    printed = capsys.readouterr().out
    assert (
        "16 of 16 listed errors right, 16 of 16 labels found on 32 dialogues; findings for no code" in printed
    )
    assert report["served"] is None
    for text in (RUDE, SORRY):
        assert text not in out.read_text()
        assert text not in printed


def test_what_a_promotion_asks_for_is_measured_by_contracts(
    dataset: Path, engines: dict[str, ScriptedJudge], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(attack_run, "AttackConfig", partial(AttackConfig, per_family=1))
    codes = {"T1": JudgedCode(slope=1.0, offset=1.0, threshold=0.8), "C1": JudgedCode(slope=1.0, offset=0.0)}
    out, paths = tmp_path / "report.json", [tmp_path / f"{name}.yaml" for name in ("good", "bad")]
    for path in paths:
        update_overrides(
            path, None, judge=JudgeContract(judge=path.stem, prompt="", precision=0.9, codes=codes)
        )
    config = EvaluateConfig(against=(BAD,), split="train", out=out, contract=tuple(paths), rounds=50)
    judge(dataset, judge_config=JudgeConfig(judge=GOOD), config=config)
    report = json.loads(out.read_text())
    served, own = report["served"], report["judges"][GOOD]
    assert (served["precision_of_findings"], served["recall_of_errors"]) == (1.0, 1.0)
    assert served["against"][BAD]["figures"]["precision_of_findings"] == 0.0
    assert not [row for row in served["calibration"] if row[0] > 0.5]  # 16 are too few for a bin
    assert set(served["slices"]["language"]) == {"en"}
    assert own["contract"] == 0.9
    assert (own["attacks"]["order"]["all"]["flips"], own["attacks"]["hide"]["all"]["trials"] > 0) == (0, True)
    printed = capsys.readouterr().out
    assert all(words in printed for words in ("questions a second", "attacks: findings hidden"))
    for text in (RUDE, SORRY):
        assert text not in out.read_text()
    measured = read_overrides(paths[0]).judge
    assert measured is not None
    used = measured.model_copy(update={"measured_on": fingerprint([report["dataset"], "train"])})
    update_overrides(paths[0], None, judge=used)
    for changes, options, message in (
        ({}, {}, "measured on the split train itself"),
        ({"split": "test", "contract": (paths[1],)}, {}, "of bad, and the judge is good"),
        ({"split": "test", "against": ()}, {}, "2 files for 1 judges"),
        ({"split": "test"}, {"judge_cache": "answers.sqlite"}, "--judge-cache"),
    ):
        with pytest.raises(ConfigError, match=message):
            judge(dataset, judge_config=JudgeConfig(judge=GOOD, **options), config=replace(config, **changes))


def test_a_limit_and_selected_codes_are_read(dataset: Path, engines: dict[str, ScriptedJudge]) -> None:
    config = EvaluateConfig(rounds=0, selection=SelectionConfig(codes=("T1",), limit=3))
    judge(dataset, judge_config=JudgeConfig(judge=GOOD), config=config)
    requests = engines[GOOD].requests
    assert len(requests) == 3
    assert {name for each in requests for name in each.schema["properties"]["errors"]["items"]["properties"]["code"]["enum"]} == {"T1"}  # fmt: skip


def test_a_bare_folder_is_a_judge_in_this_process(tmp_path: Path) -> None:
    assert parse_judge(str(tmp_path)) == ("local", str(tmp_path))
    with pytest.raises(ConfigError, match="expected local:FOLDER"):
        parse_judge(str(tmp_path / "gone"))


def test_mistakes_are_refused_before_any_question(
    dataset: Path, engines: dict[str, ScriptedJudge], tmp_path: Path
) -> None:
    changed = tmp_path / "changed"
    changed.mkdir()
    for path in dataset.iterdir():
        (changed / path.name).write_bytes(path.read_bytes())
    (changed / "test.jsonl").write_text((dataset / "dev.jsonl").read_text())
    good = JudgeConfig(judge=GOOD)
    with pytest.raises(OutputRefused, match="E_CHECKSUM"):
        judge(changed, judge_config=good)
    for judge_config, config, message in (
        (JudgeConfig(), EvaluateConfig(), "--judge: name the judge"),
        (good, EvaluateConfig(split="nowhere"), "E_EXAMPLE"),
        (good, EvaluateConfig(against=("nobody",)), "expected local:FOLDER"),
        (good, EvaluateConfig(out=tmp_path / "none" / "report.json"), "no file can be written"),
        (JudgeConfig(judge=GOOD, judge_budget="5 questions"), EvaluateConfig(), "--judge-budget"),
    ):
        with pytest.raises(ConfigError, match=message):
            judge(dataset, judge_config=judge_config, config=config)
    assert not engines[GOOD].requests


def test_a_judge_without_usable_answers_gets_no_contract(
    dataset: Path, engines: dict[str, ScriptedJudge], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engines[GOOD].answers = lambda _: ["no"]
    judge(dataset, judge_config=JudgeConfig(judge=GOOD), config=EvaluateConfig(rounds=0))
    assert "good: dialogues without a usable answer: 8 E_ANSWER" in capsys.readouterr().out
    overrides = tmp_path / "team.yaml"
    config = EvaluateConfig(rounds=0, overrides=overrides)
    with pytest.raises(ConfigError, match="no usable answer about 8 of 8"):
        judge(dataset, judge_config=JudgeConfig(judge=GOOD), config=config)
    assert not overrides.exists()
