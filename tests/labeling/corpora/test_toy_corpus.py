"""The toy corpus that ships: what its README says of it, and sets of examples that every stage can use."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from dialint.detector.artifacts import read_manifest
from dialint.detector.checks import NO_CONTEXT, load_checks
from dialint.detector.records import Dialogue, Turn
from dialint.labeling.synthetic.cleaning import correct_text, is_broken
from dialint.labeling.synthetic.corpora import TOY, TOY_FOLDER, CleanDialogue, data_folder, read_all
from dialint.labeling.synthetic.run import InjectConfig, run

CODES = {"C1", "L1", "L2", "M2", "M3", "R1", "T1", "T2", "U2", "U3", "U5", "V2"}
"""All that are made where no flow chart is known; P1 and P4 need one."""


@pytest.fixture(scope="module")
def cleans() -> list[CleanDialogue]:
    return [clean for rows in read_all(Path("toy")).values() for clean in rows]


def ids(path: Path) -> list[str]:
    return [json.loads(line)["dialogue"]["id"] for line in path.read_text().splitlines()]


def test_has_as_many_dialogues_as_its_readme_says_and_none_is_left_out(cleans: list[CleanDialogue]) -> None:
    readme = (TOY_FOLDER / "README.md").read_text()
    written = [(TOY_FOLDER / corpus.file).read_text().count("\n") for corpus in TOY]
    told = f"{sum(written)} dialogues are written by hand: {written[0]} in"
    assert told in readme
    assert f"which makes {len(cleans)} dialogues" in readme
    assert f"and {len(cleans) - sum(written)} varied" in readme
    assert sum(path.stat().st_size for path in TOY_FOLDER.iterdir()) < 1_000_000


def test_slots_are_filled_and_agents_make_no_slip_that_is_known(cleans: list[CleanDialogue]) -> None:
    for clean in cleans:
        turns = clean.draft.turns
        assert 6 <= len(turns) <= 14, clean.draft.id
        talk = Dialogue(
            id="d", turns=tuple(Turn(index=i, role=t.role, text=t.text) for i, t in enumerate(turns))
        )
        assert not any(
            check.codes[hit.code or next(iter(check.codes))].outcome == "finding"
            for check in load_checks().values()
            for hit in check(talk, NO_CONTEXT)
        ), clean.draft.id
        for turn in turns:
            assert not re.search(r"[{}]", turn.text)
            if turn.role == "agent":
                assert correct_text(turn.text) == turn.text
                assert not is_broken(turn.text), turn.text


def test_variations_of_one_dialogue_stay_in_one_split(cleans: list[CleanDialogue]) -> None:
    splits: dict[str, set[str]] = {}
    for clean in cleans:
        splits.setdefault(clean.draft.id.rpartition(".")[0], set()).add(clean.split)
    assert all(len(found) == 1 for found in splits.values())
    assert Counter(next(iter(found)) for found in splits.values()).keys() == {
        "train",
        "dev",
        "calibration",
        "test",
    }


def test_every_set_holds_errors_of_each_code(tmp_path: Path) -> None:
    run(InjectConfig(data=Path("toy"), out=tmp_path / "examples", eval_share=0.6, eval_rounds=3))
    files = {file["name"]: file for file in read_manifest(tmp_path / "examples" / "manifest.json")["files"]}
    assert len(files) == 9
    for name, file in files.items():
        assert file["rows"] > 0
        assert set(file["codes"]) == (set() if name.startswith("clean") else CODES), name
    held = {name.partition("~")[0] for name in ids(tmp_path / "examples/clean_toy.jsonl")}
    assert not held & {name.partition("~")[0] for name in ids(tmp_path / "examples/train.jsonl")}


def test_a_folder_of_the_corpus_s_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert data_folder(Path("toy")) == TOY_FOLDER
    (tmp_path / "toy").mkdir()
    assert data_folder(Path("toy")) == Path("toy")
