"""Stage ``dialint export labels``: dialogues, and what was said of them, for other tools.

Reads logs, and if named our annotations and the verdicts that labelers may see; writes one file in a
shape of `registry` (for Label Studio also its interface, ``OUT.xml``) and last ``OUT.manifest.json``.
Without annotations it writes tasks to be done, with them the answers. All text is masked.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from dialint.detector.artifacts import (
    atomic_file,
    disk_errors,
    file_entry,
    make_output_folder,
    package_versions,
    write_manifest,
)
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.ingest.outcomes import Reject, refuse
from dialint.detector.ingest.read import load_dialogues, open_logs
from dialint.detector.ingest.readers.tables import TableFormat
from dialint.detector.records import Verdict
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.detector.verdict_files import manifest_path, read_verdicts
from dialint.labeling.annotation import Annotation
from dialint.labeling.exchange import label_studio
from dialint.labeling.exchange.format import DialogueView, ExportItem, LabelContext, LabelFormat
from dialint.labeling.exchange.import_labels import LabelImport
from dialint.labeling.exchange.registry import format_by_name
from dialint.labeling.exchange.rows import write_rows

ENDINGS: dict[str, TableFormat] = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}


@Parameter(name="*")
@dataclass(frozen=True)
class ExportConfig:
    """What is written for which tool."""

    dialogues: Annotated[tuple[str, ...], Parameter(consume_multiple=True)]
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
    """Verdicts that labelers are shown; without them they are blind."""
    taxonomy: Path | None = None
    """A taxonomy of your own."""

    def __post_init__(self) -> None:
        shape = format_by_name(self.format)
        if not self.codes:
            raise ConfigError("E_OPTION", "--codes: name at least one")
        if shape.name == "dialint" and not self.annotations:
            raise ConfigError("E_OPTION", "--format dialint writes annotations; --annotations names them")


def export_labels(config: ExportConfig) -> None:
    """Write tasks or answers for Label Studio, Toloka, Prodigy, doccano, Argilla or a crowd table."""
    from rich.console import Console

    for file in run(config)["files"]:
        Console(stderr=True, markup=False, emoji=False).print(f"{file['name']}: {file.get('rows', 1)} rows")


def run(config: ExportConfig) -> dict[str, Any]:
    """Write the file; the manifest that was written.

    Raises:
        OutputRefused: `out` exists, or the verdicts are damaged.
        InputRefused: an input is refused whole, or an annotation is of an unknown dialogue or code.
    """
    if config.out.exists():
        raise OutputRefused("E_EXISTS", f"{config.out}: exists already; name another file")
    started = time.monotonic()
    taxonomy, shape = load_taxonomy(config.taxonomy), format_by_name(config.format)
    codes = tuple(dict.fromkeys(code.code for name in config.codes for code in taxonomy.select(name)))
    with disk_errors(config.out):
        make_output_folder(config.out.parent)
    framing = framing_for(shape, config.out)
    columns = shape.columns(bool(config.annotations)) if shape.columns else ()
    with atomic_file(config.out) as file:
        rows = write_rows(file, shape.rows(_items(config, taxonomy, codes)), framing, columns)
    files = [file_entry(config.out, rows)]
    if shape is label_studio.SHAPE:
        interface = config.out.with_suffix(".xml")
        with atomic_file(interface) as file:
            file.write(label_studio.interface(codes).encode())
        files.append(file_entry(interface))
    manifest = {
        "kind": "labels",
        "config": {
            **asdict(config),
            "out": config.out.name,
            "verdicts": config.verdicts and config.verdicts.name,
            "taxonomy": taxonomy.version,
        },
        "versions": package_versions("dialint", "pyarrow", "pydantic"),
        "files": files,
        "seconds": round(time.monotonic() - started, 1),
    }
    write_manifest(manifest_path(config.out), manifest)
    return manifest


def framing_for(shape: LabelFormat, out: Path) -> TableFormat:
    """How `shape` is framed in a file of this name: a crowd table goes by the ending."""
    if shape.name == "crowd":
        return ENDINGS.get(out.suffix, "jsonl")
    return shape.framing


def _items(config: ExportConfig, taxonomy: Taxonomy, codes: tuple[str, ...]) -> Iterator[ExportItem]:
    """Every dialogue, or those with annotations if these are written."""
    context = LabelContext(taxonomy, load_dialogues(config.dialogues))
    answers = checked_annotations(config.annotations, context)
    verdicts = verdicts_of(config.verdicts)
    for dialogue in context.dialogues.values():
        if config.annotations and dialogue.id not in answers:
            continue
        item = ExportItem(
            DialogueView(dialogue), codes, context.dialogue_codes, tuple(answers.get(dialogue.id, ()))
        )
        verdict = verdicts.get(dialogue.id)
        if verdict is not None:
            placed = verdict.placed_in(dialogue)
            model = tuple(finding for finding in placed.findings if finding.code in codes)
            item = replace(item, model=model, release=verdict.release)
        yield item


def checked_annotations(files: tuple[str, ...], context: LabelContext) -> dict[str, list[Annotation]]:
    """Our annotations by dialogue, in the order of the files.

    Raises:
        InputRefused: a file is no file of ours, or holds a bad record.
    """
    found: dict[str, list[Annotation]] = {}
    intake = LabelImport(context)
    for source in open_logs(list(files)) if files else ():
        for item in intake.read(source, "dialint"):
            if isinstance(item, Reject):
                raise refuse(
                    item.code, source.name, f"line {item.line}, {item.path}: expected {item.expected}"
                )
            found.setdefault(item.dialogue_id, []).append(item)
    return found


def verdicts_of(path: Path | None) -> dict[str, Verdict]:
    """The scored verdicts of a finished output by dialogue; none without a path.

    Raises:
        OutputRefused: not finished, or damaged.
    """
    if path is None:
        return {}
    return {verdict.dialogue_id: verdict for verdict in read_verdicts(path) if verdict.status != "failed"}
