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

blocked, lines = map(json.loads, sys.argv[1:])

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
touched = []
sys.addaudithook(lambda event, args: touched.append(str(args[0])) if event == "open" else None)
from dialint.app.cli import main

results = {}
for line in lines:
    touched.clear()
    sys.argv = ["dialint", *line.split()]
    with contextlib.redirect_stderr(io.StringIO()) as errors, contextlib.redirect_stdout(io.StringIO()) as output:
        try:
            code = main()
        except SystemExit as end:
            code = end.code
    results[line] = code or 0, output.getvalue(), errors.getvalue(), "input.jsonl" in "".join(touched)
print(json.dumps(results))
"""
HELP, WRONG = "--help", "--no-such-option input.jsonl"
GROUPS = ("export", "import")
"""Groups that name their commands; others are made of the table."""


def commands(group: App = app, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Every command that can be typed."""
    for name in group:
        if not name.startswith("-"):
            child = group[name]
            if child.default_command is not None:
                yield " ".join((*path, name))
            yield from commands(child, (*path, name))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """By line: exit code, output, errors and whether the input was opened, with all extras missing. The help of
    groups comes first, before a command's module is imported."""
    folder = tmp_path_factory.mktemp("empty")
    (folder / "input.jsonl").write_text("{}\n")
    missing = {name for names in environment.modules_by_extra().values() for name in names}
    lines = [f"{each} {HELP}" for each in (*GROUPS, *commands())] + [f"{each} {WRONG}" for each in commands()]
    arguments = (json.dumps(sorted(missing - {"huggingface_hub", "httpx2"})), json.dumps(lines))
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, *arguments], cwd=folder, capture_output=True, text=True,
        env={"PYTHONPATH": os.environ.get("PYTHONPATH", ""), "PATH": "", "HOME": str(folder), "COLUMNS": "400"}, check=True,
    )  # fmt: skip
    assert [path.name for path in folder.iterdir()] == ["input.jsonl"]
    content: dict[str, Any] = json.loads(ended.stdout)
    return content


def test_help_without_extras_works_or_names_the_extra(results: dict[str, Any]) -> None:
    for command in commands():
        code, _, message, _ = results[f"{command} {HELP}"]
        assert code in (0, 2), (command, message)
        if code:
            assert re.fullmatch(
                r"dialint: E_EXTRA: this needs \w+: pip install 'dialint\[\w+\]'\n", message
            ), message


def test_every_command_runs_or_names_its_extra(results: dict[str, Any]) -> None:
    assert len([*commands()]) > 60
    for command in commands():
        code, _, message, opened = results[f"{command} {WRONG}"]
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


@pytest.mark.parametrize("group", GROUPS)
def test_every_command_has_its_line_in_the_help(group: str, results: dict[str, Any]) -> None:
    names = [command.removeprefix(f"{group} ") for command in commands() if command.startswith(f"{group} ")]
    assert len(names) >= 3
    for name in names:
        assert re.search(rf"│ {name} +\w", results[f"{group} {HELP}"][1]), name


def test_the_table_names_commands_and_extras_that_exist() -> None:
    typed = tuple(commands())
    for command, extra in EXTRAS.items():
        assert any(f"{name} ".startswith(f"{command} ") for name in typed), command
        assert extra in environment.modules_by_extra()


def test_libraries_are_listed_as_they_are_imported() -> None:
    distributions = packages_distributions()
    for extra, names in environment.modules_by_extra().items():
        if extra not in ("cluster", "vllm"):  # not installed where the tests run
            for name in names:
                assert name.partition(".")[0] in distributions, (extra, name)
    assert set(environment.modules_by_extra()["crowd"]) < set(environment.modules_by_extra()["console"])
    assert environment.extra_providing("sqlalchemy.orm") == "crowd"
    assert environment.extra_providing("tomllib") is None


def test_a_folder_of_that_name_is_no_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "streamlot").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert not environment.is_installed("streamlot")
    assert environment.is_installed("json")


def test_a_full_standard_output_is_a_line() -> None:
    log = Path(__file__).parents[2] / "app/sample/dialogues.jsonl"
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dialint", "score", str(log), "--quiet"], stdout=full, stderr=subprocess.PIPE,
            text=True, timeout=300, check=False,
        )  # fmt: skip
    assert done.returncode == 3
    assert done.stderr.startswith("dialint: E_WRITE: standard output: No space left on device")
