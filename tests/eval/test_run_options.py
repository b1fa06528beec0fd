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


@pytest.mark.parametrize(
    ("name", "out", "message"),
    [
        ("set.jsonl", "nowhere/x.json", "nowhere"),
        ("missing.jsonl", "x.json", r"missing\.jsonl"),
        ("set.jsonl", "x.json", "none of the files holds an example"),
    ],
)
def test_what_cannot_be_measured_is_the_users_error(
    tmp_path: Path, detector: DetectorConfig, name: str, out: str, message: str
) -> None:
    (tmp_path / "set.jsonl").write_text("")
    with pytest.raises(ConfigError, match=message):
        run(tmp_path / name, config=EvalConfig(out=tmp_path / out), detector=detector)


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
