"""Reads records by a `TreeMapping`: their dialogues and messages, with the role and text of each.

Roles, texts and times are passed on as they stand; `validation` checks them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any

from dialint.detector.errors import Message
from dialint.detector.ingest.formats import traces
from dialint.detector.ingest.formats.chats import add_message
from dialint.detector.ingest.formats.tool_turns import read_calls, tool_call, tool_turn
from dialint.detector.ingest.formats.transcripts import read_transcript
from dialint.detector.ingest.log_format import FIELDS, LogFormat, RawDialogue, RawTurn, as_name, read_rating
from dialint.detector.ingest.outcomes import BadRecord, json_kind
from dialint.detector.ingest.times import from_epoch, parse_iso
from dialint.detector.ingest.tree_mapping import (
    ANY,
    Paths,
    Scope,
    TreeMapping,
    TurnMapping,
    decode_json,
    first_value,
    holds,
    whole_value,
    word_of,
)
from dialint.detector.ingest.words import BLANK, flag_is_internal

N_COMPARED = 20
"""Dialogues of a record that are compared to recognise its format."""
_EPOCH = re.compile(r"\d{9,14}(?:\.\d{1,9})?")


def log_format(mapping: TreeMapping) -> LogFormat:
    """The format that a mapping describes."""
    texts = [path.text for path in mapping.dialogues]
    lists = [text.removesuffix("[]") for text in texts if text.endswith("[]")]
    members = tuple(text for text in lists if text and not set("[]./") & set(text))

    def matches(record: Any) -> bool:
        signs, pieces = mapping.recognise, _dialogues(mapping, record)[:N_COMPARED]
        return any(not signs or holds(signs, piece, Scope(piece)) for piece in pieces)

    def parts(record: Any, fallback_id: str) -> Iterator[tuple[str, Any]]:
        for piece in _dialogues(mapping, record):
            yield _id(mapping, piece) or fallback_id, piece

    def read(record: Any, fallback_id: str) -> Iterator[RawDialogue]:
        for number, piece in enumerate(_dialogues(mapping, record)):
            name = f"{fallback_id}/{number}" if number else fallback_id
            yield _draft(mapping, [piece], _id(mapping, piece) or name)

    if mapping.spread:
        return LogFormat(
            mapping.name, matches, lambda pieces, name: _join_pieces(mapping, pieces, name),
            "whole" if "[]" in texts else "elements", parts=parts,
        )  # fmt: skip
    return LogFormat(mapping.name, matches, read, members=members)


def _id(mapping: TreeMapping, piece: Any) -> str | None:
    """The id of a dialogue; of an address without its query, which differs from page to page."""
    name = as_name(first_value(mapping.id, piece, Scope(piece)))
    return name.partition("?")[0] if name and name.startswith("https://") else name


def _dialogues(mapping: TreeMapping, record: Any) -> list[Any]:
    for path in mapping.dialogues:
        results = [item for item in path.values(record, Scope(record)) if isinstance(item, dict)]
        if results:
            return results
    return []


def _join_pieces(mapping: TreeMapping, pieces: list[Any], name: str) -> Iterator[RawDialogue]:
    if not mapping.repeated:
        draft = _draft(mapping, pieces, name)
        if draft.turns or not draft.warnings["W_EVENT_SKIPPED"]:  # mere events are no dialogue
            yield draft
        return
    drafts = [_draft(mapping, [piece], name) for piece in pieces]
    for joined in traces.read_conversation([_span(draft) for draft in drafts], name):
        joined.warnings = sum((draft.warnings for draft in drafts), Counter())
        yield joined


def _draft(mapping: TreeMapping, pieces: list[Any], name: str) -> RawDialogue:
    """The dialogue of one piece, or of several with the same id."""
    warnings: Counter[str] = Counter()
    values: dict[str, Any] = {}
    ordered: list[tuple[Any, RawTurn]] = []
    for piece in pieces:
        scope = Scope(piece)
        for meaning in FIELDS:
            value = as_name(first_value(getattr(mapping, meaning), piece, scope))
            values.setdefault(meaning, value.lower() if value and meaning == "channel" else value)
        if rating := read_rating(first_value(mapping.rating, piece, scope), mapping.ratings):
            values["metadata"] = rating
        ordered += _turns(mapping, scope, name, warnings)
    lists = [path.text for turn in mapping.turns for path in (*turn.of, *mapping.dialogues)]
    path = next((text for text in lists if text not in (".", "[]")), "")
    turns = _in_order(ordered)
    with_words = [turn for turn in turns if turn.role == "tool" or turn.tool_calls or turn.text != ""]
    n_silent = len(turns) - len(with_words)  # pictures, files, stickers
    if n_silent and any(turn.role != "tool" for turn in with_words):
        warnings["W_EVENT_SKIPPED"] += n_silent
        turns = with_words
    return RawDialogue(name, turns, values, warnings, path.removesuffix("[]"), mapping.named)


def _in_order(turns: list[tuple[Any, RawTurn]]) -> list[RawTurn]:
    """The turns by their places, if these are all numbers or all texts; one without a place stays after the
    one before it."""
    keys: list[tuple[bool, Any]] = []
    last: tuple[bool, Any] = (False, 0)
    for place, _ in turns:
        if isinstance(place, int | float) or (isinstance(place, str) and place):
            last = (True, place)
        keys.append(last)
    if len({isinstance(place, str) for is_placed, place in keys if is_placed}) == 1:
        return [turns[at][1] for at in sorted(range(len(turns)), key=keys.__getitem__)]
    return [turn for _, turn in turns]


def _turns(
    mapping: TreeMapping, scope: Scope, name: str, warnings: Counter[str]
) -> Iterator[tuple[Any, RawTurn]]:
    """The turns of a dialogue, each with its place in the order."""
    groups = [list(group) for _, group in groupby(mapping.turns, key=lambda turn: turn.of)]
    for kinds in groups:
        of = kinds[0].of
        items, path = _messages(of, scope, name)
        for kind in kinds:
            totals = [value for one in kind.total for value in one.values(scope.dialogue, scope)]
            if any(isinstance(n, int) and n > len(items) for n in totals):
                warnings["W_INCOMPLETE"] += 1
        for index, item in enumerate(items):
            used = [kind for kind in kinds if not kind.when or holds(kind.when, item, scope)]
            for kind in used:
                where = f"{path}[{index}]" if path else ""
                if holds(kind.incomplete_if, item, scope):
                    warnings["W_INCOMPLETE"] += 1
                place = first_value(kind.order, item, scope)
                for turn in _read(kind, mapping, item, scope, where, name, warnings):
                    yield place, turn
            if not used and (path or (mapping.spread and len(groups) == 1)):
                warnings["W_EVENT_SKIPPED"] += 1


def _messages(of: Paths, scope: Scope, name: str) -> tuple[list[Any], str]:
    """The items of the first list that is there, and its path; an object in place of a list is one item."""
    for path in of:
        if not path.steps:
            return [scope.dialogue], ""
        listed, items = path.text.removesuffix("[]"), path.values(scope.dialogue, scope)
        if path.steps[-1].kind == "all":
            parents = replace(path, steps=path.steps[:-1]).values(scope.dialogue, scope)
            held = [value for value in parents if value != [] and not isinstance(value, str)]
            if not items and held and len(of) == 1:
                raise BadRecord("E_TYPE", listed, json_kind(held[0]), "a list", name)
        else:
            items = [item for item in map(decode_json, items) if isinstance(item, dict)]
        for index, item in enumerate(items):
            if not isinstance(item, dict | list):
                raise BadRecord("E_TYPE", f"{listed}[{index}]", json_kind(item), "an object", name)
        if items:
            return items, listed
    return [], ""


def _read(
    kind: TurnMapping,
    mapping: TreeMapping,
    item: Any,
    scope: Scope,
    path: str,
    name: str,
    warnings: Counter[str],
) -> Iterator[RawTurn]:
    at = first_value(kind.time, item, scope)
    at = float(at) if isinstance(at, str) and _EPOCH.fullmatch(at) else at or None
    if kind.transcript:
        text = first_value(kind.transcript, item, scope)
        for line in read_transcript(text) if isinstance(text, str) else ():
            who = mapping.roles.get(line.speaker, line.role or line.speaker)
            yield RawTurn(who, line.text, line.after(at))
        return
    if kind.chat:
        if not isinstance(item, dict):
            raise BadRecord("E_TYPE", path, json_kind(item), "a message", name)
        turns: list[RawTurn] = []
        add_message(turns, item, path, name, warnings)
        for turn in turns:
            turn.at = at
        yield from turns
        return
    role = _role(kind, mapping, item, scope)
    text = _text(whole_value(kind.text, item, scope), kind.join)
    html: bool | None = None
    if kind.html and text is None:
        text, html = _text(first_value(kind.html, item, scope), kind.join), True
    call_id, author = first_value(kind.call_id, item, scope), first_value(kind.author, item, scope)
    if role == "tool":
        failed = holds(kind.failed_if, item, scope) if kind.failed_if else None
        text = "" if text is None else text
        result = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
        yield tool_turn(result, call_id, failed, at)
        return
    turn = RawTurn(role, "" if text is None else text, at, as_name(author), html=html)
    if role in ("agent", "bot"):
        calls = whole_value(kind.calls, item, scope)
        turn.tool_calls = read_calls(calls, f"{path}.{kind.calls[0].text}" if kind.calls else path, name)
        called = first_value(kind.call, item, scope)
        if isinstance(called, str) and called.strip():
            arguments = first_value(kind.arguments, item, scope)
            turn.tool_calls = (*turn.tool_calls, tool_call(called, arguments, call_id))
    turn.internal = _internal(kind, item, scope, path)
    yield turn


def _role(kind: TurnMapping, mapping: TreeMapping, item: Any, scope: Scope) -> object:
    for role, conditions in kind.role_if.items():
        if holds(conditions, item, scope):
            return role
    value = first_value(kind.role, item, scope)
    if value is None or isinstance(value, dict | list):
        return BLANK if value is None else value
    word = word_of(value)
    if word in mapping.roles:
        return mapping.roles[word]
    roles = mapping.roles.items()
    return next((role for start, role in roles if start[-1:] == ANY and word.startswith(start[:-1])), word)


def _text(value: object, join: str) -> object:
    """The text of a value: a list is joined, of whose parts objects have their own `text`."""
    if not isinstance(value, list):
        return value
    texts = [part.get("text") if isinstance(part, dict) else part for part in value]
    return join.join(text for text in texts if isinstance(text, str) and text)


def _internal(kind: TurnMapping, item: Any, scope: Scope, path: str) -> bool | None:
    """Returns whether a message is an internal note; None if no flag is set."""
    if holds(kind.note_if, item, scope):
        return True
    for flags, public in ((kind.public, True), (kind.private, False)):
        for flag in flags:
            value = next(iter(flag.values(item, scope)), None)
            internal = flag_is_internal(value, f"{path}.{flag.text.removeprefix('/')}", public=public)
            if internal is not None:
                return internal
    return None


def _span(draft: RawDialogue) -> dict[str, Any]:
    """The turns of a call of a model, as `traces` joins them.

    Raises:
        BadRecord: E_TYPE, one has no text.
    """
    messages = []
    for index, turn in enumerate(draft.turns):
        if not isinstance(turn.text, str) or not isinstance(turn.role, str):
            path, expected = f"{draft.path}[{index}]", Message("a message with role and text")
            raise BadRecord("E_TYPE", path, json_kind(turn.text), expected, str(draft.id))
        at, time = turn.at, None
        if isinstance(at, str):
            time = parse_iso(at)
        elif isinstance(at, int | float):
            time = from_epoch(at)
        messages.append({**traces.as_message(turn), "at": traces.utc_text(time)})
    times = [str(message["at"]) for message in messages if message["at"]]
    return {
        "start": min(times, default=None),
        "instructions": "\n".join(str(one["text"]) for one in messages if one["role"] == "system"),
        "messages": [one for one in messages if one["role"] != "system"],
        "agent": draft.fields["agent"],
    }
