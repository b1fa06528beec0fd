"""Runs the scoring jobs of a folder one after the other, each as a process of `dialint score`.

One thread of the console does it, and of several consoles with one folder the one that has the lock. All
that it knows is in the folder: it may be killed at any moment, and the next one goes on with the process that
still runs, or with the same command, which resumes. It never asks the store: what it may run, a page has
written into the folder after the store allowed it.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

from dialint.app.console.system.job_files import JobEnd, JobFolder, jobs_folder, worker_environment
from dialint.app.output import ERROR_FILE_VARIABLE
from dialint.detector.artifacts import create_private, make_output_folder, write_json
from dialint.detector.errors import Message, WorldError

POLL_S = 0.3
MAX_ATTEMPTS = 3
"""Starts of a job whose process vanished without a word, before it counts as failed."""
KILL_S = 40.0
"""After this long a process that was asked to stop is killed; it commits its chunk within 20 seconds."""
NICE = 10
ERROR_BYTES = 20_000


class ScoreRunner:
    """The thread. `step` does one round, for tests."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or jobs_folder()
        self._end = Event()
        self._thread: Thread | None = None
        self._own_lock: int | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._stop_s: float | None = None

    def start(self) -> None:
        """Start the thread."""
        self._thread = Thread(target=self._run, name="score jobs", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread. A running job is asked to stop after its chunk; the next runner resumes it."""
        self._end.set()
        if self._thread is not None:
            self._thread.join(5.0)
        if self._child is not None and self._child.poll() is None:
            self._child.terminate()
        if self._own_lock is not None:
            os.close(self._own_lock)
            self._own_lock = None

    def _run(self) -> None:
        while not self._end.wait(POLL_S):
            with suppress(WorldError, OSError):  # a full disk: tried again, and the page shows that it waits
                self.step()

    def step(self) -> None:
        """Start the next job if none runs; note how the running one ended."""
        if not self.root.is_dir() or not self._is_leader():
            return
        requested = sorted(
            (path.stat().st_mtime_ns, path.parent) for path in self.root.glob("*/request.json")
        )
        open_jobs = [folder for _, path in requested if (folder := JobFolder(path)).end is None]
        started = [folder for folder in open_jobs if folder.process.exists()]
        for folder in (*started, *open_jobs):
            try:
                if folder in started:
                    self._follow(folder)
                elif folder.stop.exists():
                    folder.write_end(JobEnd(phase="stopped"))
                    continue
                else:
                    self._launch(folder, 1)
            except (ValueError, KeyError, TypeError):  # a file of the folder that is not what was written
                folder.write_end(JobEnd(phase="failed", message=Message("the files of the job are damaged")))
                continue
            return

    def _is_leader(self) -> bool:
        if self._own_lock is None:
            handle = create_private(self.root / ".lock", os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(handle)
                return False
            self._own_lock = handle
        return True

    def _launch(self, folder: JobFolder, attempt: int) -> None:
        """Start the process. It inherits the lock, which so lives exactly as long as it does."""
        command = json.loads(folder.request.read_bytes())
        make_output_folder(folder.out.parent)
        lock = create_private(folder.path / ".lock", os.O_RDWR | os.O_CREAT)
        errors = create_private(folder.errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(errors, 0)
            folder.error.unlink(missing_ok=True)
            write_json(folder.process, {"pid": 0, "attempt": attempt, "started_s": time.time()})
            self._child = subprocess.Popen(
                command, cwd=folder.path, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
                env={**worker_environment(), ERROR_FILE_VARIABLE: str(folder.error)},
                start_new_session=True, pass_fds=(lock,),
            )  # fmt: skip
        except BlockingIOError:  # the process of an earlier start is still there
            write_json(folder.process, {"pid": 0, "attempt": attempt, "started_s": time.time()})
            return
        finally:
            os.close(lock)
            os.close(errors)
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self._child.pid, NICE)
        started = {"pid": self._child.pid, "attempt": attempt, "started_s": time.time()}
        write_json(folder.process, started)

    def _follow(self, folder: JobFolder) -> None:
        """Look after a job that was started, by this runner or one before it."""
        with _try_lock(folder.path / ".lock") as is_free:
            if not is_free:
                if folder.stop.exists():
                    self._signal(folder)
                return
        code = None
        if self._child is not None:
            code = self._child.wait()
            self._child, self._stop_s = None, None
        attempt = int(json.loads(folder.process.read_bytes())["attempt"])
        if folder.is_complete:
            folder.write_end(JobEnd(phase="done"))
        elif folder.stop.exists():
            folder.write_end(JobEnd(phase="stopped"))
        elif code or attempt >= MAX_ATTEMPTS:
            folder.write_end(JobEnd(phase="failed", message=describe_failure(folder, code)))
        else:  # ended by a signal to all processes, or with the machine
            self._launch(folder, attempt + 1)

    def _signal(self, folder: JobFolder) -> None:
        now_s = time.monotonic()
        first = self._stop_s is None
        self._stop_s = now_s if self._stop_s is None else self._stop_s
        is_late = now_s - self._stop_s > KILL_S
        if not first and not is_late:
            return
        pid = int(json.loads(folder.process.read_bytes())["pid"])
        if pid > 0 and _is_process_of(pid, folder):
            with suppress(ProcessLookupError):
                if is_late:
                    os.killpg(pid, signal.SIGKILL)  # it leads a session of its own
                else:
                    os.kill(pid, signal.SIGTERM)


@contextmanager
def _try_lock(path: Path) -> Iterator[bool]:
    """Whether nobody holds the lock."""
    handle = create_private(path, os.O_RDWR | os.O_CREAT)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


def _is_process_of(pid: int, folder: JobFolder) -> bool:
    """Whether the number is still that of the job's process, where Linux tells."""
    try:
        return str(folder.out).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return not Path("/proc/self").exists()


def describe_failure(folder: JobFolder, code: int | None) -> Message:
    """Say why a job failed, in a line without paths: the error that its process left, else its last line."""
    with suppress(OSError, ValueError, LookupError, TypeError):  # it left none, or not the whole of it
        error = json.loads(folder.error.read_bytes())
        text = Message.from_json(error["message"])
        return folder.for_screen(Message("{code}: {message}", code=error["code"], message=text))
    with suppress(OSError), folder.errors.open("rb") as file:
        file.seek(max(0, folder.errors.stat().st_size - ERROR_BYTES))
        written = file.read().decode(errors="replace")
        lines = [line.strip() for line in written.splitlines() if line.strip().startswith("dialint: ")]
        messages = [line for line in lines if not line.startswith(("dialint: scoring:", "dialint: warning"))]
        if messages:
            message = messages[-1].removeprefix("dialint: ")[:1000]
            message = message.replace(f"{folder.path}/log/", "").replace(f"{folder.path}/", "")
            return Message(message)
    if code is not None and code < 0:
        return Message("the process was killed by signal {n}", n=-code)
    return Message("the process ended without a message (exit code {code})", code=code)
