"""Entities, placeholders and masked text, with the mapping of offsets back to the original.

Does not recognise personal data itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from dialint.detector import offsets

Kind = Literal[
    "EMAIL",
    "IBAN",
    "CARD",
    "IP",
    "SSN",
    "ID",
    "ADDRESS",
    "PHONE",
    "NAME",
    "BIRTH",
    "SECRET",
    "ACCOUNT",
    "PLATE",
    "VIN",
]
"""`SSN` is any social security, insurance or tax number, `ID` a passport, licence or identity card,
`BIRTH` a date of birth, `SECRET` a password, PIN or code, `ACCOUNT` a bank's or customer's account."""

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
class MaskedSpan:
    """A placeholder: where it stands in the masked text and what it covers in the original."""

    start: int
    end: int
    original_start: int
    original_end: int
    kind: Kind


@dataclass(frozen=True)
class MaskedText:
    """A text with placeholders. `spans` are in order and disjoint; placeholders that stood in the
    original already are among them."""

    text: str
    spans: tuple[MaskedSpan, ...]

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
    """The placeholders that stand in `text`, each its own key."""
    if "[" not in text:
        return []
    results: list[Entity] = []
    for match in PLACEHOLDER.finditer(text):
        kind = next(kind for kind in KINDS if kind == match[1])
        results.append(Entity(match.start(), match.end(), kind, match[0]))
    return results


def replace_spans(text: str, results: Sequence[Entity], placeholders: Sequence[str]) -> MaskedText:
    """`text` with each span of `results` (in order, disjoint) replaced by the placeholder beside it."""
    pieces: list[str] = []
    spans: list[MaskedSpan] = []
    position = length = 0
    for item, placeholder in zip(results, placeholders, strict=True):
        retained = text[position : item.start]
        start = length + len(retained)
        length = start + len(placeholder)
        spans.append(MaskedSpan(start, length, item.start, item.end, item.kind))
        pieces += (retained, placeholder)
        position = item.end
    pieces.append(text[position:])
    return MaskedText("".join(pieces), tuple(spans))
