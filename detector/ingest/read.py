"""Reads logs into validated dialogues and rejects; the entry point of this package.

`open_logs` resolves the files, `inspect` refuses a file that is not what it claims to be before anything is
scored, `read` streams the records in bounded memory and in the order of the files. Personal data are not
masked here and nothing is written.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence

from dialint.detector.errors import InputRefused, Message, TooManyBad
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import BadRecord, Counts, Loaded, Reject, file_error, preview_hint
from dialint.detector.ingest.readers.dialogues import read_dialogues, survey_log
from dialint.detector.ingest.readers.format_detection import DetectedFormat, detect_format, is_no_log
from dialint.detector.ingest.readers.grouping import open_spill
from dialint.detector.ingest.readers.streams import BOM, blocks, encoding_of, raw_blocks
from dialint.detector.ingest.sources import Source, open_logs
from dialint.detector.ingest.validation import ParsedRecord
from dialint.detector.records import Dialogue

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

USUAL = ReadConfig()
EARLY_STOP_FROM = 10_000
HOPELESS_FROM = 100
"""Records after which a log of nothing but bad ones is refused."""


def inspect(source: Source, config: ReadConfig) -> str:
    """Checks that a file can be read and returns the SHA-256 (hex) of its raw bytes.

    Raises:
        InputRefused: rows 1-4, 7, 30, 34, 35, 37, 40-42 of the list of bad inputs.
    """
    source.check_unchanged()
    detected = _detect(source, config)
    digest = hashlib.sha256()
    for block in raw_blocks(source):
        digest.update(block)
    if detected is None or detected.framing != "parquet":
        _check_text(source, config, detected)
    if detected is not None:
        survey_log(source, detected, config)
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


def _check_text(source: Source, config: ReadConfig, detected: DetectedFormat | None) -> None:
    """Decompresses every block: checks integrity, line ends, and the size of a document that is held
    whole."""
    size = feeds = returns = 0
    last_return = False
    for block in blocks(source, config):
        size += len(block)
        feeds += block.count(b"\n")
        returns += last_return + block.count(b"\r")
        last_return = block.endswith(b"\r")
        returns -= last_return
    if detected is None:
        return
    if not feeds and returns:
        problem = Message(
            "lines end with a carriage return only; convert them to line feeds (tr '\\r' '\\n')"
        )
        raise file_error("E_FORMAT", source.name, problem)
    is_whole = detected.framing == "text" or (detected.framing, detected.split) == ("document", "whole")
    most = config.max_document_bytes
    if is_whole and size > most + len(BOM):
        problem = Message("over {n} bytes in one JSON value; export one conversation a file", n=most)
        raise file_error("E_LINE_SIZE", source.name, problem)


Choice = Callable[[int, Dialogue], bool]
"""Filter of dialogues, by the number among the records, from 1, and the dialogue."""


def read(
    sources: Sequence[Source], config: ReadConfig, counts: Counts, choice: Choice | None = None
) -> Iterator[Loaded | Reject]:
    """Yields every record of `sources` in order, except repetitions of a dialogue with the same content,
    which are only counted; with a `choice` only the dialogues that it accepts. `counts` is up to date with
    each yielded record.

    Raises:
        InputRefused: what `inspect` refuses, or E_CHANGED.
        TooManyBad: all of the first 100 records are bad, or over `config.max_bad` of them, checked from
            10,000 records on and at the end.
    """
    last: Loaded | Reject | None = None
    with open_spill(SEEN_IDS) as seen:
        for index, source in enumerate(sources):
            source.check_unchanged()
            n_before, bytes_before = counts.read, counts.bytes_read
            for record in _read_source(source, config, counts):
                counts.read += 1
                counts.bytes_read = bytes_before + min(source.position.at, source.size)
                dialogue = record.outcome
                if choice is not None and isinstance(dialogue, Dialogue):
                    if not choice(counts.read, dialogue):
                        continue
                    outcome: Loaded | Reject | None = Loaded(dialogue, source.name, record.line)
                else:
                    outcome = _resolve(record, index, sources, seen)
                if outcome is None:
                    counts.duplicates += 1
                    continue
                if isinstance(outcome, Reject):
                    counts.reject(outcome)
                last = outcome
                yield outcome
                if counts.rejected == counts.read == HOPELESS_FROM:
                    _stop_if_hopeless(outcome, config, counts)
                if counts.read >= EARLY_STOP_FROM:
                    counts.check_share(config.max_bad)
            source.check_unchanged()
            counts.bytes_read = bytes_before + source.size
            is_last = source is sources[-1] and not counts.read
            if counts.read == n_before and (is_last or _detect(source, config)):
                raise file_error("E_NO_RECORDS", source.name, "no records")
        _stop_if_hopeless(last, config, counts)
        counts.check_share(config.max_bad)


def load_dialogues(logs: Sequence[str], config: ReadConfig = USUAL) -> dict[str, Dialogue]:
    """Loads the valid dialogues of some logs, by id; rejects are passed over.

    Raises:
        InputRefused, TooManyBad: as `read`.
    """
    outcomes = read(open_logs(list(logs)), config, Counts())
    return {outcome.dialogue.id: outcome.dialogue for outcome in outcomes if isinstance(outcome, Loaded)}


def _read_source(source: Source, config: ReadConfig, counts: Counts) -> Iterator[ParsedRecord]:
    detected = _detect(source, config)
    facts = counts.facts.setdefault(source.name, [])
    left_out = [*source.beside, *([source.name] if detected is None else [])]
    if left_out:
        counts.warnings["W_NO_LOG"] += len(left_out)
        names = ", ".join(left_out[:10]) + (", ..." if len(left_out) > 10 else "")
        facts.append(
            Message(
                "{n} were left out (no logs, links or hidden sheets): {names}", n=len(left_out), names=names
            )
        )
    if detected is None:
        return
    if detected.bom:
        counts.warnings["W_BOM"] += 1
    if detected.framing != "parquet" and (encoding := encoding_of(source, config)).name != "utf-8":
        stated = Message("encoding {name}", name=encoding.name)
        guessed = Message("encoding {name} (guessed)", name=encoding.name)
        facts.append(guessed if encoding.guessed else stated)
    yield from read_dialogues(source, detected, config, counts.warnings, facts)


SEEN_IDS = "CREATE TABLE seen (id INTEGER PRIMARY KEY, content INTEGER, source INTEGER, line INTEGER)"


def first_seen(
    seen: sqlite3.Connection, dialogue: Dialogue, source: int, line: int
) -> tuple[bool, int, int] | None:
    """Stores a dialogue's id. If the id came before, returns whether the content was the same, and its source
    and line. Ids and contents are compared by Python's keyed 64-bit hashes: among a million dialogues the
    probability of one false match is 3 in 100 million."""
    turns = tuple(tuple(turn.__dict__.values()) for turn in dialogue.turns)
    rest = (dialogue.language, dialogue.channel, dialogue.agent, dialogue.team, dialogue.policy)
    metadata = repr(sorted(dialogue.metadata.items()))
    content = hash((turns, rest, dialogue.sources, metadata, dialogue.masked))
    values = (hash(dialogue.id), content, source, line)
    if seen.execute("INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?)", values).rowcount:
        return None
    query = "SELECT content, source, line FROM seen WHERE id = ?"
    first, source, line = seen.execute(query, values[:1]).fetchone()
    return first == content, source, line


def _resolve(
    record: ParsedRecord, index: int, sources: Sequence[Source], seen: sqlite3.Connection
) -> Loaded | Reject | None:
    """The outcome of a record of the source at `index`; None for a dialogue that came before with the same
    content."""
    name, outcome = sources[index].name, record.outcome
    if isinstance(outcome, Dialogue):
        first = first_seen(seen, outcome, index, record.line)
        if first is None:
            return Loaded(outcome, name, record.line)
        is_same, source, line = first
        if is_same:
            return None
        expected = Message(
            "each id once; it stands at line {line} of {file} with other content",
            line=line, file=sources[source].name,
        )  # fmt: skip
        outcome = BadRecord("E_DUP_ID", "id", "an id again", expected, outcome.id)
    return outcome.reject(name, record.line, record.offset)


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
        problem = last.as_example(problem, last.line)
    raise TooManyBad("E_TOO_MANY_BAD", "{problem}; {hint}", problem=problem, hint=preview_hint(last.file))
