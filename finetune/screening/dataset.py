"""The files that screening reads and writes: a dataset's folder, and the records of suspected examples."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from pydantic import Field

from dialint.detector.artifacts import atomic_file, file_entry, read_manifest, sha256_file, verify_files
from dialint.detector.errors import ConfigError
from dialint.detector.example_files import BATCH_ROWS, ENDINGS, read_examples
from dialint.detector.records import Example, Probability, Record

Why = Literal["exam-copy", "contradiction", "label"]


class Suspect(Record):
    """A training example that should not be learned from, and why.

    exam-copy: it is a near-copy of the example `like` of a set that judges. contradiction: copies of it say
    otherwise of this turn and code; `probability` is their mean. label: a model that never saw this dialogue
    is sure of the opposite; `probability` is what it gave to an error. `given` is the label in question, 0
    where there is none. `turn` is none for a code that is of the whole dialogue.
    """

    dialogue_id: str
    why: Why
    turn: Annotated[int, Field(ge=0)] | None = None
    code: str | None = None
    given: Probability | None = None
    probability: Probability | None = None
    like: str | None = None


MANIFEST = "manifest.json"
KINDS = ("labelled-examples", "injected-examples")
OURS = ("suspects", "labelers")
"""Files of an earlier screening: not taken over."""
WITH_SPLITS = ("train", "preferences", "lineage")
"""Files that hold rows of training."""


@dataclass(frozen=True)
class Dataset:
    """A verified dataset."""

    folder: Path
    manifest: dict[str, Any]

    @classmethod
    def open(cls, folder: Path) -> Dataset:
        """Verify every file against the manifest.

        Raises:
            OutputRefused: E_MANIFEST or E_CHECKSUM, it is not complete or was changed.
            ConfigError: E_DATASET, it is no dataset, or has nothing to learn from.
        """
        manifest = read_manifest(folder / MANIFEST)
        if manifest.get("kind") not in KINDS:
            raise ConfigError("E_DATASET", f"{folder}: not a dataset of `export dataset` or `data inject`")
        names = [str(entry["name"]) for entry in manifest["files"]]
        if any(Path(name).name != name for name in names):
            raise ConfigError("E_DATASET", f"{folder}: its manifest names files that are not in it")
        verify_files(folder, manifest["files"])
        if "train" not in {Path(name).stem for name in names}:
            raise ConfigError("E_DATASET", f"{folder}: holds no set train")
        return cls(folder, manifest)

    @property
    def made(self) -> bool:
        """Whether its errors were made, with clean twins beside them."""
        return bool(self.manifest["kind"] == "injected-examples")

    @property
    def sha256(self) -> str:
        """What the dataset is known by."""
        return sha256_file(self.folder / MANIFEST)

    def training(self) -> list[Example]:
        """The examples that are learned from."""
        return [example for path in self._sets() if path.stem == "train" for example in read_examples(path)]

    def judging(self) -> list[Example]:
        """The examples of all other sets."""
        return [example for path in self._sets() if path.stem != "train" for example in read_examples(path)]

    def asked(self) -> dict[str, list[str]]:
        """Who was asked of each training dialogue; empty where nobody was."""
        path = self.folder / "lineage.jsonl"
        if not path.exists():
            return {}
        rows = (json.loads(line) for line in path.read_bytes().splitlines())
        return {row["dialogue_id"]: list(row["labelers"].values()) for row in rows if row["split"] == "train"}

    def _sets(self) -> Iterator[Path]:
        for entry in self.manifest["files"]:
            path = self.folder / entry["name"]
            if path.suffix in ENDINGS and path.stem not in (*OURS, "preferences", "lineage"):
                yield path

    def write(self, out: Path, dropped: Set[str]) -> list[dict[str, Any]]:
        """All files without the training rows of `dropped` dialogues; their manifest entries."""
        entries = []
        for entry in self.manifest["files"]:
            source, target = self.folder / entry["name"], out / entry["name"]
            if source.stem in OURS:
                continue
            if source.stem in WITH_SPLITS:
                rows = _without(source, target, dropped)
                entry = {**file_entry(target, rows), **_counted(entry, target)}
            else:
                with atomic_file(target) as file:
                    file.write(source.read_bytes())
            entries.append(entry)
        return entries


def write_records(path: Path, records: Sequence[Record]) -> dict[str, Any]:
    """A JSONL file of records; its manifest entry."""
    with atomic_file(path) as file:
        file.writelines(record.model_dump_json(exclude_none=True).encode() + b"\n" for record in records)
    return file_entry(path, len(records))


def _counted(entry: dict[str, Any], path: Path) -> dict[str, Any]:
    """What the old entry of a made set counted and a set without some rows can count again."""
    if "agent_turns" not in entry:
        return {}
    examples = list(read_examples(path))
    codes = sorted(label.code for example in examples for label in example.labels)
    return {
        "agent_turns": sum(turn.role == "agent" for example in examples for turn in example.dialogue.turns),
        "error_turns": sum(len({label.turn for label in example.labels}) for example in examples),
        "codes": {code: codes.count(code) for code in dict.fromkeys(codes)},
    }


def _without(source: Path, target: Path, dropped: Set[str]) -> int:
    """Copy the rows that are not of training and `dropped`; how many there are."""
    return (_without_rows if source.suffix == ".parquet" else _without_lines)(
        source, target, lambda name, split: split != "train" or name not in dropped
    )


def _without_lines(source: Path, target: Path, wanted: Callable[[str, str], bool]) -> int:
    n = 0
    with open(source, "rb") as lines, atomic_file(target) as file:
        for line in lines:
            row = msgspec.json.decode(line)
            name = row["dialogue_id"] if "dialogue_id" in row else row["dialogue"]["id"]
            if wanted(name, row["split"]):
                file.write(line)
                n += 1
    return n


def _without_rows(source: Path, target: Path, wanted: Callable[[str, str], bool]) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    n = 0
    with (
        parquet.ParquetFile(source) as table,
        atomic_file(target) as file,
        parquet.ParquetWriter(file, table.schema_arrow, compression="zstd") as writer,
    ):
        for batch in table.iter_batches(BATCH_ROWS):
            named = zip(batch["dialogue_id"].to_pylist(), batch["split"].to_pylist(), strict=True)
            kept = batch.filter(pa.array([wanted(name, split) for name, split in named]))
            writer.write_batch(kept)
            n += kept.num_rows
    return n
