"""The bytes of a log, decompressed and cut into runs of whole lines, in bounded memory.

Detects gzip and zstd by their magic bytes; refuses damaged data and decompression bombs. Lines are split at
line feeds only. Line numbers count from 1, offsets from the first (decompressed) byte.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import PurePath

from dialint.detector.errors import Message
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import file_error
from dialint.detector.ingest.sources import Source

BLOCK_BYTES = 1 << 16
"""The records of a block take about ten times its size: those of a larger one would not fit a core's
cache."""
RATIO_FROM_BYTES = 1 << 20
"""The ratio is checked from this size on: small files of repeated lines compress well without malice."""

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
PARQUET = b"PAR1"
JSON_LINES = (".jsonl", ".ndjson")
FOREIGN = {
    b"PK\x03\x04": Message("a zip file"),
    b"\xd0\xcf\x11\xe0": Message("an old or encrypted Excel file"),
    b"%PDF": Message("a PDF"),
    b"SQLite format 3": Message("an SQLite database"),
    b"BZh": Message("bzip2"),
    b"\xfd7zXZ": Message("xz"),
    b"7z\xbc\xaf": Message("7-zip"),
    b"ARROW1": Message("an Arrow file"),
    b"Obj\x01": Message("an Avro file"),
}


def magic(source: Source) -> bytes:
    """The first 16 bytes of the file on disk."""
    with open(source.path, "rb") as file:
        return file.read(16)


def check_ending(source: Source) -> str:
    """The file's ending, without that of compression, in lower case.

    Raises:
        InputRefused: E_FORMAT, the ending and the first bytes disagree, or the bytes are of a kind
            that is not read.
    """
    start, name = magic(source), PurePath(source.name).name.lower()
    for sign, what in FOREIGN.items():
        if start.startswith(sign):
            raise file_error(
                "E_FORMAT", source.name, "is {what}; export the log as JSON lines, CSV or Parquet", what=what
            )
    packed = {".gz": GZIP, ".zst": ZSTD}
    for ending, sign in packed.items():
        if start and name.endswith(ending) != start.startswith(sign) and name:
            raise file_error(
                "E_FORMAT",
                source.name,
                "is {format} data, against its ending"
                if start.startswith(sign)
                else "is not {format} data, against its ending",
                format=ending[1:],
            )
        name = name.removesuffix(ending)
    kind = "." + name.rpartition(".")[2] if "." in name else ""
    is_parquet = start.startswith(PARQUET)
    if name and start and (kind == ".parquet") != is_parquet:
        if is_parquet and kind in (".csv", ".tsv", ".json", *JSON_LINES):
            raise file_error("E_FORMAT", source.name, "is Parquet, against its ending")
        if kind == ".parquet":
            raise file_error("E_FORMAT", source.name, "is not Parquet, against its ending")
    return kind


def decompress(
    source: Source, config: ReadConfig, on_raw: Callable[[bytes], object] | None = None
) -> Iterator[bytes]:
    """The decompressed content in blocks of at most 64 KiB (zstd: more). `on_raw` is called with every raw
    block.

    Raises:
        InputRefused: E_GZ_TRUNCATED, E_GZ_CORRUPT (E_ZST_... for zstd) or E_EXPANSION.
    """
    start = magic(source)
    if start.startswith(GZIP):
        return _check_expansion(_gunzip(_raw(source, on_raw), source.name), source, config)
    if start.startswith(ZSTD):
        return _check_expansion(_unzstd(_raw(source, on_raw), source.name), source, config)
    return _raw(source, on_raw)


def _raw(source: Source, on_raw: Callable[[bytes], object] | None) -> Iterator[bytes]:
    with open(source.path, "rb") as file:
        source.position.at = 0
        while block := file.read(BLOCK_BYTES):
            source.position.at += len(block)
            if on_raw is not None:
                on_raw(block)
            yield block


def _check_expansion(expanded: Iterator[bytes], source: Source, config: ReadConfig) -> Iterator[bytes]:
    total = 0
    for block in expanded:
        total += len(block)
        if total > config.max_expanded_bytes:
            raise file_error(
                "E_EXPANSION", source.name, "expands to over {n} bytes", n=config.max_expanded_bytes
            )
        if total > RATIO_FROM_BYTES and total > config.max_ratio * max(source.size, 1):
            raise file_error(
                "E_EXPANSION", source.name, "expands to over {ratio:g} times its size", ratio=config.max_ratio
            )
        yield block


def _gunzip(raw: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Members of a gzip file one after the other; zero padding after the last is allowed."""
    member: zlib._Decompress | None = None
    tail = b""
    for chunk in raw:
        data = tail + chunk
        tail = b""
        while data:
            if member is None:
                data = data.lstrip(b"\0")
                if not data:
                    break
                if len(data) < len(GZIP):
                    tail, data = data, b""
                    break
                if not data.startswith(GZIP):
                    raise file_error("E_GZ_CORRUPT", name, "something that is not gzip follows the gzip data")
                member = zlib.decompressobj(wbits=31)
            try:
                block = member.decompress(data, BLOCK_BYTES)
            except zlib.error:
                raise file_error(
                    "E_GZ_CORRUPT", name, "the gzip data are damaged (checksum or structure)"
                ) from None
            if block:
                yield block
            if member.eof:
                data, member = member.unused_data, None
            else:
                data = member.unconsumed_tail
    if tail:
        raise file_error("E_GZ_CORRUPT", name, "something that is not gzip follows the gzip data")
    if member is not None:
        raise file_error("E_GZ_TRUNCATED", name, "the gzip data end too early")


def _unzstd(raw: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Frames of a zstd file. The library has no output limit, so input goes in small pieces: a block
    of 4 bytes expands to at most 128 KiB, a piece of 1 KiB to 32 MiB."""
    import zstandard

    piece = 1024
    frame = None
    for chunk in raw:
        position = 0
        while position < len(chunk):
            if frame is None:
                frame = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
            data = chunk[position : position + piece]
            position += len(data)
            try:
                block = frame.decompress(data)
            except zstandard.ZstdError:
                raise file_error(
                    "E_ZST_CORRUPT", name, "the zstd data are damaged, or something follows"
                ) from None
            if block:
                yield block
            if frame.eof:
                position -= len(frame.unused_data)
                frame = None
    if frame is not None:
        raise file_error("E_ZST_TRUNCATED", name, "the zstd data end too early")


BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Chunk:
    """Consecutive lines, with the number of the first and its offset. If `overlong` is over 0, the chunk is
    one line of so many bytes that was skipped."""

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
    """Runs of whole lines, about a block each. A line over `max_line_bytes` is skipped without being held in
    memory; its chunk has its length. A byte order mark at the start is removed."""
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
