"""Stage ``dialint export dataset``: examples with soft labels, preference pairs, splits and lineage.

Reads logs, our annotations and, optionally, aggregated labels (which replace the share of people) and
verdicts (whose findings people corrected). Writes into a folder ``train``, ``dev``, ``calibration`` and
``test`` examples, ``preferences`` and ``lineage`` (each label's annotations and their labelers, ids only) as
JSON lines, and last the manifest. A turn and code without a label counts as free of that error, so only
dialogues whose every turn and code people answered become examples. Personal data
become placeholders, and offsets move along, unless ``--no-masked``; groups and splits are computed from the
original text, so they are the same either way.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from dialint.detector.artifacts import (
    MANIFEST,
    TEMPORARY,
    atomic_file,
    disk_errors,
    file_entry,
    filling_folder,
    package_versions,
    write_manifest,
)
from dialint.detector.errors import ConfigError
from dialint.detector.example_files import to_line
from dialint.detector.progress import track
from dialint.detector.records import Example
from dialint.labeling.dataset.examples import (
    SPLITS,
    DatasetBuilder,
    DatasetConfig,
    DialogueAnnotations,
    read_files,
)
from dialint.labeling.dataset.preferences import preferences
from dialint.labeling.dataset.splits import DialogueGrouper, assign_split, split_key


def export_dataset(config: DatasetConfig) -> None:
    """Make examples with soft labels and preference pairs from annotations."""
    print_summary(run(config))


def print_summary(manifest: dict[str, Any]) -> None:
    """Print the number of rows of each file, and of the records left out."""
    from rich.console import Console

    console = Console(stderr=True, markup=False, emoji=False)
    for file in manifest["files"]:
        console.print(f"{file['name']}: {file['rows']} rows")
    for reason, count in manifest["left_out"].items():
        console.print(f"left out, {reason}: {count}")


def run(
    config: DatasetConfig, load: Callable[[DatasetConfig], DatasetBuilder] = read_files
) -> dict[str, Any]:
    """Write the dataset of what `load` reads and return its manifest.

    Raises:
        OutputRefused: `out` holds a finished dataset, or another process makes it.
        ConfigError: E_EXAMPLE, no dialogue is annotated.
        InputRefused: an annotation points out of its dialogue.
        TooManyBad: too many records of the logs are bad; or as `load` raises.
    """
    started = time.monotonic()
    gc.disable()  # all records stay in memory until the end, so a collection frees nothing
    try:
        with filling_folder(config.out, "a finished dataset"):
            builder = load(config)
            key = config.key or split_key(config.key_file)
            manifest = _write_dataset(builder, key)
            manifest["seconds"] = round(time.monotonic() - started, 1)
            write_manifest(config.out / MANIFEST, manifest)
    finally:
        gc.enable()
    return manifest


def _write_dataset(builder: DatasetBuilder, key: str) -> dict[str, Any]:
    """Write all files and return the manifest's content."""
    config = builder.config
    grouper, outcomes = DialogueGrouper(config.by, config.near or None), Counter[str]()
    with disk_errors(TEMPORARY), tempfile.TemporaryFile() as spool:
        targets = list(_spool_records(builder, grouper, spool, outcomes))
        if not targets:
            raise ConfigError(
                "E_EXAMPLE",
                f"no dialogue of the logs is annotated; {len(builder.annotations)} annotated ones are not in "
                "the logs: nothing is made",
            )
        groups = grouper.groups()
        files = _write_files(config, key, groups, targets, spool)
    entry = {**asdict(config), "taxonomy": builder.taxonomy.version}
    del entry["key"], entry["key_file"]  # the manifest has nothing of the key, and names in place of paths
    for name in ("out", "labels", "verdicts"):
        entry[name] = entry[name] and Path(entry[name]).name
    entry["annotations"] = [path.name for path in config.annotations]
    return {
        "kind": "labelled-examples",
        "config": entry,
        "codes": list(builder.codes),
        "versions": package_versions("dialint", "pyarrow", "pydantic"),
        **builder.inputs,
        "groups": len(set(groups)),
        "outcomes": dict(sorted(outcomes.items())),
        "left_out": dict(sorted(builder.left_out.items())),
        "files": files,
    }


EXAMPLE, PREFERENCES, LINEAGE = "example", "preferences", "lineage"


def _spool_records(
    builder: DatasetBuilder, grouper: DialogueGrouper, spool: BinaryIO, outcomes: Counter[str]
) -> Iterator[tuple[str, ...]]:
    """Add every dialogue to the grouper and its records, still without a split, to the spool; yields the
    kinds of the dialogue's lines there."""
    for dialogue in track(builder.read_dialogues(), None, "exporting"):
        grouper.add(dialogue)
        annotations = builder.annotations_of(dialogue)
        lines: list[tuple[str, bytes]] = []
        if (example := builder.example(annotations)) is not None:
            lines = [(EXAMPLE, to_line(example)), (LINEAGE, _lineage(example, annotations))]
        if verdict := builder.verdicts.get(dialogue.id):
            pairs = [pair for pair in preferences(annotations, verdict) if pair.code in builder.codes]
            outcomes.update(pair.outcome for pair in pairs)
            lines += [(PREFERENCES, to_line(pair)) for pair in pairs]
        spool.writelines(line for _, line in lines)
        yield tuple(target for target, _ in lines)


def _lineage(example: Example, annotations: DialogueAnnotations) -> bytes:
    """A line with the annotations behind each label of an example, and the labeler of each, ids only."""
    labels = [
        {"turn": label.turn, "code": label.code, "method": label.method}
        | {"annotations": [answer.id for answer in annotations.last_answers(label.turn, label.code)]}
        for label in example.labels
    ]
    labelers = {annotation.id: annotation.labeler for annotation in annotations.annotations}
    row = {"dialogue_id": example.dialogue.id, "labels": labels, "labelers": labelers, "split": ""}
    return msgspec.json.encode(row) + b"\n"


NO_SPLIT = b'"split":""}\n'
"""The end of every spooled record: its split depends on all other dialogues."""


def _write_files(
    config: DatasetConfig, key: str, groups: list[str], targets: list[tuple[str, ...]], spool: BinaryIO
) -> list[dict[str, Any]]:
    """Write all files, each record to its split, and return their manifest entries."""
    shares = list(zip(SPLITS, config.shares, strict=True))
    paths = {name: config.out / f"{name}.jsonl" for name in (*SPLITS, PREFERENCES, LINEAGE)}
    rows = Counter[str]()
    spool.seek(0)
    with ExitStack() as stack:
        files = {name: stack.enter_context(atomic_file(path)) for name, path in paths.items()}
        for group, of_dialogue in zip(groups, targets, strict=True):
            split = assign_split(group, key, shares)
            for target in of_dialogue:
                name = split if target == EXAMPLE else target
                line = spool.readline().removesuffix(NO_SPLIT)
                files[name].write(line + b'"split":"' + split.encode() + b'"}\n')
                rows[name] += 1
    return [file_entry(path, rows[name]) for name, path in paths.items()]
