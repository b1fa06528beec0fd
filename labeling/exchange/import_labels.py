"""Stage ``dialint import``: labels from other tools become annotations, one a line.

Reads files in any format of `registry`, and the dialogues they are about; writes ``OUT.jsonl``, beside it
``OUT.rejects.jsonl`` (file, line, field and reason, no text) and last ``OUT.manifest.json``. The same
files give the same ids, so that importing twice adds nothing to a store. Aggregates nothing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import (
    atomic_file,
    file_entry,
    json_line,
    make_output_folder,
    making_files,
    package_versions,
    remove_orphans,
    sha256_file,
    write_manifest,
)
from dialint.detector.errors import ConfigError, TooManyBad
from dialint.detector.example_files import to_line
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import BadRecord, Counts, Reject, file_error
from dialint.detector.ingest.read import load_dialogues, open_logs
from dialint.detector.ingest.readers.tables import DEFAULT_CONFIG, read_rows
from dialint.detector.ingest.sources import Source
from dialint.detector.option_ranges import check_ranges
from dialint.detector.plugins import Plugin, describe
from dialint.detector.records import Dialogue
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.detector.verdict_files import manifest_path, rejects_path
from dialint.labeling.annotation import Annotation, Kind
from dialint.labeling.exchange.format import LabelContext, LabelFormat, ReadState, detect_format


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ImportConfig:
    """Sources of an import of labels."""

    labels: Annotated[tuple[str, ...], Parameter(consume_multiple=True)]
    """Files of labels, or patterns."""
    dialogues: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Logs of the dialogues that were labeled; needed for a file, the store has its own."""
    out: Path | None = None
    """File for the annotations (.jsonl); must not exist. Without it they go into the store."""
    format: str = "auto"
    """Format of the labels; auto detects it."""
    encoding: str = "auto"
    """Encoding of the labels, such as cp1252; auto detects it where that is safe."""
    codes: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Codes that labelers answered for, where the labels do not say."""
    name: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """What another tool calls a code: `wrong_fact=I1`."""
    labelers: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Labelers to accept; a label by anybody else is rejected. Without them a file accepts all, the store its
    accounts; `*` accepts all."""
    kind: Kind = "crowd"
    """Whose answers these are."""
    taxonomy: Path | None = None
    """A taxonomy of your own."""
    max_bad: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Share of bad answers that stops the job."""

    def __post_init__(self) -> None:
        check_ranges(self)
        ReadConfig(encoding=self.encoding)
        self.names()

    def names(self) -> dict[str, str]:
        """The code of each of another tool's labels."""
        pairs = [value.rpartition("=") for value in self.name]
        if any(not label or not code for label, _, code in pairs):
            raise ConfigError("E_OPTION", "--name: expected pairs such as wrong_fact=I1")
        return {label: code for label, _, code in pairs}

    def make_reader(
        self, taxonomy: Taxonomy, dialogues: Mapping[str, Dialogue], labelers: frozenset[str]
    ) -> LabelReader:
        """A reader of labels of these dialogues by these labelers; without any it accepts all labelers."""
        codes = taxonomy.select_codes(self.codes)
        context = LabelContext(
            taxonomy, dialogues, codes, self.names(), None if "*" in labelers else labelers or None
        )
        return LabelReader(context, self.kind, ReadConfig(encoding=self.encoding))


def import_labels(config: ImportConfig) -> None:
    """Read labels of Label Studio, Toloka, Prodigy, doccano, Argilla or a crowd table."""
    from rich.console import Console

    counts = run(config)["counts"]
    skipped = "".join(f", {count} {reason}" for reason, count in counts["left_out"].items())
    Console(stderr=True, markup=False, emoji=False).print(
        f"{counts['annotations']} annotations, {counts['rejected']} rejected, "
        f"{counts['duplicates']} known{skipped}"
    )


def run(config: ImportConfig) -> dict[str, Any]:
    """Import all files and return the manifest.

    Raises:
        ConfigError: no `out`, or no `dialogues`.
        OutputRefused: `out` exists.
        InputRefused: a file is refused whole.
        TooManyBad: over `max_bad` of the answers are bad; the rejects file lists them.
    """
    out = config.out
    if out is None or not config.dialogues:
        raise ConfigError("E_OPTION", "a file needs --out and --dialogues")
    started = time.monotonic()
    taxonomy = load_taxonomy(config.taxonomy)
    with making_files(out, manifest_path(out)):
        remove_orphans(rejects_path(out))
        reader = config.make_reader(taxonomy, load_dialogues(config.dialogues), frozenset(config.labelers))
        with open_rejects(rejects_path(out)) as rejects, atomic_file(out) as file:
            for source in open_logs(config.labels):
                for item in reader.read(source, config.format):
                    if isinstance(item, Reject):
                        rejects.add(item)
                    else:
                        file.write(to_line(item.annotation))
            reader.counts.check_share(config.max_bad)
        counts, settings = reader.counts, asdict(config)
        del settings["labelers"]
        manifest = {
            "kind": "annotations",
            "config": {**settings, "out": out.name, "taxonomy": taxonomy.version},
            "versions": package_versions("dialint", "pyarrow", "pydantic"),
            "plugins": describe(reader.plugins),
            "sources": reader.sources,
            "counts": {
                "annotations": reader.accepted,
                "rejected": counts.rejected,
                "duplicates": counts.duplicates,
                "left_out": dict(sorted(reader.left_out.items())),
                "codes": dict(sorted(counts.codes.items())),
            },
            "files": [file_entry(out, reader.accepted), file_entry(rejects_path(out), counts.rejected)],
            "seconds": round(time.monotonic() - started, 1),
        }
        write_manifest(manifest_path(out), manifest)
    return manifest


MAX_FIRST = 10


@dataclass
class Rejects:
    """Number of rejected records by reason, and the first of them."""

    codes: Counter[str] = field(default_factory=Counter)
    first: list[Reject] = field(default_factory=list)
    file: BinaryIO | None = None

    def add(self, reject: Reject) -> None:
        """Count a rejected record, and write it to the file."""
        self.codes[reject.code] += 1
        if len(self.first) < MAX_FIRST:
            self.first.append(reject)
        if self.file is not None:
            self.file.write(json_line(reject.as_json()))


@contextmanager
def open_rejects(path: Path | None) -> Iterator[Rejects]:
    """Context of rejects that are written to `path` at the end, also if too many of them stop the import."""
    if path is None:
        yield Rejects()
        return
    make_output_folder(path.parent)
    too_many = None
    with atomic_file(path) as file:
        try:
            yield Rejects(file=file)
        except TooManyBad as error:
            too_many = error
    if too_many is not None:
        raise too_many


class LocatedAnnotation(NamedTuple):
    """An annotation and its location in a file; `once`: a labeler may answer a question only once."""

    annotation: Annotation
    file: str
    line: int
    offset: int
    once: bool


@dataclass
class LabelReader:
    """Reads files of labels one after the other, counts them, and rejects second answers to a question."""

    context: LabelContext
    kind: Kind = "crowd"
    config: ReadConfig = DEFAULT_CONFIG
    counts: Counts = field(default_factory=Counts)
    accepted: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    sources: list[dict[str, Any]] = field(default_factory=list)
    plugins: list[Plugin] = field(default_factory=list)
    _contents: dict[str, int] = field(default_factory=dict)
    _questions: set[int] = field(default_factory=set)

    def read(self, source: Source, name: str = "auto") -> Iterator[LocatedAnnotation | Reject]:
        """The annotations and rejects of a file, in order.

        Raises:
            InputRefused: the file is refused whole, or holds no records.
        """
        plugin, table_format = detect_format(source, name, self.config)
        label_format: LabelFormat = plugin.load(LabelFormat)
        self.plugins.append(plugin)
        label = source.path.name.partition(".")[0] if source.name != "-" else "stdin"
        state = ReadState(self.context, label, self.kind)
        rows, once = 0, label_format.name != "dialint"
        for line, offset, row in read_rows(source, table_format, self.config):
            rows += 1
            for item in _read_row(row, label_format.read, state):
                outcome = self._check_repeated(item, once)
                if isinstance(outcome, BadRecord):
                    reject = outcome.reject(source.name, line, offset)
                    self.counts.reject(reject)
                    yield reject
                elif outcome is not None:
                    self.accepted += 1
                    yield LocatedAnnotation(outcome, source.name, line, offset, once)
        source.check_unchanged()
        if not rows:
            raise file_error("E_NO_RECORDS", source.name, "no records")
        for reason, count in state.skipped.items():
            self.left_out[reason] = self.left_out.get(reason, 0) + count
        entry = {"name": Path(source.name).name, "format": label_format.name, "rows": rows}
        self.sources.append({**entry, "sha256": sha256_file(source.path)})

    def _check_repeated(self, item: Annotation | BadRecord, once: bool) -> Annotation | BadRecord | None:
        """`item`, None if it was read before, or the reject of an id with another content or, with `once`, of
        a labeler's second answer to a question."""
        self.counts.read += 1
        if isinstance(item, BadRecord):
            return item
        content = hash(item.model_dump_json())
        if item.id in self._contents:
            if self._contents[item.id] == content:
                self.counts.duplicates += 1
                return None
            return BadRecord("E_LABEL", "id", "an id again", "each id once", item.dialogue_id)
        question = hash((item.labeler, item.dialogue_id, item.turn, item.codes))
        if once and question in self._questions:
            expected = "one answer by a labeler to a question"
            return BadRecord("E_LABEL", "labeler", "a second answer", expected, item.dialogue_id)
        self._contents[item.id] = content
        self._questions.add(question)
        return item


def _read_row(row: Any, read_format: Any, state: ReadState) -> Iterator[Annotation | BadRecord]:
    """The annotations of a row, and its rejects; an invalid row ends with its reject."""
    if isinstance(row, BadRecord):
        yield row
        return
    try:
        yield from read_format(row, state)
    except BadRecord as bad:
        yield bad
