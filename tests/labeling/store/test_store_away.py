"""PostgreSQL that is stopped, killed or behind a network that swallows packets: whoever waits gets an answer."""

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from patience import WAIT_S
from sqlalchemy import text

from dialint.detector.errors import WorldError
from dialint.labeling.store import accounts
from dialint.labeling.store.database import postgres as connections
from dialint.labeling.store.database import transactions
from dialint.labeling.store.database.engine import open_engine, store_url
from dialint.labeling.store.database.transactions import Store

pytestmark = pytest.mark.parametrize("place", ["postgresql"], indirect=True)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SILENT_S", 0.3)
    monkeypatch.setattr(connections, "PING_S", 2)


@pytest.fixture
def hasty(quick: None, place: str, store: Store) -> Iterator[Store]:
    """The store as the console opens it, connected."""
    with Store.open(place, patience_s=0.5) as hasty:
        yield hasty


@contextmanager
def killed(postgres: Any) -> Iterator[None]:
    postgres.kill()
    try:
        yield
    finally:
        postgres.start()


FAULTS: dict[str, Callable[[Any], Any]] = {"stopped": lambda server: server.stopped(), "killed": killed}


@pytest.mark.parametrize("fault", FAULTS)
def test_whoever_waits_gets_an_answer_and_goes_on_afterwards(hasty: Store, postgres: Any, fault: str) -> None:
    """Before: no answer as long as the server was stopped."""
    acts = [
        lambda: accounts.list_accounts(hasty, "lea"),
        lambda: accounts.set_skills(hasty, "ada", "ann", ("x",)),
    ]
    with ThreadPoolExecutor() as pool:
        with FAULTS[fault](postgres):
            for act in acts:
                hasty._failures.clear()
                with pytest.raises(WorldError, match="does not answer") as refused:
                    pool.submit(act).result(WAIT_S)
                assert "\n" not in str(refused.value)
            opened: list[Any] = []
            hasty.engine.dispose()
            with pytest.raises(WorldError, match="does not answer"):  # at once: nothing is tried
                hasty.read(opened.append)
            assert opened == []
        hasty._failures.clear()
        for act in acts:
            pool.submit(act).result(WAIT_S)


def test_a_network_that_swallows_packets(quick: None, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialint.labeling.store.database.engine.CONNECT_S", 2)
    with socket.create_server(("127.0.0.1", 0)) as hole:  # it accepts, and answers nothing
        url = f"postgresql://postgres@127.0.0.1:{hole.getsockname()[1]}/x"
        store = Store(open_engine(store_url(url)), patience_s=0.5)
        with ThreadPoolExecutor() as pool, pytest.raises(WorldError, match="does not answer"):
            pool.submit(store.read, lambda transaction: None).result(WAIT_S)
        store.close()


def test_a_slow_query_of_a_server_that_is_there_is_waited_for(
    hasty: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    require = connections.Connection._require_server

    def counted(self: connections.Connection) -> None:
        calls.append(1)
        require(self)

    monkeypatch.setattr(connections.Connection, "_require_server", counted)
    assert hasty.read(lambda transaction: transaction.run(text("SELECT 7 FROM pg_sleep(1.2)")).scalar()) == 7
    assert calls


def test_a_lock_is_waited_for_no_longer_than_it_says(
    place: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dialint.labeling.store.database.engine.PATIENCE_S", 0.2)
    with Store.open(place) as other, store.engine.begin() as connection:
        connection.execute(text("SELECT 1 FROM audit_head FOR UPDATE"))
        with pytest.raises(WorldError, match="LockNotAvailable 55P03"):
            accounts.set_skills(other, "ada", "ann", ("x",))


def test_more_threads_than_connections(place: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialint.labeling.store.database.engine.POOL_S", 0.1)
    full, done = threading.Barrier(16), threading.Event()

    def hold(transaction: transactions.Transaction) -> None:
        full.wait(WAIT_S)
        done.wait(WAIT_S)

    with Store.open(place) as busy, ThreadPoolExecutor(15) as pool:
        held = [pool.submit(busy.read, hold) for _ in range(15)]
        full.wait(WAIT_S)
        with pytest.raises(WorldError, match="too many people"):
            accounts.list_accounts(busy, "lea")
        done.set()
        for each in held:
            each.result(WAIT_S)
