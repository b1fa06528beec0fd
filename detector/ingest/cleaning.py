"""Cleans the text of each message: renders HTML and removes quoted text, signatures and footers.

Works on drafts, before validation, so the same for every format. Removals are counted; a message of which
nothing would remain stays whole. The edits map each character back to its position in the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from dialint.detector.ingest.html_text import is_html, may_be_html, read_html
from dialint.detector.ingest.quoted_text import EarlierMessages, Kind, find_quoted_text
from dialint.detector.offsets import Edit, Piece, assemble, remove_ranges

COUNTED: dict[Kind, str] = {
    "quote": "W_QUOTED_REPLY",
    "signature": "W_SIGNATURE",
    "chrome": "W_TEMPLATE_LINE",
}
STRIPPED = {
    "W_HTML": "messages in HTML",
    "W_QUOTED_REPLY": "quoted replies",
    "W_SIGNATURE": "signatures and footers",
    "W_TEMPLATE_LINE": "lines of templates",
    "W_INTERNAL_NOTE": "internal notes",
}
"""Names of the counters, as shown to users."""


class Clean(NamedTuple):
    """The cleaned text, where it differs from the log's, and what was removed from it."""

    text: str
    edits: tuple[Edit, ...] = ()
    counted: tuple[str, ...] = ()


def clean_texts(texts: Sequence[str], html: Sequence[bool | None], most: int) -> list[Clean]:
    """Clean the texts of a dialogue's messages. In texts of over `most` characters only HTML is rendered.

    `html` is whether each text is HTML, None if unknown: then the text decides, more readily if another text
    of the dialogue is HTML.

    Raises:
        BadRecord: E_TURN_SIZE, a text has too many tags.
    """
    pieces = [
        read_html(text) if markup and ("<" in text or "&" in text) else None
        for text, markup in zip(texts, _are_html(texts, html), strict=True)
    ]
    read = [
        text if markup is None else assemble(text, markup.pieces)[0]
        for text, markup in zip(texts, pieces, strict=True)
    ]
    earlier = EarlierMessages(read)
    results = []
    for index, (text, plain, markup) in enumerate(zip(texts, read, pieces, strict=True)):
        marks = None if markup is None else markup.marks
        ranges, kinds = (
            find_quoted_text(plain, marks, partial(earlier.before, index))
            if len(plain) <= most
            else ([], set())
        )
        if markup is None and not ranges:
            results.append(Clean(text))
            continue
        whole = [Piece(0, len(text))] if markup is None else markup.pieces
        counted = (("W_HTML",) if markup is not None else ()) + tuple(COUNTED[kind] for kind in sorted(kinds))
        results.append(Clean(*assemble(text, remove_ranges(whole, ranges)), counted))
    return results


def is_plain(texts: Sequence[str]) -> bool:
    """Whether no text has a tag, a second line or a template's mark, so that there is nothing to clean."""
    return not any("\n" in text or "<" in text or "##-" in text for text in texts)


def _are_html(texts: Sequence[str], declared: Sequence[bool | None]) -> list[bool]:
    by_text = [is_html(text) if html is None else html for text, html in zip(texts, declared, strict=True)]
    if not any(by_text):
        return by_text
    return [
        html or (is_declared is None and may_be_html(text))
        for text, html, is_declared in zip(texts, by_text, declared, strict=True)
    ]
