"""``dialint data contamination``: finds evaluation dialogues that occur in the training data.

Reads examples (JSONL, as ``data inject`` writes them) and shards (Parquet, as ``data dedup`` does).
Dialogues are compared whole: stock phrases that two dialogues share are no contamination. A dialogue
counts if its exact text, a near-copy, or half of its 13-word runs occur in training. Reports ids,
never text. Deletes nothing.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
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
    sorted_unique,
    words,
)
from dialint.detector.option_ranges import check_ranges
from dialint.detector.records import Example
from dialint.labeling.corpora.dedup import read_shard

KINDS = ("exact", "near", "runs")
"""The same words; a near-copy; long runs of words that occur somewhere in training."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ContaminationConfig:
    """What is compared, and what is too much."""

    train: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)]
    """Files that a model is trained on, .jsonl or .parquet."""
    against: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)]
    """Files that it is evaluated on."""
    near: Annotated[float, Field(ge=0.5, le=1)] = NEAR_DUPLICATE
    """Jaccard of word triples from which two dialogues are near-copies."""
    run_words: Annotated[int, Field(ge=2)] = 13
    """Words in a run."""
    run_share: Annotated[float, Field(ge=0.01, le=1)] = 0.5
    """Share of a dialogue's runs found in training from which it counts."""
    max_share: Annotated[float, Field(ge=0, le=1)] = 0.01
    """Share of a file's dialogues that may be contaminated; above it the exit code is 3."""
    out: Path | None = None
    """Also write the report, with the ids of contaminated dialogues, as JSON to this file."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class _Text:
    id: str
    source: str
    words: tuple[str, ...]

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(" ".join(self.words).encode()).digest()

    @property
    def shingles(self) -> Shingles:
        return sorted_unique(ngrams(self.words, WIDTH))


class _Match(NamedTuple):
    """A dialogue and the `KINDS` of its matches in training; an exact copy is a near one, too."""

    id: str
    source: str
    kinds: list[str]


class _TrainingIndex:
    """Hashes of the training dialogues; keeps no text."""

    def __init__(self, texts: Iterable[_Text], run_words: int) -> None:
        self.n = 0
        self._digests: set[bytes] = set()
        self._sets: list[Shingles] = []
        runs = [np.empty(0, np.uint64)]
        for text in texts:
            self.n += 1
            if text.digest in self._digests:
                continue
            self._digests.add(text.digest)
            self._sets.append(text.shingles)
            runs.append(ngrams(text.words, run_words))
        self._runs = sorted_unique(np.concatenate(runs))

    def match(self, texts: Iterable[_Text], config: ContaminationConfig) -> Iterator[_Match]:
        """The matches of each dialogue, in order."""
        matches, sets = [], []
        for text in texts:
            matches.append((text.id, text.source, self._exact_and_runs(text, config)))
            sets.append(text.shingles)
        parts = [0] * len(sets) + [1] * len(self._sets)
        near = {earlier for _, earlier, _ in near_pairs([*sets, *self._sets], config.near, parts)}
        for number, (name, source, kinds) in enumerate(matches):
            all_kinds = {*kinds, "near"} if number in near else kinds
            yield _Match(name, source, [kind for kind in KINDS if kind in all_kinds])

    def _exact_and_runs(self, text: _Text, config: ContaminationConfig) -> set[str]:
        """The kinds that need no search for pairs."""
        runs = sorted_unique(ngrams(text.words, config.run_words))
        indexes = np.minimum(np.searchsorted(self._runs, runs), len(self._runs) - 1)
        share = float((self._runs[indexes] == runs).mean()) if len(runs) and len(self._runs) else 0.0
        matches = {"exact": text.digest in self._digests, "runs": share >= config.run_share}
        return {kind for kind, is_match in matches.items() if is_match}


def contamination(config: ContaminationConfig) -> None:
    """Count evaluation dialogues that are, or nearly are, in the training data; exit code 3 if too many."""
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
    index = _TrainingIndex((text for path in config.train for text in _read(path)), config.run_words)
    if not index.n:
        raise InputRefused("E_EMPTY", "--train: holds no dialogue")
    return {
        "kind": "contamination",
        "near": config.near,
        "run_words": config.run_words,
        "run_share": config.run_share,
        "train": [path.name for path in config.train],
        "train_dialogues": index.n,
        "against": [_measure_file(path, index, config) for path in config.against],
    }


def _measure_file(path: Path, index: _TrainingIndex, config: ContaminationConfig) -> dict[str, Any]:
    per_source: dict[str, Counter[str]] = defaultdict(Counter)
    contaminated: dict[str, list[str]] = {}
    for name, source, kinds in index.match(_read(path), config):
        per_source[source].update(["dialogues", *kinds, *(["any"] if kinds else [])])
        if kinds:
            contaminated[name] = kinds
    total = sum(per_source.values(), Counter[str]())
    if not total:
        raise InputRefused("E_EMPTY", f"{path}: holds no dialogue")
    sources = {name: _shares(per_source[name]) for name in sorted(per_source)}
    return {"name": path.name, **_shares(total), "sources": sources, "found": contaminated}


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


def _text(name: str, source: str, turns: Iterable[str]) -> _Text:
    return _Text(name, source, tuple(words("\n".join(turns))))
