"""`dialint doctor`: what works, what is missing, and the command that fixes it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import dialint.app.commands.doctor
import dialint.detector.release
from dialint.app.commands.doctor import diagnose, doctor
from dialint.detector import environment
from dialint.detector.release import EMBEDDED, Release


def test_a_sound_machine_can_score(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor() == 0
    output = capsys.readouterr().out
    assert f"{Release(EMBEDDED).info.id}, verified" in output
    assert "dialint score can run here." in output


def test_a_damaged_release_is_reported_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dialint.detector.release, "EMBEDDED", tmp_path)
    assert doctor() == 1
    assert "would not run: embedded release" in capsys.readouterr().out


def test_a_missing_extra_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialint.app.commands.doctor, "_version", lambda _: None)
    monkeypatch.setattr(environment, "find_spec", lambda _: None)
    checks = {check.name: check for check in diagnose()}
    assert checks["extra console"].state == "missing"
    assert checks["extra console"].remedy == "pip install 'dialint[console]'"
    assert checks["onnxruntime"].needed


def test_a_store_that_cannot_be_written_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIALINT_HOME", str(tmp_path / "store"))
    monkeypatch.setattr(os, "access", lambda *_: False)
    checks = {check.name: check for check in diagnose()}
    assert checks["store"].state == "broken"
    assert "DIALINT_HOME" in checks["store"].remedy
