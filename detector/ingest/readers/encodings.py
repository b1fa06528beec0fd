"""Detects the encoding of a log, and decodes it to UTF-8, which all readers expect.

A log is UTF-8 if its first megabyte decodes as such. Other encodings come from a byte order mark, from the
user, or are guessed: charset-normalizer ranks the likely ones, and if several with different texts remain,
one is chosen only if its letters are those of one language. Otherwise the user has to name the encoding. Byte
offsets are in the UTF-8 form.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from dialint.detector.errors import Message
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import file_error
from dialint.detector.ingest.readers.streams import BOM, decompress
from dialint.detector.ingest.sources import Source

PREFIX_BYTES = 1 << 20
SAMPLE_BYTES = 1 << 15
MIN_BYTES, MIN_WIDE_BYTES = 6, 40
"""Least bytes beyond ASCII to guess an encoding, and to guess one of several bytes a letter."""
NEAR_CHAOS = 0.1
"""Guesses whose disorder is within this distance of the least are compared by their letters."""
MIN_LETTERS, LEAD = 0.97, 0.02
"""Share of the letters that one language must have, and by how much more than in any other guess."""

MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
SCRIPT_OF = {
    "cp932": "Japanese",
    "euc_jp": "Japanese",
    "gb18030": "Chinese",
    "big5": "Chinese",
    "euc_kr": "Korean",
}
"""Encodings of several bytes a letter; all others have one."""
GUESSED = (
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1257", "koi8_r", "cp866", "iso8859_2", "iso8859_5",
    "mac_roman", "cp850", "cp852", *SCRIPT_OF,
)  # fmt: skip
"""In the order of preference where two give the same text."""
LETTERS = {
    "German": "üäößÄÖÜ",
    "French": "éèàâæçêëîïôœùûüÿÀÂÆÇÈÉÊËÎÏÔŒÙÛÜ",
    "Spanish": "óáíéñúüÁÉÍÑÓÚÜºª",
    "Portuguese": "ãçéàáâêíóôõúüÀÁÂÃÇÉÊÍÓÔÕÚºª",
    "Italian": "èàòéìíîóùúÀÈÉÌÒÙ",
    "Dutch": "éëïáèíóöúüÉË",
    "Swedish and Finnish": "äöåéÅÄÖÉ",
    "Danish and Norwegian": "øåæéòôÅÆØÉ",
    "Polish": "łęąćńóśźżĄĆĘŁŃÓŚŹŻ",
    "Czech": "íáéčďěňóřšťúůýžÁČĎÉĚÍŇÓŘŠŤÚŮÝŽ",
    "Slovak": "áíéäčďĺľňóôŕšťúýžÁČĎÉÍĽŇÓŠŤÚÝŽ",
    "Hungarian": "éáöíóőúüűÁÉÍÓÖŐÚÜŰ",
    "Romanian": "ăîșâțşţĂÂÎȘȚŞŢ",
    "Croatian and Slovene": "čšžćđČĆĐŠŽ",
    "Lithuanian": "ėšųąčęįūžĄČĘĖĮŠŲŪŽ",
    "Latvian": "āīēčģķļņšūžĀČĒĢĪĶĻŅŠŪŽ",
    "Estonian": "äõüöšžÄÖÕÜ",
    "Turkish": "ıüşçğöâîÇĞİÖŞÜ",
}
"""Letters beyond ASCII, the three most frequent ones first."""
N_FREQUENT, MIN_FREQUENT, ENOUGH = 3, 0.2, 10
"""Of so many letters, the three most frequent ones of a language have at least this share."""
SIGNS = "«»„“”‘’‚–—…•·©®™°§€£¥¢±²³½¼×¿¡№´`\u00a0\u00ad"
"""Found in texts of every language."""
_WIDE = "\u3000-\u303f\uff00-\uffef"
SCRIPTS = {
    "Cyrillic": re.compile("[\u0400-\u052f]"),
    "Greek": re.compile("[\u0370-\u03ff]"),
    "Korean": re.compile(f"[\uac00-\ud7af{_WIDE}]"),
    "Chinese": re.compile(f"[\u4e00-\u9fff{_WIDE}]"),
    "Japanese": re.compile(f"[\u3040-\u30ff\u4e00-\u9fff{_WIDE}]"),
}
_KANA = re.compile("[\u3040-\u30ff]")


def _undecodable(error: UnicodeError) -> tuple[str, int]:
    """A lone surrogate for undecodable bytes: it is invalid UTF-8, so that its record is rejected."""
    assert isinstance(error, UnicodeDecodeError)
    return "\udcff", error.end


codecs.register_error("dialint-mark", _undecodable)


@dataclass(frozen=True)
class Encoding:
    """A codec's name, and whether it was guessed from the text."""

    name: str = "utf-8"
    guessed: bool = False


def blocks(
    source: Source, config: ReadConfig, on_raw: Callable[[bytes], object] | None = None
) -> Iterator[bytes]:
    """The content, decompressed and as UTF-8, in blocks; undecodable bytes become invalid UTF-8. `on_raw` is
    called with every raw block.

    Raises:
        InputRefused: what `decompress` and `encoding_of` refuse.
    """
    encoding = encoding_of(source, config).name
    stream = decompress(source, config, on_raw)
    return stream if encoding == "utf-8" else _as_utf8(stream, encoding, source)


def _as_utf8(stream: Iterator[bytes], encoding: str, source: Source) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("dialint-mark")
    last = False
    while not last:
        block = next(stream, None)
        last = block is None
        try:
            text = decoder.decode(block or b"", last)
        except UnicodeError:
            raise file_error(
                "E_ENCODING",
                source.name,
                "is not {name}: it does not begin with a byte order mark; name another --encoding",
                name=encoding,
            ) from None
        if text:
            yield text.encode("utf-8", "surrogatepass")


def encoding_of(source: Source, config: ReadConfig) -> Encoding:
    """The encoding of `source`: the configured one, that of its byte order mark, UTF-8, or a guess.

    Raises:
        InputRefused: E_ENCODING if it cannot be determined; or what `decompress` raises.
    """
    if config.mapped.encoding != "auto":
        return Encoding(codecs.lookup(config.mapped.encoding).name)
    limits = ReadConfig(
        max_bad=config.max_bad, max_ratio=config.max_ratio, max_expanded_bytes=config.max_expanded_bytes
    )
    return _detect(source, limits)


@lru_cache(maxsize=256)
def _detect(source: Source, config: ReadConfig) -> Encoding:
    prefix = b""
    for block in decompress(source, config):
        prefix += block
        if len(prefix) >= PREFIX_BYTES:
            break
    for mark, name in MARKS:
        if prefix.startswith(mark):
            return Encoding(name)
    if prefix.startswith(BOM):
        return Encoding()
    _validate_marks(prefix[:4096], source)
    lines = prefix.split(b"\n")
    if len(lines) > 1 and len(prefix) >= PREFIX_BYTES:
        lines.pop()
    n_good = n_bad = 0
    bad: list[bytes] = []
    for line in lines:
        if not line.isascii():
            if _is_utf8(line):
                n_good += 1
            else:
                n_bad += 1
                bad.append(line)
    if n_bad <= max(n_good, config.max_bad * len(lines)):
        return Encoding()
    return Encoding(_guess(b"\n".join(bad)[:SAMPLE_BYTES], source), guessed=True)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _validate_marks(head: bytes, source: Source) -> None:
    """
    Raises:
        InputRefused: E_ENCODING for what looks like UTF-16 or UTF-32 and has no byte order mark.
    """
    if len(head) < 4:
        return
    even, odd = head[::2].count(0), head[1::2].count(0)
    guess = None
    if even + odd > 0.6 * len(head):
        guess = "utf-32-le" if head[0] else "utf-32-be"
    elif max(even, odd) > 0.3 * len(head):
        guess = "utf-16-le" if odd > even else "utf-16-be"
    if guess:
        raise file_error(
            "E_ENCODING",
            source.name,
            "looks like {name} without a byte order mark; if it is, say --encoding {name}",
            name=guess,
        )


def _guess(sample: bytes, source: Source) -> str:
    """The one encoding in which `sample`, whole lines that are not UTF-8, is a text.

    Raises:
        InputRefused: E_ENCODING.
    """
    from charset_normalizer import from_bytes

    high = sum(byte >= 0x80 for byte in sample)
    matches = list(from_bytes(sample, cp_isolation=list(GUESSED))) if high >= MIN_BYTES else []
    texts: dict[str, tuple[float, float, float, str]] = {}
    for match in matches:
        for name in (match.encoding, *match.could_be_from_charset):
            if high < MIN_WIDE_BYTES and name in SCRIPT_OF:
                continue
            if name in GUESSED and match.chaos <= matches[0].chaos + NEAR_CHAOS:
                text = sample.decode(name, "replace")
                best = texts.get(text)
                if best is None or GUESSED.index(name) < GUESSED.index(best[-1]):
                    texts[text] = (
                        share_of_letters(text, SCRIPT_OF.get(name)),
                        -match.chaos,
                        match.coherence,
                        name,
                    )
    ranked = sorted(texts.values(), reverse=True)
    if ranked and ranked[0][0] >= MIN_LETTERS and all(_is_better(ranked[0], other) for other in ranked[1:]):
        return ranked[0][-1]
    first, *others = [name for *_, name in ranked][:3] or ["cp1252", "cp1251"]
    names = Message("--encoding {name}", name=first)
    for name in others:
        names = Message("{names} or --encoding {name}", names=names, name=name)
    raise file_error(
        "E_ENCODING",
        source.name,
        "is not UTF-8, and what else it is cannot be told safely; name it, for instance {names}",
        names=names,
    )


def _is_better(one: tuple[float, float, float, str], other: tuple[float, float, float, str]) -> bool:
    """Whether the first of two guesses (share of letters, order, coherence, name) is clearly better."""
    return one[0] - other[0] >= LEAD or one[1] - other[1] >= LEAD or one[2] - other[2] >= 2 * LEAD


def share_of_letters(text: str, script: str | None = None) -> float:
    """The largest share, 0 to 1, of the characters of `text` beyond ASCII that are letters of one language or
    signs common to all. `script` is the encoding's script if it is an East Asian one."""
    letters = "".join(char for char in text if char > "\x7f" and char not in SIGNS)
    if not letters:
        return 1.0
    if script is not None:
        has_kana = len(_KANA.findall(letters)) > 0.1 * len(letters)
        return (
            len(SCRIPTS[script].findall(letters)) / len(letters)
            if has_kana == (script == "Japanese")
            else 0.0
        )
    most = max(len(SCRIPTS[name].findall(letters)) for name in ("Cyrillic", "Greek"))
    for alphabet in LETTERS.values():
        n_frequent = sum(map(letters.count, alphabet[:N_FREQUENT]))
        if len(letters) < ENOUGH or n_frequent >= MIN_FREQUENT * len(letters):
            most = max(most, sum(map(letters.count, alphabet)))
    return most / len(letters)
