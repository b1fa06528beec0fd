"""Runs ``dialint score`` with a fake detector and, if asked, a fault at the n-th write step.

Usage: ``fault_driver.py JSON`` for one run, or ``fault_driver.py`` to read such JSON line by line, fork a
process for each, and answer with a line ``{"status", "out", "err"}``; status is minus the signal that
killed it. JSON has `logs`, `options` of `ScoreConfig`, and any of
`release` (id of the fake release), `temporary` (folder for temporary files), `pause_s` (per chunk), `kill_after_s`, `kill_at` (n: SIGKILL within
the n-th write step), `full_after` (bytes that still fit on the disk), `fsync_error_at` (n),
`hang_at` (id of a dialogue that is never judged), `kill_when_hung` (a file that is made when it hangs: SIGKILL then),
`stop_at` (n: the signal `stop_with` to ourselves while the n-th chunk is at work), `grace_s`,
`suggest` (codes whose findings are suggestions), `store` (of `--import`), `judged` (a file that gets the id of each dialogue that is judged), `count_steps` (print ``[write steps, bytes written, fsyncs]``), `memory` (print the peak memory in KiB).
"""

from __future__ import annotations

import builtins
import errno
import gc
import json
import os
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

sys.path.insert(0, str(Path(__file__).parents[2]))

from dialint.app.scoring import job as scoring_job
from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.app.store_session import SessionConfig, StoreConfig
from dialint.detector import artifacts
from dialint.detector.checks import append_proof
from dialint.detector.errors import DialintError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.interface import PlainDetector
from dialint.detector.records import Dialogue, Finding, Severity, Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.watchdog import WatchConfig

CODES: tuple[tuple[str, Severity], ...] = (("C1", "S2"), ("L1", "S4"), ("V2", "S1"))


class FakeDetector(PlainDetector):
    """Answers by rule: the same dialogue always gets the same verdict, and some fail."""

    def __init__(self, about: dict[str, Any]) -> None:
        self.release = about.get("release", "fake-1")
        self.fingerprint = f"fingerprint of {self.release}"
        self.taxonomy = load_taxonomy()
        self.codes = tuple(code for code, _ in CODES)
        self._about = about
        self._chunks = 0
        self._owner = os.getpid()  # it judges in a worker

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        self._chunks += 1
        if self._chunks == self._about.get("stop_at"):
            os.kill(self._owner, signal.Signals[self._about["stop_with"]])
        time.sleep(self._about.get("pause_s", 0.0))
        hangs = self._about.get("hang_at") in [dialogue.id for dialogue in dialogues]
        if hangs and "kill_when_hung" in self._about:
            Path(self._about["kill_when_hung"]).touch()
        while hangs:
            pass
        if "judged" in self._about:
            with builtins.open(self._about["judged"], "a") as judged:
                judged.writelines(f"{dialogue.id} {len(dialogue.turns)}\n" for dialogue in dialogues)
        return [self._verdict(dialogue, all_probabilities) for dialogue in dialogues]

    def _verdict(self, dialogue: Dialogue, all_probabilities: bool) -> Verdict:
        about = {"dialogue_id": dialogue.id, "release": self.release, "taxonomy": self.taxonomy.version}
        if "unanswerable" in dialogue.turns[0].text:
            return Verdict(**about, status="failed", failure="E_FAKE")
        agent = next((turn for turn in dialogue.turns if turn.role == "agent"), None)
        if agent is None:
            return Verdict(**about, status="failed", failure="E_NO_AGENT_TURN")
        number, quote = sum(map(ord, dialogue.id)), agent.text[:20]
        reported = [
            Finding(
                code=code, turn=agent.index, severity=severity, probability=(number * 7919 % 1000) / 1000,
                quote=quote, start=0, end=len(quote), reason=f"because {number}",
            )
            for code, severity in CODES[: number % 4 % 3]
        ]  # fmt: skip
        suggest = self._about.get("suggest", ())
        findings = tuple(each for each in reported if each.code not in suggest)
        probabilities = {agent.index: {code: number % 97 / 97 for code, _ in CODES}}
        return Verdict(
            **about, status="scored", quality=self.taxonomy.quality(findings, None), findings=findings,
            suggestions=tuple(append_proof(each, "demoted: no proof") for each in reported if each.code in suggest),
            probabilities=probabilities if all_probabilities else None,
        )  # fmt: skip


class Faults:
    """Counts write steps and strikes in one of them; a write is struck when half of it is done."""

    def __init__(self, about: dict[str, Any]) -> None:
        self.steps = self.written = self.fsyncs = 0
        self.kill_at = about.get("kill_at")
        self.fsync_error_at = about.get("fsync_error_at")
        self.full_after = about.get("full_after")

    def before(self) -> bool:
        self.steps += 1
        return self.steps == self.kill_at

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A step that is struck either before or after it is done: each is a step of its own."""

        def step(*args: Any, **kwargs: Any) -> Any:
            if self.before():
                die()
            result = function(*args, **kwargs)
            if self.before():
                die()
            return result

        return step

    def write(self, handle: int, data: Any) -> int:
        view = memoryview(data)
        if self.before():
            real_write(handle, view[: len(view) // 2])
            die()
        if self.full_after is not None and self.written + len(view) > self.full_after:
            view = view[: self.full_after - self.written]
            if not view:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.written += len(view)
        return real_write(handle, view)

    def fsync(self, handle: int) -> None:
        self.fsyncs += 1
        if self.fsyncs == self.fsync_error_at:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if self.before():
            die()
        no_fsync(handle)

    def open(self, file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        """Files that artifacts opens for writing, without a buffer, so that each write is a step."""
        if not set(mode) & set("wxa"):
            return builtins.open(file, mode, *args, **kwargs)
        faults = self

        raw = builtins.open(file, mode, buffering=0)  # noqa: SIM115  closed by whoever asked for it

        class Struck:
            def __enter__(self) -> Struck:
                return self

            def __exit__(self, *ignored: object) -> None:
                raw.close()

            def write(self, data: Any) -> int:
                rest = memoryview(data)
                while rest:
                    rest = rest[faults.write(raw.fileno(), rest) :]
                return len(data)

            def writelines(self, lines: Any) -> None:
                for line in lines:
                    self.write(line)

            def __getattr__(self, name: str) -> Any:
                return getattr(raw, name)

        return Struck()


real_write = os.write


def no_fsync(handle: int) -> None:
    """Skips fsync in forked runs, which is most of their time: a kill, unlike a power failure, loses no data."""


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def install(faults: Faults) -> None:
    os.write = faults.write
    os.fsync = faults.fsync  # type: ignore[assignment]
    for name in ("replace", "unlink", "mkdir", "rmdir", "ftruncate"):
        setattr(os, name, faults.wrap(getattr(os, name)))
    artifacts.open = faults.open  # type: ignore[attr-defined]


def main(about: dict[str, Any]) -> int:
    """One run; its exit code."""
    faults = Faults(about)
    if {"kill_at", "fsync_error_at", "full_after", "count_steps"} & set(about):
        install(faults)
    scoring_job.GRACE_S = about.get("grace_s", scoring_job.GRACE_S)
    tempfile.tempdir = about.get("temporary")
    options = dict(about["options"])
    options["out"] = Path(options["out"])
    options["read"] = ReadConfig(max_bad=1.0)
    if "store" in about:
        options |= {
            "import_": True,
            "session": SessionConfig(config=StoreConfig(store=about["store"]), account="lea"),
        }
    options["watch"] = WatchConfig(**about.get("watch", {}))
    try:
        code = run(about["logs"], ScoreConfig(**{"quiet": True, **options}), FakeDetector(about))
    except DialintError as error:
        sys.stderr.write(f"dialint: {error}\n")
        code = error.exit_code
    if about.get("count_steps"):
        sys.stdout.write(json.dumps([faults.steps, faults.written, faults.fsyncs]))
    if about.get("memory"):
        sys.stdout.write(f"{peak_kib()}\n")
    return code


def peak_kib() -> int:
    """Peak resident memory of this program alone; `getrusage` would count the one that started it too."""
    status = Path("/proc/self/status")
    match = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    if match is not None:
        return int(match[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def forked(about: dict[str, Any]) -> dict[str, Any]:
    """One run in a process of its own."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            code = 70
            try:
                code = main(about)
            except BaseException:  # noqa: BLE001  a child must never run on into its parent's loop
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        if "kill_after_s" in about:
            time.sleep(about["kill_after_s"])
            os.kill(child, signal.SIGKILL)
        if "kill_when_hung" in about:
            hung, ended = Path(about["kill_when_hung"]), os.WEXITED | os.WNOHANG | os.WNOWAIT
            while not hung.exists() and os.waitid(os.P_PID, child, ended) is None:
                time.sleep(0.01)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    return {"status": os.waitstatus_to_exitcode(status), "out": texts[0], "err": texts[1]}


def warm_up() -> None:
    """Import and load in the parent what every child needs, so that a child starts in milliseconds."""
    turns = [{"role": "customer", "text": "warm"}, {"role": "agent", "text": "up"}]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        log.write_text(json.dumps({"id": "d", "turns": turns}) + "\n")
        for ending in ("jsonl", "parquet"):
            assert main({"logs": [str(log)], "options": {"out": f"{folder}/{ending}.{ending}"}}) == 0
    gc.freeze()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(json.loads(sys.argv[1])))
    os.fsync = no_fsync  # type: ignore[assignment]
    warm_up()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(forked(json.loads(line))) + "\n")
        sys.stdout.flush()
