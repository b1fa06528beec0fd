"""Tables of any rows, read from each format."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dialint.detector.errors import InputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.ingest.readers.tables import detect_table_format, read_rows, read_table
from dialint.detector.ingest.sources import open_logs

ROWS = [{"task": "t1", "label": "yes"}, {"task": "t2", "label": "=no"}]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b"task,label\nt1,yes\nt2,'=no\n"),
        ("a.tsv", b"\xef\xbb\xbftask\tlabel\r\nt1\tyes\r\n\r\nt2\t=no\r\n"),
        ("a.jsonl", b'{"task": "t1", "label": "yes"}\n\n{"task": "t2", "label": "=no"}\n'),
        ("a.json", b'[{"task": "t1", "label": "yes"},\n {"task": "t2", "label": "=no"}]'),
        ("a.csv.gz", gzip.compress(b"task,label\nt1,yes\nt2,=no\n", mtime=0)),
    ],
)
def test_each_format_gives_the_same_rows(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert [row for _, row in read_table(path)] == ROWS


def test_a_parquet_file_gives_its_rows_by_number(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist([{**row, "n": 3} for row in ROWS]), path)
    assert list(read_table(path)) == [(1, {**ROWS[0], "n": 3}), (2, {**ROWS[1], "n": 3})]


def test_lines_are_those_of_the_file_and_empty_cells_are_none(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('task,label\n"two\nlines",\nt2,x\n')
    assert list(read_table(path)) == [
        (2, {"task": "two\nlines", "label": None}),
        (4, {"task": "t2", "label": "x"}),
    ]


def test_a_bad_row_is_a_fault_or_refuses_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("task,label\nt1,yes\nt2\nt3,no\n")
    (source,) = open_logs([str(path)])
    rows = list(read_rows(source, detect_table_format(source)))
    assert [row.line for row in rows] == [2, 3, 4]
    assert isinstance(rows[1].value, BadRecord)
    assert rows[1].value.code == "E_CSV"
    with pytest.raises(InputRefused, match=r"line 3: 1 cells; expected 2 cells") as refused:
        list(read_table(path))
    assert refused.value.code == "E_CSV"


def test_limits_are_those_of_the_config(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"task": "' + "x" * 100_000 + '"}\n')
    with pytest.raises(InputRefused, match=r"line 1: 100012 bytes; expected at most 100 bytes"):
        list(read_table(path, ReadConfig(max_record_bytes=100)))
