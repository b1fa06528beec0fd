"""Properties of reading: the quick way equals the strict way, and no bytes at all break anything."""

from __future__ import annotations

import gc
import gzip
import json
import pickle
from collections import Counter
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dialint.detector.errors import UserError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.duplicates import RUN_ROWS, SeenIds, content_hash
from dialint.detector.ingest.formats.registry import CANONICAL
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.ingest.read import Counts, Loaded, Reject, collection_paused, inspect, open_logs, read
from dialint.detector.ingest.readers.fast_lines import (
    FastLines,
    build_dialogue,
    build_turns,
    set_time_and_author,
)
from dialint.detector.ingest.readers.format_detection import parse_prefix
from dialint.detector.ingest.readers.json_logs import strict_record
from dialint.detector.ingest.readers.streams import chunks
from dialint.detector.ingest.readers.tables import segments
from dialint.detector.ingest.sources import Source
from dialint.detector.ingest.validation import Draft, DraftTurn, validate_draft
from dialint.detector.records import Dialogue, Role

CONFIG = ReadConfig(max_bad=1.0)
QUICK = settings(max_examples=150)
SOURCE = Source("log.jsonl", Path("log.jsonl"), 0, (0, 0, 0, 0), "log.jsonl")

texts = st.text(max_size=12) | st.sampled_from(
    ["", " ", 'say "hi"', "back\\slash", "a\tb", "</s>", "[INST]", "\u200b", "\u202e", "\ufeff", "\x00", "Привет", "你好", "\u3000"]
)  # fmt: skip
times = st.sampled_from(
    [None, "", "2026-03-02T09:14:05Z", "2026-03-02T09:14:06Z", "2026-03-02T09:14:05+01:00", "2026-03-02", "never", 5, "1969-01-01"]
)  # fmt: skip
odd = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | texts | st.just([])
roles = st.sampled_from(["customer", "agent", "bot", "system", "tool", "user", "Agent", ""])
turns = st.fixed_dictionaries(
    {"role": roles, "text": texts},
    optional={"at": times, "author": texts | st.none(), "index": st.integers(-3, 9), "action": odd, "x": odd},
)
records = st.fixed_dictionaries(
    {"turns": st.lists(turns, max_size=4)},
    optional={
        "id": texts | st.just("d1"), "dialogue_id": st.just("d1"), "language": texts | st.none(), "agent": odd,
        "source": texts, "metadata": st.dictionaries(texts, odd, max_size=2), "masked": odd, "policy": texts,
    },
)  # fmt: skip


def strictly(line: bytes) -> tuple[Dialogue | BadRecord, Counter[str]]:
    warnings: Counter[str] = Counter()
    found = list(strict_record(line, 1, 0, SOURCE, CANONICAL, CONFIG, warnings))
    assert len(found) == 1
    return found[0].outcome, warnings


def agree(line: bytes) -> bool:
    """Whether the quick way took the line; fails if it gave something else than the strict way."""
    warnings: Counter[str] = Counter()
    quick = FastLines(CONFIG).dialogues([line], warnings)[0]
    if quick is None:
        assert not warnings
        return False
    strict, counted = strictly(line)
    assert isinstance(strict, Dialogue), getattr(strict, "code", None)
    assert quick == strict
    assert quick.model_dump() == strict.model_dump()
    assert warnings == counted
    return True


@QUICK
@given(records, st.booleans(), st.sampled_from([(", ", ": "), (",", ":"), (" ,", "  : "), (",\t", "\t:")]))
def test_quick_and_strict_agree(
    record: dict[str, Any], ascii_only: bool, separators: tuple[str, str]
) -> None:
    try:
        line = json.dumps(record, ensure_ascii=ascii_only, separators=separators).encode()
    except UnicodeEncodeError:
        return
    agree(line)


GOOD = '{"id": "d1", "turns": [{"role": "agent", "text": "a"}, {"text": "b \\" c", "role": "customer"}]}'


@QUICK
@given(st.integers(0, len(GOOD)), st.sampled_from(
    ['"id": "d2", ', '"role" : "bot", ', '"text"  :"x",', '"', "\\", '\\"', ":", '":', "{", "}", ",", " ", "\\\\", '"at": null, ', "1", "\x0b"]),
    st.integers(0, 3))  # fmt: skip
def test_quick_and_strict_agree_on_mangled_lines(place: int, inserted: str, cut: int) -> None:
    agree((GOOD[:place] + inserted + GOOD[place + cut :]).encode())


@pytest.mark.parametrize(
    "line",
    [
        GOOD,
        GOOD.replace(" ", ""),
        GOOD.replace('"text": "a"', '"text": "Grüße, Привет, 你好"'),
        GOOD.replace('"text": "a"', '"text": "", "at": "2026-03-02T09:14:05Z", "author": "leo", "index": 0'),
        GOOD.replace('"turns"', '"language": "en", "policy": null, "source": "s", "split": "train", "turns"'),
    ],
)
def test_quick_way_takes_plain_lines(line: str) -> None:
    assert agree(line.encode())


@QUICK
@given(
    st.lists(st.tuples(st.sampled_from(["customer", "agent", "bot", "system"]), texts), min_size=1, max_size=4),
    st.datetimes() | st.none(),
    texts.filter(bool) | st.none(),
    st.fixed_dictionaries({}, optional={"language": texts, "team": texts, "metadata": st.just({"split": "x"})}),
)  # fmt: skip
def test_trusted_records_are_those_of_pydantic(
    said: list[tuple[Role, str]], at: datetime | None, author: str | None, fields: dict[str, Any]
) -> None:
    built = build_turns([role for role, _ in said], [text for _, text in said])
    set_time_and_author(built[-1], at, author)
    given_turns: list[dict[str, Any]] = [
        {"index": index, "role": role, "text": text} for index, (role, text) in enumerate(said)
    ]
    given_turns[-1].update({"at": at} if at else {}, **({"author": author} if author else {}))
    asked = Dialogue.model_validate({"id": "d1", "turns": tuple(given_turns), **fields})
    trusted = build_dialogue("d1", built, fields)
    assert trusted == asked
    assert repr(trusted) == repr(asked)
    assert content_hash(trusted) == content_hash(asked)
    for mine, theirs in zip([trusted, *trusted.turns], [asked, *asked.turns], strict=True):
        assert mine.__getstate__() == theirs.__getstate__()
        assert list(mine.__dict__) == list(theirs.__dict__) == list(type(mine).model_fields)
    assert pickle.loads(pickle.dumps(trusted)) == asked
    assert trusted.model_copy(update={"team": "t"}) == asked.model_copy(update={"team": "t"})


@pytest.mark.parametrize(
    "lines",
    [
        [GOOD + " " + GOOD, '{"id": "d3",', '"turns": [{"role": "agent", "text": "a"}]}'],
        [GOOD.replace('"id": "d1", ', ""), GOOD.replace('"id"', '"id": "d0", "id"')],
        ["", GOOD + GOOD],
    ],
)
def test_lines_do_not_make_up_for_one_another(lines: list[str]) -> None:
    quick = FastLines(CONFIG).dialogues([line.encode() for line in lines], Counter())
    assert quick == [None] * len(lines)


def test_collection_is_paused_within_a_batch_only(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(SEEDS[0])
    assert gc.isenabled()
    with collection_paused():
        assert not gc.isenabled()
    for _ in read(open_logs([str(path)]), CONFIG, Counts()):
        assert gc.isenabled()
    with pytest.raises(UserError), collection_paused():
        raise UserError("E_X", "x")
    assert gc.isenabled()


def test_quick_way_takes_no_line_with_a_key_twice() -> None:
    for place in range(len(GOOD)):
        for twice in (
            '"id": "d1", ',
            '"role": "agent", ',
            '"text": "b", ',
            '"turns": [], ',
            '"role" : "agent" ,',
        ):
            line = (GOOD[:place] + twice + GOOD[place:]).encode()
            if agree(line):
                assert not isinstance(strictly(line)[0], BadRecord)
    many = "\n".join([GOOD, GOOD.replace('"id"', '"id": "d0", "id"')])
    quick = FastLines(CONFIG).dialogues(many.encode().split(b"\n"), Counter())
    assert [item is None for item in quick] == [False, True]


@QUICK
@given(st.text(max_size=60) | st.text("<>br/&;p \n0", max_size=20))
@example("0<BR>")
def test_finished_text_keeps_its_length_but_for_what_was_stripped(text: str) -> None:
    for strip in (True, False):
        draft = Draft("d1", [DraftTurn("customer", "hello"), DraftTurn("agent", text)])
        turn = validate_draft(draft, replace(CONFIG, strip=strip), Counter()).turns[1]
        assert strip or not turn.edits
        stripped = sum(e.original_end - e.original_start - (e.end - e.start) for e in turn.edits)
        assert len(turn.text) + stripped == len(text)


def outcomes(path: Path) -> list[Loaded | Reject]:
    """All that comes out of a file; a refusal or too many bad records are answers too."""
    try:
        sources = open_logs([str(path)])
        for source in sources:
            inspect(source, CONFIG)
        return list(read(sources, CONFIG, Counts()))
    except UserError as error:
        assert error.code.startswith("E_")
        return []


SEEDS = [
    GOOD.encode() + b"\n" + GOOD.encode().replace(b"d1", b"d2") + b"\n",
    b'[{"id":"d1","conversations":[{"from":"human","value":"Hi"},{"from":"gpt","value":"Ho"}]}]',
    b'{"SNG1.json":{"goal":{},"log":[{"text":"A","metadata":{}},{"text":"B","metadata":{}}]}}',
    b'{"comments":[{"author_id":7,"public":true,"html_body":"<p>Hi</p>"}],"users":[{"id":7,"role":"end-user"}]}',
    b'{"id":"1","source":{"body":"<b>x","author":{"type":"user"}},"conversation_parts":{"conversation_parts":[]}}',
    b'[{"ticket_id":20,"incoming":true,"private":false,"body_text":"Still."}]',
    b'{"results":[{"type":"MESSAGE","conversationsThreadId":"t","createdAt":"2026","direction":"INCOMING","text":"x"}]}',
    b'{"messages":[{"conversation_sid":"c","index":0,"author":"+1","body":"x","date_created":"2026-03-02"}]}',
    b'{"Transcript":[{"Type":"MESSAGE","Content":"x","ParticipantRole":"AGENT"}],"ContactId":"c"}',
    b'{"train":[{"convo_id":1,"original":[["customer","a"],["agent","b"]]}]}',
    b'[{"task_id":0,"trial":0,"traj":[{"role":"user","content":"x"},{"role":"assistant","content":"Action:{}"}]}]',
    b'{"messages":[{"author":{"type":"user"},"content":{"text":"x"},"received":"2026-03-02T09:14:05.120Z"}]}',
    b'case_id,role,text,created_at\nd1,user,"a\nb",2026-03-02\nd1,agent,c,\n',
]


@QUICK
@given(
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.integers(0, 400), st.binary(max_size=3), st.integers(0, 4)), max_size=4),
)
def test_no_damage_breaks_the_reader(
    tmp_path: Path, seed: bytes, damage: list[tuple[int, bytes, int]]
) -> None:
    for place, inserted, cut in damage:
        seed = seed[:place] + inserted + seed[place + cut :]
    path = tmp_path / "log"
    path.write_bytes(seed)
    for item in outcomes(path):
        if isinstance(item, Loaded):
            assert Dialogue.model_validate(item.dialogue.model_dump()) == item.dialogue
        else:
            json.dumps(item.as_json())


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["id", "turns", "messages", "comments", "author", "content", "role", "text", "log", "traj",
                         "task_id", "results", "events", "users", "author_id", "conversations", "from", "value",
                         "conversation_parts", "source", "Transcript", "Participants", "original", "convo_id",
                         "incoming", "body_text", "conversationsThreadId", "conversation_sid", "metadata", "via"]),
        inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@QUICK
@given(values)
@example({"comments": [None]})
@example({"comments": [7]})
@example({"messages": [{"role": ["user"]}]})
@example([{"incoming": [], "body": ""}])
@example({"users": [{"id": []}], "comments": [{"author_id": []}]})
def test_no_shape_breaks_the_reader(tmp_path: Path, value: Any) -> None:
    for name, data in (
        ("log.json", json.dumps(value)),
        ("log.jsonl", json.dumps(value) + "\n" + GOOD + "\n"),
    ):
        path = tmp_path / name
        path.write_text(data)
        outcomes(path)


@pytest.mark.parametrize("format", ["openai", "sharegpt", "zendesk", "zendesk-messaging", "intercom", "freshdesk",
                                    "hubspot", "twilio", "connect", "abcd", "multiwoz", "sgd", "tau", "tau2",
                                    "opentelemetry", "openinference"])  # fmt: skip
@settings(max_examples=40)
@given(value=values)
def test_no_shape_breaks_a_named_format(tmp_path: Path, format: str, value: Any) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(
        json.dumps(value) + "\n" + json.dumps({"id": "x", "messages": value, "comments": value}) + "\n"
    )
    config = ReadConfig(max_bad=1.0, format=format)
    try:
        list(read(open_logs([str(path)]), config, Counts()))
    except UserError as error:
        assert error.code.startswith("E_")


@QUICK
@given(st.binary(max_size=80), st.lists(st.integers(1, 30), max_size=6))
def test_lines_do_not_depend_on_blocks(data: bytes, cuts: list[int]) -> None:
    def cut_up() -> list[bytes]:
        parts, rest = [], data
        for cut in cuts:
            parts.append(rest[:cut])
            rest = rest[cut:]
        return [part for part in [*parts, rest] if part]

    bare = data.removeprefix(b"\xef\xbb\xbf")
    start = len(data) - len(bare)
    expected = bare.split(b"\n")
    if expected[-1] == b"":
        expected.pop()
    found = [
        (chunk.first + index, offset, line)
        for chunk in chunks(cut_up(), 1000)
        for index, (line, offset) in enumerate(zip(chunk.lines, chunk.offsets(), strict=True))
    ]
    assert [line for _, _, line in found] == expected
    assert [number for number, _, _ in found] == list(range(1, len(expected) + 1))
    assert all(data[offset : offset + len(line)] == line and offset >= start for _, offset, line in found)


@QUICK
@given(
    st.lists(st.recursive(st.text('"\\[]{},a', max_size=5), st.lists, max_leaves=4), max_size=5),
    st.integers(1, 9),
)
def test_segments_are_the_elements_of_an_array(elements: list[Any], size: int) -> None:
    data = json.dumps(elements).encode()
    blocks = [data[i : i + size] for i in range(0, len(data), size)]
    found = list(segments(blocks, (), 1000))
    assert [json.loads(segment.raw) for segment in found] == elements
    assert all(data[segment.offset :].startswith(segment.raw) for segment in found)


@QUICK
@given(values, st.integers(1, 400))
def test_preview_of_a_prefix_never_raises(value: Any, length: int) -> None:
    data = json.dumps(value, indent=1).encode()
    parse_prefix(data[:length])
    assert parse_prefix(data) == value


@settings(max_examples=25)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2)), max_size=12), max_size=8),
    st.booleans(),
)
def test_seen_ids_are_remembered_as_a_dictionary_would(
    batches: list[list[tuple[int, int]]], spill: bool
) -> None:
    seen, known, place = SeenIds(), {}, 0
    if spill:
        seen.add(range(1_000_000, 1_000_000 + RUN_ROWS), [0] * RUN_ROWS, [0] * RUN_ROWS)
    for batch in batches:
        rows = []
        expected = {}
        for position, (name, content) in enumerate(batch):
            place += 1
            rows.append((name, content, place))
            if name in known:
                expected[position] = known[name]
            else:
                known[name] = (content, place)
        ids, contents, places = zip(*rows, strict=True) if rows else ((), (), ())
        assert seen.add(ids, contents, places) == expected
        if spill:
            start = 2_000_000 + place * RUN_ROWS
            seen.add(range(start, start + RUN_ROWS), [0] * RUN_ROWS, [0] * RUN_ROWS)
    seen.close()


def test_gz_cut_anywhere_is_refused_or_whole(tmp_path: Path) -> None:
    data = gzip.compress(SEEDS[0])
    path = tmp_path / "log.jsonl.gz"
    for length in range(len(data)):
        path.write_bytes(data[:length])
        assert outcomes(path) == []
    path.write_bytes(data)
    assert len(outcomes(path)) == 2
