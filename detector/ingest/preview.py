"""Previews a log before it is scored: its format, the meaning of its columns or paths, its first dialogues.

Columns and paths are recognised by name in several languages (``columns.yaml``), else by their content: long
texts, few different words that name speakers, times, repeated ids. Guesses are reported, and written to a
mapping file that a person corrects. Nothing is scored and no log is changed.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from dialint.detector.errors import InputRefused, Message
from dialint.detector.ingest.column_words import column_names, dialect_of, normalize_name, speaker_roles
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.mapping import ANY_ROLE, MEANINGS, parse_route, paths_of
from dialint.detector.ingest.outcomes import BadRecord, Counts, Loaded, Reject, without_hints
from dialint.detector.ingest.privacy import BLANK, format_word, is_internal, is_note_type, is_public_column
from dialint.detector.ingest.read import inspect, is_no_log, read
from dialint.detector.ingest.readers.csv_logs import DELIMITERS, header_below
from dialint.detector.ingest.readers.encodings import blocks, encoding_of
from dialint.detector.ingest.readers.format_detection import (
    DetectedFormat,
    detect_format,
    is_one_record_a_line,
)
from dialint.detector.ingest.readers.json_logs import json_records
from dialint.detector.ingest.readers.message_rows import FIELDS, MAX_NOTE_WORDS, Columns
from dialint.detector.ingest.readers.parquet_rows import read_parquet_rows
from dialint.detector.ingest.readers.streams import BOM, PARQUET, magic
from dialint.detector.ingest.readers.tables import text_lines
from dialint.detector.ingest.sources import Source
from dialint.detector.ingest.times import TimeFormat
from dialint.detector.ingest.tree_mapping import value_at
from dialint.detector.records import Dialogue, Role

N_SAMPLE = 400
"""Records that are read to guess meanings."""
N_VALUES = 2000
N_EXAMPLES = 3
HEAD_BYTES = 1 << 20
MAX_WORDS = 12
"""Most different words in a column of speakers."""
NAME_SCORE, PARTIAL_NAME_SCORE = 3.0, 1.5
LIKELY = 0.9
"""Least `_by_content` score of a guess that no name supports."""
LONGEST_NAME = 80
"""Most characters of the name of a person, a team or a channel."""
LONG_TEXT = 12
"""Least mean number of characters of message texts."""
UNKNOWN, NO_LOG = Message("of unknown shape"), Message("no log; it is left out")
RECIPIENTS = frozenset(("recipient", "receiver", "to", "recipients"))
"""Keys of who is spoken to."""
GUIDELINES = ("guideline", "policy", "policies", "instruction", "prompt", "knowledge", "richtlinie")
"""Parts of keys of texts for agents, whose own keys name nobody."""
GUESSABLE = ("E_FORMAT", "E_CSV", "E_PARQUET")
ORDER = (
    "text",
    "role",
    "time",
    "id",
    "private",
    "type",
    "order",
    "author",
    "agent",
    "team",
    "channel",
    "language",
)


@dataclass
class Preview:
    """The preview of a log. `native`: its format needs no mapping. `fields` maps meanings to columns or
    paths, `by_content` lists those guessed by content, `words` are the speakers with their roles (None if
    unknown). `problems` are what the log would lose if it were read so. `refused` is why the log cannot be
    read, `code` the code of the error that says so."""

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
        """Whether at least one dialogue was read, or the file is left out."""
        return (self.refused is None and self.counts.read > self.counts.rejected) or self.format == NO_LOG


def preview(source: Source, config: ReadConfig, limit: int) -> Preview:
    """Detect or guess the format of a log, and read its first `limit` records.

    Raises:
        InputRefused: it is damaged, or of a kind of file that is not read.
    """
    advice = None
    try:
        detected = detect_format(source, config)
    except InputRefused as error:
        guess = None if error.code not in GUESSABLE or config.mapped.is_whole else _guess(source, config)
        if guess is None and is_no_log(source, error):
            return Preview(source.name, NO_LOG, native=True)
        if guess is None:
            raise InputRefused(error.code, without_hints(error.text)) from None
        result = guess
    else:
        result = (
            _preview_detected(source, detected, config)
            or _guess(source, config)
            or Preview(source.name, UNKNOWN)
        )
        if detected.framing == "csv":
            advice = header_below(text_lines(source, config), config)
    _try(source, result, limit)
    if result.refused and advice:
        result.refused = advice
    return result


def _preview_detected(source: Source, detected: DetectedFormat, config: ReadConfig) -> Preview | None:
    """The preview of a log that needs no guess: there is a mapping, or its format or column names are
    known."""
    if config.mapped.is_whole:
        unread = _unread_paths(source, detected, config)
        result = Preview(
            source.name, Message("read by the mapping that was given"), config=config, unread=unread
        )
        result.fields = dict(config.columns())
        return result
    if detected.framing == "csv":
        header, rows = _table(source, config)
        columns = Columns.of(header, config)
        if isinstance(columns, Message):
            return None
        return _of_columns(source, Message("CSV, one message a row"), header, rows, config)
    if detected.framing == "parquet":
        records = _parquet_records(source, config)
        header = list(records[0]) if records else []
        if "turns" in header:
            return Preview(source.name, Message("Parquet, one dialogue a row"), native=True, config=config)
        if isinstance(Columns.of(header, config), Message):
            return None
        rows = [[record.get(name) for name in header] for record in records]
        return _of_columns(source, Message("Parquet, one message a row"), header, rows, config)
    if detected.text is not None:
        format = Message("{name}, one dialogue a file", name=detected.text.name)
        return Preview(source.name, format, native=True, config=config)
    if detected.framing == "rows":
        format = Message("{name}, a table", name=detected.shape.name)
        return Preview(source.name, format, native=True, config=config)
    if detected.framing == "document" and detected.split in ("members", "lists"):
        format = Message("{name}, a JSON document", name=detected.shape.name)
        return Preview(source.name, format, native=True, config=config)
    if any(detected.shape.matches(record) for record in _json_sample(source, detected, config)):
        format = Message("{name}, a JSON document", name=detected.shape.name)
        if detected.framing == "lines":
            format = Message("{name}, one JSON record a line", name=detected.shape.name)
        return Preview(source.name, format, native=True, config=config)
    return None


def _of_columns(
    source: Source, format: Message, header: list[str], rows: list[list[Any]], config: ReadConfig
) -> Preview:
    columns = Columns.of(header, config)
    assert not isinstance(columns, Message)
    fields = {"id": "+".join(header[at] for at in columns.ids)}
    fields |= {meaning: header[at] for meaning, at in columns.positions.items()}
    values = {name: [row[at] for row in rows if at < len(row)] for at, name in enumerate(header)}
    result = Preview(source.name, format, native=True, fields=fields, config=config)
    result.words = _words(values.get(fields["role"], []), config)
    if "order" in fields and not all(map(_is_number, values[fields["order"]])):
        del result.fields["order"]
    result.privacy = _privacy_words(fields, values, config)
    used = {header[at] for at in (*columns.ids, *columns.positions.values())}
    result.unread = [name for name in header if name not in used]
    return result


def _unread_paths(source: Source, detected: DetectedFormat, config: ReadConfig) -> list[str]:
    used = {part for path in config.columns().values() for part in (path, *path.split("+"))}
    if detected.framing == "csv":
        there = _table(source, config)[0]
    elif detected.framing == "parquet":
        there = paths_of(_parquet_records(source, config))
    else:
        there = paths_of(_json_sample(source, detected, config))
        if detected.split == "lists":
            there = [f"{detected.shape.members[0]}[].{path}" for path in there]
    return [path for path in there if path not in used]


# samples


def _json_sample(source: Source, detected: DetectedFormat, config: ReadConfig) -> list[Any]:
    records = islice(json_records(source, detected, config), N_SAMPLE)
    return [record for _, _, record in records if not isinstance(record, BadRecord)]


def _parquet_records(source: Source, config: ReadConfig) -> list[Any]:
    return [row for _, _, row in islice(read_parquet_rows(source, config), N_SAMPLE)]


def _head(source: Source, config: ReadConfig) -> tuple[bytes, bool]:
    """The first megabyte, and whether that is the whole file."""
    head = b""
    for block in blocks(source, config):
        head += block
        if len(head) >= HEAD_BYTES:
            return head.removeprefix(BOM)[:HEAD_BYTES], False
    return head.removeprefix(BOM), True


def _table(source: Source, config: ReadConfig) -> tuple[list[str], list[list[str]]]:
    """Header and first rows, by the delimiter with which most rows are as wide as the header; empty if none
    is."""
    head, is_all = _head(source, config)
    text = head.decode(errors="replace")
    if not is_all:
        text = text[: text.rfind("\n") + 1]
    best: tuple[int, list[list[str]]] = (0, [])
    delimiter = config.mapped.delimiter
    signs = list(DELIMITERS) if delimiter == "auto" else ["\t" if delimiter == "tab" else delimiter]
    for sign in signs:
        rows: list[list[str]] = []
        with suppress(csv.Error):  # the rows before it are there
            lines = csv.reader(text.splitlines(keepends=True), delimiter=sign)
            rows.extend(islice((row for row in lines if row), N_SAMPLE))
        width = len(rows[0]) if rows else 0
        fitting = sum(len(row) == width for row in rows[1:])
        if width >= 3 and fitting * width > best[0]:
            best = (fitting * width, rows)
    rows = best[1]
    return (rows[0], rows[1:]) if rows else ([], [])


# guesses


def _guess(source: Source, config: ReadConfig) -> Preview | None:
    """Guess the meanings of the fields of a log of unknown shape. None if it is no log."""
    if magic(source).startswith(PARQUET):
        records, format = _parquet_records(source, config), Message("Parquet of an unknown shape")
    else:
        head = _head(source, config)[0].lstrip()
        if head[:1] in (b"{", b"["):
            lines = is_one_record_a_line(head, "")
            split = "elements" if head[:1] == b"[" else "whole"
            result = DetectedFormat("lines") if lines else DetectedFormat("document", split=split)  # type: ignore[arg-type]
            records = _json_sample(source, result, config)
            format = Message("JSON of an unknown shape, a document")
            if lines:
                format = Message("JSON of an unknown shape, one record a line")
        else:
            header, rows = _table(source, config)
            if not rows:
                return None
            records = [dict(zip(header, row, strict=False)) for row in rows]
            format = Message("CSV with columns of unknown names")
    values = _values(records)
    return _assign_meanings(source, format, values, config)


def _values(records: Sequence[Any]) -> dict[str, list[Any]]:
    """The values at each path, in order; the keys of flat records are paths as they are."""
    results: dict[str, list[Any]] = {}
    if all(map(_is_flat, records)):
        for record in records:
            for key, value in record.items():
                results.setdefault(key, []).append(value)
        return results
    for path in paths_of(records):
        route = parse_route(path) if "[" in path else None
        results[path] = list(
            islice(_reach(records, (*route.lists, route.key) if route else (path,)), N_VALUES)
        )
    return results


def _is_flat(record: object) -> bool:
    return isinstance(record, dict) and not any(isinstance(cell, dict | list) for cell in record.values())


def _reach(values: Sequence[Any], keys: Sequence[str]) -> Iterator[Any]:
    for value in values:
        below = value_at(value, keys[0])
        if len(keys) == 1:
            yield below
        elif isinstance(below, list):
            yield from _reach(below, keys[1:])


def _assign_meanings(
    source: Source, format: Message, values: dict[str, list[Any]], config: ReadConfig
) -> Preview:
    fields: dict[str, str] = {}
    by_content: list[str] = []
    for meaning in ORDER:
        ranked: list[tuple[float, int, str, float]] = []
        for path, cells in values.items():
            if path in fields.values() or not _fits(path, meaning, fields):
                continue
            name = _by_name(path, meaning)
            filled = [one for one in cells if one not in (None, "")]
            content = _by_content(meaning, filled)
            if meaning == "id" and _splits_sides(cells, values.get(fields.get("role", ""), [])):
                continue
            if meaning == "order" and not all(map(_is_number, filled)):
                continue
            is_outside = path.count("[]") < fields.get("text", "").count("[]")
            if (
                meaning == "id"
                and content >= 0
                and is_outside
                and len(set(map(str, filled))) == len(cells) > 2
            ):
                content = LIKELY
            if content < 0 or (name == 0 and content < LIKELY):
                continue
            ranked.append((name + content, -len(ranked), path, name))
        if ranked:
            _, _, path, name = max(ranked)
            fields[meaning] = path
            if name < NAME_SCORE - 1:
                by_content.append(meaning)
    ordered = {meaning: fields[meaning] for meaning in MEANINGS if meaning in fields}
    words = _add_counterpart(_words(values.get(fields.get("role", ""), []), config))
    result = Preview(source.name, format, fields=ordered, by_content=by_content, words=words)
    result.privacy = _privacy_words(fields, values, config)
    result.unread = [path for path in values if path not in fields.values()]
    roles = tuple(f"{word}={role}" for word, role in words.items() if role and word not in config.roles())
    columns = tuple(f"{meaning}={path}" for meaning, path in ordered.items())
    result.config = replace(config, column=columns + config.column, role=config.role + roles)
    return result


def _fits(path: str, meaning: str, fields: dict[str, str]) -> bool:
    """Whether a path is in the same list as the text, or in one around it; the text itself may be
    anywhere."""
    if any(map(str.isdecimal, path.split(".")[:-1])):  # one of many records, by its number
        return False
    if meaning == "text":
        return True
    if meaning in ("role", "author") and not RECIPIENTS.isdisjoint(_keys(path)):
        return False
    if "text" not in fields:
        return False
    lists, text = path.split("[]")[:-1], fields["text"].split("[]")[:-1]
    if meaning in ("role", "time", "private", "order", "author", "type"):
        return lists == text
    return lists == text[: len(lists)]


def _keys(path: str) -> list[str]:
    return [normalize_name(key.replace("[]", "")) for key in path.replace("[].", ".").split(".")]


def _by_name(path: str, meaning: str) -> float:
    """Score of a path's name for a meaning: 0, or up to `NAME_SCORE`."""
    keys = _keys(path)
    if meaning in FIELDS and any(part in key for key in keys for part in GUIDELINES):
        return 0.0
    usual = column_names()[meaning]
    whole = normalize_name(path)
    for rank, name in enumerate((keys[-1], "".join(keys[-2:]), whole)):
        if name in usual and name:
            return NAME_SCORE - 0.01 * usual.index(name) - 0.1 * rank
    if meaning == "id" and keys[-1] in ("id", "nr", "number", "uuid", "key", "no"):
        return PARTIAL_NAME_SCORE
    near = any(len(name) > 4 and name in keys[-1] for name in usual)
    return PARTIAL_NAME_SCORE / 2 if near else 0.0


def _by_content(meaning: str, values: list[Any]) -> float:
    """Score of values for a meaning: below 0 they cannot have it, from 1 on they are likely to."""
    if not values:
        return -1.0
    texts = [one for one in values if isinstance(one, str)]
    words = Counter(str(one) for one in values)
    if meaning == "text":
        if len(texts) < 0.8 * len(values):
            return -1.0
        length = sum(map(len, texts)) / len(texts)
        spaced = sum(" " in one.strip() for one in texts) / len(texts)
        is_time = sum(TimeFormat().parse(one) is not None for one in texts[:50]) > 0.8 * len(texts[:50])
        return -1.0 if is_time else (1 + min(length / 60, 1.5)) * spaced if length >= LONG_TEXT else 0.0
    if meaning == "time":
        sample = values[:200]
        good = sum(_is_time(one) for one in sample)
        return 2.0 if good > 0.9 * len(sample) else -1.0
    if meaning == "role":
        n_roles = sum(n for word, n in words.items() if normalize_name(word) in speaker_roles())
        if len(words) > MAX_WORDS:
            return -1.0 if n_roles < 0.5 * len(values) else 0.0
        return (
            2.5 * n_roles / len(values)
            if n_roles
            else 0.9
            if 2 <= len(words) <= 4 and len(values) > 8
            else 0.0
        )
    if meaning == "id":
        if any(isinstance(one, bool | float | dict | list) for one in values):
            return -1.0
        if texts and sum(" " in one for one in texts) > 0.5 * len(values):
            return -1.0
        return 1.2 if 1 < len(words) <= 0.7 * len(values) else 0.6 if len(words) > 1 else 0.0
    if meaning in ("agent", "author", "team", "channel", "type") and any(
        len(one) > LONGEST_NAME for one in words
    ):
        return -1.0
    if meaning == "language":
        return 0.5 if all(len(word) in (2, 5) or word.isalpha() for word in words) else -1.0
    if meaning == "type" and 1 < len(words) <= MAX_NOTE_WORDS and any(map(is_note_type, words)):
        return NAME_SCORE
    if meaning in ("channel", "team", "type"):
        return 0.0 if len(words) <= MAX_NOTE_WORDS else -1.0
    return 0.0


def _splits_sides(ids: Sequence[Any], speakers: Sequence[Any]) -> bool:
    """Whether no id has messages of two speakers, so that it names the speaker or the message."""
    if len(ids) != len(speakers) or len(set(map(str, speakers))) < 2:
        return False
    pairs = set(zip(map(str, ids), map(str, speakers), strict=True))
    return len(pairs) == len(set(map(str, ids)))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and value.strip().isdecimal())


def _is_time(value: object) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return 1e9 <= value < 4e9 or 1e12 <= value < 4e12
    return hasattr(value, "isoformat") or (
        isinstance(value, str) and TimeFormat().parse(value) is not None and len(value) >= 8
    )


def _words(values: Sequence[Any], config: ReadConfig) -> dict[str, str | None]:
    """The most frequent speakers and their roles."""
    counts = Counter(_word(one) for one in values)
    dialect = dialect_of(counts.keys() - config.roles().keys())
    return {
        word: config.roles().get(word)
        or dialect.get(word if word == BLANK else normalize_name(word))
        or speaker_roles().get(normalize_name(word))
        or config.roles().get(ANY_ROLE)
        for word, _ in counts.most_common(MAX_WORDS)
    }


def _word(value: object) -> str:
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return text if text.strip() else BLANK


def _add_counterpart(words: dict[str, str | None]) -> dict[str, str | None]:
    """The words with their roles; the only one without is the counterpart of a customer or an agent."""
    unknown = [word for word, role in words.items() if role is None]
    roles = {role for role in words.values() if role}
    if len(unknown) == 1 and roles & {"customer", "agent"} and not {"customer", "agent"} <= roles:
        return {**words, unknown[0]: "agent" if "customer" in roles else "customer"}
    return words


def _privacy_words(fields: dict[str, str], values: dict[str, list[Any]], config: ReadConfig) -> list[str]:
    """The words of the privacy column without a known meaning."""
    path = fields.get("private")
    if path is None:
        return []
    public = is_public_column(path.rpartition(".")[2])
    counts = Counter(str(one) for one in values.get(path, []) if one not in (None, ""))
    private_words = config.private_words()
    unknown = [word for word in counts if is_internal(word, public=public, user_words=private_words) is None]
    return unknown[:MAX_WORDS]


# reading


def _try(source: Source, result: Preview, limit: int) -> None:
    """Read the first records and add the outcome to `result`."""
    config = replace(result.config, max_bad=1.0)
    missing = [field for field in ("id", "role", "text") if field not in result.fields]
    missing = [field for field in missing if field != "id" or "[]" not in result.fields.get("text", "")]
    if not result.native and missing:
        result.refused = Message(
            "{problem}; {hint}",
            problem=Message("no column or path was recognised for: {names}", names=", ".join(missing)),
            hint=Message("name it under 'fields:'"),
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
    result.facts += [
        fact for fact in result.counts.facts.get(source.name, []) if not fact.startswith("encoding")
    ]


def _problems(result: Preview, sides: Sequence[frozenset[Role]], n_turns: int) -> Iterator[Message]:
    """What is lost of a log: speakers, a side, the dialogues."""
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
    if (
        len(sides) > 1
        and "customer" in roles
        and roles & agents
        and all(one.isdisjoint(agents) or "customer" not in one for one in sides)
    ):
        yield (
            Message("no dialogue has two sides: say what names it with --column id=COLUMN")
            if result.fields
            else Message("no dialogue has two sides")
        )


def as_yaml(result: Preview) -> str:
    """The mapping file: the fields found, and as comments those that may be added."""
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
        if path:
            lines.append(f"  {meaning}: {_quote(path)}  # {what}{guess}")
        else:
            lines.append(f"  # {meaning}: ...  # {what}")
    if result.unread:
        lines.append("  # not read: " + ", ".join(map(_quote, result.unread[:40])))
    lines += ["", "roles:  # who is meant by each word; customer, agent, bot or system"]
    for word, role in result.words.items():
        if role:
            lines.append(f"  {_quote(word)}: {role}")
        else:
            lines.append(f"  # {_quote(word)}: agent  # is that so?")
    lines += ['  # "*": agent  # whoever else speaks', "", "privacy:  # words of the private column"]
    lines += [f"  # {_quote(word)}: internal  # or public" for word in result.privacy] or [
        "  # word: internal"
    ]
    facts = {fact.split()[0]: fact.split()[1].rstrip(",") for fact in result.facts}
    encoding = facts.get("encoding", "auto")
    order = facts.get("dates", config.time_format)
    delimiter = facts.get("delimiter", config.delimiter).strip("'")
    lines += [
        "",
        f"encoding: {encoding}",
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
