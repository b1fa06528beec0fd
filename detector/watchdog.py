"""Runs a detector in worker processes; one is killed when a dialogue takes too long or too much memory.

Dialogues are untrusted input: a regular expression or a tokenizer that takes too long on one of them holds
Python's lock, and nothing in the same process can stop it. `WatchedDetector` is a `Detector`: a dialogue that
fails alone in a new worker gets a failed verdict, the others the verdicts that they would get without it.

Neither `concurrent.futures` nor pebble (5.2.3, read on 2026-11-30) does this. Of the first, one dead process
breaks the whole pool, and nothing ends one that hangs. pebble ends and replaces single processes, but by the
clock, which fails good dialogues on a busy machine, not by computed time; it knows no limit of memory and not
which dialogue of a task a process was at; a process that dies while it loads breaks its pool; and processes
of `multiprocessing` inherit the environment with its secrets, and outlive a killed parent while they hang.
"""

from __future__ import annotations

import ctypes
import gc
import json
import math
import os
import re
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NoReturn

from dialint.detector.environment import GC_THRESHOLD, child_environment
from dialint.detector.errors import ConfigError, WorldError
from dialint.detector.interface import (
    Detector,
    DetectorConfig,
    DetectorFacts,
    Monitor,
    default_threads,
    runs_by_onnx,
)
from dialint.detector.isolation import (
    FAILURE,
    Message,
    WorkerFailure,
    failed_verdict,
    judge_isolated,
    make_message,
    message_value,
)
from dialint.detector.log_profile import LogProfile
from dialint.detector.records import Dialogue, Verdict
from dialint.detector.registry import resolve_release
from dialint.detector.taxonomy import Taxonomy, load_taxonomy

if TYPE_CHECKING:
    from dialint.detector.release import ReleaseInfo  # imports numpy

PER_CHARACTERS = 100_000
"""The time limit of a dialogue is extended by `dialogue_seconds` for each so many characters of text."""
WALL_FACTOR = 6
"""A worker that waits instead of computing is killed after so many times its limit of wall-clock time."""
POLL_S = 0.05
DIALOGUE_MEGABYTES = 2000
"""Memory that judging may take beside the loaded model; a dialogue that alone takes more is failed."""
WORKER_MEGABYTES = 1000
MIN_FOR_WORKERS = 64
"""Dialogues of a chunk from which on more workers are loaded, which takes as long as judging some 40."""
PART = 16
"""Dialogues that a worker takes at a time."""
Judged = tuple[list[Verdict], int, dict[str, float]]
"""The verdicts of a worker, the number of scanned tokens, and the seconds by stage."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Signals that a terminal or a scheduler sends to the whole process group; only the parent handles them."""
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class WatchConfig:
    """The limit of time for one dialogue."""

    dialogue_seconds: float = 20.0
    """Seconds of computing in which a dialogue must be masked, be read, and pass through the model once; as
    many more for each 100 kB of its text. One that takes longer is failed (E_TIMEOUT), the others are judged.
    0 judges without limits, in this process."""

    def __post_init__(self) -> None:
        if not 0 <= self.dialogue_seconds < math.inf:
            raise ConfigError("E_OPTION", "--dialogue-seconds must be at least 0")


class WatchedDetector:
    """Judges dialogues in workers, up to `n` at once: the same verdicts, on all cores. One worker loads at
    the start, the others when there is enough to judge. `what` is what to load there, or a detector, which
    workers inherit by fork: not one that computes in threads, as torch does, for a fork has none of them and
    waits for ever.

    Use it as a context manager: the workers end with it. They end as well when this process dies.
    """

    judge_info = None

    def __init__(
        self,
        what: Detector | DetectorConfig,
        config: WatchConfig,
        report: Callable[[str], None] = lambda _: None,
        n: int = 1,
    ) -> None:
        """Starts a worker, which loads; `ready` waits for it. `report` gets a line for each dialogue that
        failed."""
        self._what, self._config, self._report = what, config, report
        self._log: LogProfile | None = None
        self._workers: list[_Worker | None] = [_Worker(what), *[None] * (n - 1)]
        # A thread for each other one, which lives as long: the kernel ends a process with the thread that
        # started it.
        self._threads = [ThreadPoolExecutor(1) for _ in range(n - 1)]
        self._lock, self._is_stopping = Lock(), False
        self.monitor = Monitor(
            cpu_seconds=lambda: sum(each.cpu_seconds() for each in self._workers if each is not None)
        )
        """Seconds are the mean of the workers that judge at once, less what was lost with killed ones."""
        self.taxonomy: Taxonomy = (
            load_taxonomy(what.taxonomy) if isinstance(what, DetectorConfig) else what.taxonomy
        )

    def __enter__(self) -> WatchedDetector:
        return self

    def __exit__(self, *ignored: object) -> None:
        self.close()

    def close(self) -> None:
        for place in range(len(self._workers)):
            self._end_worker(place)
        for thread in self._threads:
            thread.shutdown()

    def ready(self) -> WatchedDetector:
        """Wait until the first worker has loaded.

        Raises:
            UserError: what `dialint.detector.pipeline.load_detector` refuses.
            WorldError: the worker died while it loaded.
        """
        self._start().facts()
        return self

    def with_log(self, log: LogProfile) -> WatchedDetector:
        """This detector, which from now on judges dialogues of a log with this profile, where the workers'
        detector can."""
        self._log = log
        for worker in self._workers:
            if worker is not None and not worker.status:
                worker.send_log(log)
        return self

    @property
    def release(self) -> str:
        return self._start().facts().release

    @property
    def fingerprint(self) -> str:
        return self._start().facts().fingerprint

    @property
    def codes(self) -> tuple[str, ...]:
        return self._start().facts().codes

    @property
    def info(self) -> ReleaseInfo | None:
        """The description of the release, if the worker's detector has one."""
        return self._start().facts().info

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        waiting = deque((at, dialogues[at : at + PART]) for at in range(0, len(dialogues), PART))
        has_many = len(dialogues) >= MIN_FOR_WORKERS or any(self._workers[1:])
        n = max(1, min(len(waiting), len(self._workers))) if has_many else 1
        results: dict[int, list[Verdict]] = {}

        def judge(place: int) -> None:
            while True:
                with self._lock:
                    if not waiting:
                        return
                    at, part = waiting.popleft()
                verdicts = self._judge_part(place, part, all_probabilities, n)
                with self._lock:
                    results[at] = verdicts
                    self.monitor.on_progress(sum(map(len, results.values())))

        others = [self._threads[place - 1].submit(judge, place) for place in range(1, n)]
        try:
            judge(0)
            for other in others:
                other.result()
        except BaseException:  # such as a signal: nobody waits for what the others are at
            waiting.clear()
            self._is_stopping = True
            for worker in self._workers[1:]:
                if worker is not None:
                    worker.kill()
            wait(others)
            for place in range(1, len(self._workers)):
                self._end_worker(place)
            self._is_stopping = False
            raise
        return [verdict for at in sorted(results) for verdict in results[at]]

    def _judge_part(
        self, place: int, part: Sequence[Dialogue], all_probabilities: bool, n: int
    ) -> list[Verdict]:
        """The verdicts of a part by the worker at `place`, one of `n` that judge at once."""

        def attempt(some: Sequence[Dialogue]) -> list[Verdict] | WorkerFailure:
            outcome = self._start(place).judge(some, all_probabilities, self._config, self._report)
            if isinstance(outcome, WorkerFailure):
                self._end_worker(place)
                return outcome
            verdicts, tokens, seconds = outcome
            with self._lock:
                self.monitor.tokens += tokens
                for stage, spent_s in seconds.items():
                    self.monitor.add_seconds(stage, spent_s / n)
            return verdicts

        def fail(dialogue: Dialogue, why: str) -> Verdict:
            self._report(f"dialogue {dialogue.id!r}: {FAILURE}: {why}")
            release = self._start(place).facts().release
            return failed_verdict(dialogue, release, self.taxonomy.version)

        return judge_isolated(part, attempt, fail)

    def _start(self, place: int = 0) -> _Worker:
        """The worker at `place`; a new one if there is none or it has ended."""
        worker = self._workers[place]
        if worker is None or worker.status:
            what = self._what
            if place and isinstance(what, DetectorConfig):
                what = replace(what, threads=1)
            worker = self._workers[place] = _Worker(what)
            if self._log is not None:
                worker.send_log(self._log)
        if self._is_stopping:
            raise WorldError("E_WORKER", "the process that judges was ended")
        return worker

    def _end_worker(self, place: int) -> None:
        if (worker := self._workers[place]) is not None:
            self._workers[place] = None
            worker.end()


def count_workers(config: DetectorConfig) -> int:
    """Returns the number of processes that should judge at once on this machine: one for each thread of
    `config` and each `WORKER_MEGABYTES` of free memory; one where a GPU or torch scans, which use all cores
    themselves."""
    n = config.threads or default_threads()
    if n > 1 and config.scan != "off":
        folder = resolve_release("scan", config.release or "embedded")
        with suppress(OSError, ValueError):  # whoever loads it says what is wrong
            n = n if runs_by_onnx(config, json.loads((folder / "config.json").read_bytes())) else 1
    with suppress(OSError):
        free = re.search(r"MemAvailable: +(\d+)", Path("/proc/meminfo").read_text())
        n = min(n, int(free[1]) // 1000 // WORKER_MEGABYTES) if free else n
    return max(1, n)


class _Worker:
    """The worker's process and our end of the pipe to it."""

    def __init__(self, what: Detector | DetectorConfig) -> None:
        self._pipe, theirs = Pipe()
        self._facts: DetectorFacts | None = None
        self._resting_kib = 0
        self.status = ""
        """The way the process ended, empty while it runs; its number may be that of another one
        afterwards."""
        parent = os.getpid()
        if isinstance(what, DetectorConfig):
            os.set_inheritable(theirs.fileno(), True)
            start = f"from dialint.detector.watchdog import main; main({theirs.fileno()}, {parent})"
            command = [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {start}"]
            # The heads' products are small; a second thread of numpy's spins for .6 s over ten dialogues.
            environment = {"OPENBLAS_NUM_THREADS": "1", **child_environment()}
            self._pid = os.posix_spawn(sys.executable, command, environment, setsigmask=SIGNALS)
            with suppress(BrokenPipeError):
                self._pipe.send(what)
        else:
            self._pid = os.fork()
            if self._pid == 0:
                _serve(theirs, parent, lambda: what)
        theirs.close()

    def facts(self) -> DetectorFacts:
        """The detector, as soon as the worker has loaded.

        Raises:
            UserError: the worker could not load.
            WorldError: it died.
        """
        if self._facts is None:
            message = self._receive()
            if message is None:
                status = self.end()
                raise WorldError("E_WORKER", f"the process that judges died while it loaded ({status})")
            self._facts = message_value(message)
            self._resting_kib = _memory_kib(self._pid)
        return self._facts

    def send_log(self, log: LogProfile) -> None:
        """Set the profile of the log, for what is judged after it."""
        self.facts()
        with suppress(OSError):  # that the worker is gone is found out when it should judge
            self._pipe.send(log)

    def cpu_seconds(self) -> float:
        """CPU seconds of the process so far; 0 if the system does not report them."""
        return _computed_s(f"/proc/{self._pid}/stat")

    def end(self) -> str:
        """End the process; how it ended."""
        self._pipe.close()
        if not self.status:
            self.kill()
            try:
                code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
                self.status = f"signal {-code}" if code < 0 else f"exit code {code}"
            except ChildProcessError:
                self.status = "unknown status"
        return self.status

    def kill(self) -> None:
        if not self.status:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def judge(
        self,
        dialogues: Sequence[Dialogue],
        all_probabilities: bool,
        config: WatchConfig,
        report: Callable[[str], None],
    ) -> Judged | WorkerFailure:
        """The verdicts, or why there are none: the worker must be ended then.

        A step has a limit of CPU time of the main thread, and one of wall-clock time against endless waits,
        which is added up in small intervals so that a suspended machine does not count.
        """
        self.facts()
        try:
            self._pipe.send((dialogues, all_probabilities))
        except OSError:
            return WorkerFailure("the process that judged it died", None)
        at: int | None = None
        polled_s, waited_s, computed_before = time.monotonic(), 0.0, -1.0
        while True:
            if self._pipe.poll(POLL_S):
                message = self._receive()
                if message is None:
                    return WorkerFailure("the process that judged it died", at)
                if message[0] == "defect":
                    report(message[1])
                    continue
                if message[0] != "at":
                    judged: Judged = message_value(message)
                    return judged
                at, waited_s, computed_before = message[1], 0.0, -1.0
            passed_s = time.monotonic() - polled_s
            if passed_s < POLL_S:
                continue
            polled_s, waited_s = polled_s + passed_s, waited_s + min(passed_s, 10 * POLL_S)
            computed_s = _computed_s(f"/proc/{self._pid}/task/{self._pid}/stat")
            if computed_before < 0:
                computed_before = computed_s
            size = sum(len(turn.text) for turn in dialogues[at].turns) if at is not None else 0
            limit_s = config.dialogue_seconds * (1 + size / PER_CHARACTERS)
            if computed_s - computed_before > limit_s or waited_s > limit_s * WALL_FACTOR:
                return WorkerFailure(f"over {round(limit_s, 1):g} seconds", at)
            if _memory_kib(self._pid) - self._resting_kib > DIALOGUE_MEGABYTES * 1000:
                return WorkerFailure(f"over {DIALOGUE_MEGABYTES} MB of memory", at)

    def _receive(self) -> Message | None:
        """The next message; none if the worker is gone."""
        try:
            message: Message = self._pipe.recv()
        except (EOFError, OSError):
            return None
        return message


def _computed_s(stat: str) -> float:
    """CPU seconds of a process or thread by its file in /proc; 0 if the system does not report them."""
    try:
        fields = Path(stat).read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory_kib(pid: int) -> int:
    """Private memory of a process in KiB; 0 if the system does not report it."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("RssAnon:")), 0)


def main(handle: int, parent: int) -> NoReturn:
    """The worker in a new interpreter: the first message is what to load."""
    pipe = Connection(handle)

    def load() -> Detector:
        from dialint.detector.rollout import load_rollout

        return load_rollout(pipe.recv())

    _serve(pipe, parent, load)


def _serve(pipe: Connection, parent: int, load: Callable[[], Detector]) -> NoReturn:
    """Judge incoming dialogues until the pipe is closed. Closes all inherited files, as they may hold
    locks."""
    code = 1
    gc.set_threshold(GC_THRESHOLD)
    try:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        os.closerange(3, pipe.fileno())
        os.closerange(pipe.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
        if sys.platform == "linux":
            # The kernel kills this process when the parent ends; a thread could not, as `re` holds Python's
            # lock.
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            with suppress(OSError):  # the first to go where memory is short
                Path("/proc/self/oom_score_adj").write_text("500")
        if os.getppid() != parent:
            os._exit(0)
        os.dup2(2, 1)
        _judge_all(pipe, load)
        code = 0
    except (EOFError, BrokenPipeError, ConnectionResetError):
        code = 0  # the parent is gone or wants no more
    except MemoryError:
        code = 1  # the parent isolates the dialogue
    except BaseException:  # noqa: BLE001  a forked worker must never run on into its parent's code
        traceback.print_exc()
    finally:
        os._exit(code)


def _judge_all(pipe: Connection, load: Callable[[], Detector]) -> None:
    detectors: list[Detector] = []

    def start() -> DetectorFacts:
        detectors.append(load())
        return DetectorFacts.of(detectors[0])

    def judge() -> Judged:
        [detector], (dialogues, all_probabilities) = detectors, request
        monitor = detector.monitor
        monitor.on_step = lambda position: pipe.send(("at", position))
        monitor.on_defect = lambda line: pipe.send(("defect", line))
        monitor.reset()
        verdicts = detector.verdicts(dialogues, all_probabilities=all_probabilities)
        return verdicts, monitor.tokens, dict(monitor.seconds)

    pipe.send(make_message(start))
    while detectors:
        request = pipe.recv()
        if isinstance(request, LogProfile):
            detectors = [detectors[0].with_log(request)]
        else:
            pipe.send(make_message(judge))
