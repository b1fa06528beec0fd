"""The process of a model server: started, waited for, warmed up, stopped with all that it started.

The server has a process group of its own, so that Ctrl-C reaches it through us alone. It gets SIGTERM and
time to answer what runs; what is left of its group then is killed. If this process dies, the kernel tells the
server to stop.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from dialint.app.output import escape_controls
from dialint.app.serving.client import ServerClient
from dialint.detector.artifacts import create_private, disk_errors, make_output_folder
from dialint.detector.errors import WorldError

POLL_S = 0.2
HEALTH_S = 5.0
"""Timeout of one look at the server's health."""
STOP_S = 30.0
"""Time between SIGTERM and SIGKILL; more than the server takes to finish what runs."""
TAIL_BYTES, TAIL_CHARS = 8192, 200
_PR_SET_PDEATHSIG = 1


class Stopped(Exception):
    """A signal asks the server to stop."""


class ServerProcess:
    """A server that is started on entry and gone on exit, however that comes."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self.command, self.environment, self.log = command, environment, log
        self.signals: list[int] = []
        self._earlier: dict[signal.Signals, Any] = {}

    def __enter__(self) -> ServerProcess:
        """
        Raises:
            WorldError: E_WRITE, the log cannot be written; E_SERVER, the interpreter does not start.
        """
        with disk_errors(self.log):
            make_output_folder(self.log.absolute().parent)
            handle = create_private(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for number in (signal.SIGTERM, signal.SIGINT):
            self._earlier[number] = signal.signal(number, self._remember)
        try:
            self._process = subprocess.Popen(
                self.command,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=handle,
                stderr=handle,
                start_new_session=True,
                preexec_fn=_stop_with_parent,
            )
        except OSError as error:
            self._restore()
            raise WorldError("E_SERVER", f"{self.command[0]}: {error.strerror}") from None
        finally:
            os.close(handle)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._stop()
        finally:
            self._restore()

    def _remember(self, signum: int, _frame: FrameType | None) -> None:
        self.signals.append(signum)

    def _restore(self) -> None:
        for number, handler in self._earlier.items():
            signal.signal(number, handler)

    def wait_ready(self, client: ServerClient, ready_s: float) -> None:
        """Wait until the server says that it is healthy.

        Raises:
            Stopped: a signal came.
            WorldError: E_SERVER, it ended, or is not ready in time.
        """
        end_s = time.monotonic() + ready_s
        health = ServerClient(address=client.address, timeout_s=HEALTH_S)
        while time.monotonic() < end_s:
            self.check_running()
            try:
                if health.ask("/health").status == 200:
                    return
            except WorldError:
                pass  # not listening yet
            time.sleep(POLL_S)
        raise WorldError("E_SERVER", f"not ready within {ready_s:g} s (--ready-s); {self._last_words()}")

    def wait_end(self) -> None:
        """Wait for a signal; raises as `check_running`."""
        while True:
            self.check_running()
            time.sleep(POLL_S)

    def check_running(self) -> None:
        """
        Raises:
            Stopped: a signal came.
            WorldError: E_SERVER, the server ended by itself.
        """
        if self.signals:
            raise Stopped
        code = self._process.poll()
        if code is not None:
            raise WorldError("E_SERVER", f"the server ended with exit code {code}; {self._last_words()}")

    def _last_words(self) -> str:
        """The last line of the log that tells of an error, else the last one, and where the log is."""
        with open(self.log, "rb") as file:
            file.seek(max(0, self.log.stat().st_size - TAIL_BYTES))
            lines = [line for line in file.read().decode(errors="replace").splitlines() if line.strip()]
        telling = (
            [line for line in lines if "Error" in line and "Traceback" not in line] or lines or ["nothing"]
        )
        return f"it said: {escape_controls(telling[-1].strip())[:TAIL_CHARS]} ({self.log})"

    def _stop(self) -> None:
        """End the server and everything in its process group. A further signal does not wait for it."""
        first = len(self.signals)
        end_s = time.monotonic() + STOP_S
        if self._process.poll() is None:
            self._process.terminate()
        while self._process.poll() is None and time.monotonic() < end_s and len(self.signals) == first:
            time.sleep(POLL_S)
        with suppress(ProcessLookupError):  # nothing of the group is left
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    @property
    def exit_code(self) -> int:
        """130 after Ctrl-C, 0 after SIGTERM, by which a service manager stops what it started."""
        return 130 if self.signals[:1] == [signal.SIGINT] else 0


def _stop_with_parent() -> None:
    """Run in the new process: SIGTERM when the process that started it dies (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
