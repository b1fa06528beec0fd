"""Stores on both databases: SQLite in a file, PostgreSQL in a server that is thrown away."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import argon2
import pytest
from patience import WAIT_S

from dialint.labeling.store import accounts
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.upgrade import upgrade
from dialint.labeling.store.database.verify import verify
from dialint.labeling.store.records import Account

DRIVER = Path(__file__).parent / "store/store_driver.py"
ROOT = Path(__file__).parents[2]
DATABASES = ("sqlite", "postgresql")
PEOPLE = {
    "lea": "lead",
    "eve": "expert",
    "emil": "expert",
    "rob": "reviewer",
    "ria": "reviewer",
} | dict.fromkeys(("ann", "ben", "cem", "dot"), "labeler")


@dataclass
class FakeClock:
    """A clock that a test sets."""

    wall_ms: int = 1_700_000_000_000

    def pass_s(self, seconds: float) -> None:
        self.wall_ms += round(seconds * 1000)

    def clock(self) -> int:
        return self.wall_ms


@pytest.fixture(scope="session", autouse=True)
def quick_passwords() -> Iterator[None]:
    """Passwords are hashed by argon2 as ever, in a thousandth of the time."""
    with pytest.MonkeyPatch.context() as patch:
        quick = partial(argon2.PasswordHasher, time_cost=1, memory_cost=64, parallelism=1)
        patch.setattr(argon2, "PasswordHasher", quick)
        yield


@pytest.fixture
def time_() -> FakeClock:
    return FakeClock()


def populate(place: str) -> None:
    upgrade(place)
    with Store.open(place) as store:
        accounts.create_first(store, "ada", "correct horse battery")
        for name, role in PEOPLE.items():
            accounts.create(store, "ada", Account(id=name, role=role))


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "store.sqlite"
    populate(str(path))
    return path


@pytest.fixture(scope="session")
def postgres_template(postgres: Any) -> str:
    url = postgres.new()
    populate(url)
    return url.rsplit("/", 1)[1]


@pytest.fixture(scope="session")
def copied(request: pytest.FixtureRequest) -> Callable[[str, Path], str]:
    """Makes stores with people in them, nothing else: on a database, in a folder if that is a file."""

    def copy(database: str, folder: Path) -> str:
        if database == "sqlite":
            return str(shutil.copyfile(request.getfixturevalue("sqlite_template"), folder / "store.sqlite"))
        template = request.getfixturevalue("postgres_template")
        return str(request.getfixturevalue("postgres").new(template))

    return copy


@pytest.fixture(params=DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path, copied: Callable[[str, Path], str]) -> str:
    """A store with people in it, nothing else."""
    return copied(request.param, tmp_path)


@pytest.fixture(scope="module", params=DATABASES)
def lasting_store(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    copied: Callable[[str, Path], str],
) -> Iterator[Store]:
    """The same for all tests of a module that change nothing that another one reads."""
    place = copied(request.param, tmp_path_factory.mktemp("lasting"))
    with Store.open(place, FakeClock().clock) as store:
        yield store


@pytest.fixture(params=DATABASES)
def nowhere(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a store, with none there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "folder" / "store.sqlite")
    return str(request.getfixturevalue("postgres").new())


@pytest.fixture
def elsewhere(place: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """Another empty place, of the same database as `place`."""
    if "://" not in place:
        return str(tmp_path / "restored.sqlite")
    return str(request.getfixturevalue("postgres").new())


@pytest.fixture
def store(place: str, time_: FakeClock, request: pytest.FixtureRequest) -> Iterator[Store]:
    """Verified at the end: no operation leaves a row that the audit log does not answer for. Without the slow
    tests that is done on SQLite only."""
    with Store.open(place, time_.clock) as store:
        yield store
        fast = request.config.option.markexpr == "not slow" and "://" in place
        if request.node.get_closest_marker("damaged") is None and not fast:
            verify(store)


@dataclass
class Drivers:
    """Real processes that work on a store."""

    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            [sys.executable, str(DRIVER), *map(str, arguments)], env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.started.append(process)
        return process

    def read_acknowledged(self, path: Path, at_least: int = 0) -> list[tuple[str, float]]:
        """Keys and times that a writer has acknowledged in its file; waits until there are enough."""
        give_up_s = time.monotonic() + WAIT_S
        while True:
            lines = path.read_text().split("\n")[:-1] if path.exists() else []
            if len(lines) >= at_least:
                return [(line.split()[0], float(line.split()[1])) for line in lines]
            assert time.monotonic() < give_up_s, "the writer does not write"
            time.sleep(0.01)


@pytest.fixture
def drivers() -> Iterator[Drivers]:
    drivers = Drivers()
    yield drivers
    for process in drivers.started:
        if process.poll() is None:
            process.kill()
        process.communicate()
