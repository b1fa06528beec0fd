"""`dialint explain`: a verdict with its dialogue."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dialint.app.commands.explain import explain
from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.errors import ConfigError
from dialint.detector.interface import DetectorConfig

TURNS = [
    {"role": "customer", "text": "I am Ann Lee, where is my parcel?"},
    {"role": "agent", "text": "Hello {first_name}, it is on its way."},
]


@pytest.fixture
def verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("log.jsonl").write_text(json.dumps({"dialogue_id": "d1", "turns": TURNS, "team": "north"}) + "\n")
    config = ScoreConfig(out=Path("v.jsonl"), quiet=True, detector=DetectorConfig(scan="off"))
    assert run(["log.jsonl"], config) == 0
    return Path("v.jsonl")


def test_findings_are_below_their_turns_and_the_log_is_resolved(
    verdicts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    explain("d1", verdicts)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("d1, north: ")
    assert lines[1] == "   0 customer: I am [NAME_1], where is my parcel?"
    assert lines[2] == "   1 agent: Hello {first_name}, it is on its way."
    assert lines[3].startswith("       M2 S2 0.")
    assert "exact check" in " ".join(lines[4:])


@pytest.mark.parametrize(
    ("dialogue", "logs", "message"),
    [("d2", (), "no verdict on a dialogue 'd2'"), ("d1", ("other.jsonl",), "other.jsonl: no dialogue 'd1'")],
)
def test_missing_dialogues_are_reported(
    verdicts: Path, dialogue: str, logs: tuple[str, ...], message: str
) -> None:
    Path("other.jsonl").write_text(json.dumps({"dialogue_id": "o", "turns": TURNS}) + "\n")
    with pytest.raises(ConfigError, match=message):
        explain(dialogue, verdicts, *logs)


def test_a_moved_log_must_be_specified(verdicts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("log.jsonl").rename("moved.jsonl")
    with pytest.raises(ConfigError, match="name the log"):
        explain("d1", verdicts)
    explain("d1", verdicts, "moved.jsonl")
    assert "M2" in capsys.readouterr().out
