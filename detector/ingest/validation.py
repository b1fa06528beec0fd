"""Validation of dialogues, the same for every log format.

A format reader fills a `RawDialogue` with whatever it read; `validate` returns a `Dialogue` or raises
`BadRecord`. Texts are cleaned first: HTML is rendered, quoted text, signatures and footers are removed and
counted; a message of which nothing would remain stays whole, and edits map each character back to its
position in the log. After that only control characters change: each becomes a space, so that lengths stay.
Invisible and bidirectional characters are counted here and neutralised where text is rendered.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from dialint.detector.errors import Message, excerpt
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.html_text import is_html, may_be_html, read_html
from dialint.detector.ingest.log_format import RawDialogue, RawTurn
from dialint.detector.ingest.mapping import ROLES
from dialint.detector.ingest.outcomes import BadRecord, json_kind, record_boundary, too_many_turns
from dialint.detector.ingest.quoted_text import EarlierMessages, Kind, find_quoted_text
from dialint.detector.ingest.times import from_epoch, lacks_year, parse_iso
from dialint.detector.ingest.words import ANY_ROLE, BLANK, format_word, has_note_prefix, roles_of
from dialint.detector.offsets import Edit, Piece, assemble, compose, remove_ranges
from dialint.detector.records import JUDGED_ROLES, Dialogue, Role

COUNTED: dict[Kind, str] = {
    "quote": "W_QUOTED_REPLY",
    "signature": "W_SIGNATURE",
    "chrome": "W_TEMPLATE_LINE",
}
STRIPPED = {
    "W_HTML": "messages in HTML",
    "W_QUOTED_REPLY": "quoted replies",
    "W_SIGNATURE": "signatures and footers",
    "W_TEMPLATE_LINE": "lines of templates",
    "W_INTERNAL_NOTE": "internal notes",
}
"""Names of the counters, as shown to users."""
MAX_ID_BYTES = 256
MAX_WARNINGS = 50
"""Different warnings; further unknown fields are counted without their names."""
FIRST_YEAR, LAST_YEAR = 1970, 2200

BOM = "\ufeff"
CONTROL = re.compile("[\x00-\x08\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
INVISIBLE = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2064\u206a-\u206f\u3164"
    "\ufe00-\ufe0d\uffa0\U000e0000-\U000e0fff]"
)
TEMPLATE = re.compile(
    r"<\|[^|<>\s]{1,40}\|>|</?s>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|<(?:bos|eos|pad|unk)>|"
    r"<｜[^｜<>]{1,40}｜>|</?think>|</?tool_call>|\[(?:CLS|SEP|MASK|PAD|UNK)\]"
)
_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "FULLWIDTH", "MATHEMATICAL")


def validate(raw: RawDialogue, config: ReadConfig, warnings: Counter[str]) -> Dialogue:
    """Validates a raw dialogue. `warnings` are counted only if it is valid.

    Raises:
        BadRecord: the first fault, with the dialogue's id if it has one.
    """
    name = check_id(raw.id)
    counted: Counter[str] = Counter(raw.warnings)
    try:
        turns = _turns(raw, config, counted)
        times = [turn["at"] for turn in turns]
        if any(time is not None for time in times):
            turns = _in_time_order(turns, config, counted, raw.path)
        fields = {key: value for key, value in raw.fields.items() if value is not None}
        for key, value in fields.items():
            if key not in ("sources", "metadata") and not isinstance(value, str):
                raise BadRecord("E_TYPE", key, json_kind(value), "a text or null")
        dialogue = Dialogue.model_validate({"id": name, "turns": tuple(turns), **fields})
    except BadRecord as bad:
        bad.dialogue_id = name
        raise
    for warning, n in counted.items():
        warnings[warning if warning in warnings or len(warnings) < MAX_WARNINGS else warning.split()[0]] += n
    return dialogue


_GOOD_ID = Message("a text of 1 to {n} bytes without control characters", n=MAX_ID_BYTES)


def check_id(value: object) -> str:
    """Validates a dialogue id and returns it.

    Raises:
        BadRecord: E_ID or E_HOMOGLYPH.
    """
    if not isinstance(value, str):
        raise BadRecord("E_ID", "id", json_kind(value), _GOOD_ID)
    if not value.strip() or len(value.encode()) > MAX_ID_BYTES:
        raise BadRecord("E_ID", "id", excerpt(value), _GOOD_ID)
    if value.isascii() and value.isprintable():
        return value
    if any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in value):
        raise BadRecord("E_ID", "id", excerpt(value), _GOOD_ID)
    if _mixed_scripts(value):
        raise BadRecord("E_HOMOGLYPH", "id", "mixed scripts", "letters of one script")
    return value


def _mixed_scripts(text: str) -> bool:
    """Returns whether the letters are of several scripts with look-alikes in one another."""
    seen = {unicodedata.name(char, "").partition(" ")[0] for char in text if char.isalpha()}
    return len(seen.intersection(_SCRIPTS)) > 1


def _turns(raw: RawDialogue, config: ReadConfig, warnings: Counter[str]) -> list[dict[str, Any]]:
    if not raw.turns:
        raise BadRecord("E_EMPTY", raw.path, "no turns", "at least one turn")
    if len(raw.turns) > config.max_turns:
        raise too_many_turns(len(raw.turns), config.max_turns, raw.path)
    roles = config.mapped.roles
    for turn in raw.turns:
        if isinstance(turn.text, str) and BOM in turn.text:
            spans = [match.span() for match in re.finditer(f"{BOM}+", turn.text)]
            warnings["W_BOM"] += len(spans)
            turn.text, edits = assemble(turn.text, remove_ranges([Piece(0, len(turn.text))], spans))
            turn.edits = compose(edits, turn.edits)
    if raw.roles_are_names:
        names = [turn for turn in raw.turns if isinstance(turn.role, str) and turn.role not in ROLES]
        spoken = [(str(turn.role), str(turn.text)) for turn in names]
        roles = {**roles, **roles_of(spoken, roles, raw.path, warnings)}
    clean = _clean(raw, config)
    turns = []
    size = 0
    for index, turn in enumerate(raw.turns):
        path = f"{raw.path}[{index}]"
        if turn.internal:
            warnings["W_INTERNAL_NOTE"] += 1
            continue
        role = _role(turn.role, roles, path)
        text = _text(turn.text if clean is None else clean[index].text, config, path, warnings)
        size += len(text) if text.isascii() else len(text.encode())
        if size > config.max_record_bytes:
            expected = Message("at most {n} bytes in one dialogue", n=config.max_record_bytes)
            raise BadRecord("E_RECORD_SIZE", raw.path, Message("over {n} bytes", n=size), expected)
        if turn.internal is None and role not in ("customer", "tool") and has_note_prefix(text):
            warnings["W_INTERNAL_NOTE"] += 1
            continue
        author = turn.author if isinstance(turn.author, str) and turn.author else None
        if turn.author is not None and not isinstance(turn.author, str):
            raise BadRecord("E_TYPE", f"{path}.author", json_kind(turn.author), "a text or null")
        at = _time(turn.at, config.mapped.time_zone, f"{path}.at")
        fields: dict[str, Any] = {"index": index, "role": role, "text": text, "at": at, "author": author}
        if clean is not None and clean[index].edits:
            warnings.update(clean[index].counted)
        if edits := compose(() if clean is None else clean[index].edits, turn.edits):
            fields["edits"] = edits
        if turn.tool_calls or turn.tool_call_id is not None or turn.tool_error is not None:
            size += _add_tool_fields(fields, turn, path)
        turns.append(fields)
    _check_whole(turns, raw.path, warnings)
    return turns


def _add_tool_fields(fields: dict[str, Any], turn: RawTurn, path: str) -> int:
    """Adds calls to a turn of an agent or a bot, the id and error of its call to a tool's turn. Returns the
    size of the arguments."""
    if turn.tool_calls:
        if fields["role"] not in JUDGED_ROLES:
            actual = Message("calls of the role {name}", name=fields["role"])
            raise BadRecord("E_TYPE", f"{path}.tool_calls", actual, "calls of an agent or a bot only")
        fields["tool_calls"] = turn.tool_calls
    for name, value, kind in (
        ("tool_call_id", turn.tool_call_id, str),
        ("tool_error", turn.tool_error, bool),
    ):
        if value is None:
            continue
        if not isinstance(value, kind):
            expected = Message("a text or null") if kind is str else Message("true, false or null")
            raise BadRecord("E_TYPE", f"{path}.{name}", json_kind(value), expected)
        if fields["role"] != "tool":
            actual = Message("the role {name}", name=fields["role"])
            raise BadRecord("E_TYPE", f"{path}.{name}", actual, "of the role tool only")
        fields[name] = value
    return sum(len(msgspec.json.encode(call.arguments)) + len(call.name) for call in turn.tool_calls)


def _clean(raw: RawDialogue, config: ReadConfig) -> list[Clean] | None:
    """Cleans the texts of the turns, but not of tools; None if there is nothing to clean, or one is not a
    text."""
    spoken = [turn for turn in raw.turns if turn.role != "tool"]
    texts = [turn.text for turn in spoken if isinstance(turn.text, str)]
    html = [turn.html for turn in spoken]
    has_marks = any("\n" in text or "<" in text or "##-" in text for text in texts)
    if not config.strip or len(texts) < len(html) or not (has_marks or True in html):
        return None
    cleaned = iter(clean_texts(texts, html, config.max_turn_bytes))
    return [Clean(str(turn.text)) if turn.role == "tool" else next(cleaned) for turn in raw.turns]


class Clean(NamedTuple):
    """The cleaned text, where it differs from the log's, and what was removed from it."""

    text: str
    edits: tuple[Edit, ...] = ()
    counted: tuple[str, ...] = ()


def clean_texts(texts: Sequence[str], html: Sequence[bool | None], most: int) -> list[Clean]:
    """Cleans the texts of a dialogue's messages. In texts of over `most` characters only HTML is rendered.

    `html` is whether each text is HTML, None if unknown: then the text decides, more readily if another text
    of the dialogue is HTML.

    Raises:
        BadRecord: E_TURN_SIZE, a text has too many tags.
    """
    are_html = [is_html(text) if one is None else one for text, one in zip(texts, html, strict=True)]
    some = any(are_html)
    pieces = []
    for text, one, is_declared in zip(texts, are_html, html, strict=True):
        is_markup = one or (some and is_declared is None and may_be_html(text))
        pieces.append(read_html(text) if is_markup and ("<" in text or "&" in text) else None)
    pairs = list(zip(texts, pieces, strict=True))
    read = [text if markup is None else assemble(text, markup.pieces)[0] for text, markup in pairs]
    earlier = EarlierMessages(read)
    results = []
    for index, ((text, markup), plain) in enumerate(zip(pairs, read, strict=True)):
        marks = None if markup is None else markup.marks
        ranges: list[tuple[int, int]] = []
        kinds: set[Kind] = set()
        if len(plain) <= most:
            ranges, kinds = find_quoted_text(plain, marks, partial(earlier.before, index))
        if markup is None and not ranges:
            results.append(Clean(text))
            continue
        whole = [Piece(0, len(text))] if markup is None else markup.pieces
        counted = (("W_HTML",) if markup is not None else ()) + tuple(COUNTED[kind] for kind in sorted(kinds))
        results.append(Clean(*assemble(text, remove_ranges(whole, ranges)), counted))
    return results


def _check_whole(turns: list[dict[str, Any]], path: str, warnings: Counter[str]) -> None:
    if not turns:
        raise BadRecord("E_EMPTY", path, "only internal notes", "at least one turn that is none")
    spoken = [turn for turn in turns if turn["role"] != "tool"]
    if turns and not any(turn["text"].strip() for turn in spoken or turns):
        raise BadRecord("E_EMPTY", path, "only blank turns", "at least one turn with text")
    blank = sum(not turn["text"].strip() and "tool_calls" not in turn for turn in spoken)
    if blank:
        warnings["W_BLANK_TURN"] += blank
    if all(turn["role"] in ("system", "tool") for turn in turns):
        raise BadRecord("E_ROLE", path, "only system turns", "a customer, agent or bot among the roles")


def _role(value: object, roles: Mapping[str, Role], path: str) -> Role:
    if not isinstance(value, str):
        raise BadRecord("E_TYPE", f"{path}.role", json_kind(value), "a text")
    role = roles.get(value) or ROLES.get(value) or (None if value.strip() else roles.get(BLANK))
    role = role or roles.get(ANY_ROLE)
    if role is not None:
        return role
    if not value.isascii() and _mixed_scripts(value):
        raise BadRecord("E_HOMOGLYPH", f"{path}.role", "mixed scripts", "letters of one script")
    word, names = format_word(value), ", ".join(ROLES)
    expected = Message("{names}; or --role NAME=ROLE", names=names)
    if word == BLANK:
        expected = Message(
            "{names}; for messages that name nobody, --role blank=agent, --role blank=customer or "
            "--role blank=system", names=names,
        )  # fmt: skip
    raise BadRecord("E_ROLE", f"{path}.role", word, expected)


def _text(value: object, config: ReadConfig, path: str, warnings: Counter[str]) -> str:
    if not isinstance(value, str):
        raise BadRecord("E_TYPE", f"{path}.text", json_kind(value), "a text")
    if len(value) * 4 > config.max_turn_bytes and len(value.encode()) > config.max_turn_bytes:
        actual = Message("{n} characters", n=len(value))
        expected = Message("at most {n} bytes", n=config.max_turn_bytes)
        raise BadRecord("E_TURN_SIZE", f"{path}.text", actual, expected)
    if TEMPLATE.search(value):
        warnings["W_TEMPLATE_TOKEN"] += 1
    if CONTROL.search(value):
        warnings["W_CONTROL"] += 1
        value = CONTROL.sub(" ", value)
    if not value.isascii():
        if BIDI.search(value):
            warnings["W_BIDI"] += 1
        if INVISIBLE.search(value):
            warnings["W_INVISIBLE"] += 1
    return value


def _time(value: object, zone: str | None, path: str) -> datetime | None:
    if value is None or isinstance(value, datetime):
        time = value
    elif isinstance(value, str):
        time = parse_iso(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        time = from_epoch(value)
    else:
        raise BadRecord("E_TYPE", path, json_kind(value), "an ISO 8601 time, epoch seconds or null")
    if zone is not None and time is not None and time.tzinfo is None:
        with suppress(OverflowError):  # of the first and the last day, which are refused here
            time = time.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    if time is not None and (offset := time.utcoffset()) and offset.total_seconds() % 60:
        with suppress(OverflowError):  # JSON has no seconds in an offset
            time = time.astimezone(UTC)
    if value is not None and (time is None or not FIRST_YEAR <= time.year <= LAST_YEAR):
        expected = Message("a time between {first} and {last}, ISO 8601", first=FIRST_YEAR, last=LAST_YEAR)
        if isinstance(value, str) and lacks_year(value):
            expected = Message(
                "a time with its year: add it, or leave times out by a mapping without 'time:'"
            )
        raise BadRecord("E_TIME", path, excerpt(value), expected)
    return time


def _in_time_order(
    turns: list[dict[str, Any]], config: ReadConfig, warnings: Counter[str], path: str
) -> list[dict[str, Any]]:
    """Returns `turns` if their times do not decrease; with `sort_turns` sorts them, each with its index in
    the input. A turn without a time stays after the one before it."""
    timed = [turn for turn in turns if turn["at"] is not None]
    zones = {turn["at"].utcoffset() for turn in timed}
    if len(zones) > 1 and (None in zones or not config.sort_turns):
        raise BadRecord("E_TIME", path, "mixed time zones", "one time zone in a dialogue")
    for before, after in pairwise(timed):
        if after["at"] < before["at"]:
            if not config.sort_turns:
                expected = Message("times that do not fall; --sort-turns")
                where = f"{path}[{after['index']}].at"
                raise BadRecord("E_TIME", where, "earlier than before", expected)
            warnings["W_SORTED"] += 1
            first = min(turn["at"] for turn in timed)
            times = (turn["at"] for turn in turns)
            keys = list(accumulate(times, lambda last, at: at or last, initial=first))
            return [turns[place] for place in sorted(range(len(turns)), key=keys[1:].__getitem__)]
    return turns


class ParsedRecord(NamedTuple):
    """A dialogue or the fault of its record, with the line (or record number) from 1 and the byte offset."""

    line: int
    offset: int
    outcome: Dialogue | BadRecord


def validate_all(
    dialogues: Iterable[RawDialogue], line: int, offset: int, config: ReadConfig, warnings: Counter[str]
) -> Iterator[ParsedRecord]:
    """Validates each raw dialogue. A fault raised by the format reader itself ends the record."""
    iterator = iter(dialogues)
    while True:
        try:
            with record_boundary():
                raw = next(iterator, None)
                if raw is None:
                    return
                yield ParsedRecord(line, offset, validate(raw, config, warnings))
        except BadRecord as bad:
            yield ParsedRecord(line, offset, bad)
