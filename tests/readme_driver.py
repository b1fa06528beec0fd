"""Runs command lines in one process, one after another, and says of each how it ended: libraries that take
seconds to import are imported once, as processes that judge are forks of it. Read by `test_readme`; lines come
by standard input."""

from __future__ import annotations

import importlib
import json
import os
import resource
import runpy
import shlex
import sys
from pathlib import Path

from dialint.app.cli import main

sys.path.append(str(Path(__file__).with_name("detector")))
os.posix_spawn = importlib.import_module("forked_worker").spawn


def seconds() -> float:
    """Processor time of this process and of those that it has waited for."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def run(line: str) -> int:
    """The exit code of one command."""
    words = shlex.split(line, comments=True)
    if words[0] == "printf":
        return os.system(line)
    if words[0] == "export":
        for word in words[1:]:
            name, _, value = word.partition("=")
            os.environ[name] = value
        return 0
    try:
        if words[:2] == ["python", "-m"]:
            sys.argv = words[2:]
            runpy.run_module(words[2], run_name="__main__", alter_sys=True)
        elif words[0] == "python":
            sys.argv = words[1:]
            runpy.run_path(words[1], run_name="__main__")
        elif words[0] == "dialint":
            sys.argv = words
            main()
        else:
            raise ValueError(f"unknown command {words[0]}")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


for line in sys.stdin:
    started = seconds()
    code = run(line)
    sys.stdout.flush()
    sys.stderr.flush()
    print("\0" + json.dumps({"code": code, "seconds": round(seconds() - started, 1)}), flush=True)
