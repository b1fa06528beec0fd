"""Stage ``dialint export dataset``: examples with soft labels, preference pairs, splits and lineage.

Reads logs, our annotations and, if named, aggregated labels (which replace the share of people) and
verdicts (whose findings people corrected). Writes into a folder ``train``, ``dev``, ``calibration`` and
``test`` examples and ``preferences``, each ``.jsonl`` or ``.parquet``, ``lineage.jsonl`` (each label's
annotations and their labelers, ids only) and last the manifest. A turn and code without a label is held
to be free of that error, so only dialogues that people were asked of in full are examples. Personal data
become placeholders, and what was said of the text moves along, unless asked not to; groups and splits go by
the original text, so they are the same either way.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from dialint.detector.artifacts import (
    disk_errors,
    file_entry,
    make_output_folder,
    package_versions,
    write_manifest,
)
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.ingest.read import collection_paused, open_logs
from dialint.detector.progress import track
from dialint.detector.records import Example
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.dataset.examples import SPLITS, DatasetConfig, Making
from dialint.labeling.dataset.files import Output, Spool, waiting, with_split
from dialint.labeling.dataset.opinions import Opinions
from dialint.labeling.dataset.preferences import preferences
from dialint.labeling.dataset.splits import Grouping, fingerprint_of, side_of, split_key

MANIFEST = "manifest.json"


def export_dataset(config: DatasetConfig) -> None:
    """Make examples with soft labels and preference pairs of what people said."""
    tell(run(config))


def tell(manifest: dict[str, Any]) -> None:
    """Say on the screen what a dataset's manifest holds."""
    from rich.console import Console

    show = Console(stderr=True, markup=False, emoji=False)
    for file in manifest["files"]:
        show.print(f"{file['name']}: {file['rows']} rows")
    for reason, count in manifest["left_out"].items():
        show.print(f"left out, {reason}: {count}")


def run(config: DatasetConfig) -> dict[str, Any]:
    """Write the dataset; the manifest that was written.

    Raises:
        ConfigError: no `dialogues`, or no `annotations`.
        OutputRefused: `out` holds a finished dataset, or the verdicts are damaged.
        InputRefused: an input is bad, or an annotation points out of its dialogue.
        TooManyBad: too many records of the logs are bad.
    """
    if not config.dialogues or not config.annotations:
        raise ConfigError("E_OPTION", "from files, --dialogues and --annotations must name some")
    if (config.out / MANIFEST).exists():
        raise OutputRefused(
            "E_EXISTS", f"{config.out}: holds a finished dataset already; name another folder"
        )
    started, key = time.monotonic(), config.key or split_key(config.key_file)
    with disk_errors(config.out):
        make_output_folder(config.out)
    with collection_paused():  # of the many records that are held none is garbage before all are
        manifest = _dataset(config, key)
    manifest["seconds"] = round(time.monotonic() - started, 1)
    write_manifest(config.out / MANIFEST, manifest)
    return manifest


def _dataset(config: DatasetConfig, key: str) -> dict[str, Any]:
    """Write all files; what the manifest says of them."""
    made = Making.of(config)
    grouping, outcomes = Grouping(config.by, config.near or None), Counter[str]()
    with Spool.open() as spool:
        _make(made, grouping, spool, outcomes)
        groups = grouping.groups()
        files = _write(config, key, groups, spool)
    return {
        "kind": "labelled-examples",
        "config": _told(config, key, made.taxonomy),
        "codes": list(made.codes),
        "versions": package_versions("dialint", "pyarrow", "pydantic"),
        "inputs": [file_entry(path) for path in _inputs(config)],
        "groups": len(set(groups)),
        "outcomes": dict(sorted(outcomes.items())),
        "left_out": dict(sorted(made.left_out.items())),
        "files": files,
    }


def _told(config: DatasetConfig, key: str, taxonomy: Taxonomy) -> dict[str, Any]:
    """The configuration without the key, of which only a fingerprint is told."""
    told = {**asdict(config), "key": fingerprint_of(key), "taxonomy": taxonomy.version}
    del told["key_file"], told["records"]
    for name in ("out", "labels", "verdicts"):
        told[name] = told[name] and Path(told[name]).name
    return {**told, "annotations": [path.name for path in config.annotations]}


def _inputs(config: DatasetConfig) -> list[Path]:
    logs = [source.path for source in open_logs(list(config.dialogues))]
    return [*logs, *config.annotations, *(path for path in (config.labels, config.verdicts) if path)]


def _make(made: Making, grouping: Grouping, spool: Spool, outcomes: Counter[str]) -> None:
    """Every dialogue's records into the spool, and the dialogue into its group."""
    for dialogue in track(made.dialogues(), None, "exporting"):
        grouping.add(dialogue)
        opinions = made.opinions(dialogue)
        example = made.example(opinions)
        lines = [waiting(example), _lineage(example, opinions)] if example is not None else []
        verdict = made.verdicts.get(dialogue.id)
        pairs = (
            [pair for pair in preferences(opinions, verdict) if pair.code in made.codes] if verdict else []
        )
        outcomes.update(pair.outcome for pair in pairs)
        spool.add(lines, [waiting(pair) for pair in pairs])


def _lineage(example: Example, opinions: Opinions) -> bytes:
    """Where each label of an example comes from, ids only; `labelers` names everybody who was asked."""
    labels = [
        {"turn": label.turn, "code": label.code, "method": label.method}
        | {"annotations": [voter.id for voter in opinions.voters(label.turn, label.code)]}
        for label in example.labels
    ]
    labelers = {own.id: own.labeler for own in opinions.people}
    row = {"dialogue_id": example.dialogue.id, "labels": labels, "labelers": labelers, "split": ""}
    return msgspec.json.encode(row) + b"\n"


def _write(config: DatasetConfig, key: str, groups: list[str], spool: Spool) -> list[dict[str, Any]]:
    """All files; their manifest entries."""
    shares = list(zip(SPLITS, config.shares, strict=True))
    paths = {name: config.out / f"{name}.{config.format}" for name in (*SPLITS, "preferences")}
    lineage_path = config.out / "lineage.jsonl"
    with ExitStack() as stack:
        outputs = {
            name: stack.enter_context(Output.at(path, config.format, name)) for name, path in paths.items()
        }
        lineage = stack.enter_context(Output.at(lineage_path, "jsonl", "lineage"))
        for group, (example, pairs) in zip(groups, spool.read(), strict=True):
            split = side_of(group, key, shares)
            if example:
                outputs[split].add(with_split(example[0], split))
                lineage.add(with_split(example[1], split))
            for pair in pairs:
                outputs["preferences"].add(with_split(pair, split))
    entries = [file_entry(path, outputs[name].rows) for name, path in paths.items()]
    return [*entries, file_entry(lineage_path, lineage.rows)]
