"""Previews a log before it is scored: its format, the meaning of its columns or paths, its first dialogues.

Columns and paths are recognised by name in several languages (``columns.yaml``), else by their content: long
texts, few different words that name speakers, times, repeated ids. Guesses are reported, and written to a
mapping file that a person corrects. Nothing is scored and no log is changed.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from dialint.detector.errors import InputRefused, Message
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.guess import (
    guess_meanings,
    is_number,
    speaker_words,
    time_path,
    unknown_privacy_words,
    values_of,
)
from dialint.detector.ingest.mapping import MEANINGS, paths_of
from dialint.detector.ingest.outcomes import BadRecord, Counts, Loaded, Reject, without_hints
from dialint.detector.ingest.read import inspect, read
from dialint.detector.ingest.readers.columns import Columns
from dialint.detector.ingest.readers.dialogues import records_of
from dialint.detector.ingest.readers.format_detection import (
    DetectedFormat,
    detect_format,
    is_no_log,
    is_one_record_a_line,
    read_prefix,
)
from dialint.detector.ingest.readers.streams import BOM, PARQUET, encoding_of, magic
from dialint.detector.ingest.readers.tables import delimiter_of, header_below, text_lines
from dialint.detector.ingest.sources import Source
from dialint.detector.ingest.words import format_word
from dialint.detector.records import Dialogue, Role

N_SAMPLE = 400
"""Records that are read to guess meanings."""
N_EXAMPLES = 3
UNKNOWN, NO_LOG = Message("of unknown shape"), Message("no log; it is left out")
GUESSABLE = ("E_FORMAT", "E_CSV", "E_PARQUET")


@dataclass
class Preview:
    """The preview of a log. `native`: its format needs no mapping. `fields` maps meanings to columns or
    paths, `by_content` lists those guessed by content, `words` are the speakers with their roles (None if
    unknown). `problems` are losses if the log were read so. `refused` is the reason why the log cannot be
    read, `code` that of the error."""

    file: str
    format: Message
    native: bool = False
    facts: list[Message] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)
    by_content: list[str] = field(default_factory=list)
    words: dict[str, str | None] = field(default_factory=dict)
    privacy: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    config: ReadConfig = field(default_factory=ReadConfig)
    dialogues: list[Dialogue] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    is_complete: bool = True
    problems: list[Message] = field(default_factory=list)
    refused: Message | None = None
    code: str | None = None

    @property
    def is_readable(self) -> bool:
        """True if at least one dialogue was read, or the file is no log."""
        return (self.refused is None and self.counts.read > self.counts.rejected) or self.format == NO_LOG


def preview(source: Source, config: ReadConfig, limit: int) -> Preview:
    """Detects or guesses the format of a log, and reads its first `limit` records.

    Raises:
        InputRefused: it is damaged, or of a kind of file that is not read.
    """
    advice = None
    try:
        detected = detect_format(source, config)
    except InputRefused as error:
        result = None if error.code not in GUESSABLE or config.mapped.is_whole else _guess(source, config)
        if result is None and is_no_log(source, error):
            return Preview(source.name, NO_LOG, native=True)
        if result is None:
            raise InputRefused(error.code, without_hints(error.text)) from None
    else:
        result = _describe(source, detected, config) or _guess(source, config)
        result = result or Preview(source.name, UNKNOWN)
        if detected.framing == "csv":
            advice = header_below(text_lines(source, config), config)
    _try(source, result, limit)
    if result.refused and advice:
        result.refused = advice
    return result


def _describe(source: Source, detected: DetectedFormat, config: ReadConfig) -> Preview | None:
    """The preview of a log with a mapping, or of a known format or known column names; else None."""
    if config.mapped.is_whole:
        format = Message("read by the mapping that was given")
        used = _columns_of(config.mapped.fields)
        paths = paths_of(_sample(source, detected, config))
        if detected.split == "lists":
            paths = [f"{detected.shape.members[0]}[].{path}" for path in paths]
        unread = [path for path in paths if path not in used]
        return Preview(source.name, format, fields=dict(config.mapped.fields), config=config, unread=unread)
    if detected.framing in ("csv", "parquet"):
        records = _sample(source, detected, config)
        header = list(records[0]) if records else []
        if detected.framing == "parquet" and "turns" in header:
            return Preview(source.name, Message("Parquet, one dialogue a row"), native=True, config=config)
        columns = Columns.of(header, config)
        return None if isinstance(columns, Message) else _of_columns(source, detected, columns, records)
    name = detected.shape.name
    is_sure = detected.framing in ("rows", "text") or detected.split in ("members", "lists")
    if not is_sure and not any(map(detected.shape.matches, _sample(source, detected, config))):
        return None
    if detected.text is not None:
        format = Message("{name}, one dialogue a file", name=detected.text.name)
    elif detected.framing == "rows":
        format = Message("{name}, a table", name=name)
    elif detected.framing == "lines":
        format = Message("{name}, one JSON record a line", name=name)
    else:
        format = Message("{name}, a JSON document", name=name)
    return Preview(source.name, format, native=True, config=config)


def _of_columns(source: Source, detected: DetectedFormat, columns: Columns, records: list[Any]) -> Preview:
    """The preview of a table with one message a row."""
    is_csv = detected.framing == "csv"
    format = Message("CSV, one message a row") if is_csv else Message("Parquet, one message a row")
    fields = {"id": "+".join(columns.ids), **columns.names}
    values = values_of(records)
    if "order" in fields and not all(map(is_number, values[fields["order"]])):
        del fields["order"]
    if columns.times:
        fields["time"] = time_path(values, columns.times)
    used = _columns_of(fields)
    words = speaker_words(values.get(fields["role"], []), columns.config)
    privacy = unknown_privacy_words(fields.get("private"), values, columns.config)
    unread = [name for name in records[0] if name not in used]
    return Preview(
        source.name, format, native=True, fields=fields, words=words, privacy=privacy, unread=unread,
        config=columns.config,
    )  # fmt: skip


def _columns_of(fields: Mapping[str, str]) -> set[str]:
    """The columns or paths that fields name; an id may consist of several."""
    return {part for path in fields.values() for part in (path, *path.split("+"))}


def _sample(source: Source, detected: DetectedFormat, config: ReadConfig) -> list[Any]:
    """The first records of a log, those of a table with all their columns."""
    if detected.framing == "csv":
        return _table(source, config)
    if detected.framing == "parquet":
        detected = DetectedFormat("parquet")
    records = islice(records_of(source, detected, config), N_SAMPLE)
    return [record for _, _, record in records if not isinstance(record, BadRecord)]


def _table(source: Source, config: ReadConfig) -> list[dict[str, str]]:
    """The first rows of a CSV table, however they are quoted; empty if none is as wide as its header."""
    text = read_prefix(source, config).removeprefix(BOM).decode(errors="replace")
    lines = text.splitlines(keepends=True)  # at carriage returns alone, too, which are refused with a hint
    delimiter = delimiter_of(next(filter(str.strip, lines), ""), config)
    rows: list[list[str]] = []
    with suppress(csv.Error):  # the rows before it are there
        rows.extend(islice(filter(None, csv.reader(lines, delimiter=delimiter)), N_SAMPLE + 1))
    if not rows or len(rows[0]) < 3 or len(rows[0]) not in map(len, rows[1:]):
        return []
    return [dict(zip(rows[0], row, strict=False)) for row in rows[1:]]


def _guess(source: Source, config: ReadConfig) -> Preview | None:
    """Guesses the meanings of the fields of a log of unknown shape. None if it is no log."""
    if magic(source).startswith(PARQUET):
        detected, format = DetectedFormat("parquet"), Message("Parquet of an unknown shape")
    else:
        head = read_prefix(source, config).removeprefix(BOM).lstrip()
        detected, format = DetectedFormat("csv"), Message("CSV with columns of unknown names")
        if head[:1] in (b"{", b"["):
            detected = DetectedFormat("document", split="elements" if head[:1] == b"[" else "whole")
            format = Message("JSON of an unknown shape, a document")
            if is_one_record_a_line(head, ""):
                detected = DetectedFormat("lines")
                format = Message("JSON of an unknown shape, one record a line")
    records = _sample(source, detected, config)
    if detected.framing == "csv" and not records:
        return None
    values = values_of(records)
    guess = guess_meanings(records, config)
    chosen, chosen_roles = config.mapped.fields, config.mapped.roles
    fields = {meaning: path for meaning, path in guess.fields.items() if path not in chosen.values()}
    roles = (f"{word}={role}" for word, role in guess.words.items() if role and word not in chosen_roles)
    columns = (f"{meaning}={path}" for meaning, path in fields.items() if meaning not in chosen)
    own = replace(config, column=(*columns, *config.column), role=(*config.role, *roles))
    fields |= chosen
    privacy = unknown_privacy_words(fields.get("private"), values, config)
    by_content = [meaning for meaning in guess.by_content if meaning not in chosen]
    used = _columns_of(fields)
    return Preview(
        source.name, format, fields=fields, by_content=by_content,
        words=guess.words, privacy=privacy, unread=[path for path in values if path not in used], config=own,
    )  # fmt: skip


def _try(source: Source, result: Preview, limit: int) -> None:
    """Reads the first records and adds the outcome to `result`."""
    config = replace(result.config, max_bad=1.0)
    needed = ("role", "text") if "[]" in result.fields.get("text", "") else ("id", "role", "text")
    missing = ", ".join(field for field in needed if field not in result.fields)
    if not result.native and missing:
        problem = Message("no column or path was recognised for: {names}", names=missing)
        result.refused = Message(
            "{problem}; {hint}", problem=problem, hint=Message("name it under 'fields:'")
        )
        return
    try:
        if not magic(source).startswith(PARQUET):
            encoding = encoding_of(source, result.config)
            fact = Message("encoding {name}", name=encoding.name)
            if encoding.guessed:
                fact = Message("encoding {name}, guessed", name=encoding.name)
            result.facts.append(fact)
            config = replace(config, encoding=encoding.name)
        inspect(source, config)
        sides: list[frozenset[Role]] = []
        n_turns = 0
        for item in read([source], config, result.counts):
            if isinstance(item, Loaded):
                sides.append(frozenset(turn.role for turn in item.dialogue.turns))
                n_turns += len(item.dialogue.turns)
                if len(result.dialogues) < N_EXAMPLES:
                    result.dialogues.append(item.dialogue)
            elif len(result.rejects) < N_EXAMPLES:
                result.rejects.append(item)
            if result.counts.read >= limit:
                result.is_complete = False
                break
        if result.counts.read:
            result.problems = list(_problems(result, sides, n_turns))
    except InputRefused as error:
        result.refused, result.code = without_hints(error.text), error.code
    facts = result.counts.facts.get(source.name, [])
    result.facts += [fact for fact in facts if not fact.startswith("encoding")]


def _problems(result: Preview, sides: Sequence[frozenset[Role]], n_turns: int) -> Iterator[Message]:
    """The problems of a log: speakers without a role, a missing side, dialogues with one side."""
    for word, role in result.words.items():
        if role is None:
            yield Message(
                "no role for {word!r}: say who that is with --role '{word}=agent'", word=format_word(word)
            )
    roles = frozenset[Role]().union(*sides)
    agents: set[Role] = {"agent", "bot"}
    if n_turns < 2:
        return
    for side, name in (({"customer"}, Message("a customer")), (agents, Message("an agent or bot"))):
        if roles.isdisjoint(side):
            yield Message("no turn of {side}: say who that is with --role 'WORD=ROLE'", side=name)
    is_whole = len(sides) > 1 and "customer" in roles and not roles.isdisjoint(agents)
    if is_whole and all(one.isdisjoint(agents) or "customer" not in one for one in sides):
        what = Message("no dialogue has two sides: say what names it with --column id=COLUMN")
        yield what if result.fields else Message("no dialogue has two sides")


def as_yaml(result: Preview) -> str:
    """Formats the mapping file: the detected fields, and as comments those that may be added."""
    config = result.config.mapped
    lines = [
        f"# How {json.dumps(result.file, ensure_ascii=False)} is read. Correct what is wrong, then:",
        "#   dialint ingest preview LOG --mapping THIS_FILE",
        "#   dialint score LOG --mapping THIS_FILE --out verdicts.jsonl",
        "# Paths are dotted; [] stands behind the name of a list: messages[].author.name",
        "",
        "fields:",
    ]
    for meaning, what in MEANINGS.items():
        path = result.fields.get(meaning) or config.fields.get(meaning)
        guess = ", guessed by its content" if meaning in result.by_content else ""
        lines += [
            f"  {meaning}: {_quote(path)}  # {what}{guess}" if path else f"  # {meaning}: ...  # {what}"
        ]
    if result.unread:
        lines.append("  # not read: " + ", ".join(map(_quote, result.unread[:40])))
    lines += ["", "roles:  # who is meant by each word; customer, agent, bot or system"]
    for word, role in result.words.items():
        lines += [f"  {_quote(word)}: {role}" if role else f"  # {_quote(word)}: agent  # is that so?"]
    lines += ['  # "*": agent  # whoever else speaks', "", "privacy:  # words of the private column"]
    words = [f"  # {_quote(word)}: internal  # or public" for word in result.privacy]
    facts = {fact.split()[0]: fact.split()[1].rstrip(",") for fact in result.facts}
    delimiter = facts.get("delimiter", config.delimiter).strip("'")
    order = facts.get("dates", config.time_format)
    lines += [
        *(words or ["  # word: internal"]),
        "",
        f"encoding: {facts.get('encoding', 'auto')}",
        f"delimiter: {_quote(delimiter)}  # of CSV",
        f"time_format: {_quote(order)}  # auto, day-first, month-first, or a pattern such as %d.%m.%Y %H:%M",
        "# time_zone: Europe/Berlin  # of times that name none",
        "text: auto  # html, plain, or what each text looks like",
    ]
    return "\n".join(lines) + "\n"


def _quote(value: str) -> str:
    if value.replace("_", "").replace("-", "").isalnum():
        return value
    return json.dumps(value, ensure_ascii=not value.isprintable())
