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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from dialint.app.output import escape_controls, print_status
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

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.exit_code = 130 if signum == signal.SIGINT else 0
        """130 after Ctrl-C, 0 after SIGTERM, by which a service manager stops what it started."""


def _raise_stopped(signum: int, _frame: FrameType | None) -> NoReturn:
    raise Stopped(signum)


class ServerProcess:
    """A server that runs, and the log of what it prints."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process, self.log = process, log

    def wait_ready(self, client: ServerClient, ready_s: float) -> None:
        """Wait until the server says that it is healthy.

        Raises:
            WorldError: E_SERVER, it ended, or is not ready in time.
        """
        end_s = time.monotonic() + ready_s
        health = ServerClient(address=client.address, timeout_s=HEALTH_S)
        while time.monotonic() < end_s:
            self.check_running()
            with suppress(WorldError):  # not listening yet
                if health.ask("/health").status == 200:
                    return
            time.sleep(POLL_S)
        raise WorldError("E_SERVER", f"not ready within {ready_s:g} s (--ready-s); {self._last_words()}")

    def check_running(self) -> None:
        """
        Raises:
            WorldError: E_SERVER, the server ended by itself.
        """
        if (code := self.process.poll()) is not None:
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


@contextmanager
def running_server(
    command: Sequence[str], environment: Mapping[str, str], log: Path
) -> Iterator[ServerProcess]:
    """Start a server, which is gone when the context ends, however that comes. Within, SIGTERM and SIGINT
    raise `Stopped`; one that comes while the server stops does not wait for it.

    Raises:
        WorldError: E_WRITE, the log cannot be written; E_SERVER, the interpreter does not start.
    """
    with disk_errors(log):
        make_output_folder(log.absolute().parent)
        handle = create_private(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    earlier = {each: signal.signal(each, _raise_stopped) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        try:
            process = subprocess.Popen(
                command,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=handle,
                stderr=handle,
                start_new_session=True,
                preexec_fn=_stop_with_parent,
            )
        except OSError as error:
            raise WorldError("E_SERVER", f"{command[0]}: {error.strerror}") from None
        finally:
            os.close(handle)
        try:
            yield ServerProcess(process, log)
        finally:
            try:
                if process.poll() is None:
                    print_status("stopping")
                    process.terminate()
                    process.wait(STOP_S)
            except (subprocess.TimeoutExpired, Stopped):
                pass
            finally:
                with suppress(ProcessLookupError):  # nothing of the group is left
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _stop_with_parent() -> None:
    """Run in the new process: SIGTERM when the process that started it dies (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
