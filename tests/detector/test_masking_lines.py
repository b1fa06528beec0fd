"""The labelled lines: recall on plain and obfuscated forms, false masks on clean support text.

The development half was looked at while the rules were written, the test half was not.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.masking import Line, Tally, main, measure, read_lines

LINES = Path(__file__).parent / "masking_lines.jsonl"


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    return read_lines(LINES)


@pytest.fixture(scope="module", params=["development", "test"])
def tally(request: pytest.FixtureRequest, lines: list[Line]) -> Tally:
    return measure(line for line in lines if line.half == request.param)


def test_the_lines_are_many_and_each_is_there_once(lines: list[Line]) -> None:
    assert len(lines) >= 400
    assert sum(line.kind == "clean" for line in lines if line.half == "test") >= 60
    assert sum(line.kind == "clean" for line in lines) >= 120
    assert len({line.text for line in lines}) == len(lines)
    assert all(bool(line.entities) == (line.kind != "clean") for line in lines)


def test_plain_forms_are_found(tally: Tally) -> None:
    assert tally.recall("plain") >= 0.99


def test_obfuscated_forms_are_found(tally: Tally) -> None:
    assert tally.recall("obfuscated") >= 0.90


def test_clean_lines_are_left_alone(tally: Tally) -> None:
    assert tally.false_per_thousand("clean") <= 15
    assert tally.false_per_thousand("plain") <= 15


def test_the_report_names_no_text(lines: list[Line], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(LINES), "--half", "test", "--misses"]) == 0
    printed = capsys.readouterr().out
    assert "false masks on clean lines" in printed
    assert not any(line.text in printed for line in lines if len(line.text) > 12)


def test_a_line_without_labels_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text('{"text": "secret", "kind": "plain"}\n')
    assert main([str(path)]) == 2
    message = capsys.readouterr().err
    assert f"{path}:1" in message
    assert "secret" not in message
