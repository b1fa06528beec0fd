"""The labelled lines: recall on plain and obfuscated forms, false masks on clean support text.

The development half was looked at while the rules were written, the test half was not.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from masking_recall import Line, Tally, language_table, main, measure, read_lines

LINES = Path(__file__).parents[1] / "masking_lines.jsonl"
RECALL_LINES = Path(__file__).parents[1] / "masking_recall_lines.jsonl"
"""Made-up lines in five languages. Those of the author "other" were written by somebody who had not seen the
rules, those of "rules" by the author of the rules, before the rules that they ask for. Half of either, drawn by a
hash of the text, were looked at while the rules were extended (2026-11-23); of the others only figures were."""

FLOORS = {
    ("other", "development"): {"all": 0.97, "NAME": 0.95, "ADDRESS": 0.95, "SECRET": 0.95},
    ("other", "test"): {"all": 0.88, "ACCOUNT": 0.7, "ADDRESS": 0.75, "NAME": 0.86, "SECRET": 0.7}
    | dict.fromkeys(("BIRTH", "EMAIL", "ID", "PHONE", "PLATE", "VIN"), 0.95),
    ("rules", "development"): {"all": 0.97, "NAME": 0.95, "ADDRESS": 0.95, "SECRET": 0.95},
    ("rules", "test"): {"all": 0.92, "NAME": 0.9, "ADDRESS": 0.9, "BIRTH": 0.85, "SECRET": 0.95},
}
"""A little below what was measured, by author, half and type."""
LANGUAGE_FLOORS = {
    ("other", "development"): {"de": 0.97, "en": 0.95, "es": 0.97, "fr": 0.97, "ru": 0.97},
    ("other", "test"): {"de": 0.86, "en": 0.88, "es": 0.88, "fr": 0.84, "ru": 0.85},
    ("rules", "development"): {"de": 0.95, "en": 0.9, "es": 0.95, "fr": 0.95, "ru": 0.95},
    ("rules", "test"): {"de": 0.83, "en": 0.91, "es": 0.93, "fr": 0.93, "ru": 0.93},
}


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    return read_lines(LINES)


@pytest.fixture(scope="module", params=["development", "test"])
def tally(request: pytest.FixtureRequest, lines: list[Line]) -> Tally:
    return measure(line for line in lines if line.half == request.param)


def test_forms_are_masked_and_clean_lines_are_not(tally: Tally) -> None:
    assert tally.recall("plain") >= 0.99
    assert tally.recall("obfuscated") >= 0.90
    assert tally.false_per_thousand("clean") <= 15
    assert tally.false_per_thousand("plain") <= 15


@pytest.mark.parametrize(("author", "half"), FLOORS)
def test_recall_lines_by_author_type_and_language(author: str, half: str) -> None:
    lines = [line for line in read_lines(RECALL_LINES) if (line.author, line.half) == (author, half)]
    tally = measure(lines)
    print(language_table(tally))
    assert len(lines) >= 190
    for place, floors in ((0, FLOORS[author, half]), (1, LANGUAGE_FLOORS[author, half])):
        for name, floor in floors.items():
            counts = {
                what: sum(
                    n
                    for key, n in tally.by_language.items()
                    if key[2] == what and name in (key[place], "all")
                )
                for what in ("hits", "entities")
            }
            assert counts["hits"] / counts["entities"] >= floor, (name, counts)
    assert tally.false_masks["clean"] == tally.false_masks["plain"] == 0


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
