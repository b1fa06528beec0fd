"""Stage ``dialint label aggregate``: one label with its probability for each task of a crowd table.

Reads a table of task, worker, label (CSV, Parquet, JSONL; optionally code and group) and, with ``--model``, a
model's probabilities (task, label, probability, optionally code); with ``--gold``, gold labels (task, label,
optionally code). Writes a row for each task: the most probable label, its probability, the probability of
every label and the number of labelers; the manifest last. Does not evaluate workers: that is
``dialint label quality``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import numpy as np
from cyclopts import Parameter
from numpy.typing import NDArray
from rich.console import Console

from dialint.detector.artifacts import (
    atomic_file,
    file_entry,
    making_files,
    package_versions,
    write_manifest,
)
from dialint.detector.errors import ConfigError
from dialint.detector.plugins import describe
from dialint.detector.verdict_files import escape_cell, manifest_path
from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.crowd_tables import (
    gold_indices,
    read_answers,
    read_gold,
    read_model_answers,
)
from dialint.labeling.aggregation.methods import aggregate_answers, find_plugin
from dialint.labeling.aggregation.posterior import Posterior

FORMATS = (".csv", ".parquet", ".jsonl")


@Parameter(name="*")
@dataclass(frozen=True)
class AggregateConfig:
    """Options of an aggregation."""

    annotations: Path | None = None
    """Crowd table with columns task, worker, label and, if there are several questions a task, code; if
    judges share a base model or a prompt also group: those of one group have one opinion, for joint. Without
    a table the answers in the store are taken."""
    out: Path | None = None
    """File for the labels: .csv, .parquet or .jsonl; must not exist. Without it they go into the store."""
    method: str = "joint"
    """How: joint (our own, robust with few answers a task), majority, wawa, dawid-skene, one-coin, glad,
    or one of another package."""
    model: Path | None = None
    """A model's calibrated probabilities: task, label, probability (and code); for joint and methods of other
    packages. With groups and gold they are recalibrated."""
    gold: Path | None = None
    """Gold: task, label (and code). It replaces the label of its task and informs the estimates of the
    labelers and of the other tasks; for joint. Tasks without answers are ignored."""
    soft: Literal["truth", "answers"] = "truth"
    """What the probabilities are: of each label being true, or the share of people who would give it."""
    last_wins: Annotated[bool, Parameter(negative=())] = False
    """Of a worker's several answers to a task take the last; without, they are refused."""

    def __post_init__(self) -> None:
        if self.out is not None and self.out.suffix not in FORMATS:
            raise ConfigError("E_FORMAT", f"--out must end in {', '.join(FORMATS)}")
        if self.gold is not None and self.method != "joint":
            raise ConfigError("E_OPTION", "--gold needs --method joint")


def aggregate(config: AggregateConfig) -> None:
    """Make one label a task, with its probability, from the answers of many people."""
    manifest = run(config)
    rows, answers = manifest["files"][0]["rows"], manifest["answers"]
    mean = manifest["mean_probability"]
    console = Console(stderr=True, markup=False, emoji=False)
    certainty = "no mean probability" if mean is None else f"mean probability {mean:.3f}"
    console.print(
        f"{config.out}: {rows} labels from {answers} answers of {manifest['labelers']} people, "
        f"{config.method}, {certainty}"
    )
    for code, label in manifest["one_label"].items():
        what = f"code {code}: " if code else ""
        console.print(
            f"{what}every answer is {label!r}: without another label nothing says how certain it is"
        )


def run(config: AggregateConfig) -> dict[str, Any]:
    """Write the labels and the manifest; return the manifest.

    Raises:
        ConfigError: no table, or no `out`.
        InputRefused: the table or the model's file is bad; the message names file and line.
        OutputRefused: `out` exists.
    """
    plugin = find_plugin(config.method)
    if config.model is not None and plugin.is_own and config.method != "joint":
        raise ConfigError("E_OPTION", "--model needs --method joint")
    table, out = config.annotations, config.out
    if table is None or out is None:
        raise ConfigError("E_OPTION", "from a file, --annotations and --out name the two")
    with making_files(out, manifest_path(out)):
        started = time.monotonic()
        tables = read_answers(table, config.last_wins)
        models: dict[str, Floats] = {}
        golds: dict[str, NDArray[Any]] = {}
        gold_labels = {} if config.gold is None else read_gold(config.gold, tables)
        tables = {code: one.with_labels(gold_labels.get(code, {}).values()) for code, one in tables.items()}
        if config.model is not None:
            tables, models = read_model_answers(config.model, tables)
        if any(gold_labels.values()):
            golds = {code: gold_indices(one, gold_labels[code]) for code, one in tables.items()}
        posteriors = {
            code: aggregate_answers(one, config.method, models.get(code), golds.get(code))
            for code, one in tables.items()
        }
        one_label = {code: table.labels[0] for code, table in tables.items() if len(table.labels) == 1}
        posteriors.update((code, posteriors[code].without_certainty()) for code in one_label)
        posteriors.update((code, posteriors[code].with_gold(gold)) for code, gold in golds.items())
        columns = _make_columns(config, tables, posteriors)
        certain = columns["probability"][columns["probability"] == columns["probability"]]  # not NaN
        with atomic_file(out) as file:
            _write(out.suffix, columns, file)
        inputs = [path for path in (table, config.model, config.gold) if path is not None]
        manifest = {
            "kind": "crowd-labels",
            "config": {
                name: value.name if isinstance(value, Path) else value
                for name, value in asdict(config).items()
            },
            "versions": package_versions("dialint", "numpy", "scipy", "pyarrow", "crowd-kit"),
            "plugins": describe([plugin]),
            "inputs": [file_entry(path) for path in inputs],
            "answers": sum(map(len, tables.values())),
            "labelers": len(next(iter(tables.values())).workers),
            "assumptions": {code: one.assumptions for code, one in posteriors.items() if one.assumptions},
            "mean_probability": float(certain.mean()) if len(certain) else None,
            "one_label": one_label,
            "files": [file_entry(out, len(columns["task"]))],
            "seconds": round(time.monotonic() - started, 1),
        }
        write_manifest(manifest_path(out), manifest)
        return manifest


def _make_columns(
    config: AggregateConfig, tables: Mapping[str, Answers], posteriors: Mapping[str, Posterior]
) -> dict[str, Any]:
    """The output by columns; `probability:LABEL` is NaN where a code does not have the label."""
    labels = sorted({label for table in tables.values() for label in table.labels})
    soft = {
        code: p.expected if config.soft == "answers" else p.probabilities for code, p in posteriors.items()
    }
    columns: dict[str, Any] = {"task": [task for table in tables.values() for task in table.tasks]}
    if list(tables) != [""]:
        columns["code"] = [code for code, table in tables.items() for _ in table.tasks]
    columns["label"] = [
        table.labels[winner] for code, table in tables.items() for winner in soft[code].argmax(axis=1)
    ]
    columns["probability"] = np.concatenate([soft[code].max(axis=1) for code in tables])
    columns["n_labelers"] = np.concatenate([table.n_labelers for table in tables.values()])
    for label in labels:
        columns[f"probability:{label}"] = np.concatenate(
            [
                soft[code][:, table.labels.index(label)]
                if label in table.labels
                else np.full(len(table.tasks), np.nan)
                for code, table in tables.items()
            ]
        )
    return columns


def _write(suffix: str, columns: Mapping[str, Any], file: BinaryIO) -> None:
    import pyarrow as pa

    if suffix == ".jsonl":
        _write_jsonl(columns, file)
        return
    table = pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})
    if suffix == ".parquet":
        from pyarrow import parquet

        parquet.write_table(table, file, compression="zstd")
    else:
        from pyarrow import csv

        texts = [name for name in ("task", "code", "label") if name in columns]
        for name in texts:
            cells = pa.array([escape_cell(cell) for cell in columns[name]])
            table = table.set_column(table.column_names.index(name), name, cells)
        csv.write_csv(table.rename_columns([escape_cell(name) for name in table.column_names]), file)


def _write_jsonl(columns: Mapping[str, Any], file: BinaryIO) -> None:
    heads = [name for name in columns if not name.startswith("probability:")]
    labels = [name.removeprefix("probability:") for name in columns if name not in heads]
    lists = (values if isinstance(values, list) else values.tolist() for values in columns.values())
    rows = zip(*lists, strict=True)
    for row in rows:
        head = {name: None if cell != cell else cell for name, cell in zip(heads, row, strict=False)}
        shares = zip(labels, row[len(heads) :], strict=True)
        head["probabilities"] = {label: share for label, share in shares if share == share}
        file.write(json.dumps(head, ensure_ascii=False, allow_nan=False).encode() + b"\n")
