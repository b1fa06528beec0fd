"""Rows 23, 24, 37 and 47 of the list of bad inputs: what decodes to much more than it is, in bounded memory.

Each file is read in a process of its own, and memory is that process's peak over what it held before.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import hostile_logs
import numpy as np
import pyarrow as pa
import pytest
from linear_time import growth

from dialint.detector.errors import InputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.html_text import read_html
from dialint.detector.ingest.read import open_logs
from dialint.detector.ingest.readers.tables import read_rows
from dialint.detector.offsets import assemble
from dialint.labeling.aggregation.crowd_tables import READ, read_answers

MAX_MEBIBYTES = 512
TIMEOUT_S = 120  # a backstop: what is measured is memory


def noise(n: int, size: int) -> list[str]:
    """`n` texts that cannot be compressed, so that the file may expand to more."""
    rng = np.random.default_rng(5)
    return [rng.bytes(size // 2).hex() for _ in range(n)]


def messages(n: int, text: pa.Array) -> pa.Table:
    return pa.table(
        {"conversation_id": hostile_logs.same(n, "a"), "role": hostile_logs.same(n, "agent"), "text": text}
    )


def skewed() -> pa.DictionaryArray:
    """Thousands of short texts and a long one in the dictionary, and all values are the long one."""
    return hostile_logs.same(20_000, "x" * 500_000, *(str(number) for number in range(100_000)))


TABLES: dict[str, tuple[Callable[[], pa.Table], dict[str, Any], str]] = {
    "a row of 9 million turns": (lambda: hostile_logs.nested([9_000_000], hostile_logs.same(9_000_000, "hello")), {}, "E_EXPANSION"),
    "10 million messages": (lambda: messages(10_000_000, hostile_logs.same(10_000_000, "hello")), {}, "E_EXPANSION"),
    "a long text in a dictionary of short ones": (lambda: messages(20_000, skewed()), {}, "E_EXPANSION"),
    "the same in turns": (lambda: hostile_logs.nested([10_000, 10_000], skewed()), {}, "E_EXPANSION"),
    "a page of a constant text": (
        lambda: messages(2, pa.array(["x" * 40_000_000, "y"])),
        {"use_dictionary": False},
        "E_EXPANSION",
    ),
    "texts that repeat their beginning": (
        lambda: hostile_logs.nested([5_000], pa.array(["x" * 20_000] * 5_000)),
        {"use_dictionary": False, "column_encoding": {"turns.list.element.text": "DELTA_BYTE_ARRAY"}},
        "E_PARQUET",
    ),
}  # fmt: skip


def written(path: Path, table: pa.Table, **options: Any) -> Path:
    path.write_bytes(hostile_logs.parquet_bytes(table, **options))
    return path


@pytest.mark.parametrize("name", TABLES)
def test_parquet_that_expands_is_refused_before_it_is_decoded(tmp_path: Path, name: str) -> None:
    made, options, code = TABLES[name]
    outcome = hostile_logs.measure(written(tmp_path / "log.parquet", made(), **options), timeout_s=TIMEOUT_S)
    assert (outcome.refused, outcome.loaded, outcome.traceback) == (code, 0, "")
    assert outcome.mebibytes < MAX_MEBIBYTES / 4


def test_a_row_of_too_many_turns_or_bytes_is_quarantined_and_the_others_loaded(tmp_path: Path) -> None:
    texts = pa.array(["hi"] * 6_001 + noise(100, 90_000) + ["bye"])
    table = hostile_logs.nested([1, 6_000, 100, 1], texts)
    outcome = hostile_logs.measure(written(tmp_path / "log.parquet", table), timeout_s=TIMEOUT_S)
    assert outcome.loaded == 2
    assert outcome.rejects == {"E_TURNS": 1, "E_RECORD_SIZE": 1}


def test_a_row_of_2_million_turns_is_quarantined_in_bounded_memory(tmp_path: Path) -> None:
    table = hostile_logs.nested(
        [2_000_000] + [1] * 3999, hostile_logs.same(2_003_999, "hi"), language=noise(4000, 400)
    )
    outcome = hostile_logs.measure(written(tmp_path / "log.parquet", table), timeout_s=TIMEOUT_S)
    assert (outcome.rejects, outcome.loaded) == ({"E_RECORD_SIZE": 1}, 3999)
    assert outcome.mebibytes < MAX_MEBIBYTES / 2


def test_tables_of_labels_in_parquet_are_held_to_the_same(tmp_path: Path) -> None:
    n = 400_000
    table = pa.table({name: hostile_logs.same(n, "a") for name in ("task", "worker", "label")})
    path = written(tmp_path / "labels.parquet", table)
    with pytest.raises(InputRefused) as caught:
        list(read_rows(open_logs([str(path)])[0], "parquet", ReadConfig(max_expanded_bytes=4_000_000)))
    assert caught.value.code == "E_EXPANSION"


def test_an_endless_line_of_answers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(b'{"task": "' + b"x" * READ.max_record_bytes + b'"}\n')
    with pytest.raises(InputRefused) as caught:
        read_answers(path)
    assert caught.value.code == "E_LINE_SIZE"


def csv_of_one_dialogue(path: Path, size: int, mixed: bool) -> Path:
    with path.open("w") as file:
        file.write("conversation_id,role,text\n")
        for number in range(size // 11_400):
            file.write(f"big,agent,{'x' * 11_400}\n")
            if mixed and number % 99 == 0:
                file.write(f"small{number % 2},customer,hello\n")
        file.write("last,agent,bye\n")
    return path


@pytest.mark.parametrize("mixed", [False, True])
def test_a_dialogue_of_57_mb_in_csv_is_quarantined(tmp_path: Path, mixed: bool) -> None:
    path = csv_of_one_dialogue(tmp_path / "log.csv", 57_000_000, mixed)
    outcome = hostile_logs.measure(path, timeout_s=TIMEOUT_S)
    assert outcome.rejects == {"E_RECORD_SIZE": 1}
    assert outcome.loaded == (3 if mixed else 1)
    assert outcome.mebibytes < 64


def test_a_csv_row_of_many_lines_is_refused_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("conversation_id,role,text\na,agent,b\n" + 'x,"y\nz",' * 2_000_000)
    outcome = hostile_logs.measure(path, timeout_s=TIMEOUT_S)
    assert outcome.refused == "E_CSV"
    assert outcome.mebibytes < MAX_MEBIBYTES / 2


@pytest.mark.parametrize(
    ("record", "code"),
    [
        (b'{"id":"x","turns":[' + b"{}," * 200_000 + b"{}]}", "E_TURNS"),
        (b'{"id":"x","metadata":{' + b",".join(b'"%x":0' % n for n in range(300_000)) + b"}}", "E_TYPE"),
        (b'{"id":"x","metadata":' + b"[" * 4_000_000 + b"]" * 3_900_000 + b"}", "E_DEPTH"),
    ],
    ids=["empty objects", "keys", "depth"],
)
def test_a_record_of_many_small_values_stays_in_bounds(tmp_path: Path, record: bytes, code: str) -> None:
    path = tmp_path / "log.jsonl"
    good = json.dumps({"id": "good", "turns": [{"role": "agent", "text": "hi"}]}).encode()
    path.write_bytes(record + b"\n" + good + b"\n")
    outcome = hostile_logs.measure(path, timeout_s=TIMEOUT_S)
    assert (outcome.rejects, outcome.loaded) == ({code: 1}, 1)
    assert outcome.mebibytes < MAX_MEBIBYTES


def test_a_document_that_would_take_gigabytes_as_objects_is_rejected_before_it_is_decoded(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.json"
    path.write_bytes(b'{"conversation_parts":[' + b'{"a":{}},' * 1_300_000 + b"{}]}")
    outcome = hostile_logs.measure(path, timeout_s=TIMEOUT_S)
    assert outcome.rejects == {"E_RECORD_SIZE": 1}
    assert outcome.mebibytes < MAX_MEBIBYTES / 2


def test_a_dialogue_of_a_whole_document_has_the_limit_of_a_record(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    comments = [{"author_id": 1, "public": True, "plain_body": "x" * 90_000}] * 100
    path.write_text(json.dumps({"ticket": {"id": 1, "requester_id": 1}, "comments": comments}))
    outcome = hostile_logs.measure(path, ReadConfig(max_bad=1.0), timeout_s=TIMEOUT_S)
    assert outcome.rejects == {"E_RECORD_SIZE": 1}


@pytest.mark.slow
@pytest.mark.parametrize("end", ["", ">", "'>"])
@pytest.mark.parametrize("pump", ["<a href='", "<a b=", "<a ", "<!--", "<![", "&", "</a ", "<![x y>"])
def test_html_is_read_in_linear_time(pump: str, end: str) -> None:
    assert growth(lambda n: partial(read_html, pump * (n // len(pump)) + end), 40_000) < 10


def test_html_keeps_long_tags_and_loose_signs() -> None:
    picture = f'<img src="data:image/png;base64,{"A" * 30_000}">'
    html = f"<p>a &lt; b < c</p>{picture * 3}<b>d</b> <"
    assert assemble(html, read_html(html).pieces)[0] == "a < b < c\nd <"
