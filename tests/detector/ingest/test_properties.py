"""Properties of reading: no bytes at all break anything."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from dialint.detector.errors import UserError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.log_format import RawDialogue, RawTurn
from dialint.detector.ingest.read import (
    SEEN_IDS,
    Counts,
    Loaded,
    Reject,
    first_seen,
    inspect,
    open_logs,
    read,
)
from dialint.detector.ingest.readers.format_detection import parse_prefix
from dialint.detector.ingest.readers.grouping import open_spill
from dialint.detector.ingest.readers.json_records import segments
from dialint.detector.ingest.readers.streams import split_lines
from dialint.detector.ingest.validation import validate
from dialint.detector.records import Dialogue, Turn

CONFIG = ReadConfig(max_bad=1.0)
QUICK = settings(max_examples=80)

GOOD = '{"id": "d1", "turns": [{"role": "agent", "text": "a"}, {"text": "b \\" c", "role": "customer"}]}'


@QUICK
@given(st.text(max_size=60) | st.text("<>br/&;p \n0", max_size=20))
@example("0<BR>")
def test_finished_text_keeps_its_length_but_for_what_was_stripped(text: str) -> None:
    for strip in (True, False):
        draft = RawDialogue("d1", [RawTurn("customer", "hello"), RawTurn("agent", text)])
        turn = validate(draft, replace(CONFIG, strip=strip), Counter()).turns[1]
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
    b'[{"ticket_id":20,"incoming":true,"private":false,"body_text":"Still."}]',
    b'{"results":[{"type":"MESSAGE","conversationsThreadId":"t","createdAt":"2026","direction":"INCOMING","text":"x"}]}',
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
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


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
    results = [(number, offset, line) for number, offset, line, _ in split_lines(cut_up(), 1000)]
    assert [line for _, _, line in results] == expected
    assert [number for number, _, _ in results] == list(range(1, len(expected) + 1))
    assert all(data[offset : offset + len(line)] == line and offset >= start for _, offset, line in results)


@QUICK
@given(
    st.lists(st.recursive(st.text('"\\[]{},a', max_size=5), st.lists, max_leaves=4), max_size=5),
    st.integers(1, 9),
)
def test_segments_are_the_elements_of_an_array(elements: list[Any], size: int) -> None:
    data = json.dumps(elements).encode()
    blocks = [data[i : i + size] for i in range(0, len(data), size)]
    results = list(segments(blocks, (), 1000))
    assert [json.loads(raw) for _, raw in results if isinstance(raw, bytes)] == elements
    assert all(isinstance(raw, bytes) and data[offset:].startswith(raw) for offset, raw in results)


@QUICK
@given(values, st.integers(1, 400))
def test_preview_of_a_prefix_never_raises(value: Any, length: int) -> None:
    data = json.dumps(value, indent=1).encode()
    parse_prefix(data[:length])
    assert parse_prefix(data) == value


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2)), max_size=80))
def test_seen_ids_are_remembered_as_a_dictionary_would(dialogues: list[tuple[int, int]]) -> None:
    first_seen_at: dict[int, tuple[int, int]] = {}
    with open_spill(SEEN_IDS) as seen:
        for line, (name, text) in enumerate(dialogues):
            turn = Turn(index=0, role="agent", text=str(text))
            first = first_seen(seen, Dialogue(id=str(name), turns=(turn,)), 1, line)
            expected = first_seen_at.setdefault(name, (text, line))
            assert first == (None if expected[1] == line else (expected[0] == text, 1, expected[1]))
