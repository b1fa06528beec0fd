"""A missing extra: every command says in one line what to install, before it reads or writes anything."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from cyclopts import App

from dialint.app.cli import EXTRAS, app
from dialint.detector import environment

WITHOUT_EXTRAS = """
import contextlib, io, json, sys

blocked, commands, options = set(json.loads(sys.argv[1])), json.loads(sys.argv[2]), sys.argv[3:]

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
touched = []
sys.addaudithook(lambda event, args: touched.append(str(args[0])) if event == "open" else None)
from dialint.app.cli import main

told = []
for command in commands:
    touched.clear()
    sys.argv = ["dialint", *command.split(), *options]
    with contextlib.redirect_stderr(io.StringIO()) as errors, contextlib.redirect_stdout(io.StringIO()) as output:
        try:
            code = main()
        except SystemExit as end:
            code = end.code
    told.append([command, code, errors.getvalue(), "input.jsonl" in "".join(touched)])
print(json.dumps(told))
"""


def commands(group: App = app, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Every command that can be typed."""
    for name in group:
        if not name.startswith("-"):
            child = group[name]
            if child.default_command is not None:
                yield " ".join((*path, name))
            yield from commands(child, (*path, name))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return run_all(tmp_path_factory, "--no-such-option", "input.jsonl")


def run_all(tmp_path_factory: pytest.TempPathFactory, *options: str) -> list[Any]:
    """Command, exit code, standard error and whether the input was opened, with all extras missing."""
    folder = tmp_path_factory.mktemp("empty")
    (folder / "input.jsonl").write_text("{}\n")
    missing = {name for names in environment.modules_by_extra().values() for name in names} - {
        "huggingface_hub",
        "httpx2",
    }
    arguments = (json.dumps(sorted(missing)), json.dumps(list(commands())))
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, *arguments, *options], cwd=folder, capture_output=True, text=True,
        env={"PYTHONPATH": os.environ.get("PYTHONPATH", ""), "PATH": "", "HOME": str(folder), "COLUMNS": "400"}, check=True,
    )  # fmt: skip
    assert [path.name for path in folder.iterdir()] == ["input.jsonl"]
    told: list[Any] = json.loads(ended.stdout)
    return told


def test_help_without_extras_is_shown_or_names_the_extra(tmp_path_factory: pytest.TempPathFactory) -> None:
    for command, code, message, _ in run_all(tmp_path_factory, "--help"):
        assert (code or 0) in (0, 2), (command, message)
        if code:
            assert re.fullmatch(
                r"dialint: E_EXTRA: this needs \w+: pip install 'dialint\[\w+\]'\n", message
            ), message


def test_every_command_runs_or_names_its_extra(results: list[Any]) -> None:
    assert len(results) > 60
    for command, code, message, opened in results:
        assert "defect of dialint" not in message, (command, message)
        assert not opened, command
        extra = next((EXTRAS[name] for name in EXTRAS if f"{command} ".startswith(f"{name} ")), None)
        if extra is None:
            assert "E_EXTRA" not in message, command
            parsed = "no-such-option" in message or "requires an argument" in message
            assert parsed, (command, message)
        else:
            assert code == 2, command
            assert message.startswith("dialint: E_EXTRA: "), (command, message)
            assert message.endswith(f": pip install 'dialint[{extra}]'\n"), (command, message)
            assert message.count("\n") == 1, command


@pytest.mark.parametrize("group", ["export", "import"])
def test_every_command_has_its_line_in_the_help(group: str) -> None:
    """As the group lists it before a command's module is imported; other groups are made of the table."""
    arguments = [sys.executable, "-m", "dialint", group, "--help"]
    shown = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    names = [command.removeprefix(f"{group} ") for command in commands() if command.startswith(f"{group} ")]
    assert len(names) >= 3
    for name in names:
        assert re.search(rf"│ {name} +\w", shown), name


def test_the_table_names_commands_and_extras_that_exist() -> None:
    typed = tuple(commands())
    for command, extra in EXTRAS.items():
        assert any(f"{name} ".startswith(f"{command} ") for name in typed), command
        assert extra in environment.modules_by_extra()


def test_libraries_are_named_as_they_are_imported() -> None:
    distributions = packages_distributions()
    for extra, names in environment.modules_by_extra().items():
        if extra not in ("cluster", "vllm"):  # not installed where the tests run
            for name in names:
                assert name in distributions, (extra, name)
    assert set(environment.modules_by_extra()["crowd"]) < set(environment.modules_by_extra()["console"])
    assert environment.extra_providing("sqlalchemy.orm") == "crowd"
    assert environment.extra_providing("tomllib") is None


def test_a_folder_of_that_name_is_no_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "streamlot").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert not environment.is_installed("streamlot")
    assert environment.is_installed("json")
