"""Input and output of recognizers: views of a text, entities, placeholders and masked text.

A `View` is the text as recognizers receive it: look-alike characters folded, masked spans cut to one
character. A text and its masked form have the same view, whatever the length of the placeholders; that makes
masking idempotent. Positions in a view and in a masked text map back to the original. Recognises nothing
itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from dialint.detector import offsets

Kind = Literal[
    "EMAIL", "IBAN", "CARD", "IP", "SSN", "ID", "ADDRESS", "PHONE", "NAME", "BIRTH", "SECRET", "ACCOUNT",
    "PLATE", "VIN", "DEVICE",
]  # fmt: skip
"""`SSN` is any social security, insurance or tax number, `ID` a passport, licence or identity card,
`BIRTH` a date of birth, `SECRET` a password, PIN, code or API key, `ACCOUNT` an account at a bank, a
shop or a platform, `DEVICE` a MAC address or the number of a phone."""

KINDS: tuple[Kind, ...] = get_args(Kind)


PLACEHOLDER = re.compile(rf"\[({'|'.join(KINDS)})_([1-9][0-9]{{0,17}})\]")
"""Group 1 is the kind, group 2 the number."""


class Entity(NamedTuple):
    """Personal data at ``[start, end)``. `key` is the value normalised: equal keys are one value."""

    start: int
    end: int
    kind: Kind
    key: str


@dataclass(frozen=True)
class MaskedText:
    """A text with placeholders. `spans` are the range of each and the one that it covers in the original, in
    order and disjoint; placeholders that were in the original are among them."""

    text: str
    spans: tuple[offsets.Edit, ...]

    def to_original(self, start: int, end: int) -> tuple[int, int]:
        """Offsets ``[start, end)`` of the masked text as offsets of the original text.

        A range that touches a placeholder grows to the whole of it; an empty range inside one does too.

        Raises:
            ValueError: the range is reversed or outside the masked text.
        """
        if not 0 <= start <= end <= len(self.text):
            raise ValueError(f"range {start}:{end} is not within 0:{len(self.text)}")
        return offsets.to_original(self.spans, start, end)

    def from_original(self, start: int, end: int) -> tuple[int, int]:
        """Offsets ``[start, end)`` of the original text as offsets of the masked text.

        A range that touches masked data grows to the whole placeholder.

        Raises:
            ValueError: the range is reversed.
        """
        if not 0 <= start <= end:
            raise ValueError(f"range {start}:{end} is reversed")
        return offsets.from_original(self.spans, start, end)


def find_placeholders(text: str) -> list[Entity]:
    """The placeholders in `text`; the key of each is its text."""
    kinds: dict[str, Kind] = {kind: kind for kind in KINDS}
    return [Entity(*match.span(), kinds[match[1]], match[0]) for match in PLACEHOLDER.finditer(text)]


def replace_spans(text: str, results: Sequence[Entity], placeholders: Sequence[str]) -> MaskedText:
    """Replaces each span of `results` (in order, disjoint) by the placeholder at its place."""
    pieces: list[offsets.Piece] = []
    position = 0
    for item, placeholder in zip(results, placeholders, strict=True):
        pieces += offsets.Piece(position, item.start), offsets.Piece(item.start, item.end, placeholder)
        position = item.end
    return MaskedText(*offsets.assemble(text, [*pieces, offsets.Piece(position, len(text))]))


BLANK = "\ue000"
"""Replaces a whole placeholder in a view. No recognizer may match it."""

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]+")
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0590-\u06ff\u0900-\u0dff"
)
"""Letters of scripts that set no blank between words, or in which people set none before Latin and digits."""
_UNSPACED_LETTER = re.compile(f"[{_UNSPACED}]")
_SCRIPT_CHANGE = re.compile(
    rf"(?<=[{_UNSPACED}])(?=[\da-zA-Z+(@])|(?<=[\da-zA-Z)])(?=[{_UNSPACED}])|(?<=[Ѐ-ӿ])(?=\d{{6}})|(?<=\d{{6}})(?=[Ѐ-ӿ])"
)
"""Borders between a value and letters of another script; the view has a blank there."""
_APOSTROPHES = dict.fromkeys(map(ord, "‘’ʼ´`"), ord("'"))


class _Fold(dict[int, int]):
    """Cached mapping of one code point to one: digits of any script, dashes, spaces."""

    def __missing__(self, point: int) -> int:
        self[point] = folded = self._fold(point)
        return folded

    @staticmethod
    def _fold(point: int) -> int:
        char = chr(point)
        digit = unicodedata.decimal(char, None)
        if digit is not None:
            return ord("0") + int(digit)
        if point == ord(BLANK):
            return point + 1
        if 0xFF01 <= point <= 0xFF5E:
            return point - 0xFEE0
        category = unicodedata.category(char)
        if category == "Pd" or char == "−":
            return ord("-")
        if category == "Zs":
            return ord(" ")
        return point if len(char.lower()) == 1 else ord("i")


_FOLD = _Fold(_APOSTROPHES)


@dataclass(frozen=True)
class View:
    """`text` as recognizers read it, `low` its lower case of equal length, and the edits that lead to the
    original."""

    text: str
    low: str
    edits: tuple[offsets.Edit, ...] = ()

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """A non-empty range of the view as a range of the original."""
        return offsets.to_original(self.edits, start, end)


def _beside_letters(text: str, cuts: Iterable[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """Blanks to insert beside masked spans, on each side with a letter beside which a value would get one."""
    for start, end, sign in cuts:
        if sign == BLANK:
            if start and _UNSPACED_LETTER.match(text, start - 1):
                yield start, start, " "
            if _UNSPACED_LETTER.match(text, end):
                yield end, end, " "


COMBINING = re.compile("[\u0300-\u036f]+")
"""Accents behind their letter; the view has the letters alone."""


_KEY = re.compile(r"(?<!\w)[A-Za-z]++(?:_[A-Za-z]++)++(?=[\"']? ?[:=])")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][A-Za-z]{1,30}[\"']? ?[:=])")
"""Keys of several words, as in JSON; the view has blanks between them."""


def make_view(text: str, selected: Iterable[tuple[int, int]]) -> View:
    """Makes the view of `text` with the ranges `selected` (in order, disjoint) cut to one `BLANK` each."""
    folded = text if text.isascii() else text.translate(_FOLD)
    if "_" in folded:
        folded = _KEY.sub(lambda key: key[0].replace("_", " "), folded)
    cuts = [(start, end, BLANK) for start, end in selected]
    inner = [match.start() for match in _CAMEL.finditer(folded)]
    cuts = sorted({*cuts, *((start, start, " ") for start in inner)}) if inner else cuts
    if not text.isascii():
        cuts += [(match.start(), match.end(), "") for match in _INVISIBLE.finditer(text)]
        cuts += [(match.start(), match.end(), "") for match in COMBINING.finditer(text)]
        cuts += [(match.start(), match.start(), " ") for match in _SCRIPT_CHANGE.finditer(folded)]
        cuts = sorted({*cuts, *_beside_letters(text, cuts)})
    if not cuts:
        return View(folded, folded.lower())
    pieces: list[offsets.Piece] = []
    position = 0
    for start, end, sign in cuts:
        if start >= position:  # else an invisible character within a span that is cut already
            pieces += offsets.Piece(position, start), offsets.Piece(start, end, sign)
            position = end
    joined, edits = offsets.assemble(folded, [*pieces, offsets.Piece(position, len(text))])
    return View(joined, joined.lower(), edits)
