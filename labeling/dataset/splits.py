"""Splits without leaks: which dialogues belong together, and the key that assigns groups to splits.

Dialogues of one customer or agent (option `by`) and near-copies of one another are one group, transitively.
The split of a group is a keyed hash of its name: without the key nobody can predict or choose it, and the
same key gives the same split. A group's name is the smallest id of its members, so new dialogues may join two
groups and move one of them.

The key is read from a file or the environment, never from a command line. Whoever has a dataset can test a
guess of the key on its splits at the cost of one hash, so a key of fewer than `MIN_KEY_CHARS` characters
causes a warning, and a missing key file is created with a random key.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from dialint.detector.artifacts import write_once
from dialint.detector.errors import ConfigError
from dialint.detector.near_duplicates import RELATED, Shingles, group_names, linking_pairs, shingles
from dialint.detector.records import Dialogue

KEY_VARIABLE = "DIALINT_SPLIT_KEY"
MIN_KEY_CHARS = 20
MAX_KEY_BYTES = 10_000


def split_key(file: Path | None) -> str:
    """The secret in `file`, created if it does not exist, or without a file the one in the environment.

    Raises:
        ConfigError: there is none, or others may read the file.
        WorldError: it cannot be made.
    """
    key = os.environ.get(KEY_VARIABLE, "") if file is None else _read_key(file)
    if not key:
        problem = f"{file}: empty" if file is not None else f"--key-file: name a file, or set {KEY_VARIABLE}"
        raise ConfigError("E_KEY", f"{problem}; the secret of the splits is needed")
    return key


def _read_key(file: Path) -> str:
    if not file.exists():
        write_once(file, secrets.token_hex(32).encode() + b"\n")
    try:
        if file.is_file() and file.stat().st_mode & 0o077:
            raise ConfigError("E_KEY", f"{file}: others may read it; chmod 600 {file}")
        with open(file, encoding="utf-8") as opened:
            return opened.read(MAX_KEY_BYTES).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("E_KEY", f"{file}: cannot be read") from error


GroupBy = Literal["customer", "agent", "dialogue"]
CUSTOMER_FIELDS = ("customer", "customer_id", "user_id", "requester_id")
"""Keys of `metadata` that may name the customer."""


def group_keys(dialogue: Dialogue, by: Sequence[GroupBy]) -> tuple[str, ...]:
    """Names that a dialogue shares with others of its group; its own id comes first."""
    keys = [f"dialogue:{dialogue.id}"]
    if "customer" in by:
        names = {str(dialogue.metadata[field]) for field in CUSTOMER_FIELDS if dialogue.metadata.get(field)}
        authors = {turn.author for turn in dialogue.turns if turn.role == "customer" and turn.author}
        keys += [f"customer:{name}" for name in sorted(names or authors)]
    if "agent" in by:
        agents = {dialogue.agent, *(turn.author for turn in dialogue.turns if turn.role == "agent")}
        keys += [f"agent:{name}" for name in sorted(name for name in agents if name)]
    return tuple(keys)


class DialogueGrouper:
    """Collects dialogues one by one and then assigns each to a group."""

    def __init__(self, by: Sequence[GroupBy], near: float | None = RELATED) -> None:
        """`near` is the Jaccard coefficient of word triples from which two dialogues are near-copies;
        with None they are not searched for."""
        self._by = tuple(by)
        self._near = near
        self._keys: list[tuple[str, ...]] = []
        self._sets: list[Shingles] = []

    def add(self, dialogue: Dialogue) -> None:
        """Add a dialogue."""
        self._keys.append(group_keys(dialogue, self._by))
        if self._near is not None:
            texts = [turn.text for turn in dialogue.turns if turn.role != "tool"]
            self._sets.append(shingles("\n".join(texts)))

    def groups(self) -> list[str]:
        """The name of each dialogue's group, in the order added."""
        return group_names(
            self._keys, linking_pairs(self._sets, self._near) if self._near is not None else ()
        )


def assign_split(group: str, key: str, shares: Sequence[tuple[str, float]]) -> str:
    """The split of a group; `shares` name splits and their parts, which sum to 1, in order."""
    secret = hashlib.sha256(key.encode()).digest()
    digest = hashlib.blake2b(group.encode(), digest_size=8, key=secret).digest()
    position, upper = int.from_bytes(digest) / 2**64, 0.0  # uniform in [0, 1) over keys
    for name, share in shares:
        upper += share
        if position < upper:
            return name
    return shares[-1][0]
