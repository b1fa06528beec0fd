"""`Store`: opens the database, checks its version and runs transactions, with all retries.

Operations (`permissions`) run in a `Transaction`. Lock waits, deadlocks and lost connections are retried here
and nowhere else. A write that lost its connection during the commit may or may not be stored: it
is repeated only if it is `repeatable`, and raises `E_STORE_UNSURE` otherwise.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ParamSpec, Self, TypeVar, overload

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Engine,
    Executable,
    Row,
    Select,
    Table,
    UpdateBase,
    select,
    text,
    tuple_,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import CursorResult, Result
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnection

from dialint.detector.errors import ConfigError, WorldError
from dialint.labeling.store.database.audit import (
    AuditEntry,
    Interface,
    StoreKey,
    append,
    canonical_json,
    describe_origin,
    find_key,
    lock_head,
)
from dialint.labeling.store.database.changes import ChangedRows, Changes, add_returning, changes_sealed_table
from dialint.labeling.store.database.engine import (
    PATIENCE_S,
    display_url,
    is_aborted,
    is_disconnect,
    is_locked,
    on_sqlite,
    open_engine,
    pause_s,
    store_url,
)
from dialint.labeling.store.database.schema import VERSION, accounts, dialogues, projects, verdicts

P = ParamSpec("P")
R = TypeVar("R")
Work = Callable[["Transaction"], R]

READ_ONCE = (accounts, projects, dialogues, verdicts)
"""Tables of which one transaction needs the same rows in several places; see `Transaction.fetch_row`."""
READ_PAGE = 2000
RECONNECT_PAUSE_S = 0.25
"""Pause between two attempts to reach an unavailable database."""
_DATABASE_MS = text("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)")
FAIL_FAST_S = 1.0
"""Time after a failed wait for the database in which operations fail at once: a click is several of them."""


@dataclass
class Transaction:
    """A connection inside one transaction, with the work for its end: entries of the audit log, and
    statements on rows that all writers change, which run under the lock of the log's head so that writers
    cannot deadlock. The changed rows are recorded in the last entry."""

    connection: Connection
    store: Store
    writes: bool = False
    after: list[Work[None]] = field(default_factory=list)
    """Writes that follow a read-only transaction before its result is returned."""
    final: dict[Callable[[Connection, Sequence[str]], None], dict[str, None]] = field(default_factory=dict)
    """Writes at the end of the transaction, and the ids of the dialogues that they are called with, under the
    lock of the log's head: they see what all earlier transactions committed, and no other one writes at the
    same time."""
    _entries: list[AuditEntry] = field(default_factory=list)
    _rows: dict[tuple[Executable, str], Row[Any] | None] = field(default_factory=dict)
    _changes: Changes = field(default_factory=Changes)

    @overload
    def run(self, statement: UpdateBase, parameters: Any = None) -> ChangedRows: ...
    @overload
    def run(self, statement: Executable, parameters: Any = None) -> Result[Any]: ...
    def run(self, statement: Executable, parameters: Any = None) -> Result[Any]:
        """Execute one statement now; the rows it changes are recorded for the audit log."""
        if isinstance(statement, UpdateBase) and statement.table in READ_ONCE:
            self._rows.clear()
        if not changes_sealed_table(statement):
            result = self.connection.execute(statement, parameters)
            assert isinstance(result, CursorResult)
            return result
        assert isinstance(statement, UpdateBase)
        result = self.connection.execute(add_returning(statement), parameters)
        rows = result.all()
        self._changes.add(statement, parameters, rows)
        return ChangedRows(result, rows)

    def fetch_row(self, statement: Select[Any], name: str) -> Row[Any] | None:
        """The row of `READ_ONCE` that a statement finds by `name`, or none. It is read once, until this
        transaction changes one."""
        key = statement, name
        if key not in self._rows:
            self._rows[key] = self.run(statement, {"name": name}).one_or_none()
        return self._rows[key]

    def afterwards(self, work: Work[None]) -> None:
        """Run a write: now, or right after this transaction if it is read-only."""
        if self.writes:
            work(self)
        else:
            self.after.append(work)

    def log(self, account: str, action: str, subject: str, **content: Any) -> None:
        """Add an entry to the audit log, in this transaction."""
        origin = self.store.origin
        self._entries.append(
            AuditEntry(self.now_ms, account, action, subject, canonical_json(content), origin)
        )

    @cached_property
    def now_ms(self) -> int:
        """Time of this transaction by the database's clock, in milliseconds since 1970, UTC. Leases run by
        it, on whichever machine they were claimed."""
        if self.store.clock is not None:
            return self.store.clock()
        if self.on_sqlite:
            return time.time_ns() // 1_000_000
        return int(self.connection.execute(_DATABASE_MS).scalar_one())

    @property
    def on_sqlite(self) -> bool:
        """True if the database is SQLite."""
        return self.connection.dialect.name == "sqlite"

    def finish(self) -> None:
        """Run the work for the end of the transaction and append to the audit log."""
        if self._entries or self._changes or self.final:
            lock_head(self.connection)
        for work, ids in self.final.items():
            work(self.connection, list(ids))
        if self._changes and not self._entries:
            self.log("system", "write", "store")
        if self._entries:
            key = self.store.key
            self._entries[-1] = self._entries[-1]._replace(changes=self._changes.pack(key))
            append(self.connection, self._entries, key)


class Store:
    """An open store; it can be shared by threads, but each process has to open its own."""

    requirement: Work[None] | None = None

    def __init__(
        self,
        engine: Engine,
        clock: Callable[[], int] | None = None,
        interface: Interface = "library",
        patience_s: float | None = None,
    ) -> None:
        self.engine = engine
        self.patience_s = PATIENCE_S if patience_s is None else patience_s
        self._failures: deque[tuple[float, DBAPIError]] = deque(maxlen=1)
        self.clock = clock
        self.origin = describe_origin(interface)

    @cached_property
    def key(self) -> StoreKey:
        """The key that the store is sealed with; raises `ConfigError` if it is missing."""
        return find_key(self.engine.url)

    @classmethod
    def open(
        cls,
        location: str | None = None,
        clock: Callable[[], int] | None = None,
        interface: Interface = "library",
        patience_s: float | None = None,
    ) -> Store:
        """Open the store at `location` (see `store_url`); `interface` is recorded in the audit log, and an
        unavailable database is waited for so long, by default for `PATIENCE_S`. A `clock` that returns
        milliseconds since 1970 replaces that of the database.

        Raises:
            ConfigError: there is none, it has another version than this code, or its key is missing.
            WorldError: it cannot be reached.
        """
        url = store_url(location)
        if on_sqlite(url) and not Path(str(url.database)).is_file():
            raise ConfigError(
                "E_STORE", "{store}: no store; `dialint db upgrade` makes one", store=display_url(url)
            )
        store = cls(open_engine(url), clock, interface, patience_s)
        stored_version = store.read(read_version)
        if stored_version != VERSION:
            store.close()
            raise ConfigError(
                "E_STORE_VERSION",
                "{store}: version {version}, expected {wanted}; run `dialint db upgrade`",
                store=display_url(url),
                version=stored_version or "none",
                wanted=VERSION,
            )
        try:
            store.key  # noqa: B018  raises now and not at the first write if the key is missing
        except ConfigError:
            store.close()
            raise
        return store

    def read(self, work: Work[R]) -> R:
        """Run `work` in a read-only transaction, with retries; writes that it adds by `afterwards` are
        committed before this returns."""
        return self._retry(work, writes=False, repeatable=True)

    def write(self, work: Work[R], *, repeatable: bool = False) -> R:
        """Run `work` in a transaction of its own and commit it.

        Raises:
            WorldError: locked or unavailable for more than `PATIENCE_S`, failed, or (`E_STORE_UNSURE`)
                disconnected during the commit.
        """
        return self._retry(work, writes=True, repeatable=repeatable)

    def requiring(self, requirement: Work[None] | None) -> Store:
        """The same store, each transaction of which begins with `requirement`, which raises to refuse it."""
        store = copy(self)
        store.requirement = requirement
        return store

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _retry(self, work: Work[R], *, writes: bool, repeatable: bool) -> R:
        started_s = time.monotonic()
        for failed_s, failure in tuple(self._failures):
            if started_s - failed_s < FAIL_FAST_S:
                raise to_world_error(failure, self.engine)
        while True:
            try:
                return self._once(work, writes=writes, repeatable=repeatable)
            except DBAPIError as error:
                waited_s = time.monotonic() - started_s
                unavailable = is_disconnect(error)
                if unavailable and waited_s > self.patience_s:
                    self._failures.append((time.monotonic(), error))
                    raise to_world_error(error, self.engine) from error
                if not (unavailable or is_locked(error) or is_aborted(error)) or waited_s > PATIENCE_S:
                    raise to_world_error(error, self.engine) from error
            except NoConnection:
                raise WorldError(
                    "E_STORE", "too many people are using the store; try again in a moment"
                ) from None
            time.sleep(RECONNECT_PAUSE_S if unavailable else pause_s(waited_s))

    def _once(self, work: Work[R], *, writes: bool, repeatable: bool) -> R:
        with self.engine.connect() as connection:
            if writes:
                connection = connection.execution_options(immediate=True)
            with connection.begin() as outer:
                transaction = Transaction(connection, self, writes)
                if self.requirement is not None:
                    self.requirement(transaction)
                result = work(transaction)
                transaction.finish()
                try:
                    outer.commit()
                except DBAPIError as error:
                    if writes and not repeatable and is_disconnect(error):
                        raise WorldError("E_STORE_UNSURE", "cut off; it may or may not be stored") from error
                    raise
        for after in transaction.after:
            self.write(after, repeatable=True)
        return result


def to_world_error(error: DBAPIError, engine: Engine) -> WorldError:
    """Convert a database error to a one-line error without the statement's values, which may hold text."""
    state = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "sqlite_errorname", None)
    reason = f"{type(error.orig).__name__} {state or ''}".rstrip()
    if is_disconnect(error):
        message = "{store}: the database does not answer, try again in a moment: {reason}"
        return WorldError("E_STORE", message, store=display_url(engine.url), reason=reason)
    return WorldError("E_STORE", "{store}: {reason}", store=display_url(engine.url), reason=reason)


def read_version(transaction: Transaction) -> str | None:
    """The revision of the tables; none if there are no tables."""
    if not transaction.connection.dialect.has_table(transaction.connection, "alembic_version"):
        return None
    revision = transaction.run(text("SELECT version_num FROM alembic_version")).scalar()
    return None if revision is None else str(revision)


def upsert(transaction: Transaction, table: Table, row: dict[str, Any]) -> None:
    """Insert a row, or overwrite the one with the same primary key."""
    transaction.run(upsert_statement(table, transaction.on_sqlite, tuple(row)), row)


@cache
def upsert_statement(table: Table, on_sqlite: bool, names: tuple[str, ...]) -> Executable:
    """The statement that inserts a row of these columns, or overwrites the one with the same primary key."""
    into = sqlite.insert(table) if on_sqlite else postgresql.insert(table)
    rest = {name: into.excluded[name] for name in names if not table.c[name].primary_key}
    return into.on_conflict_do_update(index_elements=list(table.primary_key), set_=rest)


def read_pages(
    store: Store, key: Sequence[Column[Any]], columns: Sequence[Column[Any]], where: ColumnElement[bool]
) -> Iterator[Row[Any]]:
    """Yield all rows in order of their `key`, `READ_PAGE` of them per transaction, so that writers are not
    blocked for long."""
    last: tuple[Any, ...] | None = None

    def load_page(transaction: Transaction) -> Sequence[Row[Any]]:
        query = select(*key, *columns).where(where).order_by(*key).limit(READ_PAGE)
        if last is not None:
            query = query.where(tuple_(*key) > tuple_(*last))
        return transaction.run(query).all()

    while True:
        rows = store.read(load_page)
        yield from rows
        if len(rows) < READ_PAGE:
            return
        last = tuple(rows[-1][: len(key)])
