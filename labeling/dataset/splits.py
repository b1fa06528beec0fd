"""Splits without leaks: which dialogues belong together, and the key that assigns groups to splits.

Dialogues of one customer or agent, if asked for, and near-copies of one another are one group, transitively.
The split of a group is a keyed hash of its name: nobody without the key can tell or choose it, and the same
key gives the same split. A group's name is the smallest id of its members, so new dialogues may join two
groups and move one of them.

The key is read from a file or the environment, never from a command line. Whoever has a dataset can test a
guess of the key on its splits at the cost of one hash, so a key of fewer than `SHORT` characters is warned
about, and a missing key file is made with a random key.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from dialint.detector.artifacts import atomic_file, disk_errors, make_output_folder
from dialint.detector.errors import ConfigError
from dialint.detector.near_duplicates import (
    BATCH,
    RELATED,
    Shingles,
    batch_shingles,
    group_names,
    linking_pairs,
)
from dialint.detector.records import Dialogue

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
            make_output_folder(file.parent)
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


By = Literal["customer", "agent", "dialogue"]
CUSTOMER_FIELDS = ("customer", "customer_id", "user_id", "requester_id")
"""Where `metadata` may name the customer."""


def keys_of(dialogue: Dialogue, by: Sequence[By]) -> tuple[str, ...]:
    """What ties a dialogue to others; its own id comes first."""
    found = [f"dialogue:{dialogue.id}"]
    if "customer" in by:
        found += [f"customer:{name}" for name in _customers(dialogue)]
    if "agent" in by:
        named = {dialogue.agent, *(turn.author for turn in dialogue.turns if turn.role == "agent")}
        found += [f"agent:{name}" for name in sorted(name for name in named if name)]
    return tuple(found)


def _customers(dialogue: Dialogue) -> Iterator[str]:
    named = {str(dialogue.metadata[field]) for field in CUSTOMER_FIELDS if dialogue.metadata.get(field)}
    authors = {turn.author for turn in dialogue.turns if turn.role == "customer" and turn.author}
    yield from sorted(named or authors)


class Grouping:
    """Takes dialogues one by one and then says the group of each."""

    def __init__(self, by: Sequence[By], near: float | None = RELATED) -> None:
        """`near` is the Jaccard coefficient of word triples from which two dialogues are near-copies;
        none looks for none."""
        self._by = tuple(by)
        self._near = near
        self._keys: list[tuple[str, ...]] = []
        self._texts: list[str] = []
        self._sets: list[Shingles] = []

    def add(self, dialogue: Dialogue) -> None:
        """Take a dialogue in."""
        self._keys.append(keys_of(dialogue, self._by))
        if self._near is not None:
            self._texts.append("\n".join([turn.text for turn in dialogue.turns]))
            if len(self._texts) >= BATCH:
                self._shingle()

    def groups(self) -> list[str]:
        """The name of each dialogue's group, in the order in which they came."""
        self._shingle()
        return group_names(
            self._keys, linking_pairs(self._sets, self._near) if self._near is not None else ()
        )

    def _shingle(self) -> None:
        self._sets += batch_shingles(self._texts)
        self._texts = []


def place_of(group: str, key: str) -> float:
    """Where a group stands, uniform in [0, 1) over keys."""
    digest = hashlib.blake2b(group.encode(), digest_size=8, key=_secret(key)).digest()
    return int.from_bytes(digest) / 2**64


@lru_cache(maxsize=8)
def _secret(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


def side_of(group: str, key: str, shares: Sequence[tuple[str, float]]) -> str:
    """The split of a group; `shares` name splits and their parts, which sum to 1, in order."""
    place, reached = place_of(group, key), 0.0
    for name, share in shares:
        reached += share
        if place < reached:
            return name
    return shares[-1][0]
