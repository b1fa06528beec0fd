"""Stage ``dialint import``: labels from other tools become annotations, one a line.

Reads files in any shape of `registry`, and the dialogues they are about; writes ``OUT.jsonl``, beside it
``OUT.rejects.jsonl`` (file, line, field and reason, no text) and last ``OUT.manifest.json``. The same
files give the same ids, so that importing twice adds nothing to a store. Judges no answer and counts no
votes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from cyclopts import Parameter

from dialint.detector.artifacts import (
    atomic_file,
    disk_errors,
    file_entry,
    make_output_folder,
    package_versions,
    sha256_file,
    write_manifest,
)
from dialint.detector.errors import ConfigError, OutputRefused, TooManyBad
from dialint.detector.ingest.outcomes import BadRecord, Counts, Reject, refuse
from dialint.detector.ingest.read import load_dialogues, open_logs
from dialint.detector.ingest.readers.tables import read_rows
from dialint.detector.ingest.sources import Source
from dialint.detector.records import Dialogue
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.detector.verdict_files import manifest_path, rejects_path
from dialint.labeling.annotation import Annotation, Kind
from dialint.labeling.exchange.format import LabelContext, ReadState
from dialint.labeling.exchange.registry import detect_format


@Parameter(name="*")
@dataclass(frozen=True)
class ImportConfig:
    """Where labels come from and what they are about."""

    labels: Annotated[tuple[str, ...], Parameter(consume_multiple=True)]
    """Files of labels, or patterns."""
    dialogues: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Logs of the dialogues that were labeled; needed for a file, the store has its own."""
    out: Path | None = None
    """File for the annotations (.jsonl); must not exist. Without it they go into the store."""
    format: str = "auto"
    """Shape of the labels, if it is not to be found out."""
    codes: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Codes that were asked, where the labels do not say."""
    name: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """What another tool calls a code: `wrong_fact=I1`."""
    labelers: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """The labelers there are; a label by anybody else is rejected. None named: for a file all are taken,
    for the store its accounts are; `*` takes all."""
    kind: Kind = "crowd"
    """Whose answers these are."""
    utf16: bool = False
    """Offsets of spans are UTF-16 units (early versions of doccano)."""
    taxonomy: Path | None = None
    """A taxonomy of your own."""
    max_bad: float = 0.05
    """Share of bad answers that stops the job."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.max_bad <= 1.0:
            raise ConfigError("E_OPTION", "--max-bad: expected a share between 0 and 1")
        self.names()

    def names(self) -> dict[str, str]:
        """Another tool's label to the code it stands for."""
        pairs = [value.rpartition("=") for value in self.name]
        if any(not label or not code for label, _, code in pairs):
            raise ConfigError("E_OPTION", "--name: expected pairs such as wrong_fact=I1")
        return {label: code for label, _, code in pairs}

    def intake(
        self, taxonomy: Taxonomy, dialogues: Mapping[str, Dialogue], labelers: frozenset[str]
    ) -> LabelImport:
        """A reader of the labels, for which these `dialogues` and `labelers` are known; all labelers are,
        if there is none."""
        codes = tuple(code.code for name in self.codes for code in taxonomy.select(name))
        context = LabelContext(
            taxonomy, dialogues, codes, self.names(), None if "*" in labelers else labelers or None
        )
        return LabelImport(context, self.kind, self.utf16)


def import_labels(config: ImportConfig) -> None:
    """Read labels of Label Studio, Toloka, Prodigy, doccano, Argilla or a crowd table."""
    from rich.console import Console

    told = run(config)["counts"]
    skipped = "".join(f", {count} {reason}" for reason, count in told["left_out"].items())
    Console(stderr=True, markup=False, emoji=False).print(
        f"{told['annotations']} annotations, {told['rejected']} rejected, {told['duplicates']} known{skipped}"
    )


def run(config: ImportConfig) -> dict[str, Any]:
    """Import all files; the manifest that was written.

    Raises:
        ConfigError: no `out`, or no `dialogues`.
        OutputRefused: `out` exists.
        InputRefused: a file is refused whole.
        TooManyBad: over `max_bad` of the answers are bad; the rejects file says which.
    """
    out = config.out
    if out is None or not config.dialogues:
        raise ConfigError("E_OPTION", "a file needs --out and --dialogues")
    if out.exists():
        raise OutputRefused("E_EXISTS", f"{out}: exists already; name another file")
    started = time.monotonic()
    taxonomy = load_taxonomy(config.taxonomy)
    intake = config.intake(taxonomy, load_dialogues(config.dialogues), frozenset(config.labelers))
    with disk_errors(out):
        make_output_folder(out.parent)
    stopped = _write(config, out, intake, open_logs(config.labels))
    if stopped is not None:
        raise stopped
    files = [file_entry(out, intake.taken), file_entry(rejects_path(out), intake.counts.rejected)]
    told = {
        "annotations": intake.taken,
        "rejected": intake.counts.rejected,
        "duplicates": intake.counts.duplicates,
        "left_out": dict(sorted(intake.left_out.items())),
        "codes": dict(sorted(intake.counts.codes.items())),
    }
    settings = {key: value for key, value in asdict(config).items() if key != "labelers"}
    manifest = {
        "kind": "annotations",
        "config": {**settings, "out": out.name, "taxonomy": taxonomy.version},
        "versions": package_versions("dialint", "pyarrow", "pydantic"),
        "sources": intake.sources,
        "counts": told,
        "files": files,
        "seconds": round(time.monotonic() - started, 1),
    }
    write_manifest(manifest_path(out), manifest)
    return manifest


def _write(config: ImportConfig, out: Path, intake: LabelImport, sources: list[Source]) -> TooManyBad | None:
    """Write annotations and rejects; if the job was stopped, the rejects alone, and why."""
    with atomic_file(rejects_path(out)) as rejects:
        try:
            with atomic_file(out) as file:
                for source in sources:
                    for item in intake.read(source, config.format):
                        if isinstance(item, Reject):
                            rejects.write(json.dumps(item.as_json(), ensure_ascii=False).encode() + b"\n")
                        else:
                            file.write(item.model_dump_json(exclude_defaults=True).encode() + b"\n")
                intake.counts.check_share(config.max_bad)
        except TooManyBad as error:
            return error
    return None


class LocatedAnnotation(NamedTuple):
    """An answer and where it stands; `once` says that its labeler answers a question once only."""

    annotation: Annotation
    file: str
    line: int
    offset: int
    once: bool

    def refused(self, why: BadRecord) -> Reject:
        """The reject that it is after all."""
        return why.reject(self.file, self.line, self.offset)


@dataclass
class LabelImport:
    """Reads files of labels, one after the other, and remembers whose answers it has seen."""

    context: LabelContext
    kind: Kind = "crowd"
    utf16: bool = False
    counts: Counts = field(default_factory=Counts)
    taken: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    sources: list[dict[str, Any]] = field(default_factory=list)
    _contents: dict[str, int] = field(default_factory=dict)
    _answered: set[int] = field(default_factory=set)

    def read(self, source: Source, name: str = "auto") -> Iterator[Annotation | Reject]:
        """The annotations of a file, in order, with what was rejected.

        Raises:
            InputRefused: the file is refused whole, or holds no records.
        """
        for item in self.placed(source, name):
            yield item if isinstance(item, Reject) else item.annotation

    def placed(self, source: Source, name: str = "auto") -> Iterator[LocatedAnnotation | Reject]:
        """As `read`, and where each annotation stands."""
        shape, framing = detect_format(source, name)
        label = source.path.name.partition(".")[0] if source.name != "-" else "stdin"
        state = ReadState(self.context, label, self.kind, self.utf16)
        rows, once = 0, shape.name != "dialint"
        for line, offset, row in read_rows(source, framing):
            rows += 1
            for found in _answers(row, shape.read, state):
                outcome = self._settled(found, once)
                if isinstance(outcome, BadRecord):
                    self.counts.rejected += 1
                    self.counts.codes[outcome.code] += 1
                    yield outcome.reject(source.name, line, offset)
                elif outcome is not None:
                    self.taken += 1
                    yield LocatedAnnotation(outcome, source.name, line, offset, once)
        source.check_unchanged()
        if not rows:
            raise refuse("E_NO_RECORDS", source.name, "no records")
        for reason, count in state.skipped.items():
            self.left_out[reason] = self.left_out.get(reason, 0) + count
        told = {"name": Path(source.name).name, "format": shape.name, "rows": rows}
        self.sources.append({**told, "sha256": sha256_file(source.path)})

    def _settled(self, found: Annotation | BadRecord, once: bool) -> Annotation | BadRecord | None:
        """The answer, none if it is known already, or why it is refused: one id, one content; and in
        other tools (`once`) one answer by a labeler to a question."""
        self.counts.read += 1
        if isinstance(found, BadRecord):
            return found
        content = hash(found.model_dump_json())
        if found.id in self._contents:
            if self._contents[found.id] == content:
                self.counts.duplicates += 1
                return None
            return BadRecord("E_LABEL", "id", "an id again", "each id once", found.dialogue_id)
        requested = hash((found.labeler, found.dialogue_id, found.turn, found.codes))
        if once and requested in self._answered:
            expected = "one answer by a labeler to a question"
            return BadRecord("E_LABEL", "labeler", "a second answer", expected, found.dialogue_id)
        self._contents[found.id] = content
        self._answered.add(requested)
        return found


def _answers(row: Any, reader: Any, state: ReadState) -> Iterator[Annotation | BadRecord]:
    """The answers of a row; a fault of the row itself ends it."""
    if isinstance(row, BadRecord):
        yield row
        return
    try:
        yield from reader(row, state)
    except BadRecord as bad:
        yield bad
