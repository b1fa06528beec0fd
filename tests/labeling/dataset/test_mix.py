"""Mixing folders of examples: what a folder was not labelled for is unknown, and nothing else changes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from dialint.detector.artifacts import file_entry, read_manifest, write_manifest
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.example_files import read_examples
from dialint.detector.records import Dialogue, Example, Label, Turn
from dialint.labeling.dataset.mix import MixConfig, mix


def write_folder(folder: Path, code: str, sizes: dict[str, int], codes: list[str] | None = None) -> Path:
    """Examples with an error of `code` each; a twin stands beside every second one."""
    folder.mkdir()
    for name, size in sizes.items():
        lines = []
        for number in range(size):
            turns = (
                Turn(index=0, role="customer", text="My parcel?"),
                Turn(index=1, role="agent", text="Wait."),
            )
            ids = f"{folder.name}-{name}-{number}"
            label = Label(dialogue_id=ids, turn=1, code=code, probability=1.0, method="read")
            pair = f"p{number // 2}~x" if folder.name == "made" else None
            example = Example(dialogue=Dialogue(id=ids, turns=turns), labels=(label,), split=name, pair=pair)
            lines.append(example.model_dump_json(exclude_defaults=True) + "\n")
        (folder / f"{name}.jsonl").write_text("".join(lines))
    files = [file_entry(folder / f"{name}.jsonl") for name in sizes]
    sources = [{"name": folder.name, "licence": "none", "trains": True, "rows": 1}]
    content = {"sources": sources, "files": files, **({"codes": codes} if codes else {})}
    write_manifest(folder / "manifest.json", content)
    return folder


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    made = write_folder(tmp_path / "made", "T1", {"train": 20, "dev": 3, "test": 2})
    natural = write_folder(tmp_path / "natural", "C1", {"train": 4, "dev": 2}, ["C1", "L4"])
    return made, natural


def test_what_a_dataset_has_beside_its_examples_is_left_out(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    for name in ("lineage", "preferences"):
        (folders[1] / f"{name}.jsonl").write_text('{"dialogue_id": "d1"}\n')
    mix(MixConfig(examples=folders, out=tmp_path / "mixed"))
    assert {path.stem for path in (tmp_path / "mixed").glob("*.jsonl")} == {
        "train", "dev", "test", "dev_natural",
    }  # fmt: skip


def test_codes_of_other_folders_are_unknown(folders: tuple[Path, Path], tmp_path: Path) -> None:
    mix(MixConfig(examples=folders, out=tmp_path / "mixed", repeat=(0.5, 3)))
    train = list(read_examples(tmp_path / "mixed" / "train.jsonl"))
    assert {(e.labels[0].code, e.unlabelled) for e in train} == {("T1", ("C1", "L4")), ("C1", ("T1",))}
    counts = Counter(example.dialogue.id for example in train)
    assert {name: n for name, n in counts.items() if name.startswith("natural")} == {
        f"natural-train-{number}": 3 for number in range(4)
    }
    pairs = Counter(example.pair for example in train if example.pair)
    assert set(pairs.values()) == {2}  # an error and its twin stay together
    assert len(pairs) == 5
    assert [e.dialogue.id.partition("-")[0] for e in train] != sorted(
        e.dialogue.id.partition("-")[0] for e in train
    )


def test_other_sets_stay_apart(folders: tuple[Path, Path], tmp_path: Path) -> None:
    mix(MixConfig(examples=folders, out=tmp_path / "mixed"))
    manifest = read_manifest(tmp_path / "mixed" / "manifest.json")
    assert {file["name"]: file["rows"] for file in manifest["files"]} == {
        "train.jsonl": 24, "dev.jsonl": 3, "test.jsonl": 2, "dev_natural.jsonl": 2,
    }  # fmt: skip
    assert manifest["codes"] == ["C1", "L4", "T1"]
    assert [source["name"] for source in manifest["sources"]] == ["made", "natural"]
    assert all(e.unlabelled == ("T1",) for e in read_examples(tmp_path / "mixed" / "dev_natural.jsonl"))
    with pytest.raises(OutputRefused, match="E_EXISTS"):
        mix(MixConfig(examples=folders, out=tmp_path / "mixed"))


@pytest.mark.parametrize(
    ("repeat", "n"), [((1.0,), 2), ((1.0, 0.0), 2), ((), 1)], ids=["too few", "none of one", "one folder"]
)
def test_wrong_options_are_refused(
    folders: tuple[Path, Path], tmp_path: Path, repeat: tuple[float, ...], n: int
) -> None:
    with pytest.raises(ConfigError, match="E_OPTION"):
        MixConfig(examples=folders[:n], out=tmp_path / "mixed", repeat=repeat)
