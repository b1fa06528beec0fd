"""Runs a detector in a worker process, which is killed when one dialogue takes too long or too much memory.

Dialogues are untrusted input: a regular expression or a tokenizer that takes too long on one of them holds
Python's lock, and nothing in the same process can stop it. `WatchedDetector` is a `Detector`: a dialogue that
fails alone in a new worker gets a failed verdict, the others the verdicts that they would get without it.
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
from functools import partial
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, NoReturn

from cyclopts import Parameter

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
    Isolation,
    Message,
    WorkerFailure,
    failed_verdict,
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
WORKER_MEGABYTES = 1000
WORTH_LOADING = 64
"""Dialogues of a chunk from which on more workers are loaded, which takes as long as judging some 40."""
PART = 16
"""Dialogues that a worker of several takes at a time."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Signals that a terminal or a scheduler sends to the whole process group; only the parent handles them."""
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class WatchConfig:
    """Limits of time and memory for one dialogue."""

    dialogue_seconds: float = 20.0
    """Seconds of computing in which a dialogue must be masked, be read, and pass through the model once; as
    many more for each 100 kB of its text. One that takes longer is failed (E_TIMEOUT), the others are judged.
    0 judges without limits, in this process."""

    dialogue_megabytes: Annotated[int, Parameter(parse=False)] = 2000
    """Memory that judging may take beside the loaded model; a dialogue that alone takes more is failed
    (E_TIMEOUT)."""

    def __post_init__(self) -> None:
        if not 0 <= self.dialogue_seconds < math.inf or self.dialogue_megabytes < 1:
            raise ConfigError(
                "E_OPTION", "--dialogue-seconds must be at least 0, and the megabytes at least 1"
            )


class WatchedDetector:
    """Judges dialogues in a worker. `what` is what to load there, or a detector, which the worker inherits by
    fork: not one that computes in threads, as torch does, for a fork has none of them and waits for ever.

    Use it as a context manager: the worker ends with it. It ends as well when this process dies.
    """

    judge_info = None

    def __init__(
        self,
        what: Detector | DetectorConfig,
        config: WatchConfig,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Starts the worker, which loads; `ready` waits for it. `tell` hears of dialogues that failed."""
        self._what, self._config, self._tell = what, config, tell
        self._log: LogProfile | None = None
        self.monitor = Monitor(cpu_seconds=lambda: self._worker.cpu_seconds() if self._worker else 0.0)
        """Seconds are those of all workers so far, less what was lost with killed ones."""
        self.taxonomy: Taxonomy = (
            load_taxonomy(what.taxonomy) if isinstance(what, DetectorConfig) else what.taxonomy
        )
        self._is_abandoned = False
        self._worker: _Worker | None = _Worker(what)

    def __enter__(self) -> WatchedDetector:
        return self

    def __exit__(self, *ignored: object) -> None:
        self.close()

    def close(self) -> None:
        self._end_worker()

    def _end_worker(self) -> None:
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def abandon(self) -> None:
        """Kill the worker, and let a thread that is judging with it fail at once."""
        self._is_abandoned = True
        if (worker := self._worker) is not None:
            worker.kill()

    def ready(self) -> WatchedDetector:
        """Wait until the worker has loaded.

        Raises:
            UserError: what `dialint.detector.pipeline.load_detector` refuses.
            WorldError: the worker died while it loaded.
        """
        self._start().facts()
        return self

    def with_log(self, log: LogProfile) -> WatchedDetector:
        """This detector, which from now on judges dialogues of a log with this profile, where the worker's
        detector can."""
        self._log = log
        self._start().send_log(log)
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
        return self._verdicts(dialogues, all_probabilities, self.monitor)

    def _verdicts(
        self, dialogues: Sequence[Dialogue], all_probabilities: bool, monitor: Monitor
    ) -> list[Verdict]:
        def attempt(part: list[Dialogue]) -> list[Verdict] | WorkerFailure:
            outcome = self._start().judge(part, all_probabilities, self._config, monitor)
            if isinstance(outcome, WorkerFailure):
                self._end_worker()
            return outcome

        def fail(dialogue: Dialogue, why: str) -> Verdict:
            self._tell(f"dialogue {dialogue.id!r}: {FAILURE}: {why}")
            return failed_verdict(dialogue, self.release, self.taxonomy.version)

        return Isolation(attempt, fail).verdicts(dialogues)

    def _start(self) -> _Worker:
        """The worker; a new one if the last one was ended."""
        if self._worker is None or self._worker.status:
            self._worker = _Worker(self._what)
            if self._log is not None:
                self._worker.send_log(self._log)
        if self._is_abandoned:
            raise WorldError("E_WORKER", "the process that judges was ended")
        return self._worker


def count_workers(config: DetectorConfig) -> int:
    """How many processes are worth judging at once on this machine: one for each thread of `config` and each
    `WORKER_MEGABYTES` of free memory; one where a GPU or torch scans, which use all cores themselves."""
    n = config.threads or default_threads()
    if n > 1 and config.scan != "off":
        folder = resolve_release("scan", config.release or "embedded")
        with suppress(OSError, ValueError):  # whoever loads it says what is wrong
            n = n if runs_by_onnx(config, json.loads((folder / "config.json").read_bytes())) else 1
    with suppress(OSError):
        free = re.search(r"MemAvailable: +(\d+)", Path("/proc/meminfo").read_text())
        n = min(n, int(free[1]) // 1000 // WORKER_MEGABYTES) if free else n
    return max(1, n)


class WorkerPool(WatchedDetector):
    """Judges in up to `n` workers at once: the same verdicts, on all cores. One worker loads at the start,
    the others when there is enough to judge."""

    def __init__(
        self, what: Detector | DetectorConfig, config: WatchConfig, tell: Callable[[str], None], n: int
    ) -> None:
        super().__init__(what, config, tell)
        self._others: dict[int, WatchedDetector] = {}
        # A thread for each, which lives as long: the kernel ends a process with the thread that started it.
        self._threads = [ThreadPoolExecutor(1) for _ in range(n - 1)]
        self._monitors = [Monitor() for _ in range(n)]
        own = self.monitor.cpu_seconds
        self.monitor = Monitor(
            cpu_seconds=lambda: own() + sum(each.monitor.cpu_seconds() for each in self._others.values())
        )
        """Seconds are the mean of the workers'."""

    def close(self) -> None:
        for other in self._others.values():
            other.close()
        for thread in self._threads:
            thread.shutdown()
        super().close()

    def with_log(self, log: LogProfile) -> WorkerPool:
        super().with_log(log)
        for other in self._others.values():
            other.with_log(log)
        return self

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        parts = [dialogues[at : at + PART] for at in range(0, len(dialogues), PART)]
        is_worth_it = len(dialogues) >= WORTH_LOADING or self._others
        n = max(1, min(len(parts), len(self._monitors))) if is_worth_it else 1
        results: dict[int, list[Verdict]] = {}
        waiting, lock = deque(enumerate(parts)), Lock()
        done, running = [(0, 0, 0)] * n, [(0, 0, 0)] * n

        def progress(place: int, *counts: int) -> None:
            with lock:
                running[place] = counts[0], counts[1], counts[2]
                self.monitor.on_progress(*map(sum, zip(*done, *running, strict=True)))

        def judge(place: int) -> None:
            self._monitors[place].on_progress = partial(progress, place)
            detector = self._detector(place)
            while True:
                with lock:
                    if not waiting:
                        return
                    number, part = waiting.popleft()
                results[number] = detector._verdicts(part, all_probabilities, self._monitors[place])
                with lock:
                    sums = [sum(pair) for pair in zip(done[place], running[place], strict=True)]
                    done[place], running[place] = (sums[0], sums[1], sums[2]), (0, 0, 0)

        others = [self._threads[place - 1].submit(judge, place) for place in range(1, n)]
        try:
            judge(0)
            wait(others)
        except BaseException:  # such as a signal: nobody waits for what the others are at
            waiting.clear()
            for watched in list(self._others.values()):
                watched.abandon()
            wait(others)
            while self._others:
                self._others.popitem()[1].close()
            raise
        for other in others:
            other.result()
        for name in dict.fromkeys(name for monitor in self._monitors for name in monitor.seconds):
            total = sum(monitor.seconds.get(name, 0.0) for monitor in self._monitors)
            self.monitor.seconds[name] = total / (1 + len(self._others))
        return [verdict for number in range(len(parts)) for verdict in results[number]]

    def _detector(self, place: int) -> WatchedDetector:
        if place == 0:
            return self
        if place not in self._others:
            what = replace(self._what, threads=1) if isinstance(self._what, DetectorConfig) else self._what
            self._others[place] = WatchedDetector(what, self._config, self._tell)
            if self._log is not None:
                self._others[place].with_log(self._log)
        return self._others[place]


class _Worker:
    """The worker's process and our end of the pipe to it."""

    def __init__(self, what: Detector | DetectorConfig) -> None:
        self._pipe, theirs = Pipe()
        self._facts: DetectorFacts | None = None
        self._resting_kib = 0
        self.status = ""
        """How the process ended: its number may be that of another one since."""
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
        self, dialogues: list[Dialogue], all_probabilities: bool, config: WatchConfig, monitor: Monitor
    ) -> list[Verdict] | WorkerFailure:
        """The verdicts, or why there are none: the worker must be ended then. `monitor` is told of it.

        A step has a limit of CPU time of the main thread, and one of wall-clock time against endless waits,
        which is added up in small intervals so that a suspended machine does not count.
        """
        self.facts()
        try:
            self._pipe.send((dialogues, all_probabilities))
        except OSError:
            return WorkerFailure("the process that judged it died", None)
        at: int | None = None
        looked_s, waited_s, computed_before = time.monotonic(), 0.0, -1.0
        while True:
            if self._pipe.poll(POLL_S):
                match message := self._receive():
                    case None:
                        return WorkerFailure("the process that judged it died", at)
                    case "moved", counts:
                        monitor.on_progress(*counts)
                        continue
                    case "spent", seconds_by_stage:
                        for name, spent_s in seconds_by_stage.items():
                            monitor.add_seconds(name, spent_s)
                        continue
                    case "at", at:
                        waited_s, computed_before = 0.0, -1.0
                    case _:
                        verdicts: list[Verdict] = message_value(message)
                        return verdicts
            passed_s = time.monotonic() - looked_s
            if passed_s < POLL_S:
                continue
            looked_s, waited_s = looked_s + passed_s, waited_s + min(passed_s, 10 * POLL_S)
            computed_s = _computed_s(f"/proc/{self._pid}/task/{self._pid}/stat")
            if computed_before < 0:
                computed_before = computed_s
            size = sum(len(turn.text) for turn in dialogues[at].turns) if at is not None else 0
            limit_s = config.dialogue_seconds * (1 + size / PER_CHARACTERS)
            if computed_s - computed_before > limit_s or waited_s > limit_s * WALL_FACTOR:
                return WorkerFailure(f"over {round(limit_s, 1):g} seconds", at)
            if _memory_kib(self._pid) - self._resting_kib > config.dialogue_megabytes * 1000:
                return WorkerFailure(f"over {config.dialogue_megabytes} MB of memory", at)

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

    def judge() -> list[Verdict]:
        [detector], (dialogues, all_probabilities) = detectors, request
        monitor = detector.monitor
        monitor.on_step = lambda position: pipe.send(("at", position))
        monitor.on_progress = lambda *counts: pipe.send(("moved", counts))
        monitor.seconds.clear()
        verdicts = detector.verdicts(dialogues, all_probabilities=all_probabilities)
        pipe.send(("spent", dict(monitor.seconds)))
        return verdicts

    pipe.send(make_message(start))
    while detectors:
        request = pipe.recv()
        if isinstance(request, LogProfile):
            detectors = [detectors[0].with_log(request)]
        else:
            pipe.send(make_message(judge))
