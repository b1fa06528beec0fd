"""Finds evaluation dialogues that occur in the training data.

    python runs/corpora/contamination.py --train build/mixed/train.jsonl --against build/mixed/test.jsonl

Reads examples (JSONL, as ``data inject`` writes them) and shards (Parquet, as ``runs/corpora/dedup.py``
does). Dialogues are compared whole: stock phrases that two dialogues share are no contamination. A dialogue
counts if a near-copy of it, or half of its 13-word runs, occur in training. Reports ids, never text. Deletes
nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import write_json
from dialint.detector.errors import InputRefused, TooManyBad
from dialint.detector.example_files import read_records
from dialint.detector.near_duplicates import (
    NEAR_DUPLICATE,
    WIDTH,
    Shingles,
    near_pairs,
    ngrams,
    words,
)
from dialint.detector.option_ranges import check_ranges, run_script
from dialint.detector.records import Example

KINDS = ("near", "runs")
"""A near-copy by the Jaccard of word triples; long runs of words that occur somewhere in training."""
RUN_WORDS = 13
RUN_SHARE = 0.5
"""Share of a dialogue's runs found in training from which it counts."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ContaminationConfig:
    """What is compared, and what is too much."""

    train: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)]
    """Files that a model is trained on, .jsonl or .parquet."""
    against: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)]
    """Files that it is evaluated on."""
    max_share: Annotated[float, Field(ge=0, le=1)] = 0.01
    """Share of a file's dialogues that may be contaminated; above it the exit code is 3."""
    out: Path | None = None
    """Also write the report, with the ids of contaminated dialogues, as JSON to this file."""

    def __post_init__(self) -> None:
        check_ranges(self)


class _Text(NamedTuple):
    """A dialogue as hashes of its word triples and of its runs; no text is kept."""

    id: str
    source: str
    shingles: Shingles
    runs: Shingles


def contamination(config: ContaminationConfig) -> None:
    """Find evaluation dialogues in the training data."""
    from rich.console import Console
    from rich.table import Table

    report = measure_contamination(config)
    table = Table("file", "source", "dialogues", *KINDS, "any", "share")
    for file in report["against"]:
        for name, row in [*file["sources"].items(), ("all", file)]:
            cells = [str(row[kind]) for kind in ("dialogues", *KINDS, "any")]
            table.add_row(file["name"] if name == "all" else "", name, *cells, f"{row['share']:.2%}")
    Console(stderr=True, markup=False, emoji=False).print(table)
    if config.out:
        write_json(config.out, report)
    worst = max(report["against"], key=lambda file: file["share"])
    if worst["share"] > config.max_share:
        raise TooManyBad(
            "E_CONTAMINATED",
            f"{worst['name']}: {worst['any']} of {worst['dialogues']} dialogues occur in training, "
            f"{worst['share']:.2%}; --max-share allows {config.max_share:.2%}, --out FILE names them",
        )


def measure_contamination(config: ContaminationConfig) -> dict[str, Any]:
    """Counts for every evaluation file, in all and per source, and the ids of contaminated dialogues.

    Raises:
        InputRefused: a file is missing, empty or of another form.
    """
    for path in (*config.train, *config.against):
        if not path.is_file():
            raise InputRefused("E_DATA", f"{path}: no such file")
    train = [text for path in config.train for text in _read(path)]
    if not train:
        raise InputRefused("E_EMPTY", "--train: holds no dialogue")
    runs = np.unique(np.concatenate([text.runs for text in train]))
    return {
        "kind": "contamination",
        "near": NEAR_DUPLICATE,
        "run_words": RUN_WORDS,
        "run_share": RUN_SHARE,
        "train": [path.name for path in config.train],
        "train_dialogues": len(train),
        "against": [_measure_file(path, [text.shingles for text in train], runs) for path in config.against],
    }


def _measure_file(path: Path, shingles: list[Shingles], runs: Shingles) -> dict[str, Any]:
    """Compare a file with the word triples of each training dialogue, and the runs of all."""
    texts = list(_read(path))
    if not texts:
        raise InputRefused("E_EMPTY", f"{path}: holds no dialogue")
    sets = [*(text.shingles for text in texts), *shingles]
    parts = [0] * len(texts) + [1] * len(shingles)
    near = {earlier for _, earlier, _ in near_pairs(sets, NEAR_DUPLICATE, parts)}
    per_source: dict[str, Counter[str]] = defaultdict(Counter)
    contaminated: dict[str, list[str]] = {}
    for number, text in enumerate(texts):
        known = np.isin(text.runs, runs, assume_unique=True)
        matches = {"near": number in near, "runs": len(known) > 0 and float(known.mean()) >= RUN_SHARE}
        kinds = [kind for kind in KINDS if matches[kind]]
        per_source[text.source].update(["dialogues", *kinds, *(["any"] if kinds else [])])
        if kinds:
            contaminated[text.id] = kinds
    sources = {name: _shares(per_source[name]) for name in sorted(per_source)}
    total = _shares(sum(per_source.values(), Counter[str]()))
    return {"name": path.name, **total, "sources": sources, "found": contaminated}


def _shares(counts: Counter[str]) -> dict[str, Any]:
    whole = {name: counts[name] for name in ("dialogues", *KINDS, "any")}
    return {**whole, "share": round(counts["any"] / counts["dialogues"], 6)}


def _read(path: Path) -> Iterator[_Text]:
    if path.suffix == ".parquet":
        for row in read_shard(path):
            yield _text(row["dialogue_id"], row["source"], [turn["text"] for turn in row["turns"]])
    elif path.suffix == ".jsonl":
        for example in read_records(path, Example, "E_EXAMPLE"):
            dialogue = example.dialogue
            texts = [turn.text for turn in dialogue.turns if turn.role not in ("system", "tool")]
            yield _text(dialogue.id, str(dialogue.metadata.get("source", "unknown")), texts)
    else:
        raise InputRefused("E_FORMAT", f"{path}: expected examples (.jsonl) or a shard (.parquet)")


def read_shard(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of one shard, in order.

    Raises:
        InputRefused: not a Parquet file, or without the columns of a shard.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputRefused("E_SHARD", f"{path}: not a readable Parquet file") from error
    if not {"dialogue_id", "source", "turns"} <= set(file.schema_arrow.names):
        raise InputRefused("E_SHARD", f"{path}: not a shard, it lacks dialogue_id, source or turns")
    for batch in file.iter_batches(512):
        yield from batch.to_pylist()


def _text(name: str, source: str, turns: list[str]) -> _Text:
    tokens = tuple(words("\n".join(turns)))
    return _Text(name, source, np.unique(ngrams(tokens, WIDTH)), np.unique(ngrams(tokens, RUN_WORDS)))


if __name__ == "__main__":
    run_script(contamination, "Find evaluation dialogues in training data.")
