"""The audit log: a hash chain with a signed head, which reveals changed, deleted or inserted entries to any
holder of the key.

An entry's hash is SHA-256 over the previous hash and the entry as canonical JSON. Ids rise by one without
gaps. ``audit_head`` repeats the last id and hash and signs them with the store's `StoreKey`, so that neither
a recomputed nor a truncated chain passes without the key. Each commit verifies the signature before it signs
its own, so that no foreign change gets signed later. Entries hold ids, hashes and numbers, never a dialogue's
text.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import secrets
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sqlalchemy import URL, Connection, insert, select, text, update

from dialint.detector.artifacts import write_once
from dialint.detector.environment import home_folder
from dialint.detector.errors import ConfigError
from dialint.labeling.store.database.engine import on_sqlite
from dialint.labeling.store.database.schema import audit, audit_head
from dialint.labeling.store.records import StoreDamaged

START = "0" * 64
_HEAD = select(*(audit_head.c[name] for name in ("one", "id", "hash", "key", "signature")))
_LOCK = text(f"SELECT pg_advisory_xact_lock({0x6469616C0001})")
_ENTRIES, _FIRST_HEAD, _NEW_HEAD = insert(audit), insert(audit_head), update(audit_head)
BATCH = 1000

Interface = Literal["command line", "console", "library"]


class AuditEntry(NamedTuple):
    """An entry: the `account` that performed the `action` on a `subject`, when, with further `content`; the
    `origin` (user, host and interface), and the rows that were changed (see `changes`)."""

    at_ms: int
    account: str
    action: str
    subject: str
    content: str
    origin: str
    changes: str | None = None


class Head(NamedTuple):
    """The number and hash of the last entry. Saved elsewhere, it reveals later whether the log was
    truncated."""

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> Head:
        """Parse a head as `str` formats it; raises `ConfigError` for any other text."""
        if not re.fullmatch(r"\d{1,18}:[0-9a-f]{64}", text):
            raise ConfigError("E_OPTION", "expected a head as ID:HASH, as dialint db verify prints it")
        number, _, digest = text.partition(":")
        return cls(int(number), digest)


def canonical_json(value: Any) -> str:
    """JSON in ASCII with sorted keys: one text for one value, storable and hashable everywhere."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def describe_origin(interface: Interface) -> str:
    """The operating system's user, the host and the interface of this process, as JSON."""
    try:
        import pwd

        user = pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):  # no such module on Windows; no such user in a container
        user = str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    return canonical_json({"user": user, "host": socket.gethostname(), "way": interface})


def hash_entry(previous: str, number: int, entry: AuditEntry) -> str:
    """The hash of entry `number` after the hash `previous`."""
    return hashlib.sha256(f"{previous}\n{canonical_json([number, *entry])}".encode()).hexdigest()


def append(connection: Connection, entries: Sequence[AuditEntry], key: StoreKey) -> None:
    """Append entries in order, and sign the new head. The transaction must hold the lock of the head
    (`lock_head`).

    Raises:
        ConfigError: the head was signed with another key.
        StoreDamaged: the head is not what was signed.
    """
    heads = connection.execute(_HEAD).all()
    if len(heads) != 1:
        raise StoreDamaged("E_AUDIT", "audit log: it has no head")
    number, last = heads[0].id, heads[0].hash
    _check_signature(heads[0], key)
    rows = []
    for entry in entries:
        number += 1
        last = hash_entry(last, number, entry)
        rows.append({"id": number, **entry._asdict(), "hash": last})
    connection.execute(_ENTRIES, rows)
    sign(connection, Head(number, last), key)


def sign(connection: Connection, head: Head, key: StoreKey, *, is_first: bool = False) -> None:
    """Sign this head and store it. The caller makes sure that it is the head of a valid log."""
    row = {"one": 1, "id": head.number, "hash": head.hash, "key": key.id, "signature": key.sign(str(head))}
    connection.execute(_FIRST_HEAD if is_first else _NEW_HEAD, row)


def lock_head(connection: Connection) -> None:
    """Wait for the lock that appending entries needs; on SQLite every write transaction holds it from its
    begin.

    PostgreSQL grants advisory locks in the order of the requests. It does not for a lock of the head's row: a
    waiter follows the row to its next version and queues again (64 writers, longest wait 6.4 s; 2026-11-22).
    """
    if connection.dialect.name == "postgresql":
        connection.execute(_LOCK)


def iterate_entries(connection: Connection, key: StoreKey) -> Iterator[tuple[Head, AuditEntry]]:
    """Yield every entry in order with its head, verifying each against the previous one, and the stored head
    at the end.

    Raises:
        StoreDamaged: names the first entry that is not as it was written, or missing.
        ConfigError: the head was signed with another key.
    """
    columns = [audit.c[name] for name in ("id", *AuditEntry._fields, "hash")]
    number, last = 0, START
    query = select(*columns).order_by(audit.c.id).execution_options(yield_per=BATCH)
    with connection.execute(query) as rows:
        for row in rows:
            entry = AuditEntry(*row[1:-1])
            if row.id != number + 1 or row.hash != hash_entry(last, row.id, entry):
                raise StoreDamaged(
                    "E_AUDIT", "audit log: entry {number} is missing or was changed", number=number + 1
                )
            number, last = row.id, row.hash
            yield Head(number, last), entry
    heads = connection.execute(_HEAD).all()
    if [tuple(head)[:3] for head in heads] != [(1, number, last)]:
        raise StoreDamaged(
            "E_AUDIT", "audit log: its head does not agree with its last entry, {number}", number=number
        )
    _check_signature(heads[0], key)


def _check_signature(row: Any, key: StoreKey) -> None:
    if row.key != key.id:
        raise ConfigError(
            "E_STORE_KEY",
            "the store is sealed with the key {key}, this is key {own}",
            key=row.key,
            own=key.id,
        )
    expected = key.sign(str(Head(row.id, row.hash)))
    if not hmac.compare_digest(expected, str(row.signature)):
        raise StoreDamaged("E_AUDIT", "audit log: its head was not signed with the key of this store")


VARIABLE, FILE_VARIABLE = "DIALINT_STORE_KEY", "DIALINT_STORE_KEY_FILE"
SUFFIX = ".key"
N_BYTES = 32
_TEXT = re.compile(rf"[0-9a-fA-F]{{{2 * N_BYTES}}}")


@dataclass(frozen=True)
class StoreKey:
    """A secret of 32 bytes, for HMAC-SHA256. Messages start with their purpose, so that the output for one
    purpose is not valid for another."""

    secret: bytes = field(repr=False)

    @property
    def id(self) -> str:
        """Identifier of the key: 16 hex digits."""
        return self._mac("id", "")[:8].hex()

    def sign(self, text: str) -> str:
        """The signature of a head of the audit log, in hex."""
        return self._mac("head", text).hex()

    def seal(self, column: str, value: Any) -> Any:
        """A column's value as the audit log stores it: numbers unchanged, text as a keyed digest of 96 bits,
        so that texts and password hashes can neither be read nor guessed from the log."""
        if value is None or isinstance(value, (bool, int, float)):
            return value
        return base64.b64encode(self._mac(column, str(value))[:12]).decode()

    def _mac(self, purpose: str, text: str) -> bytes:
        message = f"{purpose}\n{text}".encode("utf-8", "surrogatepass")
        return hmac.digest(self.secret, message, "sha256")


def new_key() -> StoreKey:
    """Generate a key from the operating system's randomness."""
    return StoreKey(secrets.token_bytes(N_BYTES))


def key_path(url: URL) -> Path:
    """The file with the key of the store at `url`, unless the key is in the environment."""
    if path := os.environ.get(FILE_VARIABLE):
        return Path(path).expanduser()
    return Path(f"{url.database}{SUFFIX}") if on_sqlite(url) else home_folder() / f"store{SUFFIX}"


def find_key(url: URL) -> StoreKey:
    """The key of the store at `url`.

    Raises:
        ConfigError: there is none, it is not a key, or others than its owner may read the file.
    """
    if secret := os.environ.get(VARIABLE):
        return _parse_key(secret, VARIABLE)
    return read_key(key_path(url))


def read_key(path: Path) -> StoreKey:
    """Read the key in a file."""
    try:
        mode, text = path.stat().st_mode, path.read_text("ascii", "replace")
    except FileNotFoundError:
        raise ConfigError(
            "E_STORE_KEY",
            f"{path}: the key of the store is missing; put the file back, "
            f"or set {VARIABLE} or {FILE_VARIABLE}",
        ) from None
    except OSError as error:
        raise ConfigError("E_STORE_KEY", f"{path}: {error.strerror}") from error
    if os.name == "posix" and mode & 0o077:
        raise ConfigError("E_STORE_KEY", f"{path}: others may read the key of the store; run chmod 600 on it")
    return _parse_key(text, str(path))


def _parse_key(text: str, source: str) -> StoreKey:
    if not _TEXT.fullmatch(text.strip()):
        raise ConfigError("E_STORE_KEY", f"{source}: expected a key of {2 * N_BYTES} hexadecimal digits")
    return StoreKey(bytes.fromhex(text.strip()))


def make_key(url: URL) -> StoreKey:
    """The key of the store at `url`; if there is none, a new one is written to a file of mode 0600.

    Raises:
        ConfigError: what is there is not a key.
        WorldError: the file cannot be written.
    """
    path = key_path(url)
    if not os.environ.get(VARIABLE) and not path.exists():
        write_key(path, new_key())
    return find_key(url)


def write_key(path: Path, key: StoreKey) -> None:
    """Write a key to a new file of mode 0600; an existing file is not changed."""
    write_once(path, f"{key.secret.hex()}\n".encode())
