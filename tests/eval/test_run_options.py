"""What `dialint eval run` says of options that cannot be, before any work is done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny

from dialint.detector.errors import ConfigError
from dialint.detector.interface import DetectorConfig
from dialint.detector.records import Dialogue, Example, Turn
from dialint.eval.run import EvalConfig, run


@pytest.fixture
def detector(tmp_path: Path) -> DetectorConfig:
    return DetectorConfig(release=tiny.write_release(tmp_path / "r"), precision="fp32", threads=1)


def log(folder: Path, role: str) -> str:
    path = folder / "log.jsonl"
    path.write_text(json.dumps({"id": "a", "turns": [{"role": role, "text": "w1 w2"}]}) + "\n")
    return str(path)


def test_a_folder_that_is_not_there_is_said_first(tmp_path: Path, detector: DetectorConfig) -> None:
    out = tmp_path / "nowhere" / "x.json"
    (tmp_path / "set.jsonl").write_text("")
    with pytest.raises(ConfigError, match="nowhere"):
        run(tmp_path / "set.jsonl", config=EvalConfig(out=out), detector=detector)


def test_a_missing_file_of_examples_is_the_users_error(tmp_path: Path, detector: DetectorConfig) -> None:
    with pytest.raises(ConfigError, match=r"missing\.jsonl"):
        run(tmp_path / "missing.jsonl", detector=detector)


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
