"""What the exam and the stopwatch say of options that cannot be, before any work is done."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tiny

from dialint.detector.engines.local import LocalEngine
from dialint.detector.errors import ConfigError
from dialint.detector.interface import DetectorConfig
from dialint.detector.pipeline import load_detector
from dialint.detector.records import Dialogue, Example, Turn
from dialint.detector.scanner import WindowScores
from dialint.eval.run import EvalConfig, run
from dialint.eval.speed import SpeedConfig, _differences, speed


@pytest.fixture
def detector(tmp_path: Path) -> DetectorConfig:
    return DetectorConfig(release=tiny.write_release(tmp_path / "r"), precision="fp32", threads=1)


def log(folder: Path, role: str) -> str:
    path = folder / "log.jsonl"
    path.write_text(json.dumps({"id": "a", "turns": [{"role": role, "text": "w1 w2"}]}) + "\n")
    return str(path)


def test_a_log_without_an_agent_turn_cannot_be_timed(tmp_path: Path, detector: DetectorConfig) -> None:
    with pytest.raises(ConfigError, match="no dialogue with an agent turn"):
        speed(log(tmp_path, "customer"), config=SpeedConfig(rounds=1), detector=detector)


@pytest.mark.parametrize("options", [{"limit": 0}, {"rounds": 0}])
def test_nothing_to_time_is_refused(options: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        SpeedConfig(**options)


def test_a_folder_that_is_not_there_is_said_first(tmp_path: Path, detector: DetectorConfig) -> None:
    out = tmp_path / "nowhere" / "x.json"
    with pytest.raises(ConfigError, match="nowhere"):
        speed(log(tmp_path, "agent"), config=SpeedConfig(out=out), detector=detector)
    (tmp_path / "set.jsonl").write_text("")
    with pytest.raises(ConfigError, match="nowhere"):
        run(tmp_path / "set.jsonl", config=EvalConfig(out=out), detector=detector)


def test_a_missing_file_of_examples_is_the_users_error(tmp_path: Path, detector: DetectorConfig) -> None:
    with pytest.raises(ConfigError, match=r"missing\.jsonl"):
        run(tmp_path / "missing.jsonl", detector=detector)


@pytest.mark.parametrize("part", ["slots", "spans", "dialogue"])
def test_a_difference_in_any_score_of_any_window_is_seen(
    detector: DetectorConfig, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    loaded = load_detector(detector)
    engine = loaded.scanner.engine
    assert isinstance(engine, LocalEngine)
    dialogue = Dialogue(id="a", turns=(Turn(index=0, role="agent", text="w1 w2"),))
    windows = loaded.scanner.renderer.render(dialogue) * 70
    assert _differences(engine, windows, 100) < 1e-4
    sound = engine.scan(windows)
    wrong = {
        "slots": sound[-1].slots + 1,
        "spans": tuple(spans + 1 for spans in sound[-1].spans),
        "dialogue": np.asarray(sound[-1].dialogue) + 1,
    }
    last = WindowScores(**{**vars(sound[-1]), part: wrong[part]})
    monkeypatch.setattr(engine, "scan", lambda _: [*sound[:-1], last])
    assert _differences(engine, windows, 100) == pytest.approx(1, abs=1e-3)


def test_a_file_without_examples_gives_no_figures(tmp_path: Path, detector: DetectorConfig) -> None:
    (tmp_path / "set.jsonl").write_text("")
    with pytest.raises(ConfigError, match="none of the files holds an example"):
        run(tmp_path / "set.jsonl", detector=detector)


def test_a_set_without_examples_is_named_and_the_others_are_measured(
    tmp_path: Path, detector: DetectorConfig, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dev.jsonl").write_text("")
    talk = Dialogue(
        id="a", turns=(Turn(index=0, role="customer", text="w1"), Turn(index=1, role="agent", text="w2"))
    )
    (tmp_path / "test.jsonl").write_text(
        Example(dialogue=talk, labels=(), split="test").model_dump_json() + "\n"
    )
    out = tmp_path / "report.json"
    run(
        tmp_path / "dev.jsonl",
        tmp_path / "test.jsonl",
        config=EvalConfig(rounds=0, out=out),
        detector=detector,
    )
    assert "dev.jsonl: holds no example" in capsys.readouterr().err
    assert list(json.loads(out.read_text())["sets"]) == ["test"]
