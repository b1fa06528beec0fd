"""Screening a dataset: planted copies of held-out dialogues and flipped labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from dialint.detector.artifacts import (
    MANIFEST,
    file_entry,
    read_manifest,
    sha256_file,
    verify_files,
    write_manifest,
)
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.example_files import read_examples
from dialint.detector.records import Dialogue, Example, Label, Turn
from dialint.finetune.screening import (
    ScreenConfig,
    find_held_out_copies,
    find_label_errors,
    run,
    tail_thresholds,
)

WORDS = [
    f"{a}{b}{c}" for a in ("ba", "ko", "ru", "ti") for b in ("lan", "mit", "ros", "dek") for c in "aeiou"
]
PLANTED = {"T1": "stupid", "V2": "password", "R1": "unsolved"}


def test_only_the_far_ends_are_suspected() -> None:
    """Below .1 lie 6 of 10 clean turns and 1 of 10 errors: six times as dense; at .3 eight and two are only four
    times. From .9 there are 5 errors to 1 clean turn, from .8 5 to 2."""
    clean = [0.01, 0.02, 0.03, 0.04, 0.05, 0.1, 0.3, 0.3, 0.8, 0.9]
    errors = [0.1, 0.3, 0.4, 0.5, 0.6, 0.95, 0.95, 0.95, 0.95, 0.9]
    low, high = tail_thresholds(np.repeat([0.0, 1.0], 10), np.array([*clean, *errors]))
    assert (low, high) == (0.1, 0.9)
    assert tail_thresholds(np.array([0.0, 1.0] * 50), np.full(100, 0.3)) == (-1.0, 2.0)


def talk(seed: object, n_turns: int = 8) -> list[str]:
    rng = Random(str(seed))
    return [" ".join(rng.choices(WORDS, k=12)) for _ in range(n_turns)]


def example(name: str, texts: Sequence[str], *labels: tuple[int, str, float]) -> Example:
    turns = [Turn(index=n, role="agent" if n % 2 else "customer", text=text) for n, text in enumerate(texts)]
    labels = tuple(
        Label(dialogue_id=name, turn=turn, code=code, probability=p, method="people:share")
        for turn, code, p in labels
    )
    return Example(dialogue=Dialogue(id=name, turns=tuple(turns)), labels=labels, split="train")


def test_a_copy_of_a_copy_of_the_exam_is_one_too() -> None:
    texts = talk(1, 20)
    first, second = [*talk(5, 3), *texts[3:]], [*talk(5, 3), *texts[3:17], *talk(6, 3)]
    learn = [example("far", second), example("near", first), example("else", talk(2, 20))]
    copies, groups = find_held_out_copies(learn, [example("exam", texts)])
    assert [(each["dialogue_id"], each["like"]) for each in copies] == [("far", "exam"), ("near", "exam")]
    assert groups[0] == groups[1] != groups[2]
    alone, _ = find_held_out_copies(learn[:1], [example("exam", texts)])
    assert alone == []


def test_all_of_one_source_is_one_group() -> None:
    learn = [example("s~0~T1.x", talk(1)), example("s~1~V2.x", talk(2)), example("t", talk(3))]
    _, groups = find_held_out_copies(learn, [])
    assert groups[0] == groups[1] != groups[2]


FLIPPED = {f"d{number}" for number in range(0, 60, 3)}
"""Training dialogues whose second turn is said to be T1 and is not."""
COPIES = {"copy1": "d300", "copy2": "d301"}
"""Training dialogues with the texts of held-out ones."""


def labelled(name: str, split: str) -> Example:
    """A dialogue with planted words, and the labels of these."""
    texts, rng = talk(COPIES.get(name, name)), Random(f"errors of {COPIES.get(name, name)}")
    labels = [(1, "T1", 1.0)] if name in FLIPPED else []
    for turn in (3, 5, 7):
        code = rng.choice([*PLANTED, None])
        if code and (code != "R1" or turn == 7):
            texts[turn] += f" {PLANTED[code]}"
            labels.append((turn, code, 1.0))
    return example(name, texts, *labels).model_copy(update={"split": split})


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A data set, and what screening leaves of it."""
    folder = tmp_path_factory.mktemp("screening")
    names = {"train": [*(f"d{n}" for n in range(300)), *COPIES], "dev": ["d300"], "test": ["d301", "d302"]}
    examples = {split: [labelled(name, split) for name in names[split]] for split in names}
    beside = [{"split": split, "dialogue_id": name} for split in names for name in names[split]]
    dataset = made_set(folder / "given", examples, preferences=beside, lineage=beside)
    run(ScreenConfig(dataset=dataset, out=folder / "screened"))
    return {"given": dataset, "screened": folder / "screened"}


def made_set(folder: Path, examples: dict[str, list[Example]], **beside: list[dict[str, Any]]) -> Path:
    folder.mkdir()
    files = []
    for name, rows in {**examples, **beside}.items():
        lines = [json.dumps(each) if isinstance(each, dict) else each.model_dump_json() for each in rows]
        (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines))
        files.append({**file_entry(folder / f"{name}.jsonl", len(rows)), "families": {"T1.x": 3}})
    write_manifest(folder / MANIFEST, {"kind": "injected-examples", "files": files})
    return folder


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def suspects_in(folder: Path, why: str) -> list[dict[str, Any]]:
    return [row for row in rows(folder / "suspects.jsonl") if row["why"] == why]


def test_every_copy_of_the_exam_leaves_training(datasets: dict[str, Path]) -> None:
    out = datasets["screened"]
    copies = {row["dialogue_id"]: row["like"] for row in suspects_in(out, "exam-copy")}
    assert copies == COPIES
    assert not COPIES.keys() & {example.dialogue.id for example in read_examples(out / "train.jsonl")}


def test_flipped_labels_are_suspected(datasets: dict[str, Path]) -> None:
    held = [row for row in suspects_in(datasets["screened"], "label") if row["given"] == 1]
    right = [row for row in held if row["dialogue_id"] in FLIPPED and (row["turn"], row["code"]) == (1, "T1")]
    assert len(right) >= 0.75 * len(FLIPPED)
    assert len(right) >= 0.8 * len(held)


def test_only_rows_of_training_leave_and_they_leave_everywhere(datasets: dict[str, Path]) -> None:
    dataset, out = datasets["given"], datasets["screened"]
    dropped = {row["dialogue_id"] for row in rows(out / "suspects.jsonl")}

    def leaves(row: dict[str, Any]) -> bool:
        name = row.get("dialogue_id") or row["dialogue"]["id"]
        return row["split"] == "train" and name in dropped

    for name in ("dev", "test"):
        assert (out / f"{name}.jsonl").read_bytes() == (dataset / f"{name}.jsonl").read_bytes()
    for name in ("train", "preferences", "lineage"):
        before = (dataset / f"{name}.jsonl").read_text().splitlines()
        remaining = [line for line in before if not leaves(json.loads(line))]
        assert (out / f"{name}.jsonl").read_text().splitlines() == remaining
        assert len(remaining) < len(before)
    manifest = read_manifest(out / MANIFEST)
    verify_files(out, manifest["files"])
    names = {entry["name"] for entry in manifest["files"]}
    assert {path.name for path in out.iterdir()} == {MANIFEST, *names}
    assert manifest["screened_from"] == sha256_file(dataset / MANIFEST)
    assert (manifest["kind"], manifest["screening"]["dropped"]) == ("injected-examples", len(dropped))
    row_counts = {entry["name"]: entry["rows"] for entry in manifest["files"]}
    assert row_counts["train.jsonl"] == len(rows(out / "train.jsonl"))


def test_one_code_alone_is_screened() -> None:
    examples = [
        example(f"d{number}", [*talk(number, 3), f"{talk(-number, 1)[0]} {word}"], *labels)
        for number in range(120)
        for word, labels in [("stupid", [(3, "T1", 1.0)]) if number % 2 else ("fine", [])]
    ]
    suspects, screened = find_label_errors(
        examples, [each.dialogue.id for each in examples], ["T1"], set(), 0
    )
    assert screened == ["T1"]
    assert len(suspects) < 5


def test_no_text_leaves_the_examples(datasets: dict[str, Path]) -> None:
    out = datasets["screened"]
    for name in ("suspects.jsonl", MANIFEST):
        text = (out / name).read_text()
        assert not [word for word in (*WORDS, *PLANTED.values()) if word in text]


def test_a_screened_dataset_can_be_screened_again(datasets: dict[str, Path], tmp_path: Path) -> None:
    first = datasets["screened"]
    manifest = run(ScreenConfig(dataset=first, out=tmp_path / "again"))
    names = [entry["name"] for entry in manifest["files"]]
    assert len(names) == len(set(names))
    assert manifest["screened_from"] == sha256_file(first / MANIFEST)
    assert not suspects_in(tmp_path / "again", "exam-copy")


def test_codes_with_too_few_errors_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    examples = [example("a", talk(1), (3, "T1", 1.0), (3, "V2", 1.0)), example("b", talk(2))]
    run(ScreenConfig(dataset=made_set(tmp_path / "made", {"train": examples}), out=tmp_path / "out"))
    output = capsys.readouterr().err
    assert "0 of 2 training dialogues are left out" in output
    assert "too few errors to say anything: T1, V2" in output


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda a: (a / "train.jsonl").write_text(""), "E_CHECKSUM"),
        (lambda a: (a / MANIFEST).write_text("{}"), "E_MANIFEST"),
        (lambda a: write_manifest(a / MANIFEST, {"kind": "release", "files": []}), "E_DATASET"),
        (lambda a: write_manifest(a / MANIFEST, {"kind": "labelled-examples", "files": []}), "E_DATASET"),
    ],
    ids=["changed", "no manifest", "a release", "empty"],
)
def test_what_is_no_whole_dataset_is_refused(tmp_path: Path, damage: Any, code: str) -> None:
    folder = made_set(tmp_path / "made", {"train": [example("a", talk(1))]})
    damage(folder)
    with pytest.raises((OutputRefused, ConfigError)) as caught:
        run(ScreenConfig(dataset=folder, out=tmp_path / "out"))
    assert caught.value.code == code
    assert not (tmp_path / "out").exists()


def test_unknown_codes_and_finished_outputs_are_refused(tmp_path: Path) -> None:
    folder = made_set(tmp_path / "made", {"train": [example("a", talk(1), (3, "Q9", 1.0))]})
    with pytest.raises(ConfigError, match="E_CODE"):
        run(ScreenConfig(dataset=folder, out=tmp_path / "out"))
    with pytest.raises(OutputRefused, match="E_EXISTS"):
        run(ScreenConfig(dataset=folder, out=folder))
