"""A PostgreSQL server of our own, for all tests that need one: started once, in a folder that is thrown away."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import forked_worker
import pytest
from hypothesis import HealthCheck, settings
from patience import WAIT_S

os.environ.setdefault("DIALINT_STORE_KEY", "00112233445566778899aabbccddeeff" * 2)
"""Stores are copied between places and opened by child processes; tests of the key's file take it away."""

os.environ.setdefault("OMP_NUM_THREADS", "1")
"""Two workers with two spinning threads each: tiny models trained ten times slower (2026-11-23, two cores)."""

settings.register_profile(
    "dialint",
    deadline=None,  # a busy machine must not fail a test
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    derandomize="CI" in os.environ,
    print_blob=True,
)
settings.load_profile("dialint")


LONGEST = ("test_readme.py", "test_console_browser.py")
"""Files that are begun first, so that no process waits for them at the end."""

DIFFERS = (
    "test_whatever_is_typed_is_no_syntax",
    "test_words_are_found_whatever_their_script",
    "test_an_upgrade_covers_up_nothing",
    "test_f5_every_late_write_is_refused",
)
"""Tests whose every value is quick on PostgreSQL too: its search, its changes and its locks are others."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests of the store on PostgreSQL as `slow`, except the store's own; and of those the tampering
    with each column and repetitions with other values that are not in `DIFFERS`. Shuffles the files, as
    otherwise all processes would run a browser at the same time; needs --no-loadscope-reorder."""
    items.sort(key=lambda item: (item.path.name not in LONGEST, zlib.crc32(item.path.name.encode())))
    databases = [getattr(getattr(item, "callspec", None), "id", "") for item in items]
    on_both = {item.function for item, name in zip(items, databases, strict=True) if "sqlite" in name}  # type: ignore[attr-defined]
    seen: set[object] = set()
    for item, name in zip(items, databases, strict=True):
        if "postgresql" in name:
            own = item.path.parent.name == "store" and item.path.name != "test_store_tampering.py"
            function = item.function  # type: ignore[attr-defined]
            repeats = function in on_both and function in seen and function.__name__ not in DIFFERS
            if not own or repeats:
                item.add_marker(pytest.mark.slow)
            seen.add(function)


FULL = "DIALINT_CLAIMS" in os.environ
"""The faults at full size, for figures: a commit then waits for the disk."""


@dataclass
class Postgres:
    """A server of our own; `restart` and `kill` as often as a test likes."""

    folder: Path
    port: int
    user: str | None
    n: int = 0

    def command(self, *command: str) -> None:
        subprocess.run(
            command, user=self.user, group=None, extra_groups=[] if self.user else None, cwd=self.folder,
            env={**os.environ, "LC_ALL": "C"}, check=True, capture_output=True, timeout=WAIT_S,
        )  # fmt: skip

    def start(self) -> None:
        options = (
            f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder} "
            f"-c max_connections=120 -c fsync={'on' if FULL else 'off'}"  # off: nobody pulls the plug in a test
        )
        log = str(self.folder / "log")
        give_up_s = time.monotonic() + WAIT_S
        while True:  # after a kill the old server's other processes take a moment to end
            try:
                self.command(
                    "pg_ctl", "-D", str(self.folder / "data"), "-l", log, "-w", "-o", options, "start"
                )
                return
            except subprocess.CalledProcessError:
                if time.monotonic() > give_up_s:
                    raise RuntimeError((self.folder / "log").read_text()[-2000:]) from None
                time.sleep(0.2)

    def stop(self, mode: str) -> None:
        self.command("pg_ctl", "-D", str(self.folder / "data"), "-m", mode, "-w", "stop")

    def kill(self) -> None:
        """Kill all of its processes: those of connections outlive the first one for a moment and answer."""
        for pid in self._pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _pids(self) -> list[int]:
        """The server's first process, and its children."""
        first = int((self.folder / "data/postmaster.pid").read_text().split()[0])
        parents = {
            int(stat.parent.name): int(stat.read_text().rpartition(")")[2].split()[1])
            for stat in Path("/proc").glob("[0-9]*/stat")
        }
        return [first, *(pid for pid, parent in parents.items() if parent == first)]

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop all of its processes, which keep their connections, until the end."""
        pids = self._pids()
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

    def url(self, name: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def new(self, template: str = "template1") -> str:
        """URL of a fresh database, a copy of `template`."""
        import psycopg

        self.n += 1
        name = f"t{self.n}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    if shutil.which("initdb") is None:
        if os.environ.get("CI"):
            pytest.fail("no initdb on the PATH: install PostgreSQL, CI tests both databases")
        pytest.skip("no initdb on the PATH")
    user = "postgres" if os.geteuid() == 0 else None
    memory = None if FULL or not os.access("/dev/shm", os.W_OK) else "/dev/shm"
    folder = Path(tempfile.mkdtemp(prefix="dialint-pg-", dir=memory))
    if user:
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server = Postgres(folder, free.getsockname()[1], user)
    try:
        server.command(
            "initdb", "-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"
        )
        server.start()
        yield server
    finally:
        try:
            if (folder / "data/postmaster.pid").exists():
                server.stop("immediate")
        finally:
            shutil.rmtree(folder)


class SharedStatements(dict[Any, Any]):
    """Compiled statements by the name of their database, where SQLAlchemy has a cache for each engine: every
    test has an engine of its own, and compiling took a quarter of the time of the store's tests (2026-11-26)."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get((key[0].name, *key[1:]), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        super().__setitem__((key[0].name, *key[1:]), compiled)


if find_spec("sqlalchemy"):  # the environments of vLLM and of Ray have no store
    from sqlalchemy import Connection, Engine, event

    STATEMENTS = SharedStatements()

    @event.listens_for(Engine, "engine_connect")
    def share_statements(connection: Connection) -> None:
        connection.execution_options(compiled_cache=STATEMENTS)


@pytest.fixture(autouse=True)
def forked_workers(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Processes that judge are forks of the test's; a test marked `new_interpreter`, and those beside the threads
    of Ray or vLLM, have them as users do."""
    beside_threads = request.path.parent.name in ("cluster", "with_vllm")
    if not beside_threads and not request.node.get_closest_marker("new_interpreter"):
        monkeypatch.setattr("dialint.detector.watchdog.os.posix_spawn", forked_worker.spawn)
