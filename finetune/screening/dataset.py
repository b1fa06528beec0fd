"""The files of screening: a data set's folder, which is copied without some dialogues, and the records beside
it.

All bytes of a copied file but the dropped rows stay.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from pydantic import Field

from dialint.detector.artifacts import (
    MANIFEST,
    atomic_file,
    file_entry,
    read_manifest,
    sha256_file,
    verify_files,
)
from dialint.detector.errors import ConfigError
from dialint.detector.example_files import BATCH_ROWS, ENDINGS, read_examples
from dialint.detector.manifests import Folder
from dialint.detector.records import Example, Probability, Record

KINDS = ("labelled-examples", "injected-examples")
SCREENING_FILES = ("suspects", "labelers")
"""Files of an earlier screening, which are not copied."""
FILES_WITH_SPLITS = ("train", "preferences", "lineage")
"""Files that have rows of the train split."""


class Suspect(Record):
    """A training example that should not be used, and why.

    exam-copy: it is a near-duplicate of the held-out example `like`. contradiction: near-duplicates have
    another label for this turn and code; `probability` is their mean. label: a model that was not trained on
    this dialogue is confident of the opposite; `probability` is its probability of an error. `given` is the
    label in question, 0 without one. `turn` is None for a code of dialogue scope.
    """

    dialogue_id: str
    why: Literal["exam-copy", "contradiction", "label"]
    turn: Annotated[int, Field(ge=0)] | None = None
    code: str | None = None
    given: Probability | None = None
    probability: Probability | None = None
    like: str | None = None


class LabelerBias(Record):
    """How often a labeler's dialogues have a code (`found`), against what a model that was trained on other
    dialogues expects; `deviation` in standard deviations. With several labelers the label is that of all of
    them. The model is weak: a large deviation is a reason to look, no proof."""

    labeler: str
    code: str
    dialogues: int
    found: float
    expected: float
    deviation: float


@dataclass(frozen=True)
class Dataset:
    """A verified data set."""

    folder: Path
    manifest: dict[str, Any]

    @classmethod
    def open(cls, folder: Path) -> Dataset:
        """Verify every file against the manifest.

        Raises:
            OutputRefused: E_MANIFEST or E_CHECKSUM, it is not complete or was changed.
            ConfigError: E_DATASET, it is no data set, or has no train split.
        """
        manifest = read_manifest(folder / MANIFEST, expected=Folder)
        if manifest.get("kind") not in KINDS:
            raise ConfigError("E_DATASET", f"{folder}: not a dataset of `export dataset` or `data inject`")
        verify_files(folder, manifest["files"])
        if "train" not in {Path(entry["name"]).stem for entry in manifest["files"]}:
            raise ConfigError("E_DATASET", f"{folder}: holds no set train")
        return cls(folder, manifest)

    @property
    def made(self) -> bool:
        """Whether its errors were injected, with clean twins beside them."""
        return bool(self.manifest["kind"] == "injected-examples")

    @property
    def sha256(self) -> str:
        """The hash of its manifest."""
        return sha256_file(self.folder / MANIFEST)

    def read_train(self) -> list[Example]:
        """The examples of the train split."""
        return [example for path in self._sets() if path.stem == "train" for example in read_examples(path)]

    def read_held_out(self) -> list[Example]:
        """The examples of all other sets."""
        return [example for path in self._sets() if path.stem != "train" for example in read_examples(path)]

    def read_labelers(self) -> dict[str, list[str]]:
        """The labelers of each training dialogue; empty without a lineage."""
        path = self.folder / "lineage.jsonl"
        if not path.exists():
            return {}
        rows = (json.loads(line) for line in path.read_bytes().splitlines())
        return {row["dialogue_id"]: list(row["labelers"].values()) for row in rows if row["split"] == "train"}

    def _sets(self) -> Iterator[Path]:
        for entry in self.manifest["files"]:
            path = self.folder / entry["name"]
            if path.suffix in ENDINGS and path.stem not in (*SCREENING_FILES, "preferences", "lineage"):
                yield path

    def copy_without(self, out: Path, dropped: Set[str]) -> list[dict[str, Any]]:
        """Copy all files without the training rows of `dropped` dialogues; their manifest entries."""

        def is_retained(dialogue_id: str, split: str) -> bool:
            return split != "train" or dialogue_id not in dropped

        entries = []
        for entry in self.manifest["files"]:
            source, target = self.folder / entry["name"], out / entry["name"]
            if source.stem in SCREENING_FILES:
                continue
            if source.stem in FILES_WITH_SPLITS:
                filter_rows = _filter_parquet if source.suffix == ".parquet" else _filter_lines
                entry = {
                    **file_entry(target, filter_rows(source, target, is_retained)),
                    **_count(entry, target),
                }
            else:
                with atomic_file(target) as file:
                    file.write(source.read_bytes())
            entries.append(entry)
        return entries


def write_records(path: Path, records: Sequence[Record]) -> dict[str, Any]:
    """Write records as JSONL; the manifest entry."""
    with atomic_file(path) as file:
        file.writelines(record.model_dump_json(exclude_none=True).encode() + b"\n" for record in records)
    return file_entry(path, len(records))


def _count(entry: dict[str, Any], path: Path) -> dict[str, Any]:
    """The counts that the manifest entry of an injected set has, of the filtered set."""
    if "agent_turns" not in entry:
        return {}
    examples = list(read_examples(path))
    codes = sorted(label.code for example in examples for label in example.labels)
    return {
        "agent_turns": sum(turn.role == "agent" for example in examples for turn in example.dialogue.turns),
        "error_turns": sum(len({label.turn for label in example.labels}) for example in examples),
        "codes": {code: codes.count(code) for code in dict.fromkeys(codes)},
    }


def _filter_lines(source: Path, target: Path, is_retained: Callable[[str, str], bool]) -> int:
    """Copy the lines of JSONL that `is_retained` selects; their number."""
    n = 0
    with open(source, "rb") as lines, atomic_file(target) as file:
        for line in lines:
            row = msgspec.json.decode(line)
            dialogue_id = row["dialogue_id"] if "dialogue_id" in row else row["dialogue"]["id"]
            if is_retained(dialogue_id, row["split"]):
                file.write(line)
                n += 1
    return n


def _filter_parquet(source: Path, target: Path, is_retained: Callable[[str, str], bool]) -> int:
    """Copy the rows of Parquet that `is_retained` selects; their number."""
    import pyarrow as pa
    from pyarrow import parquet

    n = 0
    with (
        parquet.ParquetFile(source) as table,
        atomic_file(target) as file,
        parquet.ParquetWriter(file, table.schema_arrow, compression="zstd") as writer,
    ):
        for batch in table.iter_batches(BATCH_ROWS):
            keys = zip(batch["dialogue_id"].to_pylist(), batch["split"].to_pylist(), strict=True)
            retained = batch.filter(
                pa.array([is_retained(dialogue_id, split) for dialogue_id, split in keys])
            )
            writer.write_batch(retained)
            n += retained.num_rows
    return n
