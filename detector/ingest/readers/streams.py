"""The bytes of a log, decompressed, as UTF-8, and cut into runs of whole lines, in bounded memory.

Detects gzip and zstd by their magic bytes; refuses damaged data and decompression bombs. A log is UTF-8 if
its first megabyte decodes as such; other encodings come from a byte order mark, from the user, or from
charset-normalizer where only one text is likely. Lines are split at line feeds only. Line numbers count from
1, offsets from the first byte of the decompressed UTF-8 form.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from pathlib import PurePath
from typing import NamedTuple

from dialint.detector.errors import Message
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import file_error
from dialint.detector.ingest.sources import JSON_LINES, Source

BLOCK_BYTES = 1 << 16
"""The records of a block take about ten times its size: those of a larger one would not fit a core's
cache."""
ZSTD_PIECE = 1 << 10
RATIO_FROM_BYTES = 1 << 20
"""Size from which the ratio is checked: small files of repeated lines compress well without malice."""

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
PARQUET = b"PAR1"
BOM = b"\xef\xbb\xbf"
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
            problem = Message("is {what}; export the log as JSON lines, CSV or Parquet", what=what)
            raise file_error("E_FORMAT", source.name, problem)
    for ending, sign in ((".gz", GZIP), (".zst", ZSTD)):
        is_packed = start.startswith(sign)
        if start and name and name.endswith(ending) != is_packed:
            problem = Message("is not {format} data, against its ending", format=ending[1:])
            if is_packed:
                problem = Message("is {format} data, against its ending", format=ending[1:])
            raise file_error("E_FORMAT", source.name, problem)
        name = name.removesuffix(ending)
    kind = "." + name.rpartition(".")[2] if "." in name else ""
    is_parquet = start.startswith(PARQUET)
    if name and is_parquet and kind in (".csv", ".tsv", ".json", *JSON_LINES):
        raise file_error("E_FORMAT", source.name, "is Parquet, against its ending")
    if start and kind == ".parquet" and not is_parquet:
        raise file_error("E_FORMAT", source.name, "is not Parquet, against its ending")
    return kind


def decompress(source: Source, config: ReadConfig) -> Iterator[bytes]:
    """The decompressed content in blocks of at most 64 KiB (zstd: more).

    Raises:
        InputRefused: E_GZ_TRUNCATED, E_GZ_CORRUPT (E_ZST_... for zstd) or E_EXPANSION.
    """
    start = magic(source)
    if start.startswith(GZIP):
        return _check_expansion(_gunzip(source), source, config)
    if start.startswith(ZSTD):
        return _check_expansion(_unzstd(source), source, config)
    return raw_blocks(source)


def raw_blocks(source: Source) -> Iterator[bytes]:
    """The bytes of the file on disk, up to the size that it had when it was opened first."""
    at = 0
    with open(source.path, "rb") as file:
        while block := file.read(min(BLOCK_BYTES, source.size - at)):
            at += len(block)
            source.position.at = at
            yield block


def _check_expansion(expanded: Iterator[bytes], source: Source, config: ReadConfig) -> Iterator[bytes]:
    total, most, ratio = 0, config.max_expanded_bytes, config.max_ratio
    for block in expanded:
        total += len(block)
        if total > most:
            raise file_error("E_EXPANSION", source.name, "expands to over {n} bytes", n=most)
        if total > RATIO_FROM_BYTES and total > ratio * max(source.size, 1):
            problem = Message("expands to over {ratio:g} times its size", ratio=ratio)
            raise file_error("E_EXPANSION", source.name, problem)
        if block:
            yield block


def _gunzip(source: Source) -> Iterator[bytes]:
    """Members of a gzip file one after the other; zero padding after the last is allowed."""
    with open(source.path, "rb") as packed, gzip.GzipFile(fileobj=packed) as file:
        try:
            while block := file.read1(BLOCK_BYTES):
                source.position.at = packed.tell()
                yield block
        except EOFError:
            raise file_error("E_GZ_TRUNCATED", source.name, "the gzip data end too early") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            problem = Message("the gzip data are damaged (checksum or structure)")
            if str(error).startswith("Not a gzipped file"):
                problem = Message("something that is not gzip follows the gzip data")
            raise file_error("E_GZ_CORRUPT", source.name, problem) from None


def _unzstd(source: Source) -> Iterator[bytes]:
    """Frames of a zstd file. The library has no output limit, so input goes in small pieces: a block
    of 4 bytes expands to at most 128 KiB, a piece of 1 KiB to 32 MiB."""
    import zstandard

    frame = None
    for data in raw_blocks(source):
        while data:
            frame = frame or zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
            piece, data = data[:ZSTD_PIECE], data[ZSTD_PIECE:]
            try:
                yield frame.decompress(piece)
            except zstandard.ZstdError:
                problem = Message("the zstd data are damaged, or something follows")
                raise file_error("E_ZST_CORRUPT", source.name, problem) from None
            if frame.eof:
                data, frame = frame.unused_data + data, None
    if frame is not None:
        raise file_error("E_ZST_TRUNCATED", source.name, "the zstd data end too early")


MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
PREFIX_BYTES = 1 << 20
SAMPLE_BYTES = 1 << 15
MIN_BYTES = 6
"""Least bytes beyond ASCII to guess an encoding."""
NEAR_CHAOS = 0.1
"""A guess is safe if no other text is within this distance of its disorder."""
GUESSED = (
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1257", "koi8_r", "cp866", "iso8859_2", "iso8859_5",
    "mac_roman", "cp850", "cp852", "cp932", "euc_jp", "gb18030", "big5", "euc_kr",
)  # fmt: skip
"""In the order of preference where two give the same text."""


def _undecodable(error: UnicodeError) -> tuple[str, int]:
    """A lone surrogate for undecodable bytes: it is invalid UTF-8, so that its record is rejected."""
    assert isinstance(error, UnicodeDecodeError)
    return "\udcff", error.end


codecs.register_error("dialint-mark", _undecodable)


class Encoding(NamedTuple):
    """A codec's name, and whether it was guessed from the text."""

    name: str = "utf-8"
    guessed: bool = False


def blocks(source: Source, config: ReadConfig) -> Iterator[bytes]:
    """The content, decompressed and as UTF-8, in blocks; undecodable bytes become invalid UTF-8.

    Raises:
        InputRefused: what `decompress` and `encoding_of` refuse.
    """
    encoding = encoding_of(source, config).name
    stream = decompress(source, config)
    return stream if encoding == "utf-8" else _as_utf8(stream, encoding, source)


def without_bom(stream: Iterable[bytes]) -> Iterator[bytes]:
    """The blocks of a stream without the byte order mark at its start."""
    start = True
    for block in stream:
        yield block.removeprefix(BOM) if start else block
        start = False


def _as_utf8(stream: Iterator[bytes], encoding: str, source: Source) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("dialint-mark")
    for block in chain(stream, (b"",)):  # no block of a stream is empty
        try:
            text = decoder.decode(block, not block)
        except UnicodeError:
            problem = Message(
                "is not {name}: it does not begin with a byte order mark; name another --encoding",
                name=encoding,
            )
            raise file_error("E_ENCODING", source.name, problem) from None
        if text:
            yield text.encode("utf-8", "surrogatepass")


def encoding_of(source: Source, config: ReadConfig) -> Encoding:
    """The encoding of `source`: the configured one, that of its byte order mark, UTF-8, or a guess.

    Raises:
        InputRefused: E_ENCODING if it cannot be determined; or what `decompress` raises.
    """
    if config.mapped.encoding != "auto":
        return Encoding(codecs.lookup(config.mapped.encoding).name)
    return _detect_encoding(source, config)


@lru_cache(maxsize=256)
def _detect_encoding(source: Source, config: ReadConfig) -> Encoding:
    prefix = b""
    for block in decompress(source, config):
        prefix += block
        if len(prefix) >= PREFIX_BYTES:
            break
    for mark, name in MARKS.items():
        if prefix.startswith(mark):
            return Encoding(name)
    if prefix.startswith(BOM):
        return Encoding()
    _refuse_wide_encoding(prefix[:4096], source)
    lines = prefix.split(b"\n")
    if len(lines) > 1 and len(prefix) >= PREFIX_BYTES:
        lines.pop()
    foreign = [line for line in lines if not line.isascii()]
    bad = [line for line in foreign if not _is_utf8(line)]
    if len(bad) <= max(len(foreign) - len(bad), config.max_bad * len(lines)):
        return Encoding()
    return Encoding(_guess_encoding(b"\n".join(bad)[:SAMPLE_BYTES], source), guessed=True)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _refuse_wide_encoding(head: bytes, source: Source) -> None:
    """
    Raises:
        InputRefused: E_ENCODING for what looks like UTF-16 or UTF-32 and has no byte order mark.
    """
    even, odd = head[::2].count(0), head[1::2].count(0)
    if len(head) < 4 or max(even, odd) <= 0.3 * len(head):
        return
    guess = "utf-16-le" if odd > even else "utf-16-be"
    if even + odd > 0.6 * len(head):
        guess = "utf-32-le" if head[0] else "utf-32-be"
    problem = Message(
        "looks like {name} without a byte order mark; if it is, say --encoding {name}", name=guess
    )
    raise file_error("E_ENCODING", source.name, problem)


def _guess_encoding(sample: bytes, source: Source) -> str:
    """The encoding of `sample`, whole lines that are not UTF-8, where one text is far more orderly than all
    others.

    Raises:
        InputRefused: E_ENCODING.
    """
    from charset_normalizer import from_bytes

    matches = list(from_bytes(sample, cp_isolation=list(GUESSED)))
    texts: dict[str, str] = {}
    for match in matches:
        if match.chaos <= matches[0].chaos + NEAR_CHAOS:
            names = [name for name in GUESSED if name in (match.encoding, *match.could_be_from_charset)]
            texts.setdefault(str(match), names[0])
    if len(texts) == 1 and sum(byte >= 0x80 for byte in sample) >= MIN_BYTES:
        return next(iter(texts.values()))
    first, *others = list(texts.values())[:3] or ["cp1252", "cp1251"]
    names_text = Message("--encoding {name}", name=first)
    for name in others:
        names_text = Message("{names} or --encoding {name}", names=names_text, name=name)
    raise file_error(
        "E_ENCODING", source.name,
        "is not UTF-8, and what else it is cannot be told safely; name it, for instance {names}, or save it "
        "as UTF-8", names=names_text,
    )  # fmt: skip


class Line(NamedTuple):
    """A line without its line feed (a carriage return remains), its number from 1 and its byte offset. `lost`
    is the size of a line that is too long to store."""

    number: int
    offset: int
    data: bytes
    lost: int = 0


def split_lines(stream: Iterable[bytes], max_bytes: int) -> Iterator[Line]:
    """The lines of a stream. A line of over `max_bytes` is skipped without being held in memory. A byte order
    mark at the start is removed."""
    held, offset, number, lost, at_start = b"", 0, 1, 0, True
    for block in stream:
        held += block
        if at_start:
            if len(held) < len(BOM):
                continue
            at_start = False
            if held.startswith(BOM):
                held, offset = held[len(BOM) :], len(BOM)
            block = held
        if b"\n" in block:
            *whole, held = held.split(b"\n")
            for line in whole:
                size = lost + len(line)
                yield Line(number, offset, b"", size) if lost else Line(number, offset, line)
                offset, number, lost = offset + size + 1, number + 1, 0
        if len(held) > max_bytes + 1:  # one more for a carriage return
            lost, held = lost + len(held), b""
    *whole, held = held.split(b"\n")  # of a stream that is shorter than a byte order mark
    for line in [*whole, held] if held or lost else whole:
        yield Line(number, offset, b"", lost + len(line)) if lost else Line(number, offset, line)
        offset, number, lost = offset + len(line) + 1, number + 1, 0
