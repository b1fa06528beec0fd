"""Dialogues of a corpus folder: Parquet shards with a manifest, as `dialint data dedup` writes them.

``train-*.parquet`` are learnt, ``heldout-*.parquet`` measure. Personal data are masked on the way in,
because the scanner reads masked text too and because weights remember what they were shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from dialint.detector.artifacts import MANIFEST, read_manifest
from dialint.detector.errors import InputRefused
from dialint.detector.masking import mask_dialogue
from dialint.detector.records import Dialogue, Turn

COLUMNS = ("dialogue_id", "source", "language", "licence", "turns")


@dataclass(frozen=True)
class Sourced:
    """A dialogue, where it comes from, and on what terms."""

    dialogue: Dialogue
    source: str
    licence: str


@dataclass(frozen=True)
class Corpus:
    """A folder of shards. `languages` and `sources` choose; none chooses all. `raw` leaves personal data
    in the text."""

    folder: Path
    languages: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    raw: bool = False

    def manifest(self) -> dict[str, Any]:
        """The folder's manifest; without one the folder is not complete.

        Raises:
            OutputRefused: missing or changed.
        """
        return read_manifest(self.folder / MANIFEST)

    def read(self, split: Literal["train", "heldout"]) -> Iterator[Sourced]:
        """The dialogues of a split in the order of file and row, blank turns left out.

        Raises:
            InputRefused: no shard, an unreadable one, or one without the columns of a corpus.
        """
        paths = sorted(self.folder.glob(f"{split}-*.parquet"))
        if not paths:
            raise InputRefused("E_CORPUS", f"{self.folder}: no {split}-*.parquet")
        for path in paths:
            for row in _rows(path):
                if self._is_wanted(row) and (dialogue := _dialogue(path, row)):
                    if not self.raw:
                        dialogue, _ = mask_dialogue(dialogue)
                    yield Sourced(dialogue, row["source"], row["licence"])

    def _is_wanted(self, row: dict[str, Any]) -> bool:
        return (not self.languages or row["language"] in self.languages) and (
            not self.sources or row["source"] in self.sources
        )


def sample(dialogues: list[Sourced], per_source: int) -> list[Sourced]:
    """At most `per_source` dialogues of each source, chosen by a hash of their ids: always the same."""
    counts: dict[str, int] = {}
    chosen = []
    for item in sorted(dialogues, key=lambda item: hashlib.sha256(item.dialogue.id.encode()).digest()):
        counts[item.source] = counts.get(item.source, 0) + 1
        if counts[item.source] <= per_source:
            chosen.append(item)
    return chosen


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path)
        missing = sorted(set(COLUMNS) - set(file.schema_arrow.names))
        if missing:
            raise InputRefused("E_CORPUS", f"{path}: lacks the columns {missing}")
        for batch in file.iter_batches(512, columns=list(COLUMNS)):
            yield from batch.to_pylist()
    except (OSError, pyarrow.ArrowInvalid) as error:
        raise InputRefused("E_CORPUS", f"{path}: not readable as Parquet ({type(error).__name__})") from None


def _dialogue(path: Path, row: dict[str, Any]) -> Dialogue | None:
    """The row's dialogue; None if nobody says anything in it."""
    try:
        turns = tuple(
            Turn(index=index, role=turn["role"], text=turn["text"])
            for index, turn in enumerate(row["turns"])
            if (turn["text"] or "").strip()
        )
        return Dialogue(id=row["dialogue_id"], turns=turns, language=row["language"]) if turns else None
    except (ValidationError, TypeError, KeyError):
        raise InputRefused(
            "E_CORPUS", f"{path}: dialogue {row['dialogue_id']} has no id, or a turn without role or text"
        ) from None
