"""Commands on a store with people, run in this process."""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dialint.app.cli import app

Dialint = Callable[..., str]


@pytest.fixture
def dialint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Dialint:
    """Runs a command in this process; what it printed."""
    monkeypatch.setenv("DIALINT_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> str:
        capsys.readouterr()
        assert app([str(one) for one in arguments], result_action="return_value") in (0, None)
        return capsys.readouterr().out

    return run


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A store with people, and their passwords, made by commands."""
    path = tmp_path_factory.mktemp("template") / "store.sqlite"
    printed = io.StringIO()

    def run(*arguments: str) -> None:
        with contextlib.redirect_stdout(printed):
            app([*arguments, "--store", str(path)], result_action="return_value")

    run("db", "upgrade")
    run("label", "account", "create", "ada", "--role", "admin", "--as", "ada")
    for name, role, *options in (
        ("lea", "lead", "--skill", "g"), ("eve", "expert", "--skill", "g"), ("emil", "expert"),
        ("rob", "reviewer"), ("ann", "labeler", "--skill", "g"),
        ("ben", "labeler", "--skill", "g", "--agent", "agent-ben"),
    ):  # fmt: skip
        run("label", "account", "create", name, "--role", role, *options, "--as", "ada")
    lines = printed.getvalue().splitlines()[1:]
    return path, {line.split()[0]: line.split()[-1] for line in lines}


@pytest.fixture
def people(
    dialint: Dialint, template: tuple[Path, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """Accounts and their passwords; `lea`, a lead, acts."""
    shutil.copyfile(template[0], tmp_path / "store.sqlite")
    if (key := Path(f"{template[0]}.key")).exists():
        shutil.copyfile(key, tmp_path / "store.sqlite.key")
    monkeypatch.setenv("DIALINT_ACCOUNT", "lea")
    return template[1]
