"""The journal of a job: one line for each chunk of the part file that is whole.

A line vouches for its chunk by a checksum; whatever was cut off or changed ends the list.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Chunk:
    """One journal line: `end` is the size of the part file after it, `ids` a hash of its dialogue ids,
    `longest` the id of the one with most text."""

    number: int
    end: int
    rows: int
    sha256: str
    ids: str
    longest: str
    seconds: float


def whole_chunks(journal_path: Path, part_path: Path) -> Iterator[Chunk]:
    """The chunks whose journal line and bytes are whole, up to the first that is not."""
    if not (journal_path.exists() and part_path.exists()):
        return
    end = 0
    with open(journal_path, "rb") as journal, open(part_path, "rb") as part:
        for number, line in enumerate(journal):
            chunk = _chunk(line)
            if chunk is None or chunk.number != number or chunk.end < end:
                return
            piece = part.read(chunk.end - end)
            if hashlib.sha256(piece).hexdigest() != chunk.sha256 or piece.count(b"\n") != chunk.rows:
                return
            end = chunk.end
            yield chunk


def ids_hash(ids: Sequence[str]) -> str:
    """Short hash of dialogue ids in order: a resumed run must meet the same ones."""
    return hashlib.blake2b("\n".join(ids).encode(), digest_size=8).hexdigest()


def journal_line(chunk: Chunk) -> bytes:
    """A chunk as it stands in the journal."""
    return json.dumps(asdict(chunk), separators=(",", ":")).encode() + b"\n"


def _chunk(line: bytes) -> Chunk | None:
    """A journal line's chunk; none if the line was cut off or changed."""
    try:
        chunk = Chunk(**json.loads(line))
    except (ValueError, TypeError):
        return None
    return chunk if journal_line(chunk) == line else None
