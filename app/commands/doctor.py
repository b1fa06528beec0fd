"""``dialint doctor``: what this machine can do, what is missing, and the command that mends it.

Looks and reports; changes nothing. Opens a connection only to a server that ``--vllm`` names, which is looked
at instead of the machine. Exit code 1 if the main job would not run, or the server cannot judge.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from dialint.detector import environment
from dialint.detector.errors import ConfigError, DialintError

State = Literal["ok", "missing", "broken"]
SERVER_S = 120.0
"""Timeout of a question to a server: it may compile at the first one."""


@dataclass(frozen=True)
class Fact:
    """One line of the report. `needed` facts decide whether `dialint score` would run."""

    what: str
    state: State
    result: str
    remedy: str = ""
    needed: bool = False


def doctor(*, vllm: str | None = None, model: str | None = None, key_file: Path | None = None) -> int:
    """Say what works on this machine, and what does not; or what a model server can do.

    Parameters
    ----------
    vllm
        URL of a server that is to judge, such as http://127.0.0.1:8000: look at that instead. It is asked a
        few short questions.
    model
        The model or adapter on it that is asked; without it the last one that the server lists.
    key_file
        File with the server's API key; without it the environment variable DIALINT_JUDGE_KEY.
    """
    if vllm is not None:
        return _server(vllm, model, key_file)
    if model is not None or key_file is not None:
        raise ConfigError("E_OPTION", "--model and --key-file are about the server that --vllm names")
    facts = list(diagnose())
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("", "what", "found", "remedy"):
        table.add_column(column, overflow="fold")
    marks = {"ok": "ok", "missing": "--", "broken": "!!"}
    for fact in facts:
        table.add_row(marks[fact.state], *map(escape, (fact.what, fact.result, fact.remedy)))
    screen = Console(width=None if sys.stdout.isatty() else 120, soft_wrap=not sys.stdout.isatty())
    screen.print(table)
    broken = [fact.what for fact in facts if fact.needed and fact.state != "ok"]
    screen.print(
        f"\ndialint score would not run: {', '.join(broken)}" if broken else "\ndialint score can run here."
    )
    return 1 if broken else 0


def _server(url: str, model: str | None, key_file: Path | None) -> int:
    """Print what a server can do. Returns 1 if it cannot judge."""
    from dialint.app.output import print_line, print_status, print_table
    from dialint.app.serving.capabilities import examine_server
    from dialint.app.serving.client import ServerClient
    from dialint.detector.judge.api_key import read_key

    key, note = read_key(key_file, "--key-file")
    if note:
        print_status(note)
    client = ServerClient.of(url, key, timeout_s=SERVER_S)
    results = list(examine_server(client, model, key_file))
    print_table(
        ("what", "can it", "found", "remedy"), [(f.what, f.state, f.result, f.remedy) for f in results]
    )
    lacking = [each.what for each in results if each.needed and each.state != "yes"]
    print_line(f"\nit cannot judge: {', '.join(lacking)}" if lacking else "\nit can judge.")
    return 1 if lacking else 0


def diagnose() -> Iterator[Fact]:
    """Yield every fact, the machine first."""
    yield Fact("dialint", "ok", _version("dialint") or "not installed as a package")
    yield Fact("Python", "ok", platform.python_version())
    yield Fact("processor", "ok", _processor())
    yield _memory()
    yield from _packages()
    yield _gpu()
    yield _release()
    yield _home()
    yield from map(_extra, environment.modules_by_extra())


def _processor() -> str:
    from dialint.detector.interface import available_cores

    return f"{available_cores()} cores, {platform.machine()}"


def _memory() -> Fact:
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    except (ValueError, OSError, AttributeError):
        return Fact("memory", "missing", "unknown on this system")
    if total < 2:
        return Fact("memory", "missing", f"{total:.1f} GiB", "the embedded release wants 2 GiB")
    return Fact("memory", "ok", f"{total:.1f} GiB")


def _packages() -> Iterator[Fact]:
    for name in ("torch", "transformers", "pyarrow", "pydantic"):
        installed = _version(name)
        if installed:
            yield Fact(name, "ok", installed, needed=True)
        else:
            yield Fact(name, "missing", "not installed", "pip install -c constraints.txt -e .", needed=True)


def _gpu() -> Fact:
    try:
        import torch
    except ImportError:
        return Fact("GPU", "missing", "torch is not installed")
    if not torch.cuda.is_available():
        return Fact("GPU", "missing", "none; models run on the processor")
    name, memory = torch.cuda.get_device_name(), torch.cuda.get_device_properties(0).total_memory / 2**30
    return Fact(
        "GPU", "ok", f"{torch.cuda.device_count()} x {name}, {memory:.0f} GiB, CUDA {torch.version.cuda}"
    )


def _release() -> Fact:
    from dialint.detector.release import EMBEDDED, Release

    def check() -> str:
        info = Release(EMBEDDED).info
        return f"{info.id}, verified, covers {' '.join(info.codes)}"

    return _attempt("embedded release", check, "install dialint again: the package is damaged", needed=True)


def _home() -> Fact:
    from dialint.detector.registry import home_folder

    home = home_folder()

    def check() -> str:
        there = next(folder for folder in (home, *home.parents) if folder.exists())
        if not os.access(there, os.W_OK):
            raise PermissionError(f"{there} is not writable")
        free = shutil.disk_usage(there).free / 2**30
        return f"{home} {'exists' if home.exists() else 'will be made'}, {free:.0f} GiB free"

    return _attempt("store", check, "set DIALINT_HOME to a folder that can be written")


def _attempt(what: str, check: Callable[[], str], remedy: str, *, needed: bool = False) -> Fact:
    try:
        return Fact(what, "ok", check(), needed=needed)
    except (DialintError, OSError) as error:
        return Fact(what, "broken", str(error), remedy, needed)


def _extra(extra: str) -> Fact:
    """Return whether all libraries of an extra are there."""
    if lacking := environment.missing_modules(extra):
        return Fact(
            f"extra {extra}", "missing", f"lacks {', '.join(lacking)}", environment.install_command(extra)
        )
    return Fact(f"extra {extra}", "ok", ", ".join(environment.modules_by_extra()[extra]))


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
