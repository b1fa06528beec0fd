"""The examples in the docstring of `dialint` run, on the embedded release."""

import json
import re
import textwrap
from pathlib import Path

import pytest

import dialint
from dialint import DetectorConfig, DialintError, Verdict, load_detector
from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import Counts, Loaded
from dialint.detector.ingest.read import open_logs, read
from dialint.detector.watchdog import WatchConfig


def test_the_examples_of_the_docstring_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert dialint.__doc__ is not None
    code = "\n".join(re.findall(r"^    .*$|^$", dialint.__doc__, re.MULTILINE))
    names: dict[str, object] = {}
    exec(textwrap.dedent(code), names)
    lines = [line.split(" ", 3) for line in capsys.readouterr().out.splitlines()]
    assert [(code, turn, quote) for code, turn, _, quote in lines] == [("M2", "1", "{{name}}")]
    assert all(0.5 < float(probability) < 1 for _, _, probability, _ in lines)
    (verdict,) = names["verdicts"]  # type: ignore[misc]
    assert isinstance(verdict, Verdict)
    assert verdict.status == "scored"
    assert verdict.probabilities is not None


def test_what_is_refused_is_a_dialint_error(tmp_path: Path) -> None:
    with pytest.raises(DialintError) as refused:
        load_detector(DetectorConfig(release=tmp_path))
    assert refused.value.code.startswith("E_")
    assert refused.value.message


def test_no_other_name_is_public() -> None:
    with pytest.raises(AttributeError, match="no attribute 'secrets'"):
        dialint.secrets  # noqa: B018
    assert set(dir(dialint)) == set(dialint.__all__)


def test_python_and_the_command_line_give_the_same_verdicts(tmp_path: Path) -> None:
    log, out = tmp_path / "log.jsonl", tmp_path / "v.jsonl"
    whose = {"agent": "ada", "team": "north", "channel": "chat", "at": "2026-11-02T10:00:00Z"}
    german = "Guten Tag, ich sehe gern für Sie nach und melde mich gleich wieder bei Ihnen."
    question = {"role": "customer", "text": "Where is my order?"}
    with log.open("w", encoding="utf-8") as file:
        for about, texts in (
            ({"dialogue_id": "whole", **whose}, ["Hello {first_name}, your parcel arrives tomorrow."]),
            ({"dialogue_id": "clean"}, ["It was shipped yesterday and arrives on Friday."]),
            ({"dialogue_id": "german"}, [german]), ({"dialogue_id": "alone"}, []),
        ):  # fmt: skip
            at = {"at": about.pop("at")} if "at" in about else {}
            turns = [{**question, **at}, *({"role": "agent", "text": text} for text in texts)]
            file.write(json.dumps({**about, "turns": turns}) + "\n")
    config = ScoreConfig(out=out, quiet=True, watch=WatchConfig(dialogue_seconds=0))
    assert run([str(log)], config) == 0
    records = read(open_logs([str(log)]), ReadConfig(), Counts())
    read_dialogues = [each.dialogue for each in records if isinstance(each, Loaded)]
    verdicts = dialint.score(read_dialogues)
    rows = [verdict.model_dump(mode="json") for verdict in verdicts]
    assert [json.loads(line) for line in out.read_bytes().splitlines()] == rows
    first = rows[0]
    assert [first[name] for name in ("agent", "team", "channel")] == ["ada", "north", "chat"]
    assert first["started_at"].startswith("2026-11-02T10:00")
    assert [verdict.status for verdict in verdicts] == ["scored", "scored", "not_judged", "failed"]
    assert all("suggestions" in row for row in rows)
