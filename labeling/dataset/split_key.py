"""The secret of the splits: where it comes from, and what may be told of it.

It is read from a file or the environment, never from a command line. Whoever has a dataset can try a guess
at the key on its splits, at the cost of a hash: a key that a dictionary holds is no secret, whatever the
manifest says. So a key of fewer than `SHORT` characters is warned of, and a file that is not there yet is
made with a random one.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path
from typing import Any

from dialint.detector.artifacts import atomic_file, disk_errors, make_folder
from dialint.detector.errors import ConfigError

ENVIRONMENT = "DIALINT_SPLIT_KEY"
SHORT = 20
SCRYPT = {"n": 1 << 15, "r": 8, "p": 1}
"""32 MiB and some 0.1 s for one guess (2026-11-23)."""
MOST_BYTES = 10_000


def split_key(file: Path | None) -> str:
    """The secret in `file`, made if it is not there, or in the environment if none is named.

    Raises:
        ConfigError: there is none, or others may read the file.
        WorldError: it cannot be made.
    """
    key = os.environ.get(ENVIRONMENT, "") if file is None else _in_file(file)
    if not key:
        place = f"{file}: empty" if file is not None else f"--key-file: name a file, or set {ENVIRONMENT}"
        raise ConfigError("E_KEY", f"{place}; the secret of the splits is needed")
    return key


def _in_file(file: Path) -> str:
    if not file.exists():
        with disk_errors(file):
            make_folder(file.parent)
        with atomic_file(file) as new:
            new.write(secrets.token_hex(32).encode() + b"\n")
    try:
        if file.is_file() and file.stat().st_mode & 0o077:
            raise ConfigError("E_KEY", f"{file}: others may read it; chmod 600 {file}")
        with open(file, encoding="utf-8") as opened:
            return opened.read(MOST_BYTES).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("E_KEY", f"{file}: cannot be read") from error


def fingerprint_of(key: str, salt: bytes | None = None) -> dict[str, Any]:
    """What a manifest tells of a key: who has it sees that it is the same, and each guess is dear."""
    salt = secrets.token_bytes(16) if salt is None else salt
    told = hashlib.scrypt(key.encode(), salt=salt, maxmem=1 << 26, dklen=16, **SCRYPT)
    return {"kdf": "scrypt", **SCRYPT, "salt": salt.hex(), "hash": told.hex()}


def is_key(key: str, told: dict[str, Any]) -> bool:
    """Whether a manifest's fingerprint is that of the key."""
    return hmac.compare_digest(fingerprint_of(key, bytes.fromhex(told["salt"]))["hash"], told["hash"])
