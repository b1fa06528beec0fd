"""``dialint doctor``: what this machine can do, what is missing, and the command that mends it.

Looks and reports; changes nothing and opens no connection. Exit code 1 if the main job would not run. What a
model server can do says ``dialint score LOG --judge URL --limit 1``.
"""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

from dialint.app.output import print_line, print_table
from dialint.detector import environment
from dialint.detector.errors import DialintError

State = Literal["ok", "missing", "broken"]


@dataclass(frozen=True)
class Fact:
    """One line of the report. `needed` facts decide whether `dialint score` would run."""

    what: str
    state: State
    result: str
    remedy: str = ""
    needed: bool = False


def doctor() -> int:
    """Say what works on this machine, and what does not."""
    facts = list(diagnose())
    marks = {"ok": "ok", "missing": "--", "broken": "!!"}
    rows = [(marks[fact.state], fact.what, fact.result, fact.remedy) for fact in facts]
    print_table(("", "what", "found", "remedy"), rows)
    broken = [fact.what for fact in facts if fact.needed and fact.state != "ok"]
    print_line(
        f"\ndialint score would not run: {', '.join(broken)}" if broken else "\ndialint score can run here."
    )
    return 1 if broken else 0


def diagnose() -> Iterator[Fact]:
    """Yield every fact, the machine first."""
    from dialint.detector.interface import available_cores
    from dialint.detector.release import EMBEDDED, Release

    yield Fact("dialint", "ok", _version("dialint") or "not installed as a package")
    yield Fact("Python", "ok", platform.python_version())
    yield Fact("processor", "ok", f"{available_cores()} cores, {platform.machine()}")
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
        remedy = "" if total >= 2 else "the embedded release wants 2 GiB"
        yield Fact("memory", "missing" if remedy else "ok", f"{total:.1f} GiB", remedy)
    except (ValueError, OSError, AttributeError):
        yield Fact("memory", "missing", "unknown on this system")
    for name in ("onnxruntime", "tokenizers", "pydantic"):
        if installed := _version(name):
            yield Fact(name, "ok", installed, needed=True)
        else:
            yield Fact(name, "missing", "not installed", "pip install -c constraints.txt -e .", needed=True)
    yield _gpu()

    def check_release() -> str:
        info = Release(EMBEDDED).info
        return f"{info.id}, verified, covers {' '.join(info.covered)}"

    remedy = "install dialint again: the package is damaged"
    yield _attempt("embedded release", check_release, remedy, needed=True)
    yield _attempt("store", _check_home, "set DIALINT_HOME to a folder that can be written")
    for extra, modules in environment.modules_by_extra().items():
        if lacking := environment.missing_modules(extra):
            lacks, command = f"lacks {', '.join(lacking)}", environment.install_command(extra)
            yield Fact(f"extra {extra}", "missing", lacks, command)
        else:
            yield Fact(f"extra {extra}", "ok", ", ".join(modules))


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


def _check_home() -> str:
    home = environment.home_folder()
    there = next(folder for folder in (home, *home.parents) if folder.exists())
    if not os.access(there, os.W_OK):
        raise PermissionError(f"{there} is not writable")
    free = shutil.disk_usage(there).free / 2**30
    return f"{home} {'exists' if home.exists() else 'will be made'}, {free:.0f} GiB free"


def _attempt(what: str, check: Callable[[], str], remedy: str, *, needed: bool = False) -> Fact:
    try:
        return Fact(what, "ok", check(), needed=needed)
    except (DialintError, OSError) as error:
        return Fact(what, "broken", str(error), remedy, needed)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
