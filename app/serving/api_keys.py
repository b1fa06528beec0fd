"""Keys of the HTTP API, in a file written by `dialint serve key`, ``$DIALINT_HOME/api-keys.json`` (mode
0600).

A key is printed once, when it is created; the file has its SHA-256, as 256 random bits need no slow hash. A
running server reloads the file when it changes.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, TypeAdapter, ValidationError

from dialint.detector.artifacts import make_output_folder, write_json
from dialint.detector.environment import home_folder
from dialint.detector.errors import ConfigError, WorldError
from dialint.detector.records import Record

Scope = Literal["score", "jobs", "metrics"]
PREFIX = "dialint_"


class ApiKey(Record):
    """A key with which a program may use the API."""

    name: str
    sha256: str
    scopes: tuple[Scope, ...]
    expires_at: AwareDatetime


_FILE = TypeAdapter(tuple[ApiKey, ...])


def keys_path(path: Path | None) -> Path:
    return path or home_folder() / "api-keys.json"


def read_keys(path: Path) -> tuple[ApiKey, ...]:
    """Return the keys of the file; none if it does not exist.

    Raises:
        ConfigError: E_KEY, the file cannot be read.
    """
    try:
        return _FILE.validate_json(path.read_bytes())
    except FileNotFoundError:
        return ()
    except (OSError, ValidationError):
        raise ConfigError("E_KEY", "{path}: no file of keys that can be read", path=path) from None


def create_key(path: Path, name: str, scopes: Collection[Scope], days: float) -> str:
    """Create a key, replace one of the same name, and return the secret.

    Raises:
        ConfigError: E_OPTION, it has no name or no scope; E_KEY, the file cannot be read.
    """
    if not name.strip() or not scopes:
        raise ConfigError("E_OPTION", "a key needs a name, and a scope")
    secret = PREFIX + secrets.token_urlsafe(32)
    expires_at = datetime.now(UTC) + timedelta(days=days)
    key = ApiKey(name=name, sha256=_hash(secret), scopes=tuple(scopes), expires_at=expires_at)
    _write(path, [*(each for each in read_keys(path) if each.name != name), key])
    return secret


def revoke_key(path: Path, name: str) -> None:
    """Raises:
    ConfigError: E_KEY, there is none of this name.
    """
    keys = read_keys(path)
    if name not in [each.name for each in keys]:
        raise ConfigError("E_KEY", "{path}: no key of the name {name!r}", path=path, name=name)
    _write(path, [each for each in keys if each.name != name])


class KeyRing:
    """The keys of a running server."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._version: tuple[int, int] | None = None
        self._keys: dict[str, ApiKey] = {}

    def find(self, secret: str) -> ApiKey:
        """
        Raises:
            ConfigError: E_KEY, the key is unknown or expired.
            WorldError: E_READ, the file cannot be read.
        """
        try:
            status = self._path.stat()
        except OSError:
            self._version, self._keys = None, {}
        else:
            version = (status.st_mtime_ns, status.st_ino)
            if version != self._version:
                try:
                    self._keys = {each.sha256: each for each in read_keys(self._path)}
                except ConfigError as error:
                    raise WorldError("E_READ", error.text) from None
                self._version = version
        key = self._keys.get(_hash(secret))
        if key is None or key.expires_at <= datetime.now(UTC):
            raise ConfigError("E_KEY", "a key that is unknown or expired")
        return key


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def _write(path: Path, keys: list[ApiKey]) -> None:
    make_output_folder(path.parent)
    write_json(path, _FILE.dump_python(tuple(keys), mode="json"))
