"""Reads logs into validated dialogues and rejects; the entry point of this package.

`open_logs` resolves the files, `inspect` refuses a file that is not what it claims to be before anything is
scored, `read` streams the records in bounded memory and in the order of the files. Personal data are not
masked here and nothing is written.
"""

from __future__ import annotations

import gc
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace

from dialint.detector.errors import InputRefused, Message, TooManyBad
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.duplicates import SeenIds, content_hash
from dialint.detector.ingest.mapping import MappedRecord
from dialint.detector.ingest.outcomes import BadRecord, Counts, Loaded, Reject, file_error, preview_hint
from dialint.detector.ingest.readers.csv_logs import check_csv, read_csv
from dialint.detector.ingest.readers.encodings import blocks, encoding_of
from dialint.detector.ingest.readers.format_detection import DetectedFormat, detect_format
from dialint.detector.ingest.readers.json_logs import read_document, read_lines, read_parts, read_text
from dialint.detector.ingest.readers.mapped_logs import check_mapped, mapped_format, read_mapped_rows
from dialint.detector.ingest.readers.parquet_logs import check_parquet, read_parquet
from dialint.detector.ingest.readers.streams import BOM
from dialint.detector.ingest.sources import COMPRESSED, Source, open_logs
from dialint.detector.ingest.validation import ParsedRecord
from dialint.detector.records import Dialogue


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pauses cyclic garbage collection.

    A batch is thousands of new objects without a cycle among them, which the collector would walk again
    and again. The pause never spans a `yield` of a batch, so the caller's own garbage is collected as
    usual. Of two threads that overlap, one may end the other's pause early; none leaves it on.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def inspect(source: Source, config: ReadConfig) -> str:
    """The SHA-256 (hex) of the raw bytes of a file that may be read.

    Raises:
        InputRefused: rows 1-4, 7, 30, 34, 35, 37, 40-42 of the list of bad inputs.
    """
    source.check_unchanged()
    digest = hashlib.sha256()
    detected = _detect(source, config)
    if detected is None:
        for _ in blocks(source, config, digest.update):
            pass
        return digest.hexdigest()
    if detected.framing == "parquet":
        with open(source.path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256")
        check_parquet(source, config)
    else:
        _check_text(source, config, detected, digest)
    if detected.framing == "csv":
        check_csv(source, config)
    elif detected.by_mapping:
        check_mapped(source, detected, config)
    source.check_unchanged()
    return digest.hexdigest()


def _detect(source: Source, config: ReadConfig) -> DetectedFormat | None:
    """The format of a log; None for a text of no format among the logs of a folder or an archive.

    Raises:
        InputRefused: as `detect_format`.
    """
    try:
        return detect_format(source, config)
    except InputRefused as error:
        if is_no_log(source, error):
            return None
        raise


def is_no_log(source: Source, error: InputRefused) -> bool:
    """Whether a file that was refused is a text of no format among the logs of a folder or an archive."""
    return error.code == "E_FORMAT" and source.is_member and source.name.lower().endswith(".txt")


def _check_text(source: Source, config: ReadConfig, detected: DetectedFormat, digest: hashlib._Hash) -> None:
    """Decompress every block: checks integrity, line ends, and the size of a document that is held whole."""
    size = feeds = returns = 0
    last_return = False
    for block in blocks(source, config, digest.update):
        size += len(block)
        feeds += block.count(b"\n")
        returns += last_return + block.count(b"\r")
        last_return = block.endswith(b"\r")
        returns -= last_return
    if not feeds and returns:
        raise file_error(
            "E_FORMAT",
            source.name,
            "lines end with a carriage return only; convert them to line feeds (tr '\\r' '\\n')",
        )
    if (
        detected.framing == "text" or (detected.framing == "document" and detected.split == "whole")
    ) and size > config.max_document_bytes + len(BOM):
        raise file_error(
            "E_LINE_SIZE",
            source.name,
            "over {n} bytes in one JSON value; export one conversation a file",
            n=config.max_document_bytes,
        )


__all__ = [
    "Counts",
    "Loaded",
    "ReadConfig",
    "Reject",
    "Source",
    "inspect",
    "load_dialogues",
    "open_logs",
    "read",
]

EARLY_STOP_FROM = 10_000
HOPELESS_FROM = 100
"""Records of which at least one must be good for the rest to be read."""
_LINE_BITS = 40


def read(sources: Sequence[Source], config: ReadConfig, counts: Counts) -> Iterator[Loaded | Reject]:
    """Yield every record of `sources` in order, except repetitions of a dialogue with the same content, which
    are only counted. `counts` is up to date with each yielded record; its warnings are ahead by a batch.

    Raises:
        InputRefused: what `inspect` refuses, or E_CHANGED.
        TooManyBad: all of the first 100 records are bad, or over `config.max_bad` of them, checked from
        10,000
            records on and at the end.
    """
    last: Loaded | Reject | None = None
    with closing(SeenIds()) as seen_ids:
        for index, source in enumerate(sources):
            source.check_unchanged()
            n_before, bytes_before = counts.read, counts.bytes_read
            for batch in _without_collection(_batches(source, config, counts)):
                for outcome in _resolve_duplicates(batch, index, sources, seen_ids, counts):
                    last = outcome
                    yield outcome
                    if counts.rejected == counts.read == HOPELESS_FROM:
                        _stop_if_hopeless(outcome, config, counts)
                if batch:
                    counts.bytes_read = bytes_before + _bytes_of(batch[-1], source)
                if counts.read >= EARLY_STOP_FROM:
                    counts.check_share(config.max_bad)
            source.check_unchanged()
            counts.bytes_read = bytes_before + source.size
            if counts.read == n_before and (
                _detect(source, config) or (source is sources[-1] and not counts.read)
            ):
                raise file_error("E_NO_RECORDS", source.name, "no records")
        _stop_if_hopeless(last, config, counts)
        counts.check_share(config.max_bad)


def load_dialogues(logs: Sequence[str]) -> dict[str, Dialogue]:
    """Every good dialogue of some logs by its id, all in memory; rejects are passed over.

    Raises:
        InputRefused, TooManyBad: as `read`.
    """
    outcomes = read(open_logs(list(logs)), ReadConfig(), Counts())
    return {outcome.dialogue.id: outcome.dialogue for outcome in outcomes if isinstance(outcome, Loaded)}


def _bytes_of(last: ParsedRecord, source: Source) -> int:
    """Bytes of a source up to a record: its offset, or the position of the reader if offsets count
    decompressed bytes or rows."""
    at = last.offset if last.offset and not source.name.endswith(COMPRESSED) else source.position.at
    return min(at, source.size)


def _batches(source: Source, config: ReadConfig, counts: Counts) -> Iterator[list[ParsedRecord]]:
    detected = _detect(source, config)
    facts = counts.facts.setdefault(source.name, [])
    left_out = [*source.beside, *([source.name] if detected is None else [])]
    if left_out:
        counts.warnings["W_NO_LOG"] += len(left_out)
        names = ", ".join(left_out[:10]) + (", ..." if len(left_out) > 10 else "")
        facts.append(
            Message("{n} files are no logs and were left out: {names}", n=len(left_out), names=names)
        )
    if detected is None:
        return iter(())
    if detected.bom:
        counts.warnings["W_BOM"] += 1
    if detected.framing == "parquet":
        return read_parquet(source, config, counts.warnings)
    encoding = encoding_of(source, config)
    if encoding.name != "utf-8":
        stated = Message("encoding {name}", name=encoding.name)
        guessed = Message("encoding {name} (guessed)", name=encoding.name)
        facts.append(guessed if encoding.guessed else stated)
    if detected.framing == "csv":
        return read_csv(source, config, counts.warnings, facts)
    if detected.framing == "text":
        return read_text(source, detected, config, counts.warnings)
    if detected.by_mapping:
        return _by_mapping(source, detected, config, counts.warnings, facts)
    if detected.shape.parts is not None:
        return read_parts(source, detected, config, counts.warnings)
    if detected.framing == "document":
        return read_document(source, detected, config, counts.warnings)
    return read_lines(source, detected.shape, config, counts.warnings)


def _by_mapping(
    source: Source, detected: DetectedFormat, config: ReadConfig, warnings: Counter[str], facts: list[Message]
) -> Iterator[list[ParsedRecord]]:
    if MappedRecord(config.mapped).by_row:
        return read_mapped_rows(source, detected, config, warnings, facts)
    survey = check_mapped(source, detected, config)
    facts += survey.facts()
    shape = mapped_format(config, survey, source.name, streamed=detected.split == "lists")
    if detected.framing == "document":
        return read_document(source, replace(detected, shape=shape), config, warnings)
    return read_lines(source, shape, config, warnings)


def _without_collection(batches: Iterator[list[ParsedRecord]]) -> Iterator[list[ParsedRecord]]:
    """The same batches, each read with garbage collection paused."""
    while True:
        with collection_paused():
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _resolve_duplicates(
    batch: list[ParsedRecord], index: int, sources: Sequence[Source], seen_ids: SeenIds, counts: Counts
) -> Iterator[Loaded | Reject]:
    """Drop or reject the records of a batch whose id came before, and count all of them."""
    name = sources[index].name
    repeated = _find_repeated(batch, index, seen_ids)
    for position, result in enumerate(batch):
        counts.read += 1
        outcome = result.outcome
        if position in repeated and not isinstance(outcome, BadRecord):
            same, place = repeated[position]
            if same:
                counts.duplicates += 1
                continue
            outcome = _conflict(outcome.id, place, sources)
        if isinstance(outcome, BadRecord):
            counts.rejected += 1
            counts.codes[outcome.code] += 1
            yield outcome.reject(name, result.line, result.offset)
        else:
            yield Loaded(outcome, name, result.line)


def _find_repeated(batch: list[ParsedRecord], index: int, seen_ids: SeenIds) -> dict[int, tuple[bool, int]]:
    """For the index of each record whose id came before: whether its content is the same, and the position of
    the first."""
    good = [at for at, result in enumerate(batch) if not isinstance(result.outcome, BadRecord)]
    dialogues = [outcome for _, _, outcome in batch if not isinstance(outcome, BadRecord)]
    ids = [hash(dialogue.id) for dialogue in dialogues]
    contents = [content_hash(dialogue) for dialogue in dialogues]
    positions = [index << _LINE_BITS | batch[at].line for at in good]
    return {
        good[row]: (content == contents[row], position)
        for row, (content, position) in seen_ids.add(ids, contents, positions).items()
    }


def _stop_if_hopeless(last: Loaded | Reject | None, config: ReadConfig, counts: Counts) -> None:
    """
    Raises:
        TooManyBad: every record so far is bad, `last` included, and `max_bad` is below 1.
    """
    if not isinstance(last, Reject) or counts.rejected < counts.read or config.max_bad == 1.0:
        return
    code, n = counts.codes.most_common(1)[0]
    problem = Message(
        "{file}: the first {n_read} records are all bad, mostly {code} ({n})",
        file=last.file, n_read=counts.read, code=code, n=n,
    )  # fmt: skip
    if last.code == code:
        problem = Message(
            "{problem}, as at line {line}, {path}: {found}; expected {expected}",
            problem=problem, line=last.line, path=last.path or Message("record"),
            found=last.found, expected=last.expected,
        )  # fmt: skip
    raise TooManyBad("E_TOO_MANY_BAD", "{problem}; {hint}", problem=problem, hint=preview_hint(last.file))


def _conflict(name: str, position: int, sources: Sequence[Source]) -> BadRecord:
    file, line = sources[position >> _LINE_BITS].name, position & (1 << _LINE_BITS) - 1
    expected = Message(
        "each id once; it stands at line {line} of {file} with other content", line=line, file=file
    )
    return BadRecord("E_DUP_ID", "id", "an id again", expected, name)
