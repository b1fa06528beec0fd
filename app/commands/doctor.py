"""``dialint doctor``: reports what works on this machine, what is missing, and the command that fixes it.

Changes nothing and opens no connection. Exit code 1 if `dialint score` would not run. To test a model server:
``dialint score LOG --judge URL --limit 1``.
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
class CheckResult:
    """The result of one check: a row of the report. `dialint score` runs if all `needed` ones are ok."""

    name: str
    state: State
    result: str
    remedy: str = ""
    needed: bool = False


def doctor() -> int:
    """Say what works on this machine, and what does not."""
    checks = list(diagnose())
    marks = {"ok": "ok", "missing": "--", "broken": "!!"}
    rows = [(marks[check.state], check.name, check.result, check.remedy) for check in checks]
    print_table(("", "what", "found", "remedy"), rows)
    broken = [check.name for check in checks if check.needed and check.state != "ok"]
    print_line(
        f"\ndialint score would not run: {', '.join(broken)}" if broken else "\ndialint score can run here."
    )
    return 1 if broken else 0


def diagnose() -> Iterator[CheckResult]:
    """Runs all checks, those of the machine first."""
    from dialint.detector.interface import available_cores
    from dialint.detector.release import EMBEDDED, Release

    yield CheckResult("dialint", "ok", _version("dialint") or "not installed as a package")
    yield CheckResult("Python", "ok", platform.python_version())
    yield CheckResult("processor", "ok", f"{available_cores()} cores, {platform.machine()}")
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
        remedy = "" if total >= 2 else "the embedded release wants 2 GiB"
        yield CheckResult("memory", "missing" if remedy else "ok", f"{total:.1f} GiB", remedy)
    except (ValueError, OSError, AttributeError):
        yield CheckResult("memory", "missing", "unknown on this system")
    for name in ("onnxruntime", "tokenizers", "pydantic"):
        if installed := _version(name):
            yield CheckResult(name, "ok", installed, needed=True)
        else:
            yield CheckResult(
                name, "missing", "not installed", "pip install -c constraints.txt -e .", needed=True
            )
    yield _gpu()

    def check_release() -> str:
        info = Release(EMBEDDED).info
        return f"{info.id}, verified, covers {' '.join(info.covered)}"

    remedy = "install dialint again: the package is damaged"
    yield _run("embedded release", check_release, remedy, needed=True)
    yield _run("store", _check_home, "set DIALINT_HOME to a folder that can be written")
    for extra, modules in environment.modules_by_extra().items():
        if lacking := environment.missing_modules(extra):
            lacks, command = f"lacks {', '.join(lacking)}", environment.install_command(extra)
            yield CheckResult(f"extra {extra}", "missing", lacks, command)
        else:
            yield CheckResult(f"extra {extra}", "ok", ", ".join(modules))


def _gpu() -> CheckResult:
    try:
        import torch
    except ImportError:
        return CheckResult("GPU", "missing", "torch is not installed")
    if not torch.cuda.is_available():
        return CheckResult("GPU", "missing", "none; models run on the processor")
    name, memory = torch.cuda.get_device_name(), torch.cuda.get_device_properties(0).total_memory / 2**30
    return CheckResult(
        "GPU", "ok", f"{torch.cuda.device_count()} x {name}, {memory:.0f} GiB, CUDA {torch.version.cuda}"
    )


def _check_home() -> str:
    home = environment.home_folder()
    existing = next(folder for folder in (home, *home.parents) if folder.exists())
    if not os.access(existing, os.W_OK):
        raise PermissionError(f"{existing} is not writable")
    free = shutil.disk_usage(existing).free / 2**30
    return f"{home} {'exists' if home.exists() else 'will be made'}, {free:.0f} GiB free"


def _run(name: str, check: Callable[[], str], remedy: str, *, needed: bool = False) -> CheckResult:
    try:
        return CheckResult(name, "ok", check(), needed=needed)
    except (DialintError, OSError) as error:
        return CheckResult(name, "broken", str(error), remedy, needed)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
