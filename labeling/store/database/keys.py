"""The key that a store is sealed with: changes made to the database without it are detected.

It is stored outside of the database and not in backups: in the variable ``DIALINT_STORE_KEY``, in the file
that ``DIALINT_STORE_KEY_FILE`` names, or else in a file of mode 0600, beside a SQLite store and in
``$DIALINT_HOME`` for PostgreSQL. It is never logged; its id, which does not reveal it, is.
"""

from __future__ import annotations

import base64
import hmac
import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import URL

from dialint.detector.artifacts import create_private, disk_errors, fsync_folder, make_output_folder
from dialint.detector.errors import ConfigError
from dialint.detector.registry import home_folder
from dialint.labeling.store.database.engine import on_sqlite

VARIABLE, FILE_VARIABLE = "DIALINT_STORE_KEY", "DIALINT_STORE_KEY_FILE"
SUFFIX = ".key"
N_BYTES = 32
_TEXT = re.compile(rf"[0-9a-fA-F]{{{2 * N_BYTES}}}")


@dataclass(frozen=True)
class Key:
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


def new_key() -> Key:
    """Generate a key from the operating system's randomness."""
    return Key(secrets.token_bytes(N_BYTES))


def key_path(url: URL) -> Path:
    """The file with the key of the store at `url`, unless the key is in the environment."""
    if path := os.environ.get(FILE_VARIABLE):
        return Path(path).expanduser()
    return Path(f"{url.database}{SUFFIX}") if on_sqlite(url) else home_folder() / f"store{SUFFIX}"


def find_key(url: URL) -> Key:
    """The key of the store at `url`.

    Raises:
        ConfigError: there is none, it is not a key, or others than its owner may read the file.
    """
    if secret := os.environ.get(VARIABLE):
        return _parse_key(secret, VARIABLE)
    return read_key(key_path(url))


def read_key(path: Path) -> Key:
    """Read the key in a file.

    Raises:
        ConfigError: as for `find_key`.
    """
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


def _parse_key(text: str, source: str) -> Key:
    if not _TEXT.fullmatch(text.strip()):
        raise ConfigError("E_STORE_KEY", f"{source}: expected a key of {2 * N_BYTES} hexadecimal digits")
    return Key(bytes.fromhex(text.strip()))


def make_key(url: URL) -> Key:
    """The key of the store at `url`; if there is none, a new one is written to a file of mode 0600.

    Raises:
        ConfigError: what is there is not a key.
        WorldError: the file cannot be written.
    """
    path = key_path(url)
    if not os.environ.get(VARIABLE) and not path.exists():
        write_key(path, new_key())
    return find_key(url)


def write_key(path: Path, key: Key) -> None:
    """Write a key to a new file of mode 0600; an existing file is not changed."""
    with disk_errors(path):
        make_output_folder(path.parent)
        with suppress(FileExistsError), open(create_private(path), "w") as file:
            file.write(key.secret.hex() + "\n")
            file.flush()
            os.fsync(file.fileno())
        fsync_folder(path.parent)
