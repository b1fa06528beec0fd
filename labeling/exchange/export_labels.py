"""Stage ``dialint export labels``: dialogues and their annotations for other tools.

Reads logs and, optionally, our annotations and the verdicts that labelers may see; writes one file in a
format of `registry` (for Label Studio also its interface, ``OUT.xml``) and last ``OUT.manifest.json``.
Without annotations it writes tasks, with them the answers. All text is masked.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from cyclopts import Parameter

from dialint.detector.artifacts import atomic_file, file_entry, making_files, package_versions, write_manifest
from dialint.detector.errors import ConfigError
from dialint.detector.ingest.outcomes import Reject, file_error
from dialint.detector.ingest.read import load_dialogues, open_logs
from dialint.detector.ingest.readers.tables import TableFormat
from dialint.detector.masking import mask_words
from dialint.detector.plugins import describe
from dialint.detector.records import Finding
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.detector.verdict_files import escape_cell, manifest_path, read_verdicts
from dialint.labeling.annotation import Annotation
from dialint.labeling.exchange import label_studio
from dialint.labeling.exchange.format import (
    DialogueView,
    ExportItem,
    LabelContext,
    LabelFormat,
    Row,
    find_plugin,
    format_by_name,
)
from dialint.labeling.exchange.import_labels import LabelReader

TABLE_FORMATS: dict[str, TableFormat] = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ExportConfig:
    """Dialogues and format of an export."""

    dialogues: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = field(kw_only=False)
    """Logs of the dialogues."""
    out: Path
    """File to write; must not exist. Its ending says whether a crowd table is CSV, Parquet or JSONL."""
    format: str
    """The tool: label-studio, toloka, prodigy, doccano, argilla, crowd or dialint."""
    codes: Annotated[tuple[str, ...], Parameter(consume_multiple=True)]
    """Codes or categories to ask."""
    annotations: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Our annotations (JSONL): answers are written instead of tasks."""
    verdicts: Path | None = None
    """Verdicts that labelers see; without them they are blind."""
    taxonomy: Path | None = None
    """A taxonomy of your own."""

    def __post_init__(self) -> None:
        label_format = format_by_name(self.format)
        if not self.codes:
            raise ConfigError("E_OPTION", "--codes: name at least one")
        if label_format.name == "dialint" and not self.annotations:
            raise ConfigError("E_OPTION", "--format dialint writes annotations; --annotations names them")


def export_labels(config: ExportConfig) -> None:
    """Write tasks or answers for Label Studio, Toloka, Prodigy, doccano, Argilla or a crowd table."""
    from rich.console import Console

    for file in run(config)["files"]:
        Console(stderr=True, markup=False, emoji=False).print(f"{file['name']}: {file.get('rows', 1)} rows")


def run(config: ExportConfig) -> dict[str, Any]:
    """Write the file and return its manifest.

    Raises:
        OutputRefused: `out` exists, or the verdicts are damaged.
        InputRefused: an input is refused whole, or an annotation is of an unknown dialogue or code.
    """
    started = time.monotonic()
    taxonomy, label_format = load_taxonomy(config.taxonomy), format_by_name(config.format)
    codes = taxonomy.select_codes(config.codes)
    table_format = table_format_for(label_format, config.out)
    columns = label_format.columns(bool(config.annotations)) if label_format.columns else ()
    interface = [config.out.with_suffix(".xml")] if label_format is label_studio.FORMAT else []
    with making_files(config.out, *interface, manifest_path(config.out)):
        with atomic_file(config.out) as file:
            rows = label_format.rows(_items(config, taxonomy, codes))
            n_rows = write_rows(file, rows, table_format, columns)
        for path in interface:
            with atomic_file(path) as file:
                file.write(label_studio.interface(codes).encode())
        manifest = {
            "kind": "labels",
            "config": {
                **asdict(config), "out": config.out.name, "taxonomy": taxonomy.version,
                "verdicts": config.verdicts and config.verdicts.name,
            },
            "versions": package_versions("dialint", "pyarrow", "pydantic"),
            "plugins": describe([find_plugin(config.format)]),
            "files": [file_entry(config.out, n_rows), *map(file_entry, interface)],
            "seconds": round(time.monotonic() - started, 1),
        }  # fmt: skip
        write_manifest(manifest_path(config.out), manifest)
    return manifest


def table_format_for(label_format: LabelFormat, out: Path) -> TableFormat:
    """The table format of a label format in a file of this name; a crowd table's depends on the ending."""
    if label_format.name == "crowd":
        return TABLE_FORMATS.get(out.suffix, "jsonl")
    return label_format.table_format


def _items(config: ExportConfig, taxonomy: Taxonomy, codes: tuple[str, ...]) -> Iterator[ExportItem]:
    """Every dialogue, or with `annotations` those that have some."""
    context = LabelContext(taxonomy, load_dialogues(config.dialogues))
    answers = load_annotations(config.annotations, context)
    scored = read_verdicts(config.verdicts) if config.verdicts else ()
    verdicts = {verdict.dialogue_id: verdict for verdict in scored if verdict.status != "failed"}
    for dialogue in context.dialogues.values():
        if config.annotations and dialogue.id not in answers:
            continue
        view, annotations = DialogueView(dialogue), tuple(answers.get(dialogue.id, ()))
        item = ExportItem(view, codes, context.dialogue_codes, annotations)
        if verdict := verdicts.get(dialogue.id):
            placed = verdict.placed_in(dialogue).findings
            model = tuple(finding for finding in placed if finding.code in codes)
            item = replace(item, model=model, release=verdict.release)
        yield _with_masked_reasons(item)


def _with_masked_reasons(item: ExportItem) -> ExportItem:
    findings = [*item.model, *(each for annotation in item.annotations for each in annotation.findings)]
    if not (reasons := {finding.reason for finding in findings if finding.reason.strip()}):
        return item
    words = mask_words(item.view.dialogue, sorted(reasons))

    def mask(findings: Sequence[Finding]) -> tuple[Finding, ...]:
        return tuple(
            each.model_copy(update={"reason": words.get(each.reason, each.reason)}) for each in findings
        )

    annotations = tuple(
        each.model_copy(update={"findings": mask(each.findings)}) for each in item.annotations
    )
    return replace(item, model=mask(item.model), annotations=annotations)


def load_annotations(files: tuple[str, ...], context: LabelContext) -> dict[str, list[Annotation]]:
    """Our annotations by dialogue, in the order of the files.

    Raises:
        InputRefused: a file is in another format, or holds a bad record.
    """
    annotations: dict[str, list[Annotation]] = {}
    reader = LabelReader(context)
    for source in open_logs(list(files)) if files else ():
        for item in reader.read(source, "dialint"):
            if isinstance(item, Reject):
                raise file_error(
                    item.code, source.name, f"line {item.line}, {item.path}: expected {item.expected}"
                )
            annotations.setdefault(item.annotation.dialogue_id, []).append(item.annotation)
    return annotations


BATCH_ROWS = 4096


def write_rows(
    out: BinaryIO, rows: Iterable[Row], table_format: TableFormat, columns: tuple[str, ...]
) -> int:
    """Write rows as JSON lines, one JSON array, CSV, TSV or Parquet, and return their number.
    `columns` are those of a table. Formulas are escaped in CSV and TSV."""
    if table_format == "parquet":
        return _write_parquet(out, rows, columns)
    if table_format in ("csv", "tsv"):
        return _write_table(out, rows, "," if table_format == "csv" else "\t", columns)
    written = 0
    for written, row in enumerate(rows, 1):
        text = json.dumps(row, ensure_ascii=False, allow_nan=False).encode()
        opening = b"[" if written == 1 else b",\n"
        out.write(opening + text if table_format == "json" else text + b"\n")
    if table_format == "json":
        out.write(b"]\n" if written else b"[]\n")
    return written


def _write_table(out: BinaryIO, rows: Iterable[Row], delimiter: str, columns: tuple[str, ...]) -> int:
    text = io.TextIOWrapper(out, encoding="utf-8", newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    writer.writerow([escape_cell(name) for name in columns])
    written = 0
    for row in rows:
        written += 1
        values = (row.get(name) for name in columns)
        writer.writerow([escape_cell(v) if v is None or isinstance(v, str) else str(v) for v in values])
    text.detach()  # which flushes it
    return written


def _write_parquet(out: BinaryIO, rows: Iterable[Row], columns: tuple[str, ...]) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([(name, pa.float64() if name == "seconds" else pa.string()) for name in columns])
    written, source = 0, iter(rows)
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        while batch := list(islice(source, BATCH_ROWS)):
            writer.write_table(pa.Table.from_pylist(batch, schema))
            written += len(batch)
    return written
