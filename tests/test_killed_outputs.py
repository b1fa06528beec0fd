"""A command that was killed at any step runs again, and what it makes then is whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dialint.app.commands.verify import verify_path
from dialint.detector.artifacts import MANIFEST, filling_folder, making_files, making_folder, write_once
from dialint.detector.errors import OutputRefused
from dialint.labeling.store.database.upgrade import upgrade

TURNS = [{"role": "customer", "text": "Where is my lamp?"}, {"role": "agent", "text": "It is on teh way."}]
ANSWER = {
    "id": "a", "dialogue_id": "d", "labeler": "w", "kind": "crowd", "codes": ["L1"],
    "findings": [{
        "code": "L1", "turn": 1, "start": 9, "end": 12, "severity": "S3", "probability": 0.8, "quote": "teh",
        "reason": "spelling",
    }],
}  # fmt: skip
STRIDES = {"aggregate": "2", "backup": "2", "convert": "1", "export": "3", "import": "3"}
COMMANDS = {
    "aggregate": ("label aggregate --annotations table.csv --out OUT-{}.jsonl", "OUT-{}.jsonl"),
    "backup": ("db backup OUT-{} --store store.sqlite", "OUT-{}"),
    "convert": ("convert log.jsonl --out OUT-{}.jsonl", "OUT-{}.jsonl"),
    "export": ("export labels --dialogues log.jsonl --format label-studio --codes L1 --out OUT-{}.json", "OUT-{}.json"),
    "import": ("import labels --labels answers.jsonl --dialogues log.jsonl --out OUT-{}.jsonl", "OUT-{}.jsonl"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_killed_at_any_step_runs_again(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIALINT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.jsonl").write_text(json.dumps({"dialogue_id": "d", "turns": TURNS}) + "\n")
    (tmp_path / "answers.jsonl").write_text(json.dumps(ANSWER) + "\n")
    (tmp_path / "table.csv").write_text("task,worker,label\na,v,yes\na,w,no\nb,v,yes\nb,w,yes\n")
    if command == "backup":
        upgrade("store.sqlite")
    words, out = COMMANDS[command]
    driver = Path(__file__).with_name("kill_driver.py")
    call = [sys.executable, str(driver), STRIDES[command], *words.split()]
    ended = subprocess.run(call, capture_output=True, text=True, check=True, timeout=500)
    *codes, last = ended.stdout.split()
    assert last == "done", ended.stderr
    n_whole = codes.count("2")  # killed after its very last step: what is there is finished, and refused
    assert codes == ["0"] * (len(codes) - n_whole) + ["2"] * n_whole, ended.stderr
    assert n_whole <= 2 < 8 < len(codes), ended.stderr
    assert "replaces what a killed run left" in ended.stderr
    for number in range(1, len(codes) * (stride := int(STRIDES[command])), stride):
        assert verify_path(tmp_path / out.format(number)) > 0
    ends = (".tmp", ".unfinished", ".making")
    assert not [path.name for path in tmp_path.rglob(".*") if path.name.endswith(ends)]


def test_a_folder_is_filled_by_one_process(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with filling_folder(out, "a set"):
        (out / "train.jsonl").write_text("mine")
        with pytest.raises(OutputRefused, match="E_LOCKED"), filling_folder(out, "a set"):
            (out / "train.jsonl").write_text("theirs")
        (out / MANIFEST).touch()
    with pytest.raises(OutputRefused, match="E_EXISTS"), filling_folder(out, "a set"):
        pass
    assert (out / "train.jsonl").read_text() == "mine"
    with pytest.raises(KeyError), filling_folder(tmp_path / "other", "a set"):
        raise KeyError
    assert {path.name for path in tmp_path.rglob("*")} == {"out", "train.jsonl", MANIFEST}


def test_of_two_keys_that_are_made_at_once_the_first_stays(tmp_path: Path) -> None:
    """Two exports with a new key file: a second split by another key would put test dialogues into train."""
    path = tmp_path / "folder/split.key"
    write_once(path, b"first")
    write_once(path, b"second")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"first", 0o600)
    assert [one.name for one in path.parent.iterdir()] == ["split.key"]


def test_what_is_not_a_killed_runs_is_refused_and_stays(tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl"
    mine.write_text("thesis")
    with pytest.raises(OutputRefused, match="E_EXISTS"), making_files(mine):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["mine.jsonl"]
    other = tmp_path / "other.jsonl"
    with making_files(other), pytest.raises(OutputRefused, match="E_LOCKED"), making_files(other):
        pass
    assert mine.read_text() == "thesis"


def test_a_run_that_failed_between_a_file_and_its_manifest_stops_no_other(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with pytest.raises(IsADirectoryError), making_files(out, tmp_path / "out.manifest.json"):
        out.write_text("half") and tmp_path.write_text("no file")
    with making_files(out, tmp_path / "out.manifest.json") as is_left:
        assert (is_left, out.exists()) == (True, False)
        out.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


def test_a_folder_appears_whole_and_replaces_what_was_left_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".out.making").mkdir()
    (tmp_path / ".out.making" / "half").touch()
    (tmp_path / ".out.unfinished").write_text("1")
    with making_folder(tmp_path / "out") as folder:
        assert list(folder.iterdir()) == []
        with pytest.raises(OutputRefused, match="E_LOCKED"), making_folder(tmp_path / "out"):
            pass
        (folder / MANIFEST).touch()
        assert not (tmp_path / "out").exists()
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["out", f"out/{MANIFEST}"]
    assert capsys.readouterr().err == f"{tmp_path / 'out'}: replaces what a killed run left\n"
    with pytest.raises(OutputRefused, match="E_EXISTS"), making_folder(tmp_path / "out"):
        pass
