"""``dialint data contamination``: which evaluation dialogues a model has met in training.

Reads examples (JSONL, as ``data inject`` writes them) and shards (Parquet, as ``data dedup`` does).
Dialogues are compared whole: stock phrases that two dialogues share are no contamination. A dialogue
counts if its exact text, a near-copy, or half of its 13-word runs occur in training. Ids are shown,
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
from pydantic import ValidationError

from dialint.detector.artifacts import write_json
from dialint.detector.errors import ConfigError, InputRefused, TooManyBad
from dialint.detector.near_duplicates import (
    NEAR_DUPLICATE,
    WIDTH,
    Shingles,
    near_pairs,
    ngrams,
    sorted_unique,
    words,
)
from dialint.detector.records import Example
from dialint.labeling.corpora.shards import read_shard

KINDS = ("exact", "near", "runs")
"""The same words; a near-copy; long runs of words that occur somewhere in training."""


@Parameter(name="*")
@dataclass(frozen=True)
class ContaminationConfig:
    """What is compared, and what is too much."""

    train: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)]
    """Files that a model is trained on, .jsonl or .parquet."""
    against: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)]
    """Files that it is evaluated on."""
    near: float = NEAR_DUPLICATE
    """Jaccard of word triples from which two dialogues are near-copies."""
    run_words: int = 13
    """Words in a run."""
    run_share: float = 0.5
    """Share of a dialogue's runs found in training from which it counts."""
    max_share: float = 0.01
    """Share of a file's dialogues that may be contaminated; above it the exit code is 3."""
    out: Path | None = None
    """Also write the report, with the ids of contaminated dialogues, as JSON to this file."""

    def __post_init__(self) -> None:
        for name, low in (("near", 0.5), ("run_share", 0.01), ("max_share", 0.0)):
            if not low <= getattr(self, name) <= 1:
                raise ConfigError("E_OPTION", f"--{name.replace('_', '-')} must lie between {low} and 1")
        if self.run_words < 2:
            raise ConfigError("E_OPTION", "--run-words must be at least 2")


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


class _Met(NamedTuple):
    """A dialogue and which of `KINDS` hold for it; an exact copy is a near one, too."""

    id: str
    source: str
    kinds: list[str]


class _Training:
    """All that is remembered of the training dialogues; only hashes, no text."""

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

    def met(self, texts: Iterable[_Text], config: ContaminationConfig) -> Iterator[_Met]:
        """What holds for each dialogue, in order."""
        named, sets = [], []
        for text in texts:
            named.append((text.id, text.source, self._kinds(text, config)))
            sets.append(text.shingles)
        parts = [0] * len(sets) + [1] * len(self._sets)
        near = {earlier for _, earlier, _ in near_pairs([*sets, *self._sets], config.near, parts)}
        for number, (name, source, kinds) in enumerate(named):
            holds = {*kinds, "near"} if number in near else kinds
            yield _Met(name, source, [kind for kind in KINDS if kind in holds])

    def _kinds(self, text: _Text, config: ContaminationConfig) -> set[str]:
        """Those that need no search."""
        runs = sorted_unique(ngrams(text.words, config.run_words))
        places = np.minimum(np.searchsorted(self._runs, runs), len(self._runs) - 1)
        share = float((self._runs[places] == runs).mean()) if len(runs) and len(self._runs) else 0.0
        found = {"exact": text.digest in self._digests, "runs": share >= config.run_share}
        return {kind for kind, holds in found.items() if holds}


def contamination(config: ContaminationConfig) -> None:
    """Count evaluation dialogues that are, or nearly are, in the training data; exit code 3 if too many."""
    from rich.console import Console
    from rich.table import Table

    report = measured(config)
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


def measured(config: ContaminationConfig) -> dict[str, Any]:
    """Counts for every evaluation file, in all and per source, and the ids of what was found.

    Raises:
        InputRefused: a file is missing, empty or of another form.
    """
    for path in (*config.train, *config.against):
        if not path.is_file():
            raise InputRefused("E_DATA", f"{path}: no such file")
    training = _Training((text for path in config.train for text in _read(path)), config.run_words)
    if not training.n:
        raise InputRefused("E_EMPTY", "--train: holds no dialogue, so nothing can be said of it")
    return {
        "kind": "contamination",
        "near": config.near,
        "run_words": config.run_words,
        "run_share": config.run_share,
        "train": [path.name for path in config.train],
        "train_dialogues": training.n,
        "against": [_measured_file(path, training, config) for path in config.against],
    }


def _measured_file(path: Path, training: _Training, config: ContaminationConfig) -> dict[str, Any]:
    per_source: dict[str, Counter[str]] = defaultdict(Counter)
    found: dict[str, list[str]] = {}
    for name, source, kinds in training.met(_read(path), config):
        per_source[source].update(["dialogues", *kinds, *(["any"] if kinds else [])])
        if kinds:
            found[name] = kinds
    total = sum(per_source.values(), Counter[str]())
    if not total:
        raise InputRefused("E_EMPTY", f"{path}: holds no dialogue, so nothing can be said of it")
    sources = {name: _shares(per_source[name]) for name in sorted(per_source)}
    return {"name": path.name, **_shares(total), "sources": sources, "found": found}


def _shares(counts: Counter[str]) -> dict[str, Any]:
    whole = {name: counts[name] for name in ("dialogues", *KINDS, "any")}
    return {**whole, "share": round(counts["any"] / counts["dialogues"], 6)}


def _read(path: Path) -> Iterator[_Text]:
    if path.suffix == ".parquet":
        for row in read_shard(path):
            yield _text(row["dialogue_id"], row["source"], [turn["text"] for turn in row["turns"]])
    elif path.suffix == ".jsonl":
        yield from _read_examples(path)
    else:
        raise InputRefused("E_FORMAT", f"{path}: expected examples (.jsonl) or a shard (.parquet)")


def _read_examples(path: Path) -> Iterator[_Text]:
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                dialogue = Example.model_validate_json(line).dialogue
            except ValidationError:
                raise InputRefused("E_EXAMPLE", f"{path}, line {number}: not an example") from None
            said = [turn.text for turn in dialogue.turns if turn.role != "system"]
            yield _text(dialogue.id, str(dialogue.metadata.get("source", "unknown")), said)


def _text(name: str, source: str, turns: Iterable[str]) -> _Text:
    return _Text(name, source, tuple(words("\n".join(turns))))
