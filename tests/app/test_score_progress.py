"""Progress shows numbers: on a terminal as a bar, elsewhere as lines, and nothing if told so."""

import sys

import pytest

from app.scoring import progress as module
from app.scoring.progress import progress


def test_lines_say_how_many_how_fast_and_how_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 0.0, 100.0, 200.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    with progress(quiet=False) as tell:
        tell(1_000, 0.5)  # an earlier run did these
        tell(1_500, 0.6)
        tell(3_000, 0.9)
    assert capsys.readouterr().err.splitlines() == [
        "dialint: 1,500 dialogues, 5 a second, 60%, 400 s left",
        "dialint: 3,000 dialogues, 10 a second, 90%, 50 s left",
    ]


def test_lines_promise_nothing_when_the_share_is_unknown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINE_EVERY_S", 0.0)
    with progress(quiet=False) as tell:
        tell(1, 0.0)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("dialint: 1 dialogues, ")
    assert "left" not in line


def test_bar_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    with progress(quiet=False) as tell:
        tell(7, 0.25)
        tell(9, 0.5)
    printed = capsys.readouterr().err
    assert "9 dialogues" in printed
    assert "50%" in printed


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINE_EVERY_S", 0.0)
    with progress(quiet=True) as tell:
        tell(7, 0.25)
    assert capsys.readouterr().err == ""
