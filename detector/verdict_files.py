"""Reads and writes verdict files: JSONL, Parquet and CSV with the same records.

A job appends JSON lines; the other two formats are converted from them in bounded memory. An output without a
manifest, or with bytes that differ from it, is refused. Scoring, resuming and summaries are elsewhere.
"""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, NotRequired, TypedDict

from msgspec import Meta

from dialint.detector.artifacts import read_manifest, verify_files
from dialint.detector.environment import require_library
from dialint.detector.errors import OutputRefused
from dialint.detector.manifests import Count, FileEntry, Folder, validate_fields
from dialint.detector.records import Finding, Verdict

FileFormat = Literal["jsonl", "parquet", "csv"]

JUDGE = "judge"
"""The column with the questions to a judge, as JSON; only files of jobs with a judge have it."""
ORIGIN = ("agent_turns", "agent", "team", "channel", "started_at")
"""Fields about the dialogue and not about its errors."""
AS_JSON = ("probabilities", "not_judged", "no_policy", "policy", JUDGE)
"""Columns that hold JSON."""
FINDING_COLUMNS = tuple(Finding.model_fields)
KINDS = {"finding": "findings", "suggestion": "suggestions"}
"""The column ``kind`` of a row in CSV, and the field of the verdict that the row belongs to."""
VERDICT_COLUMNS = tuple(name for name in Verdict.model_fields if name not in (*KINDS.values(), JUDGE))
NULLABLE = frozenset({"rewrite", *VERDICT_COLUMNS, JUDGE}) - {"dialogue_id", "release", "taxonomy", "status"}
NUMBERS = frozenset({"quality", "judged_share", "agent_turns", "turn", "probability", "start", "end"})
FORMULA_STARTS = "=+-@\u2212"
"""Characters that begin a formula in spreadsheets, in compatibility form: full-width and small signs
count."""
MAX_CELL = 1 << 30
ROW_GROUP_BYTES = 2 << 20


class _Overrides(TypedDict, total=False):
    thresholds: dict[str, float]
    spot_check: bool


class _Release(TypedDict, total=False):
    id: str
    taxonomy: str
    demoted: dict[str, str]
    overrides: _Overrides


class _Options(TypedDict, total=False):
    codes: list[str]
    limit: int | None


class Work(TypedDict, total=False):
    """The request of a job: the part of it that is read again."""

    inputs: list[dict[str, str]]
    release: _Release
    log: dict[str, Any]
    options: _Options


class _Counts(TypedDict):
    scored: Count
    failed: Count
    not_judged: Count
    failures: dict[str, Count]
    findings: dict[str, dict[str, Count]]


class _Reading(TypedDict, total=False):
    rejected: Count
    rejects: dict[str, Count]


class _JobReading(TypedDict):
    read: Count
    rejected: Count
    rejects: dict[str, Count]


class _Questions(TypedDict):
    readings: Count
    second_looks: Count


class _Judge(TypedDict):
    name: str
    questions: _Questions
    unasked: NotRequired[dict[str, Count]]
    unmet: NotRequired[dict[str, Count]]
    failures: NotRequired[dict[str, Count]]


class VerdictManifest(Folder):
    """The manifest of a file of verdicts; that of a job has all fields of `JobManifest`."""

    format: str
    files: Annotated[list[FileEntry], Meta(min_length=1)]
    work: NotRequired[Work]
    reading: NotRequired[_Reading]
    inputs: NotRequired[list[dict[str, Any]]]
    judge: NotRequired[_Judge]
    not_covered: NotRequired[list[str]]
    ended_at: NotRequired[datetime]


class _CountedFile(FileEntry):
    rows: Count  # type: ignore[misc]


class JobManifest(TypedDict):
    """The manifest of the verdicts and the rejects of a job of ``dialint score``."""

    format: str
    files: Annotated[list[_CountedFile], Meta(min_length=2, max_length=2)]
    work: Work
    counts: _Counts
    reading: _JobReading


def output_stem(out: Path) -> str:
    """The prefix of the names of files that belong to `out`: its stem for JSON lines, else its whole name, so
    that ``verdicts.jsonl`` and ``verdicts.csv`` may be in one folder."""
    return out.stem if out.suffix == ".jsonl" else out.name


def manifest_path(out: Path) -> Path:
    """The path of the manifest of `out`: ``verdicts.manifest.json`` for ``verdicts.jsonl``,
    ``verdicts.csv.manifest.json`` for ``verdicts.csv``."""
    return out.with_name(f"{output_stem(out)}.manifest.json")


def rejects_path(out: Path) -> Path:
    return out.with_name(f"{output_stem(out)}.rejects.jsonl")


def state_path(out: Path) -> Path:
    """The path of what ``--only-new`` keeps beside `out`: the content that each verdict is of."""
    return out.with_name(f"{output_stem(out)}.state")


def verdict_line(verdict: Verdict) -> bytes:
    return verdict.model_dump_json().encode() + b"\n"


def parse_verdicts(lines: Iterable[bytes]) -> Iterator[Verdict]:
    """The verdicts of JSONL lines, in order."""
    for line in lines:
        yield Verdict.model_validate_json(line)


def convert_verdicts(lines: Iterable[bytes], out: BinaryIO, file_format: FileFormat) -> None:
    """Write the verdicts of JSONL `lines` to `out`; no more than one row group is held in memory."""
    if file_format == "jsonl":
        out.writelines(lines)
    elif file_format == "csv":
        _write_csv(parse_verdicts(lines), out)
    else:
        _write_parquet(lines, out)


def read_verdicts(out: Path) -> Iterator[Verdict]:
    """The verdicts of a finished output, in order, after its bytes were compared with its manifest.

    Raises:
        OutputRefused: not finished, damaged, or not an output of ``dialint score``.
    """
    path = manifest_path(out)
    manifest = read_manifest(path, f"dialint score LOG --out {out}")
    if manifest.get("kind") == "verdicts":
        validate_fields(manifest, VerdictManifest, path)
    if manifest.get("kind") != "verdicts" or manifest["files"][0]["name"] != out.name:
        raise OutputRefused("E_MANIFEST", "{path}: does not describe {file}", path=path, file=out.name)
    verify_files(out.parent, manifest["files"])
    readers = {"jsonl": _read_jsonl, "csv": _read_csv, "parquet": _read_parquet}
    if manifest["format"] not in readers:
        raise OutputRefused(
            "E_FORMAT", "{path}: a {format} report cannot be read as verdicts",
            path=out, format=manifest["format"],
        )  # fmt: skip
    return readers[manifest["format"]](out)


def _read_jsonl(path: Path) -> Iterator[Verdict]:
    with open(path, "rb") as file:
        yield from parse_verdicts(file)


def needs_escape(text: str) -> bool:
    """Returns whether a spreadsheet could take `text` for a formula, or `escape_cell` must mark it to be
    undone. Invisible characters before the sign (blanks, control and format characters, a byte order mark)
    don't count."""
    if text[:1] in ("", "'", "\t", "\r", "\n"):
        return True
    if text[0].isalnum():  # most texts; the rest is slower
        return False
    for character in text:
        if not (character.isspace() or unicodedata.category(character)[0] in "CZ"):
            return unicodedata.normalize("NFKC", character)[0] in FORMULA_STARTS
    return False


def escape_cell(text: str | None) -> str:
    """Escape a cell so that no spreadsheet takes it for a formula; used in every CSV and TSV that is written.
    Undone by `unescape_cell`; None and "" stay distinct."""
    if text is None:
        return ""
    return "'" + text if needs_escape(text) else text


def unescape_cell(cell: str) -> str | None:
    """Undo `escape_cell`."""
    if cell == "":
        return None
    return cell[1:] if cell.startswith("'") else cell


def _write_csv(verdicts: Iterable[Verdict], out: BinaryIO) -> None:
    """One row for each finding and each suggestion, distinguished by the column ``kind``; a dialogue without
    any has one row in which that and the finding's cells are empty."""
    text = io.TextIOWrapper(out, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    columns: tuple[str, ...] = ()
    for verdict in verdicts:
        if not columns:
            columns = (*VERDICT_COLUMNS, *((JUDGE,) if verdict.judge is not None else ()))
            writer.writerow((*columns, "kind", *FINDING_COLUMNS))
        head = _with_json(verdict.model_dump(include=set(columns), mode="json"))
        cells = [_cell(head.get(name)) for name in columns]
        for kind, name in KINDS.items():
            for finding in getattr(verdict, name):
                writer.writerow([*cells, kind, *(_cell(getattr(finding, name)) for name in FINDING_COLUMNS)])
        if not verdict.findings and not verdict.suggestions:
            writer.writerow(cells + [""] * (1 + len(FINDING_COLUMNS)))
    if not columns:
        writer.writerow((*VERDICT_COLUMNS, "kind", *FINDING_COLUMNS))
    text.flush()
    text.detach()


def _with_json(row: dict[str, Any]) -> dict[str, Any]:
    """The row with what has no column of its own as JSON, none where there is nothing."""
    packed = {name: json.dumps(row[name], ensure_ascii=False) if row.get(name) else None for name in AS_JSON}
    if row.get("probabilities") is not None:  # if only of no turn
        packed["probabilities"] = json.dumps(row["probabilities"], ensure_ascii=False)
    return row | packed


def _cell(value: str | float | None) -> str:
    return escape_cell(value) if value is None or isinstance(value, str) else repr(value)


def _read_csv(path: Path) -> Iterator[Verdict]:
    """Rows of one dialogue stand together; ids are unique, so a new id begins a new verdict."""
    head: dict[str, Any] = {}
    findings: dict[str, list[dict[str, Any]]] = {name: [] for name in KINDS.values()}
    limit = csv.field_size_limit(MAX_CELL)  # of the whole process: put back when the file is read
    try:
        with open(path, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                columns = (*VERDICT_COLUMNS, JUDGE)
                cells = {name: row.get(name, "") for name in (*columns, *FINDING_COLUMNS)}
                values = {name: _value(name, cell) for name, cell in cells.items()}
                if head and values["dialogue_id"] != head["dialogue_id"]:
                    yield _verdict(head, **findings)
                    findings = {name: [] for name in KINDS.values()}
                head = {name: values[name] for name in columns}
                if values["code"] is not None:
                    findings[KINDS[row["kind"]]].append({name: values[name] for name in FINDING_COLUMNS})
    finally:
        csv.field_size_limit(limit)
    if head:
        yield _verdict(head, **findings)


def _value(name: str, cell: str) -> Any:
    text = unescape_cell(cell)
    if text is not None and name in NUMBERS:
        return json.loads(text)
    return text


def _verdict(
    head: dict[str, Any], findings: list[dict[str, Any]], suggestions: list[dict[str, Any]]
) -> Verdict:
    held = {name: json.loads(head[name]) for name in AS_JSON if head[name] is not None}
    record = {
        **head,
        "not_judged": [],
        "no_policy": [],
        **held,
        "findings": findings,
        "suggestions": suggestions,
    }
    return Verdict.model_validate_json(json.dumps(record))


def _schema(has_judge: bool) -> Any:
    import pyarrow as pa

    text, whole, real = pa.string(), pa.int64(), pa.float64()
    kinds = dict.fromkeys(("turn", "start", "end", "agent_turns"), whole)
    kinds |= dict.fromkeys(("probability", "quality", "judged_share"), real)

    def field(name: str) -> Any:
        return pa.field(name, kinds.get(name, text), nullable=name in NULLABLE)

    finding = pa.struct([field(name) for name in FINDING_COLUMNS])
    item = pa.field("item", finding, nullable=False)
    nested = [pa.field(name, pa.list_(item), nullable=False) for name in KINDS.values()]
    columns = (*VERDICT_COLUMNS, *((JUDGE,) if has_judge else ()))
    return pa.schema([*(field(name) for name in columns), *nested])


def _write_parquet(lines: Iterable[bytes], out: BinaryIO) -> None:
    """One row for each dialogue, findings and suggestions nested, probabilities as a JSON string."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    lines = iter(lines)
    first = list(islice(lines, 1))
    schema = _schema(any(verdict.judge is not None for verdict in parse_verdicts(first)))
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        for group in _groups(chain(first, lines)):
            rows = [_with_json(verdict.model_dump(mode="json")) for verdict in parse_verdicts(group)]
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))


def _groups(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    group: list[bytes] = []
    size = 0
    for line in lines:
        group.append(line)
        size += len(line)
        if size >= ROW_GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _read_parquet(path: Path) -> Iterator[Verdict]:
    require_library("pyarrow", path.name)
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for number in range(file.num_row_groups):
            for row in file.read_row_group(number).to_pylist():
                head = {name: row.get(name) for name in (*VERDICT_COLUMNS, JUDGE)}
                yield _verdict(head, row["findings"], row.get("suggestions") or [])
