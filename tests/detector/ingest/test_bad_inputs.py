"""Every row of the list of bad inputs that concerns logs, on the canonical format and on files."""

from __future__ import annotations

import errno
import gzip
import json
import os
import random
import socket
import tracemalloc
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import reading
import zstandard

from dialint.detector.errors import InputRefused, TooManyBad
from dialint.detector.ingest.preview import preview
from dialint.detector.ingest.read import Counts, Loaded, ReadConfig, Reject, inspect, open_logs, read
from dialint.detector.records import Dialogue

GOOD = {"id": "good", "turns": [{"role": "customer", "text": "Hello"}, {"role": "agent", "text": "Hi"}]}
ANY_SHARE = ReadConfig(max_bad=1.0)


def line(**changes: object) -> bytes:
    return json.dumps({**GOOD, **changes}).encode() + b"\n"


def turn(text: str = "Hello", role: str = "customer", **more: object) -> dict[str, object]:
    return {"role": role, "text": text, **more}


def load(
    tmp_path: Path, data: bytes, name: str = "log.jsonl", config: ReadConfig = ANY_SHARE
) -> tuple[list[Loaded], list[Reject], Counts]:
    path = tmp_path / name
    path.write_bytes(data)
    return reading.load(path, config)


def refusal(
    tmp_path: Path, data: bytes, name: str = "log.jsonl", config: ReadConfig = ANY_SHARE
) -> InputRefused:
    path = tmp_path / name
    path.write_bytes(data)
    error = reading.refused(path, config)
    assert str(path) in str(error)
    return error


LOG = line() * 1 + b"".join(line(id=f"d{i}") for i in range(200))


# rows 1-4: compression


GZ = gzip.compress(LOG)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (GZ[: len(GZ) // 2], "E_GZ_TRUNCATED"),
        (GZ[:-1], "E_GZ_TRUNCATED"),
        (GZ[:-6] + bytes([GZ[-6] ^ 1]) + GZ[-5:], "E_GZ_CORRUPT"),
        (GZ + b"garbage", "E_GZ_CORRUPT"),
        (GZ + b"\x1f", "E_GZ_CORRUPT"),
    ],
    ids=["half", "last byte", "checksum", "garbage", "half a sign"],
)
def test_damaged_gz_is_refused(tmp_path: Path, data: bytes, code: str) -> None:
    assert refusal(tmp_path, data, "log.jsonl.gz").code == code


def test_gz_members_and_zero_padding_are_read(tmp_path: Path) -> None:
    data = gzip.compress(line(id="a")) + gzip.compress(line(id="b")) + b"\0" * 100
    loaded, rejects, _ = load(tmp_path, data, "log.jsonl.gz")
    assert [item.dialogue.id for item in loaded] == ["a", "b"]
    assert not rejects


@pytest.mark.parametrize(
    ("ending", "pack"), [(".gz", gzip.compress), (".zst", zstandard.ZstdCompressor().compress)]
)
def test_expansion_bomb_is_refused_in_bounded_memory(tmp_path: Path, ending: str, pack: object) -> None:
    data = pack(b" " * 50_000_000)  # type: ignore[operator]
    tracemalloc.start()
    try:
        assert refusal(tmp_path, data, f"log.jsonl{ending}").code == "E_EXPANSION"
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()


def test_size_cap_is_an_expansion(tmp_path: Path) -> None:
    config = ReadConfig(max_expanded_bytes=10_000)
    noise = "".join(random.Random(1).choices("abcdefghij", k=200_000)).encode()
    assert refusal(tmp_path, gzip.compress(noise), "log.jsonl.gz", config).code == "E_EXPANSION"


def test_zstd_is_read_and_its_damage_refused(tmp_path: Path) -> None:
    data = zstandard.ZstdCompressor(write_checksum=True).compress(LOG)
    assert len(load(tmp_path, data, "log.jsonl.zst")[0]) == 201
    assert len(load(tmp_path, data + data, "log.jsonl.zst")[0]) == 201  # two frames, the second all repeated
    assert refusal(tmp_path, data[:-3], "log.jsonl.zst").code == "E_ZST_TRUNCATED"
    assert refusal(tmp_path, data + b"garbage", "log.jsonl.zst").code == "E_ZST_CORRUPT"
    broken = bytearray(data)
    broken[-1] ^= 1
    assert refusal(tmp_path, bytes(broken), "log.jsonl.zst").code == "E_ZST_CORRUPT"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("log.jsonl.gz", LOG),
        ("log.jsonl", gzip.compress(LOG)),
        ("log.jsonl.zst", gzip.compress(LOG)),
        ("log.parquet", LOG),
        ("log.jsonl", b"PAR1" + LOG),
        ("log.csv", b"PAR1" + LOG),
        ("log.csv", LOG),
        ("log", b"%PDF-1.7 " + LOG),
    ],
)
def test_ending_against_content_is_refused(tmp_path: Path, name: str, data: bytes) -> None:
    assert refusal(tmp_path, data, name).code == "E_FORMAT"


# rows 5-20, 22-33: one bad record, quarantined; the good one beside it is kept

DEEP = b'{"id": "x", "turns": [], "metadata": ' + b"[" * 40 + b"]" * 40 + b"}\n"
BAD_LINES: list[tuple[str, bytes, str, str]] = [
    ("5 bad UTF-8", line(id="x").replace(b"Hello", b"H\xff"), "E_UTF8", ""),
    ("5 surrogate as UTF-8", line(id="x").replace(b"Hello", b"\xed\xa0\x80"), "E_UTF8", ""),
    ("6 nothing but a byte order mark", line(id="x", turns=[turn("\ufeff")]), "E_EMPTY", "turns"),
    ("8 lone surrogate", line(id="x", turns=[turn("a\ud800")]), "E_SURROGATE", "turns[0].text"),
    ("9 raw NUL", line(id="x").replace(b"Hello", b"H\0"), "E_NUL", ""),
    ("9 escaped NUL", line(id="x", turns=[turn("a\0")]), "E_NUL", "turns[0].text"),
    ("9 NUL in a key", line(id="x", metadata={"a\0": 1}), "E_NUL", "metadata"),
    ("10 control in id", line(id="x\x07"), "E_ID", "id"),
    ("12 invisible in id", line(id="x\u200b"), "E_ID", "id"),
    ("13 homoglyph id", line(id="ord\u0435r"), "E_HOMOGLYPH", "id"),
    ("13 homoglyph role", line(id="x", turns=[turn(role="\u0430gent")]), "E_HOMOGLYPH", "turns[0].role"),
    ("16 no id", json.dumps({"turns": GOOD["turns"]}).encode() + b"\n", "E_ID", "id"),
    ("16 empty id", line(id=""), "E_ID", "id"),
    ("16 blank id", line(id="  "), "E_ID", "id"),
    ("16 long id", line(id="x" * 257), "E_ID", "id"),
    ("16 long id in bytes", line(id="\u00e9" * 129), "E_ID", "id"),
    ("16 number id", line(id=1), "E_ID", "id"),
    ("16 null id", line(id=None), "E_ID", "id"),
    ("16 two ids", line(id="x", dialogue_id="y"), "E_ID", "id"),
    ("17 key twice", line(id="x").replace(b'"id": "x"', b'"id": "y", "id": "x"'), "E_DUP_KEY", ""),
    ("17 key twice, inside", line(id="x").replace(b'"role"', b'"role": "agent", "role"', 1), "E_DUP_KEY", ""),
    ("17 key twice, spaced", line(id="x").replace(b'"role"', b'"role"  : "agent", "role"', 1), "E_DUP_KEY", ""),
    ("17 key twice, escaped", line(id="x").replace(b'"role"', b'"r\\u006fle": "agent", "role"', 1), "E_DUP_KEY", ""),
    ("18 NaN", line(id="x", metadata={"a": float("nan")}), "E_NUMBER", ""),
    ("18 Infinity", line(id="x", metadata={"a": float("inf")}), "E_NUMBER", ""),
    ("18 1e999", line(id="x", metadata={"a": 7}).replace(b"7", b"1e999"), "E_NUMBER", ""),
    ("19 65 bits", line(id="x", metadata={"a": 2**64}), "E_NUMBER", ""),
    ("19 negative", line(id="x", metadata={"a": -(2**63) - 1}), "E_NUMBER", ""),
    ("19 5,000 digits", line(id="x", metadata={"a": 7}).replace(b"7", b"9" * 5000), "E_NUMBER", ""),
    ("20 nesting", DEEP, "E_DEPTH", ""),
    ("20 deep nesting", DEEP.replace(b"[" * 40, b"[" * 100_000), "E_DEPTH", ""),
    ("23 too many turns", line(id="x", turns=[turn("a")] * 5001), "E_TURNS", "turns"),
    ("24 long turn", line(id="x", turns=[turn("a" * 100_001)]), "E_TURN_SIZE", "turns[0].text"),
    ("24 long turn in bytes", line(id="x", turns=[turn("\u00e9" * 50_001)]), "E_TURN_SIZE", "turns[0].text"),
    ("25 no turns", line(id="x", turns=[]), "E_EMPTY", "turns"),
    ("25 blank turns", line(id="x", turns=[turn(" \n"), turn("", "agent")]), "E_EMPTY", "turns"),
    ("25 only a tool speaks", line(id="x", turns=[turn(" "), turn("y", "tool")]), "E_EMPTY", "turns"),
    ("27 unknown role", line(id="x", turns=[turn(role="user")]), "E_ROLE", "turns[0].role"),
    ("27 nobody there", line(id="x", turns=[turn(role="system"), turn(role="tool")]), "E_ROLE", "turns"),
    ("28 out of order", line(id="x", turns=[turn(at="2026-03-02T09:15:00Z"), turn(at="2026-03-02T09:14:00Z")]),
     "E_TIME", "turns[1].at"),
    ("28 negative", line(id="x", turns=[turn(at=-5)]), "E_TIME", "turns[0].at"),
    ("28 year 9999", line(id="x", turns=[turn(at="9999-12-31T00:00:00Z")]), "E_TIME", "turns[0].at"),
    ("28 no time", line(id="x", turns=[turn(at="yesterday")]), "E_TIME", "turns[0].at"),
    ("28 huge number", line(id="x", turns=[turn(at=10**18)]), "E_TIME", "turns[0].at"),
    ("28 zone and none", line(id="x", turns=[turn(at="2026-03-02T09:15:00Z"), turn(at="2026-03-02T09:16:00")]),
     "E_TIME", "turns"),
    ("28 two zones", line(id="x", turns=[turn(at="2026-03-02T09:15Z"), turn(at="2026-03-02T19:16+05:30")]),
     "E_TIME", "turns"),
    ("29 text as a list", line(id="x", turns=[turn(), {"role": "agent", "text": ["a"]}]), "E_TYPE", "turns[1].text"),
    ("29 text missing", line(id="x", turns=[{"role": "agent"}]), "E_TYPE", "turns[0].text"),
    ("29 role missing", line(id="x", turns=[{"text": "a"}]), "E_TYPE", "turns[0].role"),
    ("29 turn as a text", line(id="x", turns=["a"]), "E_TYPE", "turns[0]"),
    ("29 turns as an object", line(id="x", turns={"role": "agent"}), "E_TYPE", "turns"),
    ("29 turns missing", b'{"id": "x"}\n', "E_TYPE", "turns"),
    ("29 language as a number", line(id="x", language=3), "E_TYPE", "language"),
    ("29 time as a list", line(id="x", turns=[turn(at=[])]), "E_TYPE", "turns[0].at"),
    ("29 author as a number", line(id="x", turns=[turn(author=3)]), "E_TYPE", "turns[0].author"),
    ("29 metadata as a list", line(id="x", metadata=[]), "E_TYPE", "metadata"),
    ("29 sources as a text", line(id="x", sources="a"), "E_TYPE", "sources"),
    ("29 masked as a text", line(id="x", masked="no"), "E_TYPE", "masked"),
    ("30 array", b"[" + line(id="x").strip() + b"]\n", "E_TYPE", ""),
    ("30 text", b'"hello"\n', "E_TYPE", ""),
    ("30 number", b"17\n", "E_TYPE", ""),
    ("30 null", b"null\n", "E_TYPE", ""),
    ("31 text after", line(id="x").strip() + b" and more\n", "E_TRAILING", ""),
    ("31 two objects", line(id="x").strip() + line(id="y"), "E_TRAILING", ""),
    ("32 cut off", line(id="x")[:40] + b"\n", "E_TRUNCATED", ""),
    ("- no JSON", b"hello there\n", "E_JSON", ""),
    ("- single quotes", b"{'id': 'x'}\n", "E_JSON", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("bad", "code", "path"), [row[1:] for row in BAD_LINES], ids=[row[0] for row in BAD_LINES]
)
def test_one_bad_record_is_quarantined_and_the_others_loaded(
    tmp_path: Path, bad: bytes, code: str, path: str
) -> None:
    data = line(id="a") + bad + line(id="b")
    loaded, rejects, _ = load(tmp_path, data)
    assert [item.dialogue.id for item in loaded] == ["a", "b"]
    assert [(reject.code, reject.path) for reject in rejects] == [(code, path)]
    reject = rejects[0]
    assert reject.byte_offset == data.index(bad)
    assert reject.line == data[: reject.byte_offset].count(b"\n") + 1
    assert len(reject.found) <= 30
    assert reject.expected
    assert json.loads(json.dumps(reject.as_json()))["code"] == code


def test_last_line_cut_off_is_quarantined(tmp_path: Path) -> None:
    for length in range(5, len(line(id="x")) - 1):
        loaded, rejects, _ = load(tmp_path, line(id="a") + line(id="x")[:length])
        assert [item.dialogue.id for item in loaded] == ["a"]
        assert [reject.code for reject in rejects] == ["E_TRUNCATED"], length


def test_rejects_never_show_text_of_messages(tmp_path: Path) -> None:
    secret = "Ann Miller 4111"
    bad = [
        line(id="x", turns=[turn(role=secret)]),
        line(id="y", turns=[turn(at=secret)]),
        b"{" + secret.encode() + b"\n",
        line(id="z").strip() + secret.encode() + b"\n",
        line(id="w").replace(b'"id"', b'"' + secret.encode() + b'": NaN, "id"'),
    ]
    _, rejects, _ = load(tmp_path, line(id="a") + b"".join(bad))
    assert len(rejects) == len(bad)
    for reject in rejects:
        text = json.dumps(reject.as_json())
        assert "Ann" not in text
        assert "4111" not in text


# rows 6, 10-12, 26, 38, 39: normalised or kept, and counted


@pytest.mark.parametrize(
    ("text", "expected", "warning"),
    [
        ("a\x07b\x1bc", "a b c", "W_CONTROL"),
        ("a\x7fb\x9bc", "a b c", "W_CONTROL"),
        ("a\u202eb", "a\u202eb", "W_BIDI"),
        ("a\u2066b", "a\u2066b", "W_BIDI"),
        ("a\u200bb", "a\u200bb", "W_INVISIBLE"),
        ("a\u00adb", "a\u00adb", "W_INVISIBLE"),
        ("a\U000e0041b", "a\U000e0041b", "W_INVISIBLE"),
        ("<|im_start|>system", "<|im_start|>system", "W_TEMPLATE_TOKEN"),
        ("well</s>", "well</s>", "W_TEMPLATE_TOKEN"),
        ("[INST] obey", "[INST] obey", "W_TEMPLATE_TOKEN"),
        ("<script>alert(1)</script> ![x](http://x)", "<script>alert(1)</script> ![x](http://x)", None),
        ("=1+1", "=1+1", None),
        ("a\u2028b\u2029c\u0085d\x0be\tf\ng\rh", "a\u2028b\u2029c\u0085d\x0be\tf\ng\rh", None),
    ],
)
@pytest.mark.parametrize("escaped", [True, False])
def test_odd_text_keeps_its_length_and_is_counted(
    tmp_path: Path, text: str, expected: str, warning: str | None, escaped: bool
) -> None:
    record = {"id": "x", "turns": [turn(text), turn("ok", "agent")]}
    data = json.dumps(record, ensure_ascii=escaped)
    if not escaped:
        for char in "\x07\x1b\x7f\x0b\t\r":  # raw, as careless writers leave them
            data = data.replace(json.dumps(char)[1:-1], char)
    loaded, rejects, counts = load(tmp_path, data.encode() + b"\n")
    assert not rejects
    assert loaded[0].dialogue.turns[0].text == expected
    assert len(expected) == len(text)
    assert dict(counts.warnings) == ({warning: 1} if warning else {})


def test_byte_order_mark_at_the_start_is_dropped(tmp_path: Path) -> None:
    loaded, _, counts = load(tmp_path, b"\xef\xbb\xbf" + line(id="a") + line(id="b"))
    assert [item.dialogue.id for item in loaded] == ["a", "b"]
    assert counts.warnings == {"W_BOM": 1}
    table = b"\xef\xbb\xbfcase_id;role;text\r\nd1;user;hi\r\n"
    loaded, _, counts = load(tmp_path, table, "log.csv", ReadConfig(delimiter=";"))
    assert [turn.text for turn in loaded[0].dialogue.turns] == ["hi"]
    assert counts.warnings == {"W_BOM": 1, "W_CRLF": 2}


def test_blank_turn_keeps_its_index(tmp_path: Path) -> None:
    loaded, _, counts = load(tmp_path, line(turns=[turn("a"), turn(" ", "agent"), turn("c", "agent")]))
    assert [(item.index, item.text) for item in loaded[0].dialogue.turns] == [(0, "a"), (1, " "), (2, "c")]
    assert counts.warnings == {"W_BLANK_TURN": 1}


def test_crlf_is_read_and_counted(tmp_path: Path) -> None:
    loaded, rejects, counts = load(
        tmp_path, (line(id="a") + line(id="b")).replace(b"\n", b"\r\n") + b"bad\r\n"
    )
    assert [item.dialogue.id for item in loaded] == ["a", "b"]
    assert counts.warnings == {"W_CRLF": 3}
    assert rejects[0].line == 3
    assert rejects[0].byte_offset == len(line(id="a") + line(id="b")) + 2


@pytest.mark.parametrize(
    ("more", "spoken", "warning"),
    [
        ({"shoe_size": 43}, {}, "W_UNKNOWN_FIELD shoe_size"),
        ({"languge": "en"}, {}, "W_UNKNOWN_FIELD languge, did you mean 'language'?"),
        ({}, {"auther": "Leo"}, "W_UNKNOWN_FIELD turns[].auther, did you mean 'author'?"),
        ({"ann@example.org 4111 1111": 1}, {}, "W_UNKNOWN_FIELD xxx@xxxxxxx.xxx 999…"),
        (
            {},
            {"role": "agent", "tool_calls": [{"name": "find", "result": {"id": 4}}]},
            "W_RESULT_IN_CALL not read: the result of a call is a turn of the role tool",
        ),
    ],
)
def test_fields_that_are_not_read_are_listed(
    tmp_path: Path, more: dict[str, Any], spoken: dict[str, Any], warning: str
) -> None:
    records = [line(id=name, turns=[{**turn("Hi"), **spoken}], **more) for name in ("a", "b")]
    loaded, _, counts = load(tmp_path, b"".join(records))
    assert [item.dialogue.id for item in loaded] == ["a", "b"]
    assert counts.warnings == {warning: 2}


def test_names_of_unknown_fields_are_bounded(tmp_path: Path) -> None:
    _, _, counts = load(tmp_path, b"".join(line(id=f"d{n}", **{f"x{n}": 1}) for n in range(200)))
    assert len(counts.warnings) <= 51
    assert sum(counts.warnings.values()) == 200
    assert counts.warnings["W_UNKNOWN_FIELD"] == 150


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_stray_byte_order_marks_are_stripped_and_counted(tmp_path: Path, kind: str) -> None:
    good, mark = "I \ufeffcan see\ufeff\ufeff it.", b"\xef\xbb\xbf"
    lines = [line(id=name, turns=[turn(good)]) for name in ("a", "b")]
    if kind == "csv":
        lines = [f"{name},agent,{good}\n".encode() for name in ("a", "b")]
    header = b"dialogue_id,role,text\n" if kind == "csv" else b""
    path = tmp_path / f"joined.{kind}"
    path.write_bytes(header + mark.join(lines))
    counts = Counts()
    outcomes = list(read(open_logs([str(path)]), ReadConfig(), counts))
    dialogues = [one.dialogue for one in outcomes if isinstance(one, Loaded)]
    assert [one.id for one in dialogues] == ["a", "b"]
    for dialogue in dialogues:
        (spoken,) = dialogue.turns
        assert spoken.text == "I can see it."
        start, end = spoken.to_log(spoken.text.index("see"), spoken.text.index("it") + 2)
        assert good[start:end] == "see\ufeff\ufeff it"
    assert counts.warnings == {"W_BOM": 5}


# row 7: encodings


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("name", ["log.jsonl", "log", "log.csv"])
def test_unicode_without_a_byte_order_mark_is_refused_by_name(
    tmp_path: Path, encoding: str, name: str
) -> None:
    error = refusal(tmp_path, (line() * 3).decode().encode(encoding), name)
    assert error.code == "E_ENCODING"
    assert error.message.endswith(f"if it is, say --encoding {encoding}")


# rows 14: the same id twice


def test_repeated_id_with_the_same_content_is_skipped(tmp_path: Path) -> None:
    spaced = json.dumps(GOOD, separators=(" ,  ", " :  ")).encode() + b"\n"
    loaded, rejects, counts = load(tmp_path, line() + line(id="b") + spaced + line())
    assert [item.dialogue.id for item in loaded] == ["good", "b"]
    assert not rejects
    assert (counts.read, counts.duplicates) == (4, 2)


def test_repeated_id_with_other_content_names_both_lines(tmp_path: Path) -> None:
    loaded, rejects, _ = load(tmp_path, line() + line(id="b") + line(turns=[turn("Other")]))
    assert [item.dialogue.id for item in loaded] == ["good", "b"]
    assert [(item.code, item.line, item.dialogue_id) for item in rejects] == [("E_DUP_ID", 3, "good")]
    assert "line 1 of" in rejects[0].expected


@pytest.mark.parametrize("field", ["at", "author", "role"])
def test_content_is_all_of_a_turn(tmp_path: Path, field: str) -> None:
    other = {"at": "2026-03-02T09:15:00Z", "author": "leo", "role": "bot"}[field]
    _, rejects, _ = load(tmp_path, line(turns=[turn()]) + line(turns=[{**turn(), field: other}]))
    assert [item.code for item in rejects] == ["E_DUP_ID"]


@pytest.mark.parametrize("amounts", [(-1, -2), (1, True), (0, False), (0, 2**61 - 1)])
def test_arguments_of_equal_hashes_are_other_content(tmp_path: Path, amounts: tuple[Any, Any]) -> None:
    one, two = (
        {**turn("Done.", "agent"), "tool_calls": [{"name": "refund", "arguments": {"n": [one]}}]}
        for one in amounts
    )
    _, rejects, _ = load(tmp_path, line(turns=[one]) + line(turns=[two]))
    assert [item.code for item in rejects] == ["E_DUP_ID"]


def test_repeated_ids_are_detected_across_files_and_batches(tmp_path: Path) -> None:
    n = 800
    first = b"".join(line(id=f"d{i}", turns=[turn("a" * 100)]) for i in range(n))
    (tmp_path / "a.jsonl").write_bytes(first)
    (tmp_path / "b.jsonl").write_bytes(first.replace(b"aaa", b"aab", 1))
    counts = Counts()
    outcomes = list(read(open_logs([str(tmp_path / "*.jsonl")]), ANY_SHARE, counts))
    assert counts.duplicates == n - 1
    rejects = [item for item in outcomes if isinstance(item, Reject)]
    assert [(item.dialogue_id, item.line) for item in rejects] == [("d0", 1)]
    assert f"line 1 of {tmp_path / 'a.jsonl'}" in rejects[0].expected


# rows 21, 22: long lines


def test_overlong_line_is_passed_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with path.open("wb") as file:
        file.write(line(id="a"))
        file.write(b'{"id": "x", "turns": [{"role": "agent", "text": "')
        for _ in range(50):
            file.write(b"a" * 1_000_000)
        file.write(b'"}]}\n' + line(id="b"))
    source = open_logs([str(path)])[0]
    counts = Counts()
    tracemalloc.start()
    try:
        inspect(source, ANY_SHARE)
        outcomes = list(read([source], ANY_SHARE, counts))
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()
    assert [getattr(item, "code", "loaded") for item in outcomes] == ["loaded", "E_LINE_SIZE", "loaded"]
    assert [item.line for item in outcomes] == [1, 2, 3]
    assert isinstance(outcomes[1], Reject)
    assert outcomes[1].byte_offset == len(line(id="a"))


def test_line_limit_is_exact(tmp_path: Path) -> None:
    config = ReadConfig(max_bad=1.0, max_record_bytes=200)
    fits = line(turns=[turn("a" * (200 - len(line(turns=[turn("")]).strip())))]).strip()
    assert len(fits) == 200
    loaded, rejects, _ = load(tmp_path, fits + b"\n" + fits.replace(b"aa", b"aaa", 1) + b"\n", config=config)
    assert (len(loaded), [item.code for item in rejects]) == (1, ["E_LINE_SIZE"])


def test_file_without_newline_is_one_record(tmp_path: Path) -> None:
    for name in ("log.jsonl", "log.json", "log"):
        assert len(load(tmp_path, line().strip(), name)[0]) == 1


# row 28 with the option


def test_turns_are_sorted_on_demand_and_keep_their_index(tmp_path: Path) -> None:
    early = "2026-03-02T09:14:00Z"
    times = ["2026-03-02T09:15:00Z", None, early, early, "2026-03-02T15:00:00+05:30"]
    turns = [turn(f"t{i}", at=at) for i, at in enumerate(times)]
    config = ReadConfig(max_bad=1.0, sort_turns=True)
    loaded, rejects, counts = load(tmp_path, line(turns=turns), config=config)
    assert not rejects
    assert [item.index for item in loaded[0].dialogue.turns] == [2, 3, 0, 1, 4]
    assert counts.warnings == {"W_SORTED": 1}


def test_epoch_times_are_read_in_seconds_and_milliseconds(tmp_path: Path) -> None:
    loaded, _, _ = load(tmp_path, line(turns=[turn(at=1772442845), turn(at=1772442846000)]))
    assert [item.at.isoformat() for item in loaded[0].dialogue.turns if item.at] == [
        "2026-03-02T09:14:05+00:00", "2026-03-02T09:14:06+00:00"]  # fmt: skip


@pytest.mark.parametrize("offset", ["+01:02:03", "+23:59:59.999999", "-00:44:30"])
def test_a_time_with_seconds_in_its_offset_is_read_back(tmp_path: Path, offset: str) -> None:
    at = f"2026-03-02T09:14:05{offset}"
    (item,), _, _ = load(tmp_path, line(turns=[turn(at=at)]))
    again = Dialogue.model_validate_json(item.dialogue.model_dump_json())
    assert again.started_at == datetime.fromisoformat(at)


# rows 30, 34, 42: files


def test_an_array_at_the_top_of_a_file_is_read(tmp_path: Path) -> None:
    records = [json.loads(line(id=f"d{i}")) for i in range(3)]
    for data in (json.dumps(records), json.dumps(records, indent=1)):
        for name in ("log.jsonl", "log.json"):
            loaded, rejects, _ = load(tmp_path, data.encode(), name)
            assert ([item.dialogue.id for item in loaded], rejects) == (["d0", "d1", "d2"], [])


def test_carriage_returns_alone_are_refused_with_a_hint(tmp_path: Path) -> None:
    for name, data in [("log.jsonl", line(id="a") + line(id="b")), ("log.csv", b"id,role,text\na,agent,b\n")]:
        error = refusal(tmp_path, data.replace(b"\n", b"\r"), name)
        assert error.code == "E_FORMAT"
        assert "carriage return" in error.message
    result = preview(open_logs([str(tmp_path / "log.csv")])[0], ReadConfig(), 10)
    assert "carriage return" in str(result.refused)


@pytest.mark.parametrize("data", [b"", b"\n", b"  \n\r\n\t\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
@pytest.mark.parametrize("name", ["log.jsonl", "log.json", "log.csv", "log", "log.jsonl.gz", "log.jsonl.zst"])
def test_file_without_records_is_refused(tmp_path: Path, name: str, data: bytes) -> None:
    if name.endswith(".csv") and data == b"\n":
        data = b"case_id,role,text\n"
    if name.endswith(".gz"):
        data = gzip.compress(data)
    elif name.endswith(".zst"):
        data = zstandard.ZstdCompressor().compress(data)
    assert refusal(tmp_path, data, name).code == "E_NO_RECORDS"


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, b"Dear reader,\nthis is a letter.\n", "letter.txt").code == "E_FORMAT"


# row 40: paths


def test_paths_that_lead_elsewhere_are_refused(tmp_path: Path) -> None:
    folder, outside = tmp_path / "logs", tmp_path / "secret.jsonl"
    folder.mkdir()
    outside.write_bytes(line())
    (folder / "inside.jsonl").write_bytes(line())
    (folder / "good.jsonl").symlink_to(folder / "inside.jsonl")
    (folder / "bad.jsonl").symlink_to(outside)
    (folder / "dangling.jsonl").symlink_to(folder / "nowhere")
    os.mkfifo(folder / "pipe.jsonl")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.relpath(folder / "socket.jsonl"))
    listener.close()
    for name in ("good.jsonl", "../logs/good.jsonl", "../secret.jsonl"):
        (source,) = open_logs([str(folder / name)])[:1]
        assert source.path.exists()
    refused = ["bad.jsonl", "dangling.jsonl", "pipe.jsonl", "socket.jsonl", "missing.jsonl",
               "none*.jsonl", "ba*.jsonl", ""]  # fmt: skip
    for name in [str(folder / name) for name in refused] + ["/dev/null", "/dev/zero"]:
        with pytest.raises(InputRefused) as caught:
            open_logs([name])
        assert caught.value.code == "E_PATH", name


def test_patterns_expand_sorted_and_each_file_comes_once(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "c.txt"):
        (tmp_path / name).write_bytes(line())
    sources = open_logs([str(tmp_path / "b.jsonl"), str(tmp_path / "*.jsonl")])
    assert [source.path.name for source in sources] == ["b.jsonl", "a.jsonl"]


@pytest.mark.parametrize("pattern", ["", "/*", "/**/*.jsonl"])
def test_no_log_below_a_folder_is_passed_over(tmp_path: Path, pattern: str) -> None:
    """Neither those in a folder that a pattern matches nor those whose names end like that of a manifest."""
    (tmp_path / "logs/sub").mkdir(parents=True)
    for name in ("a.jsonl", "ship-manifest.json", "sub/b.jsonl"):
        (tmp_path / "logs" / name).write_bytes(line(id=name))
    names = {source.name for source in open_logs([f"{tmp_path}/logs{pattern}"])}
    assert {str(tmp_path / "logs" / name) for name in ("a.jsonl", "sub/b.jsonl")} <= names
    assert len(names) == (2 if "**" in pattern else 3)


def test_a_folder_that_cannot_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl").write_bytes(line())
    (tmp_path / "secret").mkdir()
    scandir = os.scandir

    def deny(path: str) -> Any:
        if path.endswith("secret"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", deny)
    with pytest.raises(InputRefused, match=r"secret: Permission denied"):
        open_logs([str(tmp_path)])


def test_a_name_with_pattern_signs_is_a_file_if_it_exists(tmp_path: Path) -> None:
    (tmp_path / "log[1].jsonl").write_bytes(line())
    assert len(open_logs([str(tmp_path / "log[1].jsonl")])) == 1


# row 41: a file that changes


def test_file_that_changes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(line(id=f"d{i}") for i in range(5000)))
    source = open_logs([str(path)])[0]
    inspect(source, ANY_SHARE)
    outcomes = read([source], ANY_SHARE, Counts())
    next(outcomes)
    with path.open("ab") as file:
        file.write(line(id="late"))
    with pytest.raises(InputRefused) as caught:
        list(outcomes)
    assert caught.value.code == "E_CHANGED"


def test_file_that_changed_before_reading_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(line())
    source = open_logs([str(path)])[0]
    path.write_bytes(line(id="other"))
    for act in (lambda: inspect(source, ANY_SHARE), lambda: list(read([source], ANY_SHARE, Counts()))):
        with pytest.raises(InputRefused) as caught:
            act()
        assert caught.value.code == "E_CHANGED"


# row 45


@pytest.mark.parametrize(("n_bad", "stops"), [(4, False), (5, False), (6, True)])
def test_over_five_percent_bad_records_stop_the_job(tmp_path: Path, n_bad: int, stops: bool) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(line(id=f"d{i}") for i in range(100 - n_bad)) + b"{}\n" * n_bad)
    outcomes = read(open_logs([str(path)]), ReadConfig(), Counts())
    if stops:
        with pytest.raises(TooManyBad) as caught:
            list(outcomes)
        assert caught.value.code == "E_TOO_MANY_BAD"
        assert caught.value.exit_code == 3
    else:
        assert len(list(outcomes)) == 100


def test_many_bad_records_stop_the_job_early(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(line() + b"{}\n" * 100_000)
    counts = Counts()
    with pytest.raises(TooManyBad):
        list(read(open_logs([str(path)]), ReadConfig(), counts))
    assert 100 < counts.read < 100_000


@pytest.mark.parametrize(("n", "read_to"), [(3, 3), (2_000, 100)])
def test_a_log_without_a_good_record_stops_with_a_hint(tmp_path: Path, n: int, read_to: int) -> None:
    path = tmp_path / "my log.jsonl"
    path.write_bytes(line(id=17) + line(id="x", turns=[turn(role="visitor")]) * (n - 1))
    counts = Counts()
    with pytest.raises(TooManyBad) as caught:
        list(read(open_logs([str(path)]), ReadConfig(), counts))
    assert counts.read == read_to
    assert caught.value.message == (
        f"{path}: the first {read_to} records are all bad, mostly E_ROLE ({read_to - 1}), as at line {read_to}, "
        "turns[0].role: visitor; expected customer, agent, bot, system, tool; or --role NAME=ROLE; "
        f"try: dialint ingest preview '{path}'"
    )
    counts = Counts()
    assert len(list(read(open_logs([str(path)]), ReadConfig(max_bad=1.0), counts))) == n


def test_each_row_of_a_table_without_an_id_is_a_record_that_is_lost(tmp_path: Path) -> None:
    """Where only the first row of each dialogue has the id, no share of bad records would show it."""
    path = tmp_path / "log.csv"
    path.write_text("dialogue_id,role,text\n" + "".join(f"{n},customer,Hi\n,agent,Hello\n" for n in range(3)))
    with pytest.raises(TooManyBad, match="3 of 6"):
        list(read(open_logs([str(path)]), ReadConfig(max_bad=0.2), Counts()))
