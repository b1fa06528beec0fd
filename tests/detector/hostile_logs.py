"""Hostile logs from a seed, and what reading each costs, measured in a process of its own.

Run: ``python tests/detector/hostile_logs.py`` (all of them, to standard output, a table). Every log is
made up. Time is CPU time of inspecting and reading the file, less what a file of two honest lines takes;
memory is the peak over that of the same process before it opened the file.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
import traceback
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

from detector.errors import UserError
from detector.ingest.config import ReadConfig
from detector.ingest.read import Counts, Reject, inspect, open_logs, read


class Outcome(NamedTuple):
    """What became of a log: error code of the whole file, or of its records with how many; CPU seconds and
    MiB over what the process held before."""

    refused: str | None
    loaded: int
    rejects: dict[str, int]
    seconds: float
    mebibytes: float
    traceback: str = ""


def memory_kib(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1])


def outcome_of(path: Path, config: ReadConfig) -> Outcome:
    """Read a log in this process."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before, began = memory_kib("VmRSS"), time.process_time()
    refused, error, loaded = None, "", 0
    rejects: dict[str, int] = {}
    try:
        sources = open_logs([str(path)])
        for source in sources:
            inspect(source, config)
        for record in read(sources, config, Counts()):
            if isinstance(record, Reject):
                rejects[record.code] = rejects.get(record.code, 0) + 1
            else:
                loaded += 1
    except UserError as refusal:
        refused = refusal.code
    except BaseException:  # noqa: BLE001  what must never happen is reported, not raised here
        error = traceback.format_exc()
    seconds = time.process_time() - began
    return Outcome(refused, loaded, rejects, seconds, (memory_kib("VmHWM") - before) / 1024, error)


def measured(path: Path, config: ReadConfig | None = None, timeout_s: int = 0) -> Outcome:
    """Read a log in a forked child, which has everything imported already."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        import signal

        signal.alarm(timeout_s)  # the kernel's default: the child is ended
        outcome = outcome_of(path, config or ReadConfig(max_bad=1.0))
        os.write(send, json.dumps(outcome).encode())
        os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    if not data:
        return Outcome(None, 0, {}, float(timeout_s), 0.0, f"ended by signal or status {status}")
    return Outcome(*json.loads(data))
