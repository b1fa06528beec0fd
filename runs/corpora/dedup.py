"""Writes the dialogues of all corpora, each once, as Parquet shards, for `dialint train pretrain`.

    python runs/corpora/dedup.py --data DATA --out build/shards --languages en

Reads every corpus under ``--data``; leaves out exact copies, near-copies and dialogues of low quality, and
splits by group, so that near-copies, replays of a task and translations are in one split. Writes ``train``,
``heldout`` (20 %) and ``measure`` shards (corpora whose terms forbid shipping weights trained on them), the
manifest last. Masks nothing and trains nothing.

A shard (``train-00000-of-00003.parquet``, zstd, one row a dialogue) has the columns ``dialogue_id, source,
language, group, split, licence, turns[{role, text}]``, readable with
``datasets.load_dataset("parquet", data_files={"train": "train-*.parquet"})``.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Any

from cyclopts import Parameter
from pydantic import Field
from selection import LIMITS, SelectedDialogue, Selection, select_dialogues
from sources import SOURCES, Source, read_source, source_path

from dialint.detector.artifacts import (
    MANIFEST,
    atomic_file,
    disk_errors,
    file_entry,
    make_output_folder,
    package_versions,
    sha256_file,
    write_manifest,
)
from dialint.detector.errors import OutputRefused
from dialint.detector.option_ranges import check_ranges, run_script

_NAME = re.compile(r"(?:train|heldout|measure)-\d{5}-of-\d{5}\.parquet")


def write_shards(folder: Path, split: str, rows: Sequence[dict[str, Any]], size: int) -> list[dict[str, Any]]:
    """Write `rows` as shards of at most `size` rows; their manifest entries, with `split`.

    At least one shard is written, so that a split without rows can be read, too.
    """
    import pyarrow as pa
    from pyarrow import parquet

    turn = pa.struct([("role", pa.string()), ("text", pa.string())])
    names = ("dialogue_id", "source", "language", "group", "split", "licence")
    schema = pa.schema([*((name, pa.string()) for name in names), ("turns", pa.list_(turn))])
    total = max(1, -(-len(rows) // size))
    entries = []
    for number in range(total):
        path = folder / f"{split}-{number:05d}-of-{total:05d}.parquet"
        part = list(rows[number * size : (number + 1) * size])
        with atomic_file(path) as file:
            parquet.write_table(pa.Table.from_pylist(part, schema), file, compression="zstd")
        entries.append({**file_entry(path, len(part)), "split": split})
    return entries


def remove_shards(folder: Path) -> None:
    """Remove the shards of a run that never finished, so that no reader's pattern catches them."""
    for path in folder.iterdir():
        if _NAME.fullmatch(path.name):
            path.unlink()


SPLITS = ("train", "heldout", "measure")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DedupConfig:
    """How the corpora are merged into one."""

    data: Annotated[Path, Parameter(env_var="DIALINT_DATA")]
    """Folder of the corpora."""
    out: Path
    """Folder for the shards; must not hold a finished set."""
    languages: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Select dialogues in these languages only (ISO 639-1); all if none is named."""
    shard_rows: Annotated[int, Field(ge=1)] = 10_000
    """Dialogues in a shard, at most."""
    seed: int = 0
    """Order of the dialogues in the shards."""

    def __post_init__(self) -> None:
        check_ranges(self)


def dedup(config: DedupConfig) -> None:
    """Read all corpora, leave out copies and dialogues of low quality, and write Parquet shards."""
    from rich.console import Console

    manifest = run(config)
    console = Console(stderr=True, markup=False, emoji=False)
    for source in manifest["sources"]:
        dropped = ", ".join(f"{count} {reason}" for reason, count in source["dropped"].items())
        console.print(
            f"{source['name']} ({source['use']}): {source['kept']} of {source['read']} kept; {dropped}"
        )
    for split in SPLITS:
        console.print(
            f"{split}: {sum(f['rows'] for f in manifest['files'] if f['split'] == split)} dialogues"
        )


def run(config: DedupConfig) -> dict[str, Any]:
    """Write all shards; the manifest that was written.

    Raises:
        OutputRefused: `out` holds a finished set already.
        InputRefused: a corpus is missing.
    """
    if (config.out / MANIFEST).exists():
        raise OutputRefused("E_EXISTS", f"{config.out}: holds a finished set already; name another folder")
    started = time.monotonic()
    for source in SOURCES:
        source_path(source, config.data)
    with disk_errors(config.out):
        make_output_folder(config.out)
        remove_shards(config.out)
    dialogues = [dialogue for source in SOURCES for dialogue in read_source(source, config.data)]
    selection = select_dialogues(dialogues, config.languages)
    files = _write(config, selection)
    manifest = {
        "kind": "dialogue-shards",
        "config": {**asdict(config), "data": config.data.name, "out": config.out.name},
        "seed": config.seed,
        "versions": package_versions("dialint", "pyarrow", "py3langid", "numpy"),
        "filters": LIMITS,
        "sources": [_describe_source(source, config.data, selection) for source in SOURCES],
        "files": files,
        "seconds": round(time.monotonic() - started, 1),
    }
    write_manifest(config.out / MANIFEST, manifest)
    return manifest


def _write(config: DedupConfig, selection: Selection) -> list[dict[str, Any]]:
    files = []
    for split in SPLITS:
        rows = [_row(selected) for selected in selection.dialogues if selected.split == split]
        Random(f"{config.seed}/{split}").shuffle(rows)
        files += write_shards(config.out, split, rows, config.shard_rows)
    return files


def _row(selected: SelectedDialogue) -> dict[str, Any]:
    dialogue = selected.dialogue
    return {
        "dialogue_id": dialogue.id,
        "source": dialogue.source.name,
        "language": selected.language,
        "group": selected.group,
        "split": selected.split,
        "licence": dialogue.source.licence,
        "turns": [{"role": role, "text": text} for role, text in dialogue.turns],
    }


def _describe_source(source: Source, data: Path, selection: Selection) -> dict[str, Any]:
    counts = selection.counts[source.name]
    return {
        "name": source.name,
        "file": source.file,
        "sha256": sha256_file(source_path(source, data)),
        "licence": source.licence,
        "use": source.use,
        "language": source.language,
        **{name: counts[name] for name in ("read", "kept", *SPLITS)},
        "dropped": dict(sorted(selection.dropped[source.name].items())),
        "kept_with_rude_agent": counts["rude_agents"],
        "kept_with_rude_customer": counts["rude_customers"],
        "language_as_declared": counts["language_as_declared"],
    }


if __name__ == "__main__":
    run_script(dedup, "Write corpora as shards.")
