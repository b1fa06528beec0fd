"""A byte stream cut into runs of whole lines, at newlines only, in bounded memory.

Line numbers count from 1, offsets from the first (decompressed) byte. What a line means is not
decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Chunk:
    """Some consecutive lines: `lines` without their line feeds, the number of the first and the
    offset of each. Where `overlong` is over 0, one line of so many bytes stood here and was passed."""

    first: int
    offset: int
    data: bytes
    overlong: int = 0
    ended: bool = True

    @property
    def lines(self) -> list[bytes]:
        """The lines, without line feeds (carriage returns still on)."""
        parts = self.data.split(b"\n")
        if self.data.endswith(b"\n"):
            parts.pop()
        return parts

    def offsets(self) -> list[int]:
        """Byte offset of each line in the file."""
        lengths = [len(line) + 1 for line in self.lines]
        return list(accumulate(lengths[:-1], initial=self.offset))


def chunks(blocks: Iterable[bytes], max_line_bytes: int) -> Iterator[Chunk]:
    """Runs of whole lines, about a block each. A line over `max_line_bytes` is passed over without
    being held; its chunk says how long it was. A byte order mark at the start is left out."""
    held, offset, number, skipped, start = b"", 0, 1, 0, True
    for block in blocks:
        if start and len(held) + len(block) < len(BOM):
            held += block
            continue
        if start:
            held, block, start = b"", held + block, False
            if block.startswith(BOM):
                block, offset = block[len(BOM) :], len(BOM)
        if skipped:
            end = block.find(b"\n")
            if end < 0:
                skipped += len(block)
                continue
            yield Chunk(number, offset, b"", skipped + end)
            offset, number, skipped, block = offset + skipped + end + 1, number + 1, 0, block[end + 1 :]
        end = block.rfind(b"\n") + 1
        if end:
            data = held + block[:end]
            yield Chunk(number, offset, data)
            offset, number, held = offset + len(data), number + data.count(b"\n"), block[end:]
        else:
            held += block
        if len(held) > max_line_bytes:
            skipped, held = len(held), b""
    if skipped:
        yield Chunk(number, offset, b"", skipped, ended=False)
    elif held:
        yield Chunk(number, offset, held, ended=False)
