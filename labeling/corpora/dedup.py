"""Stage ``dialint data dedup``: the dialogues of all corpora, each once, as Parquet shards.

Reads every corpus under ``--data``; leaves out exact copies, near-copies and dialogues of low quality, and
splits by group, so that near-copies, replays of a task and translations are in one split. Writes ``train``,
``heldout`` (20 %, with all that ``data inject`` uses for its own dev, calibration and test sets) and
``measure`` shards (corpora whose terms forbid shipping weights trained on them), the manifest last. Masks
nothing and trains nothing.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Any

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import (
    MANIFEST,
    disk_errors,
    make_output_folder,
    package_versions,
    sha256_file,
    write_manifest,
)
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.near_duplicates import NEAR_DUPLICATE, RELATED
from dialint.detector.option_ranges import check_ranges
from dialint.labeling.corpora.quality import LIMITS
from dialint.labeling.corpora.selection import SelectedDialogue, Selection, select_dialogues
from dialint.labeling.corpora.shards import remove_shards, write_shards
from dialint.labeling.corpora.sources import SOURCES, Source, read_source, source_path
from dialint.labeling.synthetic.corpora import read_all

SPLITS = ("train", "heldout", "measure")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DedupConfig:
    """How the corpora are merged into one."""

    data: Annotated[Path, Parameter(env_var="DIALINT_DATA")]
    """Folder of the corpora."""
    out: Path
    """Folder for the shards; must not hold a finished set."""
    near: Annotated[float, Field(ge=0.5, le=1)] = NEAR_DUPLICATE
    """Jaccard of word triples from which one of two dialogues is a copy and left out."""
    kin: Annotated[float, Field(ge=0.5, le=1)] = RELATED
    """Jaccard of word triples from which two dialogues are in one split; at most --near."""
    languages: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Select dialogues in these languages only (ISO 639-1); all if none is named."""
    shard_rows: Annotated[int, Field(ge=1)] = 10_000
    """Dialogues in a shard, at most."""
    seed: int = 0
    """Order of the dialogues in the shards."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.kin > self.near:
            raise ConfigError("E_OPTION", "--kin: expected at most --near")


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
    selection = select_dialogues(
        dialogues, config.near, config.kin, config.languages, _inject_groups(config.data)
    )
    files = _write(config, selection)
    manifest = {
        "kind": "dialogue-shards",
        "config": {**asdict(config), "data": config.data.name, "out": config.out.name},
        "seed": config.seed,
        "versions": package_versions("dialint", "pyarrow", "py3langid", "numpy"),
        "filters": {"near": config.near, "kin": config.kin, **LIMITS},
        "sources": [_describe_source(source, config.data, selection) for source in SOURCES],
        "files": files,
        "seconds": round(time.monotonic() - started, 1),
    }
    write_manifest(config.out / MANIFEST, manifest)
    return manifest


def _inject_groups(data: Path) -> dict[str, str]:
    """The group that ``data inject`` gives each dialogue of the corpora that may train."""
    trains = {source.name for source in SOURCES if source.use == "train"}
    return {
        clean.draft.id: clean.group
        for name, cleans in read_all(data).items()
        if name in trains
        for clean in cleans
    }


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
